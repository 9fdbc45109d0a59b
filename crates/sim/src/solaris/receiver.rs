//! The receiving half of a connection: what has come, what the reader may have, and what is announced.

use super::deferred::{Answer, Deferred};

/// Blocks of bytes out of order that are kept; what comes beyond is dropped and sent again.
const BLOCKS: usize = 64;

/// The data that the other host sent.
#[derive(Debug, Clone)]
pub struct Receiver {
    mss: u32,
    /// Size of the receive buffer.
    pub limit: u64,
    /// Next byte expected.
    pub expected: u64,
    /// The number that was last acknowledged.
    acknowledged: u64,
    /// The edge that was last announced.
    edge: u64,
    /// Bytes that the reader may have.
    pub unread: u64,
    out_of_order: Vec<(u64, u64)>,
    /// The number of segments that pass before an answer.
    pub deferred: Deferred,
    /// An acknowledgment waits for the timer.
    pub is_deferring: bool,
}

impl Receiver {
    /// An open connection.
    pub fn new(mss: u32, limit: u32, deferred: Deferred) -> Self {
        let limit = u64::from(limit);
        Self {
            mss,
            limit,
            expected: 0,
            acknowledged: 0,
            edge: limit,
            unread: 0,
            out_of_order: Vec::with_capacity(BLOCKS),
            deferred,
            is_deferring: false,
        }
    }

    /// A segment with payload has come. What is out of order, or was there, is answered at once (RFC 5681 section 4.2).
    pub fn on_data(&mut self, sequence: u64, bytes: u32) -> Answer {
        let end = sequence + u64::from(bytes);
        if end <= self.expected {
            self.deferred.on_duplicate();
            return Answer::Now;
        }
        // A probe beyond a window that is shut.
        if end > self.edge && self.open() == 0 {
            return Answer::Now;
        }
        if sequence > self.expected {
            self.keep(sequence, end);
            return Answer::Now;
        }
        let waiting = self.expected - self.acknowledged;
        let is_hole_filled = !self.out_of_order.is_empty();
        self.take_up_to(end);
        let answer = self.deferred.on_segment(bytes, waiting, self.mss);
        if is_hole_filled {
            self.deferred.on_duplicate();
            return Answer::Now;
        }
        self.is_deferring |= answer == Answer::Later;
        answer
    }

    fn take_up_to(&mut self, end: u64) {
        let mut end = end;
        self.out_of_order.retain(|&(from, to)| {
            let joins = from <= end;
            end = if joins { end.max(to) } else { end };
            !joins
        });
        self.unread += end - self.expected;
        self.expected = end;
    }

    /// Blocks lie in order of their numbers.
    fn keep(&mut self, sequence: u64, end: u64) {
        let place = self.out_of_order.partition_point(|&(from, _)| from < sequence);
        let has_room = self.out_of_order.len() < BLOCKS;
        match self.out_of_order[..place].last_mut() {
            Some((_, to)) if *to >= sequence => *to = (*to).max(end),
            _ if has_room => self.out_of_order.insert(place, (sequence, end)),
            _ => {}
        }
    }

    /// The reader took bytes; whether a window update is sent at once: the window would grow by a segment, and the
    /// other host has room for less than what may pass before an answer (illumos `tcp.c`, `tcp_rwnd_reopen`).
    pub fn on_read(&mut self, bytes: u64) -> bool {
        self.unread -= bytes;
        let known = self.edge.saturating_sub(self.expected);
        let mss = u64::from(self.mss);
        self.open().saturating_sub(known) >= mss && known < u64::from(self.deferred.current()) * mss
    }

    fn open(&self) -> u64 {
        self.limit.saturating_sub(self.unread)
    }

    /// An acknowledgment leaves, alone or with data: its number and window, which never takes back what was announced.
    pub fn answer(&mut self) -> (u64, u32) {
        self.edge = self.edge.max(self.expected + self.open());
        self.acknowledged = self.expected;
        self.is_deferring = false;
        self.deferred.on_sent();
        (self.expected, u32::try_from(self.edge - self.expected).unwrap_or(u32::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u32 = 1460;
    const SEGMENT: u64 = MSS as u64;

    fn receiver() -> Receiver {
        Receiver::new(MSS, 16 * MSS, Deferred::new(8, true))
    }

    #[test]
    fn holes_are_filled_in_any_order() {
        let mut receiver = receiver();
        for number in [3, 1, 2, 4] {
            assert_eq!(receiver.on_data(number * SEGMENT, MSS), Answer::Now);
            assert_eq!(receiver.answer().0, 0);
        }
        assert_eq!(receiver.on_data(0, MSS), Answer::Now);
        assert_eq!((receiver.expected, receiver.unread), (5 * SEGMENT, 5 * SEGMENT));
    }

    #[test]
    fn pairs_are_acknowledged_behind_the_long_one() {
        let mut receiver = receiver();
        let mut at = 0;
        let mut answers = Vec::new();
        for bytes in [60, 1440, 60, 1440, 60] {
            let answer = receiver.on_data(at, bytes);
            at += u64::from(bytes);
            if answer == Answer::Now {
                answers.push(receiver.answer().0);
            }
        }
        // The last 60 bytes are never acknowledged before more comes, so the sender never finds itself idle.
        assert_eq!(answers, [1500, 3000]);
    }

    #[test]
    fn a_window_that_was_nearly_shut_is_announced_when_it_opens() {
        let mut receiver = receiver();
        for number in 0..16 {
            receiver.on_data(number * SEGMENT, MSS);
        }
        assert_eq!(receiver.answer().1, 0);
        assert!(!receiver.on_read(SEGMENT - 1));
        assert!(receiver.on_read(1));
        assert_eq!(receiver.answer().1, MSS);
    }

    #[test]
    fn a_window_that_lets_as_much_pass_as_waits_for_an_answer_is_not_announced() {
        let mut receiver = receiver();
        for number in 0..4 {
            if receiver.on_data(number * SEGMENT, MSS) == Answer::Now {
                receiver.answer();
            }
        }
        // Twelve segments are open, and at most eight pass before an answer.
        assert!((0..4).all(|_| !receiver.on_read(SEGMENT)));
    }
}
