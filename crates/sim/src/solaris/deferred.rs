//! Deferred acknowledgments: how many segments the receiver lets pass before it answers.
//!
//! The number grows by one with every acknowledgment up to `tcp_deferred_acks_max`, 8 for a neighbor on the same
//! network and 2 for others, and a timer of `tcp_deferred_ack_interval` bounds the wait (Solaris 8 manual). Every
//! retransmission that arrives lowers the largest number by one, down to 2, and begins again at one (study 2: from 8
//! down to 2 over a connection with losses; illumos `tcp_input.c`).

/// The decision about an acknowledgment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// It leaves now.
    Now,
    /// It waits for more segments, or the timer.
    Later,
}

/// A receiver's count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deferred {
    /// Segments since the last acknowledgment.
    count: u32,
    /// Number of segments that may pass for now.
    current: u32,
    /// Number of segments that may ever pass.
    largest: u32,
    answers_small_segments: bool,
}

/// However often the other host sends again, so many may pass.
const FLOOR: u32 = 2;

impl Deferred {
    /// A fresh connection; `largest` of 0 or 1 defers nothing.
    pub fn new(largest: u32, answers_small_segments: bool) -> Self {
        Self { count: 0, current: 1, largest, answers_small_segments }
    }

    /// The next segment in order has arrived, with `bytes` of payload; `waiting_bytes` before it are without
    /// acknowledgment.
    ///
    /// The exception: a segment below the MSS is answered at once if what waits is not whole segments. A lone small
    /// segment may be a request, whose reply brings the acknowledgment; a second one shows that no reply comes.
    pub fn on_segment(&mut self, bytes: u32, waiting_bytes: u64, mss: u32) -> Answer {
        self.count += 1;
        if self.count >= self.largest {
            return Answer::Now;
        }
        if self.count > self.current {
            self.current = (self.current + 1).min(self.largest);
            return Answer::Now;
        }
        if self.answers_small_segments && bytes < mss && !waiting_bytes.is_multiple_of(u64::from(mss)) {
            return Answer::Now;
        }
        Answer::Later
    }

    /// A segment came that was there already: the other host did not wait so long.
    pub fn on_duplicate(&mut self) {
        if self.largest > FLOOR && self.count > 0 {
            self.largest -= 1;
        }
        self.current = 1;
    }

    /// An acknowledgment has left, alone or with data.
    pub fn on_sent(&mut self) {
        self.count = 0;
    }

    /// Number of segments that may pass for now.
    pub fn current(&self) -> u32 {
        self.current
    }

    /// Number of segments that may ever pass, as things are.
    pub fn largest(&self) -> u32 {
        self.largest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u32 = 1460;

    /// Payloads, and how many segments each acknowledgment covers.
    fn covered(deferred: &mut Deferred, payloads: impl IntoIterator<Item = u32>) -> Vec<u32> {
        let (mut waiting, mut segments, mut all) = (0, 0, Vec::new());
        for bytes in payloads {
            let answer = deferred.on_segment(bytes, waiting, MSS);
            waiting += u64::from(bytes);
            segments += 1;
            if answer == Answer::Now {
                deferred.on_sent();
                all.push(segments);
                (waiting, segments) = (0, 0);
            }
        }
        all
    }

    #[test]
    fn the_number_grows_to_eight() {
        assert_eq!(covered(&mut Deferred::new(8, true), [MSS; 51]), [2, 3, 4, 5, 6, 7, 8, 8, 8]);
        assert_eq!(covered(&mut Deferred::new(2, true), [MSS; 8]), [2, 2, 2, 2]);
        assert_eq!(covered(&mut Deferred::new(1, true), [MSS; 3]), [1, 1, 1]);
    }

    #[test]
    fn a_second_small_segment_is_answered_at_once() {
        assert_eq!(covered(&mut Deferred::new(8, true), [60, 1440, 60, 1440, 60]), [2, 2]);
        let mut deferred = Deferred::new(8, true);
        assert_eq!(deferred.on_segment(60, 0, MSS), Answer::Later);
        // Behind full segments a small one waits.
        deferred.on_sent();
        assert_eq!(deferred.on_segment(60, u64::from(MSS), MSS), Answer::Later);
    }

    #[test]
    fn every_retransmission_lowers_the_number() {
        let mut deferred = Deferred::new(8, true);
        covered(&mut deferred, [MSS; 51]);
        let mut largest = Vec::new();
        for _ in 0..8 {
            deferred.on_segment(MSS, 0, MSS);
            deferred.on_duplicate();
            deferred.on_sent();
            largest.push(deferred.largest());
        }
        assert_eq!(largest, [7, 6, 5, 4, 3, 2, 2, 2]);
        assert_eq!(covered(&mut deferred, [MSS; 4]), [2, 2]);
    }
}
