//! The decision of a receiver whether it asks in poll(2) before its next read.
//!
//! Asking lets it fall a little behind the sender, so that segments grow. Among many connections it
//! is behind anyway, for their threads take turns. Where its socket holds a great many reads' worth,
//! asking before each would cost as much as the read: then it reads half of what is known to be
//! there without. Among few that would let it catch up, and the segments shrink to single writes.

/// Connections that are many: with 10 it lost three quarters of the rate, with 100 it gained half.
const MANY: u32 = 64;
/// Full reads in a row, each asked for, before it is looked how much is there.
const LOOKED_AFTER: u32 = 64;
/// Reads' worth that make a backlog, and bytes.
const BACKLOG_READS: usize = 64;
const BACKLOG_BYTES: usize = 64 << 10;

/// The amount that a receiver has read from its socket without asking.
#[derive(Debug)]
pub(crate) struct Asking {
    is_one_of_many: bool,
    /// Full reads in a row that were asked for.
    full_reads: u32,
    /// Reads that need no asking.
    unasked: usize,
}

impl Asking {
    /// Of one of so many connections.
    pub fn new(connections_count: u32) -> Self {
        Self { is_one_of_many: connections_count >= MANY, full_reads: 0, unasked: 0 }
    }

    /// True if it is to ask before the next read.
    #[inline]
    pub fn is_due(&self) -> bool {
        self.unasked == 0
    }

    /// A read has taken something; whether it got all it wanted. Returns whether it is time to look how
    /// much is there, for [`Asking::on_look`].
    #[inline]
    pub fn on_read(&mut self, is_full: bool) -> bool {
        if !self.is_one_of_many {
            return false;
        }
        if !is_full {
            (self.full_reads, self.unasked) = (0, 0);
        } else if self.unasked > 0 {
            self.unasked -= 1;
            return self.unasked == 0;
        } else {
            self.full_reads += 1;
            if self.full_reads >= LOOKED_AFTER {
                self.full_reads = 0;
                return true;
            }
        }
        false
    }

    /// So many bytes are there to be read.
    pub fn on_look(&mut self, waiting_bytes: usize, read_bytes: usize) {
        let reads = waiting_bytes / read_bytes.max(1);
        self.unasked = if reads >= BACKLOG_READS && waiting_bytes >= BACKLOG_BYTES { reads / 2 } else { 0 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts how many of so many full reads are asked for, when so much is there each time it is looked.
    fn asked(asking: &mut Asking, reads: u32, waiting_bytes: usize) -> u32 {
        let mut count = 0;
        for _ in 0..reads {
            count += u32::from(asking.is_due());
            if asking.on_read(true) {
                asking.on_look(waiting_bytes, 64);
            }
        }
        count
    }

    #[test]
    fn a_backlog_is_read_without_asking() {
        let mut asking = Asking::new(MANY);
        assert_eq!(asked(&mut asking, LOOKED_AFTER, 1 << 20), LOOKED_AFTER);
        assert_eq!(asked(&mut asking, 100_000, 1 << 20), 0);
    }

    #[test]
    fn among_few_every_read_is_asked_for() {
        assert_eq!(asked(&mut Asking::new(MANY - 1), 1000, 1 << 20), 1000);
    }

    #[test]
    fn never_more_than_half_of_it() {
        let mut asking = Asking::new(MANY);
        asked(&mut asking, LOOKED_AFTER, BACKLOG_BYTES);
        let unasked = BACKLOG_BYTES / 64 / 2;
        assert_eq!(asked(&mut asking, u32::try_from(unasked).expect("small") + 1, 0), 1);
    }

    #[test]
    fn little_or_a_short_read_is_asked_for() {
        let mut asking = Asking::new(MANY);
        assert_eq!(asked(&mut asking, 1000, BACKLOG_BYTES - 64), 1000);
        asked(&mut asking, LOOKED_AFTER, 1 << 20);
        asking.on_read(false);
        assert!(asking.is_due());
    }
}
