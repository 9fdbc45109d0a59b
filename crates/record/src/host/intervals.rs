//! Rows of what connections moved: table intervals.

use load::counter::Counts;
use load::running::Load;
use probe::clock::mono_ns;
use schema::table::IntervalRow;
use schema::trial::{Phase, TrialSpec};
use std::collections::BTreeMap;

use super::connection::Known;
use crate::table::Rows;

/// Connections that have rows of their own in every interval; of more the rows are summed by group.
pub const MAX_SINGLE_FLOWS: usize = 10_000;

/// One interval of the sampler.
#[derive(Clone, Copy)]
pub struct Interval {
    /// Its number.
    pub index: u32,
    /// Its phase.
    pub phase: Phase,
    /// When it began, on `CLOCK_MONOTONIC` in ns.
    pub start_mono_ns: u64,
    /// When it ended.
    pub end_mono_ns: u64,
}

/// The counts of what moved from one look to the next.
#[derive(Debug, Clone, Copy, Default)]
struct IntervalCounts {
    start_mono_ns: u64,
    end_mono_ns: u64,
    payload_bytes: u64,
    calls_count: u64,
}

/// Turns the load's counts into rows.
#[derive(Default)]
pub struct Intervals {
    /// Its table.
    pub rows: Rows<IntervalRow<'static>>,
}

impl Intervals {
    /// A row a connection, or of a multitude one a group, under the number of its first connection.
    /// Returns the bytes of them all.
    pub fn sample(&mut self, spec: &TrialSpec, load: &Load, known: &mut [Known], index: u32, phase: Phase) -> u64 {
        let is_multitude = load.flows.len() > MAX_SINGLE_FLOWS;
        let mut sum_bytes = 0;
        let mut sums: BTreeMap<u32, IntervalCounts> = BTreeMap::new();
        for (flow, known) in load.flows.iter().zip(known) {
            let moved = since(&mut known.counted, (mono_ns(), flow.counter.read()));
            sum_bytes += moved.payload_bytes;
            if !is_multitude {
                self.push(spec, flow.number, index, phase, &moved);
                continue;
            }
            let sum = sums
                .entry(load.group_of(flow.number))
                .or_insert(IntervalCounts { start_mono_ns: moved.start_mono_ns, ..IntervalCounts::default() });
            sum.end_mono_ns = moved.end_mono_ns;
            sum.payload_bytes += moved.payload_bytes;
            sum.calls_count += moved.calls_count;
        }
        for (first, sum) in sums {
            self.push(spec, first, index, phase, &sum);
        }
        sum_bytes
    }

    fn push(&mut self, spec: &TrialSpec, number: u32, index: u32, phase: Phase, moved: &IntervalCounts) {
        self.rows.push(IntervalRow {
            host: &spec.host,
            connection: number,
            role: spec.role_of(number),
            interval: index,
            phase,
            start_mono_ns: moved.start_mono_ns,
            end_mono_ns: moved.end_mono_ns,
            payload_bytes: moved.payload_bytes,
            calls_count: moved.calls_count,
        });
    }
}

/// Counts what moved since `before`, which becomes `now`.
fn since(before: &mut (u64, Counts), now: (u64, Counts)) -> IntervalCounts {
    let moved = IntervalCounts {
        // A sample may come before the load's start when the load is aborted there.
        start_mono_ns: before.0.min(now.0),
        end_mono_ns: now.0,
        payload_bytes: now.1.payload_bytes - before.1.payload_bytes,
        calls_count: now.1.calls_count - before.1.calls_count,
    };
    *before = now;
    moved
}
