//! The receive buffer grows with what the application reads in a round trip (`tcp_rcv_space_adjust`,
//! `tcp_input.c`; Fisk, Feng, "Dynamic Right-Sizing in TCP", 2001).

use crate::time::{MS, Ps};

/// The receiver's measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tuning {
    /// Bytes read in a round trip (`rcvq_space.space`).
    pub space: u64,
    since: Ps,
    from: u64,
    /// The receiver's own estimate of the round trip, 0: none.
    pub round_trip: Ps,
    window_since: Option<Ps>,
    window_end: u64,
}

impl Tuning {
    /// A connection that announces `window` at first: ten segments are held for a round trip's worth.
    pub fn new(window: u64, mss: u32) -> Self {
        let space = window.min(10 * u64::from(mss));
        Self { space, since: 0, from: 0, round_trip: 0, window_since: None, window_end: 0 }
    }

    /// Data arrived: a whole window takes a round trip at least (`tcp_rcv_rtt_measure`). Time stamps, which count in
    /// milliseconds, give no less than one (`tcp_rcv_rtt_measure_ts`); the smaller of both counts.
    pub fn on_data(&mut self, now: Ps, expected: u64, window: u64) {
        match self.window_since {
            Some(_) if expected < self.window_end => return,
            Some(since) => {
                let sample = (now - since).max(1);
                self.round_trip = if self.round_trip == 0 { sample.max(MS) } else { self.round_trip.min(sample) };
            }
            None => {}
        }
        self.window_since = Some(now);
        self.window_end = expected + window;
    }

    /// The application has read up to `copied`; `unread` lies in the buffer. The window that is wanted, if it grows.
    pub fn on_read(&mut self, now: Ps, copied: u64, unread: u64, mss: u32) -> Option<u64> {
        if self.round_trip == 0 || now - self.since < self.round_trip {
            return None;
        }
        let read = (copied - self.from).saturating_sub(unread);
        (self.since, self.from) = (now, copied);
        if read <= self.space {
            return None;
        }
        // Twice against losses, and twice again as far as the rate has grown.
        let window = 2 * read + 16 * u64::from(mss);
        let growth = u128::from(window) * u128::from(read - self.space) / u128::from(self.space.max(1));
        self.space = read;
        Some(window.saturating_add(u64::try_from(2 * growth).unwrap_or(u64::MAX)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads so many bytes in each of some round trips of 10 ms; the windows that were wanted.
    fn wanted(reads: &[u64]) -> Vec<Option<u64>> {
        let mut tuning = Tuning::new(65_536, 1000);
        tuning.round_trip = 10 * MS;
        let mut copied = 0;
        let mut now = 0;
        reads
            .iter()
            .map(|read| {
                copied += read;
                now += 10 * MS;
                tuning.on_read(now, copied, 0, 1000)
            })
            .collect()
    }

    #[test]
    fn the_window_is_twice_what_was_read_and_more_while_that_grows() {
        assert_eq!(wanted(&[5000, 10_000, 15_000, 15_000]), [None, None, Some(92_000), None]);
        assert_eq!(wanted(&[20_000])[0], Some(56_000 * 3));
    }

    #[test]
    fn nothing_is_concluded_within_a_round_trip() {
        let mut tuning = Tuning::new(65_536, 1000);
        assert_eq!(tuning.on_read(50 * MS, 1 << 20, 0, 1000), None);
        tuning.on_data(0, 0, 10_000);
        tuning.on_data(4 * MS, 9_999, 10_000);
        assert_eq!(tuning.round_trip, 0);
        tuning.on_data(7 * MS, 10_000, 10_000);
        assert_eq!(tuning.round_trip, 7 * MS);
        tuning.on_data(8 * MS, 20_000, 10_000);
        assert_eq!(tuning.round_trip, MS);
    }
}
