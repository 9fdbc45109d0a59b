//! The report of a step: how often it was done and how long that took.

use std::time::Instant;

/// A batch of calls of one step.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Sample {
    /// Which step.
    pub step: &'static str,
    /// Number of the round.
    pub round: u32,
    /// Bytes of each call; 0 where it moves none.
    pub bytes: u32,
    /// Calls in the batch.
    pub calls_count: u64,
    /// Time of the whole batch, in ns.
    pub duration_ns: u64,
    /// Segments with payload that left in it.
    pub data_segments: u64,
    /// Segments without payload that came back in it.
    pub pure_acks_segments: u64,
}

impl Sample {
    /// A batch that sends nothing; the round is filled in by who knows it.
    pub(crate) fn of(step: &'static str, bytes: u32, calls_count: u64, since: Instant) -> Self {
        let duration_ns = u64::try_from(since.elapsed().as_nanos()).unwrap_or(u64::MAX);
        Self { step, round: 0, bytes, calls_count, duration_ns, data_segments: 0, pure_acks_segments: 0 }
    }
}
