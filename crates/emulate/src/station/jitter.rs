//! Jitter: a delay that wanders about its mean, and never so fast that packets change their order.

use crate::rng::{Decision, Stream};

/// Knots lie this many times the greatest deviation apart. Between two of them the delay changes by twice
/// the deviation at most, so that packets come closer together, or move apart, by half at most.
const KNOT_DEVIATIONS: u64 = 4;

/// The deviation of the delay from its mean at an instant.
#[derive(Debug, Clone)]
pub struct Jitter {
    most_ns: u64,
    rng: Stream,
}

impl Jitter {
    /// Wanders by up to `most_ns` to either side.
    pub fn new(most_ns: u64, seed: u64, direction: u64) -> Self {
        Self { most_ns, rng: Stream::new(seed, direction, Decision::Jitter) }
    }

    /// The greatest deviation.
    pub fn most_ns(&self) -> u64 {
        self.most_ns
    }

    /// The deviation at `elapsed_ns` after the path began, raised by the greatest so that it is never
    /// below 0.
    fn raised_ns(&self, elapsed_ns: u64) -> u64 {
        let span_ns = KNOT_DEVIATIONS * self.most_ns;
        let (knot, into_ns) = (elapsed_ns / span_ns, elapsed_ns % span_ns);
        let from = self.rng.below_at(knot, 2 * self.most_ns + 1);
        let to = self.rng.below_at(knot + 1, 2 * self.most_ns + 1);
        let blend = u128::from(from) * u128::from(span_ns - into_ns) + u128::from(to) * u128::from(into_ns);
        u64::try_from(blend / u128::from(span_ns)).unwrap_or(u64::MAX)
    }

    /// The delay of what leaves at `elapsed_ns` after the path began, around `delay_ns`, which is not less
    /// than the greatest deviation.
    pub fn delay_ns(&self, delay_ns: u64, elapsed_ns: u64) -> u64 {
        if self.most_ns == 0 { delay_ns } else { (delay_ns - self.most_ns) + self.raised_ns(elapsed_ns) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_is_kept_and_the_bounds_are_held() {
        let (delay_ns, most_ns) = (5_000_000, 1_000_000);
        let jitter = Jitter::new(most_ns, 5, 0);
        let mut last_ns = 0;
        let mut seen: (u64, u64) = (u64::MAX, 0);
        for elapsed_ns in (0..2_000_000_000).step_by(7_919) {
            let delayed_ns = jitter.delay_ns(delay_ns, elapsed_ns);
            assert!(delayed_ns.abs_diff(delay_ns) <= most_ns);
            assert!(elapsed_ns + delayed_ns >= last_ns);
            last_ns = elapsed_ns + delayed_ns;
            seen = (seen.0.min(delayed_ns), seen.1.max(delayed_ns));
        }
        // 500 knots come close to both bounds.
        assert!(seen.0 < delay_ns - most_ns * 95 / 100 && seen.1 > delay_ns + most_ns * 95 / 100, "{seen:?}");
    }

    #[test]
    fn none_is_none() {
        assert_eq!(Jitter::new(0, 5, 0).delay_ns(17, 123), 17);
    }

    /// Between knots the delay follows a straight line.
    #[test]
    fn the_delay_is_interpolated_between_knots() {
        let jitter = Jitter::new(1_000_000, 5, 0);
        assert_eq!(jitter.most_ns(), 1_000_000);
        let span_ns = 4_000_000;
        let knots: Vec<u64> = (0..20).map(|knot| jitter.raised_ns(knot * span_ns)).collect();
        let drawn: Vec<u64> = (0..20).map(|knot| jitter.rng.below_at(knot, 2_000_001)).collect();
        assert_eq!(knots, drawn);
        assert!(knots.windows(2).all(|pair| pair[0] != pair[1]));
        for (knot, pair) in (0..).zip(knots.windows(2)) {
            for quarter in 0..4 {
                let exact = (pair[0] * (4 - quarter) + pair[1] * quarter) / 4;
                assert_eq!(jitter.raised_ns(knot * span_ns + quarter * span_ns / 4), exact);
            }
        }
    }
}
