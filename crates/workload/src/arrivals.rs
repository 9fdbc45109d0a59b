//! When the executions of an open loop are to begin. Exact and seeded: neither drifts with what
//! happened before.

use schema::workload::Arrivals;

use crate::sizes::mix;

/// Nanoseconds in the thousand seconds of a rate.
const KILOSECOND_NS: u128 = 1_000_000_000_000;

/// Which share of a group's arrivals a user has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    /// Position of the user in its group, from 0.
    pub position: u32,
    /// Virtual users of the group.
    pub strands_count: u32,
    /// Seed of this user's draws.
    pub seed: u64,
}

/// The intended instants of one user, in ns since the transaction began.
///
/// The arrivals of a group go round its users: user `k` of `n` has arrivals `k`, `k + n`, … of the
/// constant rate and of the trace. Of a Poisson process each user has one of its own at `1 / n` of
/// the rate; together they are the group's.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Schedule {
    share: Share,
    /// The next arrival's number among the user's.
    ordinal: u64,
    /// Of a Poisson process: the last arrival, in ns.
    sum_ns: f64,
    next_ns: Option<u64>,
}

impl Schedule {
    /// The schedule from its beginning.
    pub fn new(arrivals: &Arrivals, share: Share) -> Self {
        let mut schedule = Self { share, ordinal: 0, sum_ns: 0.0, next_ns: None };
        schedule.next_ns = schedule.compute(arrivals);
        schedule
    }

    /// The next intended instant; absent in a closed loop, and when a trace is used up.
    #[inline]
    pub fn next_ns(&self) -> Option<u64> {
        self.next_ns
    }

    /// Goes on to the one after.
    pub fn advance(&mut self, arrivals: &Arrivals) {
        self.ordinal += 1;
        self.next_ns = self.compute(arrivals);
    }

    fn compute(&mut self, arrivals: &Arrivals) -> Option<u64> {
        let number = u128::from(self.ordinal) * u128::from(self.share.strands_count) + u128::from(self.share.position);
        match arrivals {
            Arrivals::Closed => None,
            Arrivals::Constant { per_kilosecond } => {
                let instant_ns = number * KILOSECOND_NS / u128::from((*per_kilosecond).max(1));
                Some(u64::try_from(instant_ns).unwrap_or(u64::MAX))
            }
            Arrivals::Poisson { per_kilosecond } => {
                let mean_ns = 1e12 * f64::from(self.share.strands_count) / (*per_kilosecond).max(1) as f64;
                self.sum_ns += mean_ns * exponential(mix(self.share.seed ^ mix(self.ordinal)));
                #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates, and is above 0")]
                let instant_ns = self.sum_ns as u64;
                Some(instant_ns)
            }
            Arrivals::Trace { intended_ns } => usize::try_from(number).ok().and_then(|index| intended_ns.get(index)).copied(),
        }
    }
}

/// A draw from the exponential distribution of mean 1, by inversion.
fn exponential(bits: u64) -> f64 {
    // 53 bits make a double in (0, 1]; its logarithm is finite.
    let uniform = ((bits >> 11) + 1) as f64 / (1u64 << 53) as f64;
    -uniform.ln()
}

/// Counts the intended arrivals of a whole group, for those who only count.
#[derive(Debug)]
pub struct Intended {
    users: Vec<Schedule>,
    count: u64,
}

impl Intended {
    /// Counts from the beginning.
    pub fn new(arrivals: &Arrivals, strands_count: u32, seed_of: impl Fn(u32) -> u64) -> Self {
        // Only a Poisson process has to be followed user by user; of the others the group's own
        // numbers suffice.
        let users = match arrivals {
            Arrivals::Poisson { .. } => (0..strands_count)
                .map(|position| Schedule::new(arrivals, Share { position, strands_count, seed: seed_of(position) }))
                .collect(),
            _ => vec![Schedule::new(arrivals, Share { position: 0, strands_count: 1, seed: 0 })],
        };
        Self { users, count: 0 }
    }

