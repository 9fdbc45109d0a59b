//! The send queue: a chain of messages, of which a segment takes whole ones.
//!
//! The stream head makes messages of a write, none longer than `tcp_maxpsz_multiplier` segments. A message longer than
//! a segment is cut by itself; shorter ones share a segment as long as each is in it as a whole (study 2). A stack that
//! sent a stream of bytes would show 1460 bytes on the wire where this one shows 24 messages of 60.

use std::collections::VecDeque;

/// The blocks of memory that a segment's payload consists of: a driver handles each of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Blocks {
    /// Number of blocks.
    pub count: u32,
    /// The largest of them.
    pub largest_bytes: u32,
}

impl Blocks {
    /// All in one.
    pub fn single(bytes: u32) -> Self {
        Self { count: 1, largest_bytes: bytes }
    }
}

/// Messages that have not been sent.
#[derive(Debug, Clone)]
pub struct Unsent {
    messages: VecDeque<u32>,
    /// Bytes in all.
    pub bytes: u64,
    keeps_boundaries: bool,
}

impl Default for Unsent {
    fn default() -> Self {
        Self::new(true)
    }
}

impl Unsent {
    /// An empty queue. Without boundaries it is a stream of bytes, as on other systems.
    pub fn new(keeps_boundaries: bool) -> Self {
        Self { messages: VecDeque::with_capacity(1024), bytes: 0, keeps_boundaries }
    }

    /// A message was handed down.
    pub fn push(&mut self, bytes: u32) {
        self.bytes += u64::from(bytes);
        match self.messages.back_mut() {
            Some(last) if !self.keeps_boundaries => *last = last.saturating_add(bytes),
            _ => self.messages.push_back(bytes),
        }
    }

    /// Payload of the next segment, of at most `mss` bytes: a part of one message, or whole messages.
    pub fn next_segment(&self, mss: u32) -> u32 {
        let mut payload = 0;
        for &message in &self.messages {
            if payload + message > mss {
                return if payload == 0 { mss } else { payload };
            }
            payload += message;
        }
        payload
    }

    /// The messages, or parts of them, of which the next segment of so many bytes is made.
    pub fn blocks(&self, bytes: u32) -> Blocks {
        let mut blocks = Blocks { count: 0, largest_bytes: 0 };
        let mut rest = bytes;
        for &message in &self.messages {
            let part = message.min(rest);
            if part == 0 {
                break;
            }
            blocks.count += 1;
            blocks.largest_bytes = blocks.largest_bytes.max(part);
            rest -= part;
        }
        blocks
    }

    /// So many bytes were sent.
    pub fn take(&mut self, bytes: u32) {
        self.bytes -= u64::from(bytes);
        let mut rest = bytes;
        while let Some(first) = self.messages.front_mut() {
            if *first > rest {
                *first -= rest;
                return;
            }
            rest -= *first;
            self.messages.pop_front();
        }
    }
}

/// The message that the stream head makes next of a write with so many bytes left.
pub fn of_write(remaining: u32, mss: u32, maxpsz_multiplier: u32) -> u32 {
    remaining.min(mss.saturating_mul(maxpsz_multiplier))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u32 = 1460;

    fn segments(writes: &[u32], keeps_boundaries: bool) -> Vec<u32> {
        let mut unsent = Unsent::new(keeps_boundaries);
        for &bytes in writes {
            unsent.push(bytes);
        }
        let mut sent = Vec::new();
        while unsent.bytes > 0 {
            let payload = unsent.next_segment(MSS);
            unsent.take(payload);
            sent.push(payload);
        }
        sent
    }

    #[test]
    fn a_segment_holds_whole_messages() {
        assert_eq!(segments(&[60; 25], true), [1440, 60]);
        assert_eq!(segments(&[100; 15], true), [1400, 100]);
        assert_eq!(segments(&[536; 3], true), [1072, 536]);
        assert_eq!(segments(&[1024; 2], true), [1024, 1024]);
    }

    #[test]
    fn a_segment_of_messages_has_a_block_for_each() {
        let mut unsent = Unsent::default();
        [60; 24].into_iter().for_each(|bytes| unsent.push(bytes));
        assert_eq!(unsent.blocks(1440), Blocks { count: 24, largest_bytes: 60 });
        unsent.take(1440);
        unsent.push(2000);
        assert_eq!(unsent.blocks(1460), Blocks::single(1460));
        unsent.take(1460);
        unsent.push(900);
        assert_eq!(unsent.blocks(1440), Blocks { count: 2, largest_bytes: 900 });
    }

    #[test]
    fn a_stream_of_bytes_would_fill_segments() {
        assert_eq!(segments(&[60; 25], false), [1460, 40]);
        assert_eq!(segments(&[1024; 2], false), [1460, 588]);
    }

    #[test]
    fn a_longer_message_is_cut_by_itself() {
        assert_eq!(segments(&[2000, 2000], true), [1460, 540, 1460, 540]);
        assert_eq!(segments(&[1500, 60], true), [1460, 100]);
    }

    #[test]
    fn the_stream_head_makes_messages_of_a_write() {
        let mut remaining = 32_768;
        let mut messages = Vec::new();
        while remaining > 0 {
            let message = of_write(remaining, MSS, 8);
            messages.push(message);
            remaining -= message;
        }
        assert_eq!(messages, [11_680, 11_680, 9408]);
        assert_eq!(segments(&messages, true).iter().filter(|&&payload| payload < MSS).count(), 1);
    }
}
