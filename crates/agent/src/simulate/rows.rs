//! What a trial on the model saw, as rows of the record's tables.

use schema::simulation::{SimulatedEnd, Simulation};
use schema::table::{CPU, FLOWS, INTERVALS, TCP_INFO, Value};
use schema::trial::Role;
use sim::end_system::EndState;
use sim::profile::Sheet;
use sim::profile::part::Value as Given;
use sim::time::{NS, Ps};
use sim::world::{End, Outcome, Sample};
use workload::phases::{Interval, Intervals, Phase};

use super::executions;
use super::recorded::{LABELS, Rows, row};

/// A trial that ran, with everything that its rows are made of.
pub struct Seen<'a> {
    /// What was asked.
    pub asked: &'a Simulation,
    /// The hosts' rules and numbers.
    pub sheets: &'a [Sheet; 2],
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
pub struct Span {
    /// Number and phase.
    pub interval: Interval,
    /// Begin and end.
    pub from: Ps,
    /// End.
    pub to: Ps,
    before: [EndState; 2],
    after: [EndState; 2],
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

impl Span {
    /// What an end moved in it.
    pub fn moved(&self, who: usize) -> Moved {
        let (before, after) = (&self.before[who], &self.after[who]);
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
            tables.push(Rows { table: &FLOWS, who, of_end: vec![self.flow(who)] });
            tables.push(Rows { table: &INTERVALS, who, of_end: spans.iter().map(|span| self.interval(who, span)).collect() });
            tables.push(Rows { table: &CPU, who, of_end: spans.iter().map(|span| cpu(who, span)).collect() });
            let mut samples: Vec<_> = spans.iter().map(|span| self.tcp_info(who, span, false)).collect();
            if let (Some(last), Some(span)) = (samples.last_mut(), spans.last()) {
                *last = self.tcp_info(who, span, true);
            }
            tables.push(Rows { table: &TCP_INFO, who, of_end: samples });
        }
        if !self.names.is_empty() {
            tables.extend(executions::rows(self, &spans));
        }
        tables
    }

    fn spans(&self) -> Vec<Span> {
        let mut spans = Vec::new();
        let mut before = [EndState::default(); 2];
        let mut from = 0;
        for interval in Intervals::new(&self.asked.stop, self.asked.interval_ns) {
            let sample = self.samples.get(spans.len());
            let (to, after) = sample.map_or((self.outcome.duration, self.outcome.states), |sample| (sample.at, sample.states));
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

    fn flow(&self, who: usize) -> Vec<Value> {
        let (role, state) = (role(self.asked, who), &self.outcome.states[who]);
        let sends = role == Role::Sender;
        let is_exchange = !self.names.is_empty();
        let (first, last) = match (sends && !is_exchange, self.outcome.read_at[who]) {
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
                ("connection", 0u32.into()),
                ("role", role.name().into()),
                ("transport", "tcp".into()),
                ("local_address", self.sheets[who].host.as_str().into()),
                ("remote_address", self.sheets[1 - who].host.as_str().into()),
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

    fn interval(&self, who: usize, span: &Span) -> Vec<Value> {
        let role = role(self.asked, who);
        let (before, after) = (&span.before[who], &span.after[who]);
        let moved = |state: &EndState| if role == Role::Sender { state.written_bytes } else { state.read_bytes };
        let calls = |state: &EndState| if role == Role::Sender { state.write_calls } else { state.read_calls };
        row(
            &INTERVALS,
            [
                ("host", LABELS[who].into()),
                ("connection", 0u32.into()),
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

    fn tcp_info(&self, who: usize, span: &Span, is_final: bool) -> Vec<Value> {
        let (state, phase) = (&span.after[who], if is_final { Phase::Measure } else { span.interval.phase });
        let known = |bytes: u64| (bytes != u64::MAX).then_some(bytes);
        let narrow = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
        row(
            &TCP_INFO,
            [
                ("host", LABELS[who].into()),
                ("connection", 0u32.into()),
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

    fn segments_of(&self, who: usize, bytes: Option<u64>) -> Option<u32> {
        let mss_bytes = u64::from(self.mss_bytes(who)?.max(1));
        u32::try_from(bytes? / mss_bytes).ok()
    }

    fn mss_bytes(&self, who: usize) -> Option<u32> {
        mss_bytes(&self.sheets[who])
    }
}

/// The largest payload that a host wants in a segment.
pub fn mss_bytes(sheet: &Sheet) -> Option<u32> {
    match sheet.values.get("mss_bytes")?.value {
        Given::Number(number) => whole(number),
        _ => None,
    }
}

fn whole(number: f64) -> Option<u32> {
    // Checked to lie within the bounds of the type.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    (0.0..=f64::from(u32::MAX)).contains(&number).then_some(number as u32)
}

fn cpu(who: usize, span: &Span) -> Vec<Value> {
    let spent = |level: usize| span.after[who].busy[level].saturating_sub(span.before[who].busy[level]) / NS;
    let length = (span.to - span.from) / NS;
    row(
        &CPU,
        [
            ("host", LABELS[who].into()),
            ("cpu", 0u32.into()),
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