    /// Arrivals intended before `since_begin_ns`. Never goes back.
    pub fn count_until(&mut self, arrivals: &Arrivals, since_begin_ns: u64) -> u64 {
        if let Arrivals::Constant { per_kilosecond } = arrivals {
            // Numbers 0, 1, … whose rounded instant lies before.
            let whole = u128::from(since_begin_ns) * u128::from(*per_kilosecond);
            self.count = self.count.max(u64::try_from(whole.div_ceil(KILOSECOND_NS)).unwrap_or(u64::MAX));
            return self.count;
        }
        for schedule in &mut self.users {
            while schedule.next_ns().is_some_and(|next_ns| next_ns < since_begin_ns) {
                schedule.advance(arrivals);
                self.count += 1;
            }
        }
        self.count
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn instants(arrivals: &Arrivals, share: Share, count: usize) -> Vec<u64> {
        let mut schedule = Schedule::new(arrivals, share);
        let mut instants = Vec::new();
        while let (Some(next), true) = (schedule.next_ns(), instants.len() < count) {
            instants.push(next);
            schedule.advance(arrivals);
        }
        instants
    }

    proptest! {
        #[test]
        fn users_share_a_constant_rate_exactly(per_kilosecond in 1u64..10_000_000_000, strands_count in 1u32..20) {
            let arrivals = Arrivals::Constant { per_kilosecond };
            let mut all: Vec<u64> = (0..strands_count)
                .flat_map(|position| instants(&arrivals, Share { position, strands_count, seed: 0 }, 10))
                .collect();
            all.sort_unstable();
            let exact: Vec<u64> = (0..10 * u128::from(strands_count))
                .map(|number| u64::try_from(number * KILOSECOND_NS / u128::from(per_kilosecond)).expect("short"))
                .collect();
            prop_assert_eq!(all, exact);
        }

        #[test]
        fn who_only_counts_counts_the_same(kind in 0..3, strands_count in 1u32..6, until in 0u64..2_000_000_000, seed: u64) {
            let arrivals = match kind {
                0 => Arrivals::Constant { per_kilosecond: 77_777 },
                1 => Arrivals::Poisson { per_kilosecond: 77_777 },
                _ => Arrivals::Trace { intended_ns: (0..100).map(|number| number * number * 100_000).collect() },
            };
            let seed_of = |position: u32| mix(seed ^ u64::from(position));
            let each = (0..strands_count)
                .flat_map(|position| instants(&arrivals, Share { position, strands_count, seed: seed_of(position) }, 1_000));
            let expected = each.filter(|instant| *instant < until).count() as u64;
            prop_assert_eq!(Intended::new(&arrivals, strands_count, seed_of).count_until(&arrivals, until), expected);
        }
    }

    #[test]
    fn a_poisson_process_has_its_rate_and_its_variance() {
        let arrivals = Arrivals::Poisson { per_kilosecond: 1_000_000 };
        let instants = instants(&arrivals, Share { position: 0, strands_count: 1, seed: 42 }, 100_000);
        let gaps: Vec<f64> = instants.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        // The rate is 1000 a second; of an exponential the standard deviation is the mean.
        assert!((mean / 1e6 - 1.0).abs() < 0.02, "{mean}");
        assert!((variance.sqrt() / mean - 1.0).abs() < 0.02, "{variance}");
    }

    #[test]
    fn users_share_a_poisson_rate() {
        let arrivals = Arrivals::Poisson { per_kilosecond: 1_000_000 };
        // Each of four has a fourth of 1000 a second.
        let last = *instants(&arrivals, Share { position: 1, strands_count: 4, seed: 42 }, 100_000).last().expect("they go on");
        assert!((last as f64 / 1e9 / 400.0 - 1.0).abs() < 0.02, "{last}");
    }

    #[test]
    fn a_trace_is_dealt_out_and_ends() {
        let arrivals = Arrivals::Trace { intended_ns: vec![5, 6, 9] };
        assert_eq!(instants(&arrivals, Share { position: 0, strands_count: 2, seed: 0 }, 9), [5, 9]);
        assert_eq!(instants(&arrivals, Share { position: 1, strands_count: 2, seed: 0 }, 9), [6]);
    }
}
