//! Round-trip estimate and the retransmission timeout made from it (RFC 6298, with Linux' bounds).

use crate::time::{MS, Ps, S};

/// The least timeout, and the least share of deviation in it (`TCP_RTO_MIN`; RFC 6298 asks for 1 s).
pub const TIMEOUT_MIN: Ps = 200 * MS;
/// The longest timeout (`TCP_RTO_MAX`).
const TIMEOUT_MAX: Ps = 120 * S;
/// Before anything was measured (`TCP_TIMEOUT_INIT`; RFC 6298 2.1).
const TIMEOUT_INITIAL: Ps = S;

/// The round trip, as far as it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RoundTrip {
    /// Smoothed, 0: not measured.
    pub smoothed: Ps,
    /// The smallest one seen; the kernel forgets it after 300 s.
    pub least: Ps,
    /// The newest one.
    pub latest: Ps,
    deviation: Ps,
    /// The largest deviation of this round, and what the timeout is made of.
    deviation_most: Ps,
    variation: Ps,
    round_end: u64,
}

impl RoundTrip {
    /// A new measurement (`tcp_rtt_estimator`, `tcp_input.c`). The deviation that counts is the largest of a round and
    /// at least 200 ms, so the timeout never comes near the round trip itself.
    pub fn on_sample(&mut self, sample: Ps, una: u64, next: u64) {
        self.latest = sample;
        self.least = if self.least == 0 { sample } else { self.least.min(sample) };
        if self.smoothed == 0 {
            self.smoothed = sample.max(1);
            self.deviation = sample / 2;
            self.deviation_most = (2 * sample).max(TIMEOUT_MIN);
            self.variation = self.deviation_most;
            self.round_end = next;
            return;
        }
        let error = self.smoothed.abs_diff(sample);
        let falls = sample < self.smoothed;
        self.smoothed = self.smoothed - self.smoothed / 8 + sample / 8;
        // A fall counts for an eighth: it must not raise the timeout.
        let gain = if falls && error > self.deviation { 32 } else { 4 };
        self.deviation = self.deviation - self.deviation / gain + error / gain;
        let bounded = 4 * self.deviation;
        if bounded > self.deviation_most {
            self.deviation_most = bounded;
            self.variation = self.variation.max(bounded);
        }
        if una > self.round_end {
            if self.deviation_most < self.variation {
                self.variation -= (self.variation - self.deviation_most) / 4;
            }
            self.round_end = next;
            self.deviation_most = TIMEOUT_MIN;
        }
    }

    /// The timeout after so many in a row (`tcp_set_rto`; doubled each time, RFC 6298 5.5).
    pub fn timeout(&self, backoff: u32) -> Ps {
        let once = if self.smoothed == 0 { TIMEOUT_INITIAL } else { self.smoothed + self.variation };
        once.saturating_mul(1 << backoff.min(16)).clamp(TIMEOUT_MIN, TIMEOUT_MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_timeout_is_200_ms_over_a_steady_round_trip() {
        let mut trip = RoundTrip::default();
        assert_eq!(trip.timeout(0), S);
        for round in 1..200 {
            trip.on_sample(10 * MS, round * 1000, round * 1000 + 500);
        }
        assert_eq!(trip.smoothed / MS, 10);
        assert_eq!(trip.timeout(0) / MS, 210);
        assert_eq!(trip.timeout(2) / MS, 840);
        assert_eq!(trip.timeout(30), TIMEOUT_MAX);
    }

    #[test]
    fn a_jump_raises_it_for_a_while() {
        let mut trip = RoundTrip::default();
        for round in 1..50 {
            trip.on_sample(10 * MS, round * 1000, round * 1000 + 500);
        }
        trip.on_sample(400 * MS, 50_000, 50_500);
        assert!(trip.timeout(0) > 400 * MS);
        assert_eq!(trip.least, 10 * MS);
    }
}
