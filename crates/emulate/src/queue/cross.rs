//! Cross traffic: packets that nobody sends, but that take room in the queue and time of the bottleneck.

use schema::path::CrossTraffic;
use std::f64::consts::TAU;

/// All cross traffic of a direction, in order of time.
#[derive(Debug, Clone)]
pub struct Cross {
    sources: Vec<Source>,
}

impl Cross {
    /// Begins at `start_ns`.
    pub fn new(specs: &[CrossTraffic], start_ns: u64) -> Self {
        Self { sources: specs.iter().map(|spec| Source::new(*spec, start_ns)).collect() }
    }

    /// The next packet up to `to_ns`: when it arrives, and its size.
    pub fn poll(&mut self, to_ns: u64) -> Option<(u64, u32)> {
        let source = self.sources.iter_mut().min_by_key(|source| source.next_ns)?;
        (source.next_ns <= to_ns).then(|| source.take())
    }
}

/// A flow. The n-th packet arrives when the integral of the rate has reached n packets, so that the rate
/// is met without drift whatever the distances are rounded to.
#[derive(Debug, Clone)]
struct Source {
    spec: CrossTraffic,
    start_ns: u64,
    /// Packets so far, the next one counted.
    count: u64,
    next_ns: u64,
}

impl Source {
    fn new(spec: CrossTraffic, start_ns: u64) -> Self {
        let mut source = Self { spec, start_ns, count: 1, next_ns: start_ns };
        source.next_ns = start_ns + source.elapsed_ns(0);
        source
    }

    fn take(&mut self) -> (u64, u32) {
        let taken = (self.next_ns, self.spec.packet_bytes);
        self.count += 1;
        self.next_ns = self.start_ns + self.elapsed_ns(self.next_ns - self.start_ns);
        taken
    }

    /// When packet `count` comes, given when the one before came.
    fn elapsed_ns(&self, before_ns: u64) -> u64 {
        let bits = u128::from(self.count) * u128::from(self.spec.packet_bytes) * 8;
        let constant_ns = bits * 1_000_000_000 / u128::from(self.spec.rate_bps.max(1));
        let constant_ns = u64::try_from(constant_ns).unwrap_or(u64::MAX / 4).min(u64::MAX / 4);
        if self.spec.amplitude_bps == 0 { constant_ns } else { self.swinging_ns(bits as f64, before_ns, constant_ns) }
    }

    /// Where the integral `r t + (a p / 2 pi) (1 - cos(2 pi t / p))` is `bits`. It is never below `r t`, so
    /// the root lies before that of a constant rate. Newton's steps, halved where they would leave the
    /// bracket.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // between two whole numbers
    fn swinging_ns(&self, bits: f64, low_ns: u64, high_ns: u64) -> u64 {
        let rate = self.spec.rate_bps as f64 / 1e9;
        let amplitude = self.spec.amplitude_bps as f64 / 1e9;
        let period = self.spec.period_ns.max(1) as f64;
        let (mut low, mut high) = (low_ns as f64, high_ns as f64);
        let mut at = (low + f64::from(self.spec.packet_bytes) * 8.0 / rate).min(high);
        while high - low > 0.5 {
            let phase = TAU * (at / period).fract();
            let missing = bits - (rate * at + amplitude * period / TAU * (1.0 - phase.cos()));
            if missing > 0.0 {
                low = at;
            } else {
                high = at;
            }
            let step = missing / (rate + amplitude * phase.sin());
            if step.abs() < 0.25 {
                break;
            }
            let newton = at + step;
            at = if newton > low && newton < high { newton } else { low.midpoint(high) };
        }
        (at as u64).max(low_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrivals(spec: CrossTraffic, to_ns: u64) -> Vec<u64> {
        let mut cross = Cross::new(&[spec], 0);
        std::iter::from_fn(|| cross.poll(to_ns).map(|(at_ns, _)| at_ns)).collect()
    }

    #[test]
    fn a_constant_rate_has_equal_distances_and_no_drift() {
        // 10 Mbit/s in packets of 1250 bytes: one a millisecond.
        let spec = CrossTraffic { rate_bps: 10_000_000, amplitude_bps: 0, period_ns: 0, packet_bytes: 1250 };
        let at = arrivals(spec, 10_000_000_000);
        assert_eq!(at.len(), 10_000);
        assert!(at.iter().zip(1u64..).all(|(at_ns, number)| *at_ns == number * 1_000_000));
    }

    #[test]
    fn a_swinging_rate_follows_its_sine() {
        let spec = CrossTraffic { rate_bps: 50_000_000, amplitude_bps: 50_000_000, period_ns: 2_000_000_000, packet_bytes: 500 };
        let at = arrivals(spec, 4_000_000_000);
        assert!(at.windows(2).all(|pair| pair[0] <= pair[1]));
        let bits_until = |to_ns: u64| at.iter().filter(|at_ns| **at_ns <= to_ns).count() as f64 * 4000.0;
        // Over whole periods the mean; over the first half r p / 2 + a p / pi.
        assert!((bits_until(4_000_000_000) - 200e6).abs() <= 4000.0);
        assert!((bits_until(1_000_000_000) - (50e6 + 100e6 / std::f64::consts::PI)).abs() <= 4000.0);
        assert!((bits_until(500_000_000) - (25e6 + 50e6 / std::f64::consts::PI)).abs() <= 4000.0);
    }

    #[test]
    fn sources_come_in_order_of_time() {
        let spec = |rate_bps| CrossTraffic { rate_bps, amplitude_bps: 0, period_ns: 0, packet_bytes: 100 };
        let mut cross = Cross::new(&[spec(8_000), spec(24_000)], 0);
        let at: Vec<u64> = std::iter::from_fn(|| cross.poll(200_000_000).map(|(at_ns, _)| at_ns / 1_000_000)).collect();
        assert_eq!(at, [33, 66, 100, 100, 133, 166, 200, 200]);
    }
}
