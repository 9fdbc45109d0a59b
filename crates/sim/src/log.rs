//! Every segment as it left its host.

use crate::segment::Segment;
use crate::time::Ps;

/// A segment and when its driver began to send it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// The instant.
    pub at: Ps,
    /// Which host sent it: 0 writes, 1 reads.
    pub from: usize,
    /// The segment.
    pub segment: Segment,
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

    /// Payloads that the writer sent between two acknowledgments, in the order of time.
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
