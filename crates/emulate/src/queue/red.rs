//! Random early detection: Floyd, Jacobson, "Random early detection gateways for congestion avoidance",
//! IEEE/ACM Transactions on Networking 1(4), 1993, section IV, figure 2.

use crate::rng::{Decision, Stream};
use crate::station::server::Server;
use schema::path::{BILLION, Discipline};

/// The paper's s, "a typical transmission time": by so many steps of it the average decays while the
/// queue is empty.
const TYPICAL_BYTES: u32 = 1514;

/// The fate of a packet that arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It enters the queue.
    Pass,
    /// It was chosen at random: marked if it can be, else dropped.
    Early,
    /// The average is above the upper threshold: dropped, whether or not it can be marked (RFC 3168
    /// section 7).
    Forced,
}

/// The average and what follows from it.
#[derive(Debug, Clone)]
pub struct Red {
    min_bytes: f64,
    max_bytes: f64,
    probability: f64,
    weight: f64,
    is_gentle: bool,
    typical_ns: u64,
    average_bytes: f64,
    /// Packets that passed since the last that was chosen, or since the average rose above the lower
    /// threshold.
    passed: u64,
    rng: Stream,
}

impl Red {
    /// `None` for another discipline.
    pub fn new(discipline: &Discipline, server: &Server, seed: u64, direction: u64) -> Option<Self> {
        let Discipline::Red { min_bytes, max_bytes, probability_per_billion, weight_log, is_gentle } = *discipline else {
            return None;
        };
        Some(Self {
            min_bytes: min_bytes as f64,
            max_bytes: max_bytes as f64,
            probability: f64::from(probability_per_billion) / f64::from(BILLION),
            weight: 0.5f64.powi(i32::from(weight_log)),
            is_gentle,
            typical_ns: server.duration_ns(TYPICAL_BYTES).max(1),
            average_bytes: 0.0,
            passed: 0,
            rng: Stream::new(seed, direction, Decision::Red),
        })
    }

    /// A packet arrives at a queue of `waiting_bytes`, the packet that is being sent not counted, that has
    /// been empty for `idle_ns`.
    pub fn on_arrival(&mut self, waiting_bytes: u64, idle_ns: u64) -> Verdict {
        if idle_ns > 0 {
            self.average_bytes *= power(1.0 - self.weight, idle_ns / self.typical_ns);
        } else {
            self.average_bytes += self.weight * (waiting_bytes as f64 - self.average_bytes);
        }
        if self.average_bytes < self.min_bytes {
            self.passed = 0;
            return Verdict::Pass;
        }
        let Some(probability) = self.probability_now() else {
            self.passed = 0;
            return Verdict::Forced;
        };
        // The paper's p_a = p_b / (1 - count p_b): distances between the chosen are spread evenly.
        let left = 1.0 - self.passed as f64 * probability;
        if left <= 0.0 || self.rng.unit() * left < probability {
            self.passed = 0;
            return if self.average_bytes < self.max_bytes { Verdict::Early } else { Verdict::Forced };
        }
        self.passed += 1;
        Verdict::Pass
    }

    /// The paper's `p_b`, or none where everything is dropped.
    fn probability_now(&self) -> Option<f64> {
        if self.average_bytes < self.max_bytes {
            let share = (self.average_bytes - self.min_bytes) / (self.max_bytes - self.min_bytes);
            return Some(share * self.probability);
        }
        let share = self.average_bytes / self.max_bytes - 1.0;
        (self.is_gentle && share < 1.0).then_some(self.probability + share * (1.0 - self.probability))
    }
}

/// By squaring: the same on every machine, which `powf` is not.
fn power(base: f64, exponent: u64) -> f64 {
    let (mut result, mut square, mut left) = (1.0, base, exponent);
    while left > 0 && result > 0.0 {
        if left & 1 == 1 {
            result *= square;
        }
        square *= square;
        left >>= 1;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    fn red(is_gentle: bool) -> Red {
        // A weight of 1/2 makes the average easy to follow by hand.
        let discipline =
            Discipline::Red { min_bytes: 10_000, max_bytes: 30_000, probability_per_billion: 100_000_000, weight_log: 1, is_gentle };
        Red::new(&discipline, &Server::new(12_112_000), 1, 0).expect("RED")
    }

    #[test]
    fn the_average_follows_the_queue_and_decays_while_it_is_empty() {
        let mut red = red(false);
        assert_eq!(red.on_arrival(8_000, 0), Verdict::Pass);
        assert!((red.average_bytes - 4_000.0).abs() < 1e-9);
        red.on_arrival(8_000, 0);
        assert!((red.average_bytes - 6_000.0).abs() < 1e-9);
        // 1514 bytes take 1 ms at this rate: three of them halve it three times.
        red.on_arrival(0, 3_999_999);
        assert!((red.average_bytes - 750.0).abs() < 1e-9);
    }

    /// Between the thresholds packets are counted, the lower one included (paper, figure 2: `min_th <= avg < max_th`).
    #[test]
    fn packets_count_from_the_lower_threshold_on() {
        let mut red = red(false);
        red.average_bytes = 10_000.0;
        assert_eq!((red.on_arrival(10_000, 0), red.passed), (Verdict::Pass, 1));
        red.average_bytes = 9_998.0;
        assert_eq!((red.on_arrival(10_000, 0), red.passed), (Verdict::Pass, 0));
    }

    /// With a constant probability p the distance between two chosen is 1 … 1/p, each as likely (paper,
    /// section VII). At an average of 20000 it is 0.05.
    #[test]
    fn distances_between_the_chosen_are_uniform() {
        let mut red = red(false);
        red.average_bytes = 20_000.0;
        let mut distances = Vec::new();
        let mut distance = 0u32;
        while distances.len() < 20_000 {
            distance += 1;
            if red.on_arrival(20_000, 0) == Verdict::Early {
                distances.push(distance);
                distance = 0;
            }
        }
        let distances = &distances[1..];
        assert!(distances.iter().all(|distance| (1..=20).contains(distance)), "{:?}", distances.iter().max());
        for value in 1..=20 {
            let share = distances.iter().filter(|distance| **distance == value).count() as f64 / distances.len() as f64;
            assert!((share - 0.05).abs() < 0.01, "{value}: {share}");
        }
    }

    #[test]
    fn above_the_upper_threshold_everything_goes_unless_it_is_gentle() {
        let mut hard = red(false);
        hard.average_bytes = 31_000.0;
        assert!((0..100).all(|_| hard.on_arrival(31_000, 0) == Verdict::Forced));
        let mut gentle = red(true);
        gentle.average_bytes = 45_000.0;
        // p_b = 0.1 + 0.5 * 0.9 = 0.55: the distance is 1 or 2, in the mean 1 + (1 - 0.55) = 1.45.
        let dropped = (0..10_000).filter(|_| gentle.on_arrival(45_000, 0) == Verdict::Forced).count();
        assert!((dropped as f64 / 10_000.0 * 1.45 - 1.0).abs() < 0.03, "{dropped}");
        gentle.average_bytes = 61_000.0;
        assert!((0..100).all(|_| gentle.on_arrival(61_000, 0) == Verdict::Forced));
    }
}
