//! What a trial on the model saw, as rows of the record's tables.

use emulate::PathDirection;
use schema::simulation::{SimulatedEnd, Simulation};
use schema::table::{CPU, FLOWS, INTERVALS, PATH, TCP_INFO, Value};
use schema::trial::Role;
use sim::end_system::{EndState, LEVELS};
use sim::profile::HostProfile;
use sim::profile::profile_file::Value as Given;
use sim::time::{NS, Ps};
use sim::world::{End, Outcome, Sample};
use workload::phases::{Interval, Intervals, Phase};

use super::executions;
use super::recorded::{LABELS, Rows, row};
use crate::path_tables;

/// A trial that ran, with everything that its rows are made of.
pub struct Seen<'a> {
    /// What was asked.
    pub asked: &'a Simulation,
    /// The hosts' rules and numbers.
    pub profiles: &'a [HostProfile; 2],
    /// Names of groups and transactions; empty of a stream.
    pub names: &'a [(String, String)],
    /// What came out.
    pub outcome: &'a Outcome,
    /// The end systems at the ends of intervals.
    pub samples: &'a [Sample],
    /// How it ended.
    pub end: SimulatedEnd,
}

/// An interval as it was, with the end systems before and after it.
pub struct Span<'a> {
    /// Number and phase.
    pub interval: Interval,
    /// Begin and end.
    pub from: Ps,
    /// End.
    pub to: Ps,
    before: Stand<'a>,
    after: Stand<'a>,
}

/// The end systems at an instant.
#[derive(Clone, Copy, Default)]
struct Stand<'a> {
    states: [EndState; 2],
    /// Empty before the first instant.
    connections: [&'a [EndState]; 2],
    processors: [&'a [[Ps; LEVELS]]; 2],
}

impl<'a> Stand<'a> {
    fn of(states: &[EndState; 2], connections: &'a [Vec<EndState>; 2], processors: &'a [Vec<[Ps; LEVELS]>; 2]) -> Self {
        Self { states: *states, connections: [&connections[0], &connections[1]], processors: [&processors[0], &processors[1]] }
    }

    fn connection(&self, who: usize, number: u32) -> EndState {
        self.connections[who].get(number as usize).copied().unwrap_or_default()
    }
}

/// What the processes of an end moved in an interval.
#[derive(Clone, Copy)]
pub struct Moved {
    /// Written.
    pub sent_bytes: u64,
    /// Read.
    pub received_bytes: u64,
    /// Calls that returned.
    pub calls_count: u64,
}

impl Span<'_> {
    /// What an end moved in it.
    pub fn moved(&self, who: usize) -> Moved {
        let (before, after) = (&self.before.states[who], &self.after.states[who]);
        Moved {
            sent_bytes: after.written_bytes - before.written_bytes,
            received_bytes: after.read_bytes - before.read_bytes,
            calls_count: after.write_calls + after.read_calls - before.write_calls - before.read_calls,
        }
    }
}

/// The role of an end.
pub fn role(asked: &Simulation, who: usize) -> Role {
    if (who == 0) == (asked.near_role == Role::Sender) { Role::Sender } else { Role::Receiver }
}

