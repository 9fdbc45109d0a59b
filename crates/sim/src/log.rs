//! Every segment as it left its host.

use crate::end_system::Cause;
use crate::segment::Segment;
use crate::time::Ps;

/// A segment and when it was given to the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// The instant.
    pub at: Ps,
    /// Which end system sent it.
    pub from: usize,
    /// The segment.
    pub segment: Segment,
    /// Bytes of its connection that were sent and not acknowledged, this segment included.
    pub outstanding_bytes: u64,
    /// The congestion window of its connection, in bytes; `u64::MAX` where there is none.
    pub cwnd_bytes: u64,
    /// What made it leave.
    pub cause: Cause,
    /// When its last bit comes to the other end system's adapter, whatever becomes of it there; [`Ps::MAX`] where the
    /// line has lost it.
    pub arrives: Ps,
}

/// All of them, in the order in which they left.
#[derive(Debug, Clone, Default)]
pub struct Log {
    /// The entries.
    pub entries: Vec<Entry>,
}

impl Log {
    pub(crate) fn add(&mut self, entry: Entry) {
        self.entries.push(entry);
    }

    /// Payloads that the first end system sent between two acknowledgments, in the order of time.
    pub fn cycles(&self) -> Vec<Vec<u32>> {
        let mut cycles = vec![Vec::new()];
        for entry in &self.entries {
            match (entry.from, cycles.last_mut()) {
                (0, Some(cycle)) if entry.segment.bytes > 0 => cycle.push(entry.segment.bytes),
                (1, Some(cycle)) if !cycle.is_empty() => cycles.push(Vec::new()),
                _ => {}
            }
        }
        cycles.retain(|cycle| !cycle.is_empty());
        cycles
    }
}
