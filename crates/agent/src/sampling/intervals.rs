//! Rows of what connections moved: table intervals.

use load::counter::Counts;
use load::running::Load;
use probe::clock::mono_ns;
use schema::table::INTERVALS;
use schema::trial::TrialSpec;
use std::collections::BTreeMap;
use workload::phases::Phase;

use super::MAX_SINGLE_FLOWS;
use crate::known::Known;
use crate::record::{RecordError, TableBuilder};

/// What moved from one look to the next.
#[derive(Debug, Clone, Copy, Default)]
struct Moved {
    start_mono_ns: u64,
    end_mono_ns: u64,
    payload_bytes: u64,
    calls_count: u64,
}

/// Turns the load's counts into rows.
pub(super) struct Intervals {
    rows: TableBuilder,
}

impl Intervals {
    /// An empty table.
    pub fn new() -> Self {
        Self { rows: TableBuilder::new(&INTERVALS) }
    }

    /// A row a connection, or of a multitude one a group, under the number of its first connection.
    /// Returns the bytes of them all.
    ///
    /// # Errors
    /// A row does not fit its table.
    pub fn sample(&mut self, spec: &TrialSpec, load: &Load, known: &mut [Known], index: u32, phase: Phase) -> Result<u64, RecordError> {
        let is_multitude = load.flows.len() > MAX_SINGLE_FLOWS;
        let mut sum_bytes = 0;
        let mut sums: BTreeMap<u32, Moved> = BTreeMap::new();
        for (flow, known) in load.flows.iter().zip(known) {
            let moved = since(&mut known.counted, (mono_ns(), flow.counter.read()));
            sum_bytes += moved.payload_bytes;
            if !is_multitude {
                self.push(spec, flow.number, index, phase, &moved)?;
                continue;
            }
            let sum = sums.entry(load.group_of(flow.number)).or_insert(Moved { start_mono_ns: moved.start_mono_ns, ..Moved::default() });
            sum.end_mono_ns = moved.end_mono_ns;
            sum.payload_bytes += moved.payload_bytes;
            sum.calls_count += moved.calls_count;
        }
        for (first, sum) in sums {
            self.push(spec, first, index, phase, &sum)?;
        }
        Ok(sum_bytes)
    }

    fn push(&mut self, spec: &TrialSpec, number: u32, index: u32, phase: Phase, moved: &Moved) -> Result<(), RecordError> {
        self.rows.push(vec![
            spec.host.as_str().into(),
            number.into(),
            spec.role_of(number).name().into(),
            index.into(),
            phase.name().into(),
            moved.start_mono_ns.into(),
            moved.end_mono_ns.into(),
            moved.payload_bytes.into(),
            moved.calls_count.into(),
        ])
    }

    /// The table.
    pub fn into_table(self) -> TableBuilder {
        self.rows
    }
}

/// What moved since `before`, which becomes `now`.
fn since(before: &mut (u64, Counts), now: (u64, Counts)) -> Moved {
    let moved = Moved {
        // A sample may come before the load's start when the load is aborted there.
        start_mono_ns: before.0.min(now.0),
        end_mono_ns: now.0,
        payload_bytes: now.1.payload_bytes - before.1.payload_bytes,
        calls_count: now.1.calls_count - before.1.calls_count,
    };
    *before = now;
    moved
}
