//! Segments out and in: TCP's output, the driver, the adapter, TCP's input.

use super::host::{Caller, Host, Output, Process, Task};
use crate::cpu::Level;
use crate::end_system::{Arrival, Cause, Departure, Outbox};
use crate::segment::Segment;
use crate::time::Ps;

/// Ticks until a segment is sent again, as long as no round trip is longer: 1 s (`TCPTV_MIN`).
const RETRANSMISSION_TICKS: u32 = 2;

impl Host {
    pub(super) fn begin_output(&mut self, now: Ps, caller: Caller, cause: Cause) {
        let was_idle = self.tcp.is_idle();
        self.output(now, Output { caller, cause, was_idle, is_more: false });
    }

    pub(super) fn output(&mut self, now: Ps, output: Output) {
        let buffers = self.buffers();
        let Some(sending) = self.tcp.output(output.was_idle, false, buffers) else {
            return self.returned(now, output.caller);
        };
        if sending.segment.bytes > 0 && self.retransmission_ticks == 0 {
            self.retransmission_ticks = RETRANSMISSION_TICKS;
        }
        let cost = self.spec.costs.output.of(sending.segment.bytes);
        self.go_on(Level::Protocol, cost, Task::Made(Output { is_more: sending.is_more, ..output }, sending.segment));
    }

    /// The driver writes the segment to the adapter.
    pub(super) fn drive(&mut self, now: Ps, output: Output, segment: Segment, out: &mut Outbox) {
        let pace = self.chance.around(self.spec.costs.driver_send.of(segment.bytes));
        self.counted.data_segments += u64::from(segment.bytes > 0);
        self.counted.pure_acks += u64::from(segment.bytes == 0);
        self.counted.retransmitted_segments += u64::from(segment.flags.is_retransmission);
        let outstanding_bytes = self.tcp.next - self.tcp.una;
        out.send(Departure { at: now, pace, segment, outstanding_bytes, cwnd_bytes: u64::MAX, cause: output.cause });
        self.cpu.go_on(Level::Interrupt, pace, Task::Sent(output));
    }

    /// A segment comes in; the driver can take it while it comes, but not before all of it is there.
    pub(super) fn put_in_adapter(&mut self, now: Ps, arrival: &Arrival) {
        let taking = self.spec.costs.driver_receive.of(arrival.segment.bytes);
        let at = arrival.last.saturating_sub(taking).max(now);
        self.inbox.push_back((at, *arrival));
    }

    /// The driver begins to read a segment.
    pub(super) fn begin_to_take(&mut self, now: Ps, arrival: &Arrival) {
        let segment = arrival.segment;
        let cost = self.spec.costs.driver_receive.of(segment.bytes);
        let is_whole = self.can_hold(now, segment.bytes, arrival.last);
        self.counted.lost_segments += u64::from(!is_whole);
        self.submit(now, Level::Interrupt, cost, if is_whole { Task::Taken(segment) } else { Task::Lost });
    }

    /// Whether a segment of `bytes`, whose last cell comes at `last`, finds room in the adapter while the driver reads
    /// what is there: as fast as it can, which may be slower than cells come.
    fn can_hold(&self, now: Ps, bytes: u32, last: Ps) -> bool {
        let (Some(fifo_bytes), per_byte) = (self.spec.fifo_bytes, self.spec.costs.driver_receive.per_byte) else {
            return true;
        };
        let unread = self.cpu.pending(now, Level::Interrupt, |task| matches!(task, Task::Taken(_) | Task::Lost));
        let to_read = unread + per_byte * Ps::from(bytes);
        to_read.saturating_sub(last.saturating_sub(now)) <= per_byte * Ps::from(fifo_bytes)
    }

    pub(super) fn taken(&mut self, now: Ps, segment: Segment) {
        self.submit(now, Level::Protocol, self.spec.costs.input.of(segment.bytes), Task::Input(segment));
    }

    pub(super) fn input(&mut self, now: Ps, segment: &Segment) {
        self.counted.segments_in += 1;
        let arrived = self.tcp.input(segment);
        if arrived.acknowledged > 0 {
            self.queued -= arrived.acknowledged;
            self.retransmission_ticks = if self.tcp.is_idle() { 0 } else { RETRANSMISSION_TICKS };
        }
        if arrived.taken > 0 {
            self.received.append(arrived.taken, self.spec.pieces);
        }
        let is_wanted = match &mut self.process {
            Process::Writing { is_asleep, .. } => arrived.acknowledged > 0 && std::mem::take(is_asleep),
            Process::Reading { is_asleep, .. } => arrived.taken > 0 && std::mem::take(is_asleep),
            Process::Waiting(_) | Process::Over => false,
        };
        if is_wanted {
            self.counted.wake_ups += 1;
            self.submit(now, Level::Process, self.spec.costs.wake_up, Task::Awake);
        }
        if self.tcp.is_ack_due || (arrived.wants_output && self.queued > 0) {
            let cause = if self.tcp.is_ack_due { Cause::OutOfOrder } else { Cause::Arrival };
            self.begin_output(now, Caller::Input, cause);
        }
    }
}
