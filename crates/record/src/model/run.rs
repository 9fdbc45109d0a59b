//! A trial on the model that ran, and its intervals.

use schema::simulation::{SimulatedEnd, Simulation};
use schema::trial::Role;
use sim::end_system::{EndState, LEVELS};
use sim::profile::HostProfile;
use sim::profile::profile_file::Value as Given;
use sim::time::Ps;
use sim::world::{Outcome, Sample};
use std::ops::Range;
use workload::phases::{Interval, Intervals};

/// The two ends, in the order of the model's.
pub const HOSTS: [&str; 2] = ["near", "far"];

/// A trial that ran, with everything that its rows are made of.
pub struct RunOutput {
    /// The simulation that was asked for.
    pub asked: Simulation,
    /// The hosts' rules and numbers.
    pub profiles: [HostProfile; 2],
    /// Names of groups and transactions; empty of a stream.
    pub names: Vec<(String, String)>,
    /// The outcome.
    pub outcome: Outcome,
    /// The end systems at the ends of intervals.
    pub samples: Vec<Sample>,
    /// The way it ended.
    pub end: SimulatedEnd,
}

impl RunOutput {
    /// The role of an end.
    pub fn role(&self, who: usize) -> Role {
        if (who == 0) == (self.asked.near_role == Role::Sender) { Role::Sender } else { Role::Receiver }
    }

    /// The intervals of the trial.
    pub fn spans(&self) -> Vec<Span<'_>> {
        let mut spans = Vec::new();
        let mut before = Snapshot::default();
        let outcome = &self.outcome;
        let at_end = (outcome.duration, Snapshot::of(&outcome.states, &outcome.connections, &outcome.processors));
        let mut from = 0;
        for interval in Intervals::new(&self.asked.stop, self.asked.interval_ns) {
            let sample = self.samples.get(spans.len());
            let (to, after) =
                sample.map_or(at_end, |sample| (sample.at, Snapshot::of(&sample.states, &sample.connections, &sample.processors)));
            if to > from || spans.is_empty() {
                spans.push(Span { interval, from, to, before, after });
            }
            if sample.is_none() {
                break;
            }
            (before, from) = (after, to);
        }
        spans
    }

    /// Number of segments that hold so many bytes.
    pub fn segments_of(&self, who: usize, bytes: Option<u64>) -> Option<u32> {
        let mss_bytes = u64::from(self.mss_bytes(who)?.max(1));
        u32::try_from(bytes? / mss_bytes).ok()
    }

    /// The largest payload that an end wants in a segment.
    pub fn mss_bytes(&self, who: usize) -> Option<u32> {
        mss_bytes(&self.profiles[who])
    }
}

/// An interval as it was, with the end systems before and after it.
pub struct Span<'a> {
    /// Number and phase.
    pub interval: Interval,
    /// Start.
    pub from: Ps,
    /// End.
    pub to: Ps,
    /// As it began.
    pub before: Snapshot<'a>,
    /// As it ended.
    pub after: Snapshot<'a>,
}

/// The end systems at an instant.
#[derive(Clone, Copy, Default)]
pub struct Snapshot<'a> {
    /// By end.
    pub states: [EndState; 2],
    /// Empty before the first instant.
    pub connections: [&'a [EndState]; 2],
    /// By end and processor.
    pub processors: [&'a [[Ps; LEVELS]]; 2],
}

impl<'a> Snapshot<'a> {
    fn of(states: &[EndState; 2], connections: &'a [Vec<EndState>; 2], processors: &'a [Vec<[Ps; LEVELS]>; 2]) -> Self {
        Self { states: *states, connections: [&connections[0], &connections[1]], processors: [&processors[0], &processors[1]] }
    }

    /// A connection at an end.
    pub fn connection(&self, who: usize, number: u32) -> EndState {
        self.connections[who].get(number as usize).copied().unwrap_or_default()
    }
}

/// The counts of what processes of an end moved in an interval.
#[derive(Clone, Copy)]
pub struct IntervalCounts {
    /// Written.
    pub sent_bytes: u64,
    /// Read.
    pub received_bytes: u64,
    /// Calls that returned.
    pub calls_count: u64,
}

impl Span<'_> {
    /// Counts what those connections of an end moved in it.
    pub fn moved(&self, who: usize, connections: Range<u32>) -> IntervalCounts {
        let none = IntervalCounts { sent_bytes: 0, received_bytes: 0, calls_count: 0 };
        connections.fold(none, |sum, number| {
            let (before, after) = (self.before.connection(who, number), self.after.connection(who, number));
            IntervalCounts {
                sent_bytes: sum.sent_bytes + after.written_bytes - before.written_bytes,
                received_bytes: sum.received_bytes + after.read_bytes - before.read_bytes,
                calls_count: sum.calls_count + after.write_calls + after.read_calls - before.write_calls - before.read_calls,
            }
        })
    }
}

/// The largest payload of a segment that a host accepts.
pub fn mss_bytes(profile: &HostProfile) -> Option<u32> {
    match profile.values.get("mss_bytes")?.value {
        Given::Number(number) => whole(number),
        _ => None,
    }
}

fn whole(number: f64) -> Option<u32> {
    // Checked to lie within the bounds of the type.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    (0.0..=f64::from(u32::MAX)).contains(&number).then_some(number as u32)
}

/// The processors of a host's processes.
pub fn processors_count(profile: &HostProfile) -> u32 {
    match profile.values.get("processors").map(|entry| &entry.value) {
        Some(&Given::Number(number)) => whole(number).unwrap_or(1),
        _ => 1,
    }
}
