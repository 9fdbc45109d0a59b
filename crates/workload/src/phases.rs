//! Phases of a trial and the instants at which samples are due.

use schema::trial::Stop;

pub use schema::trial::Phase;

/// One interval between samples, relative to the start of the load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interval {
    /// Number, from 0.
    pub index: u32,
    /// The phase it belongs to; no interval lies in two.
    pub phase: Phase,
    /// End in ns after the start of the load. The start is the end of the one before.
    pub end_ns: u64,
}

/// The intervals of a trial, in order. A transfer of bytes, or a workload that ends by itself, has
/// intervals without end, all of them measurement; a timed one has those of its three phases, where the last interval of a phase is
/// shorter if the phase is no multiple of the interval.
#[derive(Debug, Clone)]
pub struct Intervals {
    ends: [(Phase, u64); 3],
    interval_ns: u64,
    next_index: u32,
    now_ns: u64,
}

impl Intervals {
    /// The intervals of length `interval_ns` (at least 1) under `stop`.
    pub fn new(stop: &Stop, interval_ns: u64) -> Self {
        let ends = match *stop {
            Stop::Bytes { .. } | Stop::Workload => [(Phase::WarmUp, 0), (Phase::Measure, u64::MAX), (Phase::CoolDown, u64::MAX)],
            Stop::Duration { warmup_ns, measure_ns, cooldown_ns } => {
                let measured = warmup_ns.saturating_add(measure_ns);
                [(Phase::WarmUp, warmup_ns), (Phase::Measure, measured), (Phase::CoolDown, measured.saturating_add(cooldown_ns))]
            }
        };
        Self { ends, interval_ns: interval_ns.max(1), next_index: 0, now_ns: 0 }
    }
}

impl Iterator for Intervals {
    type Item = Interval;

    fn next(&mut self) -> Option<Interval> {
        let (phase, phase_end_ns) = self.ends.into_iter().find(|(_, end)| self.now_ns < *end)?;
        let end_ns = self.now_ns.saturating_add(self.interval_ns).min(phase_end_ns);
        let interval = Interval { index: self.next_index, phase, end_ns };
        self.next_index += 1;
        self.now_ns = end_ns;
        Some(interval)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn intervals_tile_the_phases(warmup_ns in 0u64..5_000, measure_ns in 1u64..5_000, cooldown_ns in 0u64..3_000, interval_ns in 1u64..1_000) {
            let stop = Stop::Duration { warmup_ns, measure_ns, cooldown_ns };
            let intervals: Vec<Interval> = Intervals::new(&stop, interval_ns).collect();
            let mut start = 0;
            let mut sums = [0u64; 3];
            for (position, interval) in intervals.iter().enumerate() {
                prop_assert_eq!(interval.index as usize, position);
                let length = interval.end_ns - start;
                prop_assert!(length > 0 && length <= interval_ns);
                sums[interval.phase as usize] += length;
                start = interval.end_ns;
            }
            prop_assert_eq!(sums, [warmup_ns, measure_ns, cooldown_ns]);
            prop_assert!(intervals.windows(2).all(|pair| pair[0].phase <= pair[1].phase));
        }
    }

    #[test]
    fn a_transfer_of_bytes_is_all_measurement() {
        let first: Vec<Interval> = Intervals::new(&Stop::Bytes { payload_bytes: 1 }, 7).take(3).collect();
        assert!(first.iter().all(|interval| interval.phase == Phase::Measure));
        assert_eq!(first[2].end_ns, 21);
    }
}
