//! The send side's buffers: super-segments that writes fill, sent ones in front, unsent ones behind.

use crate::linux::buffer::{OVERHEAD_BYTES, truesize};
use crate::time::Ps;
use std::collections::VecDeque;

/// The deliveries as known when a buffer left.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AtDeparture {
    pub(super) delivered: u64,
    pub(super) delivered_at: Ps,
    pub(super) first_sent_at: Ps,
    pub(super) is_application_limited: bool,
}

/// A buffer of the queue (`struct sk_buff`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Buffer {
    /// Number of its first byte.
    pub start: u64,
    /// Payload in bytes.
    pub bytes: u32,
    /// When it last left.
    pub sent_at: Ps,
    /// The other host has it (RFC 2018).
    pub is_sacked: bool,
    /// It is held for lost.
    pub is_lost: bool,
    /// It was sent again and is under way.
    pub is_again_out: bool,
    /// It was ever sent again: its round trip is not usable (Karn).
    pub was_again_out: bool,
    /// A write ends here.
    pub is_push: bool,
    /// The deliveries as known when it last left.
    pub known: AtDeparture,
}

impl Buffer {
    /// Number of the first byte behind it.
    pub fn end(&self) -> u64 {
        self.start + u64::from(self.bytes)
    }
}

/// All of them.
#[derive(Debug, Clone, Default)]
pub struct WriteQueue {
    buffers: VecDeque<Buffer>,
    /// The number of them that were sent.
    sent: usize,
    /// Memory of all, in bytes (`sk_wmem_queued`).
    pub memory: u64,
    /// Bytes that were ever put in.
    pub end: u64,
}

impl WriteQueue {
    /// Room of the buffer that a write may still add to.
    pub fn tail_room(&self, goal: u32) -> u32 {
        self.tail().map_or(0, |tail| goal.saturating_sub(tail.bytes))
    }

    /// The last buffer, if it was not sent.
    pub fn tail(&self) -> Option<&Buffer> {
        if self.sent < self.buffers.len() { self.buffers.back() } else { None }
    }

    /// A write adds to the last buffer, or begins one.
    pub fn append(&mut self, bytes: u32, is_new: bool) {
        if is_new || self.tail().is_none() {
            self.memory += OVERHEAD_BYTES;
            self.buffers.push_back(Buffer { start: self.end, ..Buffer::default() });
        }
        if let Some(tail) = self.buffers.back_mut() {
            tail.bytes += bytes;
            tail.is_push = false;
        }
        self.memory += u64::from(bytes);
        self.end += u64::from(bytes);
    }

    /// A write ends with the last buffer (`tcp_mark_push`).
    pub fn push(&mut self) {
        if let Some(tail) = self.buffers.back_mut() {
            tail.is_push = true;
        }
    }

    /// The first that was not sent.
    pub fn head(&self) -> Option<&Buffer> {
        self.buffers.get(self.sent)
    }

    /// True if the first that was not sent is the last one.
    pub fn is_head_last(&self) -> bool {
        self.sent + 1 == self.buffers.len()
    }

    /// The first one grows out of the next (`tcp_grow_skb`, from 6.8 on).
    pub fn grow_head(&mut self, most: u32) {
        let [head, next] = [self.sent, self.sent + 1].map(|index| self.buffers.get(index).copied());
        let (Some(mut head), Some(mut next)) = (head, next) else { return };
        let bytes = most.saturating_sub(head.bytes).min(next.bytes);
        head.bytes += bytes;
        next.start += u64::from(bytes);
        next.bytes -= bytes;
        if next.bytes == 0 {
            head.is_push |= next.is_push;
            self.buffers.remove(self.sent + 1);
            self.memory -= OVERHEAD_BYTES;
        } else if bytes > 0 {
            self.buffers[self.sent + 1] = next;
        }
        self.buffers[self.sent] = head;
    }

    /// Cuts a buffer; the rest follows it (`tcp_fragment`, `tso_fragment`).
    pub fn split(&mut self, index: usize, bytes: u32) {
        let Some(buffer) = self.buffers.get_mut(index) else { return };
        if bytes == 0 || bytes >= buffer.bytes {
            return;
        }
        let rest = Buffer { start: buffer.start + u64::from(bytes), bytes: buffer.bytes - bytes, ..*buffer };
        buffer.bytes = bytes;
        buffer.is_push = false;
        self.memory += OVERHEAD_BYTES;
        self.buffers.insert(index + 1, rest);
        self.sent += usize::from(index < self.sent);
    }