impl Seen<'_> {
    /// The rows of all tables, of both ends.
    pub fn rows(&self) -> Vec<Rows> {
        let spans = self.spans();
        let mut tables = Vec::new();
        for who in [0, 1] {
            let numbers = || (0u32..).take(self.outcome.connections[who].len());
            let each = |of: &dyn Fn(u32, &Span<'_>) -> Vec<Value>| {
                spans.iter().flat_map(|span| numbers().map(|number| of(number, span)).collect::<Vec<_>>()).collect::<Vec<_>>()
            };
            tables.push(Rows { table: &FLOWS, who, of_end: numbers().map(|number| self.flow(who, number)).collect() });
            tables.push(Rows { table: &INTERVALS, who, of_end: each(&|number, span| self.interval(who, number, span)) });
            tables.push(Rows { table: &CPU, who, of_end: spans.iter().flat_map(|span| self.processors(who, span)).collect() });
            let last = spans.last().map(|span| span.interval.index);
            let sample = |number: u32, span: &Span<'_>| self.tcp_info(who, number, span, Some(span.interval.index) == last);
            tables.push(Rows { table: &TCP_INFO, who, of_end: each(&sample) });
        }
        let counts = PathDirection::BOTH.into_iter().zip(&self.outcome.path);
        let counts = counts.flat_map(|(way, tallies)| tallies.iter().map(move |tally| path_tables::simulated(way, tally)));
        tables.push(Rows { table: &PATH, who: 0, of_end: counts.collect() });
        if !self.names.is_empty() {
            tables.extend(executions::rows(self, &spans));
        }
        tables
    }

    fn spans(&self) -> Vec<Span<'_>> {
        let mut spans = Vec::new();
        let mut before = Stand::default();
        let outcome = self.outcome;
        let at_end = (outcome.duration, Stand::of(&outcome.states, &outcome.connections, &outcome.processors));
        let mut from = 0;
        for interval in Intervals::new(&self.asked.stop, self.asked.interval_ns) {
            let sample = self.samples.get(spans.len());
            let (to, after) =
                sample.map_or(at_end, |sample| (sample.at, Stand::of(&sample.states, &sample.connections, &sample.processors)));
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

    fn flow(&self, who: usize, number: u32) -> Vec<Value> {
        let (role, state) = (role(self.asked, who), &self.outcome.connections[who][number as usize]);
        let sends = role == Role::Sender;
        let is_exchange = !self.names.is_empty();
        let (first, last) = match (sends && !is_exchange, state.read_at) {
            // When its last call returned the model does not keep.
            (true, _) => (Some(0), None),
            (false, Some((first, last))) => (Some(first / NS), Some(last / NS)),
            (false, None) => (None, None),
        };
        let payload_bytes = if sends { state.written_bytes } else { state.read_bytes };
        let calls = if sends { state.write_calls } else { state.read_calls };
        let ended = match self.end {
            // Cut by the end of its time: what is under way then will not arrive, and is no gap of the log.
            SimulatedEnd::Complete if self.outcome.end == End::TimeUp => "deadline",
            SimulatedEnd::Complete => "complete",
            SimulatedEnd::Deadline => "deadline",
            SimulatedEnd::Stuck | SimulatedEnd::Refused => "stuck",
        };
        let window = self.asked.socket.window_bytes;
        row(
            &FLOWS,
            [
                ("host", LABELS[who].into()),
                ("connection", number.into()),
                ("role", role.name().into()),
                ("transport", "tcp".into()),
                ("local_address", self.profiles[who].host.as_str().into()),
                ("remote_address", self.profiles[1 - who].host.as_str().into()),
                ("window_requested_bytes", window.into()),
                ("send_buffer_requested_bytes", self.asked.socket.send_buffer_bytes.into()),
                ("receive_buffer_requested_bytes", self.asked.socket.receive_buffer_bytes.into()),
                ("mss_bytes", self.mss_bytes(who).into()),
                ("no_delay", self.asked.socket.no_delay.into()),
                ("quick_ack", self.asked.socket.quick_ack.into()),
                ("first_call_mono_ns", first.into()),
                ("last_call_mono_ns", last.into()),
                ("payload_bytes", payload_bytes.into()),
                ("calls_count", calls.into()),
                ("ended", ended.into()),
            ],
        )
    }

    fn interval(&self, who: usize, number: u32, span: &Span<'_>) -> Vec<Value> {
        let role = role(self.asked, who);
        let (before, after) = (&span.before.connection(who, number), &span.after.connection(who, number));
        let moved = |state: &EndState| if role == Role::Sender { state.written_bytes } else { state.read_bytes };
        let calls = |state: &EndState| if role == Role::Sender { state.write_calls } else { state.read_calls };
        row(
            &INTERVALS,
            [
                ("host", LABELS[who].into()),
                ("connection", number.into()),
                ("role", role.name().into()),
                ("interval", span.interval.index.into()),
                ("phase", span.interval.phase.name().into()),
                ("start_mono_ns", (span.from / NS).into()),
                ("end_mono_ns", (span.to / NS).into()),
                ("payload_bytes", (moved(after) - moved(before)).into()),
                ("calls_count", (calls(after) - calls(before)).into()),
            ],
        )
    }

    fn tcp_info(&self, who: usize, number: u32, span: &Span<'_>, is_final: bool) -> Vec<Value> {
        let (state, phase) = (&span.after.connection(who, number), if is_final { Phase::Measure } else { span.interval.phase });
        let known = |bytes: u64| (bytes != u64::MAX).then_some(bytes);
        let narrow = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
        row(
            &TCP_INFO,
            [
                ("host", LABELS[who].into()),
                ("connection", number.into()),
                ("role", role(self.asked, who).name().into()),
                ("phase", phase.name().into()),
                ("sample_mono_ns", (span.to / NS).into()),
                ("final", is_final.into()),
                ("rtt_ns", (state.srtt > 0).then_some(state.srtt / NS).into()),
                ("rto_ns", (state.rto > 0).then_some(state.rto / NS).into()),
                ("cwnd_segments", self.segments_of(who, known(state.cwnd_bytes)).into()),
                ("ssthresh_segments", self.segments_of(who, known(state.ssthresh_bytes)).into()),
                ("retransmitted_segments", narrow(state.retransmitted_segments).into()),
                ("bytes_received", state.read_bytes.checked_add(state.unread_bytes).into()),
                ("segments_in", state.segments_in.into()),
                ("segments_out", (state.data_segments + state.pure_acks).into()),
                ("data_segments_out", state.data_segments.into()),
                ("not_sent_bytes", narrow(state.queued_bytes.saturating_sub(state.outstanding_bytes)).into()),
                ("peer_window_bytes", narrow(state.send_window_bytes).into()),
            ],
        )
    }

    /// A row for each processor; one for all of a host whose processes have a single one, whoever takes what arrives.
    fn processors(&self, who: usize, span: &Span<'_>) -> Vec<Vec<Value>> {
        let (before, after) = (&span.before, &span.after);
        if processors_count(&self.profiles[who]) == 1 {
            return vec![cpu(who, 0, span, [before.states[who].busy, after.states[who].busy])];
        }
        let of = |stand: &Stand<'_>, number: usize| stand.processors[who].get(number).copied().unwrap_or_default();
        let count = after.processors[who].len();
        (0u32..).zip(0..count).map(|(cpu_number, number)| cpu(who, cpu_number, span, [of(before, number), of(after, number)])).collect()
    }

    fn segments_of(&self, who: usize, bytes: Option<u64>) -> Option<u32> {
        let mss_bytes = u64::from(self.mss_bytes(who)?.max(1));
        u32::try_from(bytes? / mss_bytes).ok()
    }

    fn mss_bytes(&self, who: usize) -> Option<u32> {
        mss_bytes(&self.profiles[who])
    }
}

/// The largest payload that a host wants in a segment.
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
fn processors_count(profile: &HostProfile) -> u32 {
    match profile.values.get("processors").map(|entry| &entry.value) {
        Some(&Given::Number(number)) => whole(number).unwrap_or(1),
        _ => 1,
    }
}

fn cpu(who: usize, number: u32, span: &Span<'_>, busy: [[Ps; LEVELS]; 2]) -> Vec<Value> {
    let spent = |level: usize| busy[1][level].saturating_sub(busy[0][level]) / NS;
    let length = (span.to - span.from) / NS;
    row(
        &CPU,
        [
            ("host", LABELS[who].into()),
            ("cpu", number.into()),
            ("own", true.into()),
            ("interval", span.interval.index.into()),
            ("phase", span.interval.phase.name().into()),
            ("start_mono_ns", (span.from / NS).into()),
            ("end_mono_ns", (span.to / NS).into()),
            ("user_ns", 0u64.into()),
            ("system_ns", spent(0).into()),
            ("irq_ns", spent(2).into()),
            ("softirq_ns", spent(1).into()),
            ("steal_ns", 0u64.into()),
            ("idle_ns", length.saturating_sub(spent(0) + spent(1) + spent(2)).into()),
        ],
    )
}
