//! The actions of the users of one thread: counters that the sampler may read at any time, and
//! histograms that are merged when all is over.

use hdrhistogram::Histogram;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use workload::phases::Phase;
use workload::user::Execution;

pub use schema::table::LatencyKind as Kind;

use crate::LoadError;
use crate::counter::Counts;

/// Longest latency that is counted as itself: 100 s.
const LONGEST_NS: u64 = 100_000_000_000;
/// Significant decimal digits of a latency.
const DIGITS: u8 = 3;

/// A count with a single writer.
#[derive(Debug, Default)]
pub struct Count(AtomicU64);

impl Count {
    /// Counts. For the thread that owns it.
    #[inline]
    pub fn add(&self, count: u64) {
        self.0.store(self.0.load(Ordering::Relaxed) + count, Ordering::Relaxed);
    }

    /// Reads it, at any time.
    pub fn read(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Counts of one user.
#[derive(Debug, Default)]
pub struct UserCounter {
    /// Payload moved in bytes, both directions.
    pub payload_bytes: Count,
    /// Calls that moved payload, or tried.
    pub calls_count: Count,
}

impl UserCounter {
    /// Reads the totals. The two may be one call apart.
    pub fn read(&self) -> Counts {
        Counts { payload_bytes: self.payload_bytes.read(), calls_count: self.calls_count.read() }
    }
}

/// Counts of one transaction.
#[derive(Debug, Default)]
pub struct RowCounter {
    /// Executions that ended.
    pub ended: Count,
    /// Executions that began.
    pub begun: Count,
    /// Executions that failed.
    pub failed: Count,
    /// Payload sent, in bytes.
    pub sent_bytes: Count,
    /// Payload received, in bytes.
    pub received_bytes: Count,
    /// System calls of the data path.
    pub calls: Count,
    /// Operations that ended.
    pub operations: Count,
}

/// The counters of one thread.
#[derive(Debug)]
pub struct Ledger {
    /// By the thread's own numbers of its users.
    pub users: Box<[UserCounter]>,
    /// By the number of the transaction.
    pub rows: Box<[RowCounter]>,
    /// Waits that belong to no transaction alone.
    pub waits: Count,
}

impl Ledger {
    /// All zero.
    pub fn new(strands_count: usize, rows_count: usize) -> Self {
        Self {
            users: (0..strands_count).map(|_| UserCounter::default()).collect(),
            rows: (0..rows_count).map(|_| RowCounter::default()).collect(),
            waits: Count::default(),
        }
    }
}

/// Latency histograms that several threads record in. One is 229 KB, and a load may have thousands of threads.
#[derive(Debug, Clone)]
pub struct SharedLatencies(Arc<Mutex<Latencies>>);

impl SharedLatencies {
    /// Histograms of this many transactions, none of them made.
    pub fn new(rows_count: usize, phase_ends_ns: [u64; 2]) -> Self {
        Self(Arc::new(Mutex::new(Latencies::new(rows_count, phase_ends_ns))))
    }

    /// The histograms, for this thread alone while it holds them.
    #[inline]
    pub fn lock(&self) -> MutexGuard<'_, Latencies> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The latency histograms of a thread, of several, or of all.
#[derive(Debug, Default)]
pub struct Latencies {
    histograms: Vec<Option<Box<Histogram<u64>>>>,
    /// When warm-up and measurement end, in ns since the start.
    phase_ends_ns: [u64; 2],
    /// The same on CLOCK_MONOTONIC.
    boundaries: [u64; 2],
}

impl Latencies {
    /// Histograms of this many transactions, none of them made.
    pub fn new(rows_count: usize, phase_ends_ns: [u64; 2]) -> Self {
        let histograms = (0..rows_count * Kind::ALL.len() * Phase::ALL.len()).map(|_| None).collect();
        Self { histograms, phase_ends_ns, boundaries: phase_ends_ns }
    }

    /// The load starts, on CLOCK_MONOTONIC in ns. All threads that share the histograms may call it.
    pub fn on_start(&mut self, start_mono_ns: u64) {
        self.boundaries = self.phase_ends_ns.map(|end_ns| end_ns.saturating_add(start_mono_ns));
    }

    /// Makes room, so that recording allocates nothing.
    ///
    /// # Errors
    /// Never: the bounds are fixed.
    pub fn make_room(&mut self, row: usize, kind: Kind) -> Result<(), LoadError> {
        for phase in Phase::ALL {
            let index = index(row, kind, phase);
            if self.histograms[index].is_none() {
                self.histograms[index] = Some(Box::new(histogram()?));
            }
        }
        Ok(())
    }

    /// Counts an execution in the phase in which it ended, as the counters do: rates and latencies are of
    /// the same executions, and an open loop that falls behind has the latency of what it still ended.
    #[inline]
    pub fn record(&mut self, row: usize, execution: &Execution) {
        let Execution { intended_ns, begin_ns, end_ns, .. } = *execution;
        let phase = self.phase(end_ns);
        self.count(row, Kind::Service, phase, end_ns - begin_ns);
        if let Some(intended_ns) = intended_ns {
            self.count(row, Kind::Intended, phase, end_ns.saturating_sub(intended_ns));
        }
    }

    /// Counts a latency of another kind, in the phase in which it ended.
    #[inline]
    pub fn record_since(&mut self, row: usize, kind: Kind, begin_ns: u64, end_ns: u64) {
        self.count(row, kind, self.phase(end_ns), end_ns.saturating_sub(begin_ns));
    }

    /// Counts a length of time of an execution that ended at this instant.
    pub fn record_length(&mut self, row: usize, kind: Kind, length_ns: u64, end_ns: u64) {
        self.count(row, kind, self.phase(end_ns), length_ns);
    }

    fn phase(&self, instant_ns: u64) -> Phase {
        Phase::ALL[usize::from(instant_ns >= self.boundaries[0]) + usize::from(instant_ns >= self.boundaries[1])]
    }

    fn count(&mut self, row: usize, kind: Kind, phase: Phase, latency_ns: u64) {
        if let Some(histogram) = &mut self.histograms[index(row, kind, phase)] {
            histogram.saturating_record(latency_ns);
        }
    }

    /// Adds what another thread counted; nothing is lost, for all have the same bounds.
    pub fn merge(&mut self, other: Self) {
        for (mine, theirs) in self.histograms.iter_mut().zip(other.histograms) {
            match (mine, theirs) {
                (Some(mine), Some(theirs)) => {
                    // Equal bounds cannot be refused.
                    let _ = mine.add(&*theirs);
                }
                (mine @ None, theirs) => *mine = theirs,
                (Some(_), None) => {}
            }
        }
    }

    /// Every value that occurred: transaction, kind, phase, smallest and largest latency that count as
    /// the same, in ns, and how often.
    pub fn values(&self) -> impl Iterator<Item = (usize, Kind, Phase, [u64; 3])> {
        self.histograms.iter().enumerate().filter_map(|(index, histogram)| Some((index, histogram.as_ref()?))).flat_map(
            |(index, histogram)| {
                let (row, rest) = (index / (Kind::ALL.len() * Phase::ALL.len()), index % (Kind::ALL.len() * Phase::ALL.len()));
                let (kind, phase) = (Kind::ALL[rest / Phase::ALL.len()], Phase::ALL[rest % Phase::ALL.len()]);
                histogram.iter_recorded().map(move |value| {
                    let at = value.value_iterated_to();
                    (row, kind, phase, [histogram.lowest_equivalent(at), histogram.highest_equivalent(at), value.count_at_value()])
                })
            },
        )
    }
}

fn index(row: usize, kind: Kind, phase: Phase) -> usize {
    (row * Kind::ALL.len() + kind as usize) * Phase::ALL.len() + phase as usize
}

fn histogram() -> Result<Histogram<u64>, LoadError> {
    Histogram::new_with_bounds(1, LONGEST_NS, DIGITS).map_err(|error| LoadError::Usage(format!("a histogram of latencies: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn execution(begin_ns: u64, latency_ns: u64) -> Execution {
        Execution { intended_ns: None, begin_ns, end_ns: begin_ns + latency_ns, is_failed: false }
    }

    #[test]
    fn merged_threads_lose_nothing() {
        let boundaries = [10_000_000, 20_000_000];
        let mut merged = Latencies::new(1, boundaries);
        for thread in 0..3 {
            let mut latencies = Latencies::new(1, boundaries);
            latencies.make_room(0, Kind::Service).expect("bounds");
            for begin_ms in [5, 15, 16, 25] {
                latencies.record(0, &execution(begin_ms * 1_000_000, 1_000_000 + thread));
            }
            merged.merge(latencies);
        }
        let values: Vec<_> = merged.values().collect();
        let counts = |phase| values.iter().filter(|value| value.2 == phase).map(|value| value.3[2]).sum::<u64>();
        assert_eq!([counts(Phase::WarmUp), counts(Phase::Measure), counts(Phase::CoolDown)], [3, 6, 3]);
        for (_, kind, _, [low, high, _]) in values {
            assert_eq!(kind, Kind::Service);
            assert!(low <= 1_000_000 && 1_000_002 <= high && high - low <= 1_024, "{low} {high}");
        }
    }

    #[test]
    fn what_waited_through_a_phase_counts_where_it_ended() {
        let mut latencies = Latencies::new(1, [10, 20]);
        for kind in [Kind::Service, Kind::Intended] {
            latencies.make_room(0, kind).expect("bounds");
        }
        latencies.record(0, &Execution { intended_ns: Some(2), begin_ns: 9, end_ns: 15, is_failed: false });
        let values: Vec<_> = latencies.values().map(|(_, kind, phase, value)| (kind, phase, value)).collect();
        assert_eq!(values, [(Kind::Intended, Phase::Measure, [13, 13, 1]), (Kind::Service, Phase::Measure, [6, 6, 1])]);
    }

    #[test]
    fn longer_than_the_longest_is_kept_as_the_longest() {
        let mut latencies = Latencies::new(1, [0, u64::MAX]);
        latencies.make_room(0, Kind::Service).expect("bounds");
        latencies.record(0, &execution(0, 10 * LONGEST_NS));
        let values: Vec<_> = latencies.values().collect();
        assert_eq!(values.len(), 1);
        assert!(values[0].3[1] >= LONGEST_NS);
    }
}
