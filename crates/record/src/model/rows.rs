//! Observations of a trial on the model, as rows of the record's tables.

use emulate::PathDirection;
use schema::simulation::SimulatedEnd;
use schema::table::{CpuRow, FlowRow, HostCounter, HostCounterRow, IntervalRow, Simulated, TcpInfoRow};
use schema::trial::{Phase, Role};
use schema::workload::Transport;
use sim::end_system::{EndState, LEVELS};
use sim::time::{NS, Ps};
use sim::world::End;

use super::run::{HOSTS, RunOutput, Snapshot, Span, processors_count};
use super::tables::Tables;
use crate::emulated;
use crate::table::Rows;

/// Appends a trial's rows of all tables but logs and executions to those of the ends.
pub fn push(run: &RunOutput, spans: &[Span<'_>], hosts: &mut [Tables; 2]) {
    let trial = &run.asked.trial;
    let last = spans.last().map(|span| span.interval.index);
    for (who, tables) in hosts.iter_mut().enumerate() {
        let numbers = || (0u32..).take(run.outcome.connections[who].len());
        for number in numbers() {
            tables.flows.push_of(trial, run.flow(who, number));
        }
        for span in spans {
            for number in numbers() {
                tables.intervals.push_of(trial, run.interval(who, number, span));
                tables.tcp_info.push_of(trial, run.tcp_info(who, number, span, Some(span.interval.index) == last));
            }
            run.push_processors(who, span, &mut tables.cpu);
        }
        for row in run.shared_parts(who) {
            tables.host_counters.push_of(trial, row);
        }
    }
    for (way, tallies) in PathDirection::ALL.into_iter().zip(&run.outcome.path) {
        for tally in tallies {
            hosts[0].path.push_of(trial, emulated::row(way, tally, None));
        }
    }
}

impl RunOutput {
    /// The time that a host's bus and the processors on its adapter worked, where it has any.
    fn shared_parts(&self, who: usize) -> impl Iterator<Item = HostCounterRow<'_, Simulated>> {
        let [sent, received] = self.outcome.adapter_busy[who];
        let own = |busy: Ps| (busy > 0).then_some(busy);
        let parts = [
            (HostCounter::BusBusy, "bus", self.outcome.bus_busy[who]),
            (HostCounter::AdapterSendBusy, "adapter", own(sent)),
            (HostCounter::AdapterReceiveBusy, "adapter", own(received)),
        ];
        let end_mono_ns = self.outcome.duration / NS;
        // What was begun before the end may end behind it.
        let times = parts.map(|(counter, subject, busy)| (counter, subject, busy.map(|busy| [0, (busy / NS).min(end_mono_ns)])));
        let count = u64::from(self.asked.adapters_count);
        let adapters = (HostCounter::Adapters, "host", (count > 1).then_some([count; 2]));
        times.into_iter().chain([adapters]).filter_map(move |(counter, subject, values)| {
            let [start, end] = values?;
            Some(HostCounterRow {
                host: Some(HOSTS[who]),
                start_mono_ns: Some(0),
                end_mono_ns: Some(end_mono_ns),
                counter: Some(counter),
                subject: Some(subject),
                kind: Some("model"),
                unit: Some(counter.unit()),
                value_at_start: Some(start),
                value_at_end: Some(end),
            })
        })
    }

    fn flow(&self, who: usize, number: u32) -> FlowRow<'_, Simulated> {
        let (role, state) = (self.role(who), &self.outcome.connections[who][number as usize]);
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
        FlowRow {
            host: Some(HOSTS[who]),
            connection: Some(number),
            role: Some(role),
            transport: Some(Transport::Tcp),
            local_address: Some(&self.profiles[who].host),
            remote_address: Some(&self.profiles[1 - who].host),
            window_requested_bytes: window,
            send_buffer_requested_bytes: self.asked.socket.send_buffer_bytes,
            receive_buffer_requested_bytes: self.asked.socket.receive_buffer_bytes,
            mss_bytes: self.mss_bytes(who),
            no_delay: Some(self.asked.socket.no_delay),
            quick_ack: Some(self.asked.socket.quick_ack),
            first_call_mono_ns: first,
            last_call_mono_ns: last,
            payload_bytes: Some(payload_bytes),
            calls_count: Some(calls),
            ended: Some(ended),
            ..FlowRow::default()
        }
    }

    fn interval(&self, who: usize, number: u32, span: &Span<'_>) -> IntervalRow<'_, Simulated> {
        let role = self.role(who);
        let (before, after) = (&span.before.connection(who, number), &span.after.connection(who, number));
        let moved = |state: &EndState| if role == Role::Sender { state.written_bytes } else { state.read_bytes };
        let calls = |state: &EndState| if role == Role::Sender { state.write_calls } else { state.read_calls };
        IntervalRow {
            host: Some(HOSTS[who]),
            connection: Some(number),
            role: Some(role),
            interval: Some(span.interval.index),
            phase: Some(span.interval.phase),
            start_mono_ns: Some(span.from / NS),
            end_mono_ns: Some(span.to / NS),
            payload_bytes: Some(moved(after) - moved(before)),
            calls_count: Some(calls(after) - calls(before)),
        }
    }

    fn tcp_info(&self, who: usize, number: u32, span: &Span<'_>, is_final: bool) -> TcpInfoRow<'_, Simulated> {
        let (state, phase) = (&span.after.connection(who, number), if is_final { Phase::Measure } else { span.interval.phase });
        let known = |bytes: u64| (bytes != u64::MAX).then_some(bytes);
        let narrow = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
        TcpInfoRow {
            host: Some(HOSTS[who]),
            connection: Some(number),
            role: Some(self.role(who)),
            phase: Some(phase),
            sample_mono_ns: Some(span.to / NS),
            is_final: Some(is_final),
            rtt_ns: (state.srtt > 0).then_some(state.srtt / NS),
            rto_ns: (state.rto > 0).then_some(state.rto / NS),
            cwnd_segments: self.segments_of(who, known(state.cwnd_bytes)),
            ssthresh_segments: self.segments_of(who, known(state.ssthresh_bytes)),
            retransmitted_segments: Some(narrow(state.retransmitted_segments)),
            bytes_acked: Some(state.acked_bytes),
            bytes_received: state.read_bytes.checked_add(state.unread_bytes),
            segments_in: Some(state.segments_in),
            segments_out: Some(state.data_segments + state.pure_acks),
            data_segments_out: Some(state.data_segments),
            not_sent_bytes: Some(narrow(state.queued_bytes.saturating_sub(state.outstanding_bytes))),
            peer_window_bytes: Some(narrow(state.send_window_bytes)),
            ..TcpInfoRow::default()
        }
    }

    /// A row for each processor; one for all of a host whose processes have a single one, whoever takes what arrives.
    fn push_processors(&self, who: usize, span: &Span<'_>, rows: &mut Rows<CpuRow<'static, Simulated>>) {
        let (before, after) = (&span.before, &span.after);
        let is_single = processors_count(&self.profiles[who]) == 1;
        let count = if is_single { 1 } else { after.processors[who].len() };
        for (cpu, number) in (0u32..).zip(0..count) {
            let busy = |snapshot: &Snapshot<'_>| {
                if is_single { snapshot.states[who].busy } else { snapshot.processors[who].get(number).copied().unwrap_or_default() }
            };
            rows.push_of(&self.asked.trial, processor(who, cpu, span, [busy(before), busy(after)]));
        }
    }
}

fn processor(who: usize, number: u32, span: &Span<'_>, busy: [[Ps; LEVELS]; 2]) -> CpuRow<'static, Simulated> {
    let spent = |level: usize| busy[1][level].saturating_sub(busy[0][level]) / NS;
    let length = (span.to - span.from) / NS;
    CpuRow {
        host: Some(HOSTS[who]),
        cpu: Some(number),
        own: Some(true),
        interval: Some(span.interval.index),
        phase: Some(span.interval.phase),
        start_mono_ns: Some(span.from / NS),
        end_mono_ns: Some(span.to / NS),
        user_ns: Some(0),
        system_ns: Some(spent(0)),
        irq_ns: Some(spent(2)),
        softirq_ns: Some(spent(1)),
        steal_ns: Some(0),
        idle_ns: Some(length.saturating_sub(spent(0) + spent(1) + spent(2))),
        ..CpuRow::default()
    }
}