    /// The first unsent one is cut to so many bytes and sent.
    pub fn send_head(&mut self, now: Ps, bytes: u32, known: AtDeparture) -> Option<Buffer> {
        self.split(self.sent, bytes);
        let head = self.buffers.get_mut(self.sent)?;
        (head.sent_at, head.known) = (now, known);
        self.sent += 1;
        Some(*head)
    }

    /// Those that were sent, the oldest first.
    pub fn sent(&self) -> impl DoubleEndedIterator<Item = &Buffer> {
        self.buffers.iter().take(self.sent)
    }

    /// The number that were sent and are not acknowledged.
    pub fn sent_count(&self) -> usize {
        self.sent
    }

    /// One of those that were sent.
    pub fn sent_mut(&mut self, index: usize) -> Option<&mut Buffer> {
        if index < self.sent { self.buffers.get_mut(index) } else { None }
    }

    /// The oldest one leaves the queue if `una` lies behind all of it; one that is acknowledged in part is cut. What
    /// was freed, and how many bytes of that buffer are left.
    pub fn acknowledge(&mut self, una: u64) -> Option<(Buffer, u32)> {
        let oldest = self.buffers.front_mut().filter(|_| self.sent > 0)?;
        if oldest.end() <= una {
            let freed = *oldest;
            self.memory -= truesize(freed.bytes);
            self.sent -= 1;
            self.buffers.pop_front();
            return Some((freed, 0));
        }
        if oldest.start < una {
            let part = u32::try_from(una - oldest.start).unwrap_or(u32::MAX);
            let freed = Buffer { bytes: part, ..*oldest };
            oldest.start = una;
            oldest.bytes -= part;
            self.memory -= u64::from(part);
            return Some((freed, oldest.bytes));
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(queue: &WriteQueue) -> Vec<u32> {
        queue.buffers.iter().map(|buffer| buffer.bytes).collect()
    }

    #[test]
    fn writes_fill_the_last_buffer_until_it_is_sent() {
        let mut queue = WriteQueue::default();
        queue.append(100, true);
        assert_eq!(queue.tail_room(1000), 900);
        queue.append(900, false);
        assert_eq!(queue.tail_room(1000), 0);
        assert_eq!(queue.send_head(5, 1000, AtDeparture::default()).map(|sent| sent.end()), Some(1000));
        assert_eq!(queue.tail_room(2000), 0);
        queue.append(50, false);
        assert_eq!(sizes(&queue), [1000, 50]);
        assert_eq!(queue.memory, 1050 + 2 * OVERHEAD_BYTES);
    }

    #[test]
    fn what_is_cut_off_waits() {
        let mut queue = WriteQueue::default();
        queue.append(5000, true);
        assert_eq!(queue.send_head(1, 4344, AtDeparture::default()).map(|sent| sent.bytes), Some(4344));
        assert_eq!(queue.head().map(|head| (head.start, head.bytes)), Some((4344, 656)));
        assert!(queue.is_head_last());
        assert_eq!(queue.sent_count(), 1);
    }

    #[test]
    fn acknowledgments_free_buffers_and_parts() {
        let mut queue = WriteQueue::default();
        queue.append(1000, true);
        queue.append(1000, true);
        queue.send_head(1, 1000, AtDeparture::default());
        queue.send_head(2, 1000, AtDeparture::default());
        assert_eq!(queue.acknowledge(1500).map(|(freed, _)| freed.bytes), Some(1000));
        assert_eq!(queue.acknowledge(1500).map(|(freed, left)| (freed.bytes, left)), Some((500, 500)));
        assert_eq!(queue.acknowledge(1500), None);
        assert_eq!((queue.memory, queue.sent_count()), (500 + OVERHEAD_BYTES, 1));
    }

    #[test]
    fn a_buffer_grows_out_of_the_next() {
        let mut queue = WriteQueue::default();
        queue.append(1000, true);
        queue.append(700, true);
        queue.grow_head(1448);
        assert_eq!(sizes(&queue), [1448, 252]);
        queue.grow_head(5000);
        assert_eq!(sizes(&queue), [1700]);
        assert_eq!(queue.memory, 1700 + OVERHEAD_BYTES);
    }
}
