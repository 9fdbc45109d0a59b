//! Segments out and in: the adapter, its interrupt, softirqs, TCP's input and output, timers.

use super::host::{Caller, Host, Process, Task};
use crate::cpu::Level;
use crate::end_system::{Arrival, Cause, Departure, Outbox};
use crate::linux::buffer::{OVERHEAD_BYTES, truesize};
use crate::linux::sender::Push;
use crate::linux::write_queue::Buffer;
use crate::segment::{Flags, Sack, Segment};
use crate::time::Ps;

/// Most bytes and segments that are merged on receiving (`GRO_LEGACY_MAX_SIZE`, `MAX_SKB_FRAGS` 17 with the head's).
const MERGED_BYTES: u32 = 65536;
const MERGED_SEGMENTS: u16 = 17;

impl Host {
    /// TCP's output (`tcp_write_xmit`), a buffer at a time; behind the last, its caller goes on.
    pub(super) fn output(&mut self, now: Ps, caller: Caller, push: Push) {
        self.settle_device(now);
        match self.sender.poll(now, push) {
            Some(buffer) => {
                let costs = self.spec.costs;
                let frames = if self.spec.adapter.has_segmentation { 1 } else { Ps::from(self.sender.count(buffer.bytes)) };
                let cutting = if frames > 1 { frames * costs.segmentation } else { 0 };
                self.go_on(caller, costs.output + cutting + frames * costs.transmit, Task::Sent(caller, push, buffer));
            }
            None => self.end_output(now, caller),
        }
    }

    fn end_output(&mut self, now: Ps, caller: Caller) {
        let has_sent = std::mem::take(&mut self.has_sent);
        let is_out_of_memory = caller == Caller::WriteSleep || matches!(self.process, Process::Writing { is_asleep: true, .. });
        self.sender.end_burst(now, has_sent, is_out_of_memory);
        match self.ack_due.take() {
            Some(cause) if self.receiver.acks.is_scheduled => self.acknowledge(caller, cause),
            _ => self.returned(now, caller),
        }
    }

    /// A buffer has left: whole where the adapter cuts it up, else in frames.
    pub(super) fn sent(&mut self, now: Ps, caller: Caller, push: Push, buffer: &Buffer, out: &mut Outbox) {
        self.has_sent = true;
        let each = if self.spec.adapter.has_segmentation { buffer.bytes } else { self.sender.mss };
        let window = self.receiver.announce();
        self.receiver.acks.on_data_sent(now);
        let mut sequence = buffer.begin;
        while sequence < buffer.end() {
            let bytes = each.min(u32::try_from(buffer.end() - sequence).unwrap_or(each));
            let is_last = sequence + u64::from(bytes) == buffer.end();
            let segment = Segment {
                bytes,
                sequence,
                wire_segments_count: u16::try_from(self.sender.count(bytes)).unwrap_or(u16::MAX),
                acknowledgment: self.receiver.expected,
                window,
                flags: Flags { is_push: is_last && buffer.is_push, is_retransmission: buffer.was_again_out, ..Flags::default() },
                ..Segment::data(0, 0)
            };
            let memory = u64::from(bytes) + if is_last { OVERHEAD_BYTES } else { 0 };
            self.handed_over.push_back(memory);
            self.depart(now, segment, caller.cause(), out);
            sequence += u64::from(bytes);
        }
        if matches!(push, Push::One | Push::Probe) {
            self.end_output(now, caller);
        } else {
            self.output(now, caller, push);
        }
    }

    /// An acknowledgment without data is made.
    pub(super) fn acknowledge(&mut self, caller: Caller, cause: Cause) {
        self.go_on(caller, self.spec.costs.ack_output, Task::Acknowledged(caller, cause));
    }

    pub(super) fn acknowledged(&mut self, now: Ps, caller: Caller, cause: Cause, out: &mut Outbox) {
        let window = self.receiver.announce();
        // A probe of a shut window bears a number that the other end has.
        let back = u64::from(cause == Cause::WindowProbe);
        let segment = Segment {
            sequence: self.sender.next.saturating_sub(back),
            acknowledgment: self.receiver.expected,
            window,
            sack: self.receiver.sack(),
            ..Segment::data(0, 0)
        };
        self.depart(now, segment, cause, out);
        self.returned(now, caller);
    }

    fn depart(&mut self, now: Ps, segment: Segment, cause: Cause, out: &mut Outbox) {
        let wire = u64::from(segment.wire_segments_count);
        if segment.bytes > 0 {
            self.counted.data_segments += wire;
            self.counted.retransmitted_segments += if segment.flags.is_retransmission { wire } else { 0 };
        } else {
            self.counted.pure_acks += 1;
        }
        let outstanding_bytes = self.sender.next - self.sender.una;
        let cwnd_bytes = u64::from(self.sender.congestion.window) * u64::from(self.sender.mss);
        out.send(Departure { at: now, pace: 0, segment, outstanding_bytes, cwnd_bytes, cause });
    }

    /// A segment comes in. An adapter that is not being worked off interrupts, after its coalescing, and an idle
    /// processor has to be woken first.
    pub(super) fn put_in_adapter(&mut self, now: Ps, arrival: &Arrival) {
        let last = arrival.last.max(now);
        self.adapter.push_back((last, arrival.segment));
        if !self.is_polling {
            let coalescing = self.spec.adapter.coalescing;
            let waiting = u32::try_from(self.adapter.len()).unwrap_or(u32::MAX);
            let due = if waiting >= coalescing.frames { last } else { last + coalescing.delay };
            self.interrupt(self.raised_at.map_or(due, |at| at.min(due)));
        }
    }

    /// The adapter interrupts at an instant; an idle processor takes it later than a busy one.
    fn interrupt(&mut self, at: Ps) {
        let is_idle = self.cpus[self.softirq_cpu()].done_at().is_none();
        self.raised_at = Some(at);
        self.interrupt_at = Some(at + if is_idle { self.spec.costs.idle_exit } else { 0 });
    }

    /// The softirq takes the next segment, merged with those that follow it, or ends.
    pub(super) fn poll_adapter(&mut self, now: Ps) {
        let Some(&(last, mut segment)) = self.adapter.front() else {
            self.is_polling = false;
            return;
        };
        if last > now {
            self.is_polling = false;
            return self.interrupt(last + self.spec.adapter.coalescing.delay);
        }
        self.adapter.pop_front();
        let costs = self.spec.costs;
        let mut cost = costs.softirq.of(segment.bytes);
        while self.spec.adapter.has_gro
            && let Some(&(last, next)) = self.adapter.front()
            && last <= now
            && merges(&segment, &next)
        {
            self.adapter.pop_front();
            segment.bytes += next.bytes;
            segment.wire_segments_count += next.wire_segments_count;
            segment.flags.is_push |= next.flags.is_push;
            (segment.acknowledgment, segment.window) = (next.acknowledgment, next.window);
            cost += costs.merge;
        }
        self.submit(now, self.softirq_cpu(), Level::Protocol, cost, Task::Taken(segment));
    }

    /// TCP takes a segment in, unless the process owns the socket.
    pub(super) fn taken(&mut self, segment: Segment) {
        self.counted.segments_in += 1;
        if segment.bytes > 0 {
            self.taken_frames += if self.spec.adapter.has_gro { u64::from(segment.wire_segments_count) } else { 1 };
        }
        if self.is_owned {
            self.receiver.backlog_memory += truesize(segment.bytes);
            self.backlog.push_back(segment);
            self.go_on(Caller::Softirq, self.spec.costs.backlog, Task::Backlogged);
        } else {
            let cost = self.input_cost(&segment);
            self.go_on(Caller::Softirq, cost, Task::Input(Caller::Softirq, segment));
        }
    }

    pub(super) fn input_cost(&self, segment: &Segment) -> Ps {
        if segment.bytes > 0 { self.spec.costs.input } else { self.spec.costs.ack_input }
    }

    /// `tcp_rcv_established`.
    pub(super) fn input(&mut self, now: Ps, caller: Caller, segment: &Segment) {
        if caller == Caller::Softirq && self.is_owned {
            // The process has locked the socket meanwhile, on the other processor.
            self.receiver.backlog_memory += truesize(segment.bytes);
            self.backlog.push_back(*segment);
            return self.poll_adapter(now);
        }
        let acked = self.sender.on_acknowledgment(now, segment);
        self.debt += Ps::from(acked.buffers) * self.spec.costs.free_buffer;
        if segment.bytes > 0 {
            let taken = self.receiver.on_data(now, segment, &self.sender.round_trip);
            self.ack_due = taken.acknowledges;
            if taken.readable > 0 {
                self.wake_reader(now);
            }
        } else if segment.sequence < self.receiver.expected {
            // A probe of the window asks for an answer (RFC 9293 3.8.6.1).
            self.receiver.acks.is_scheduled = true;
            self.ack_due = Some(Cause::OutOfOrder);
        }
        if acked.bytes > 0 {
            self.wake_writer(now);
        }
        if caller == Caller::Backlog && self.spec.kernel.defers_backlog_acks && self.ack_due != Some(Cause::OutOfOrder) {
            self.deferred.ack = self.deferred.ack.or(self.ack_due.take());
        }
        if acked.wants_output && (self.sender.queue.head().is_some() || self.sender.segments.lost > 0) {
            self.output(now, caller, Push::Nagle);
        } else {
            self.end_output(now, caller);
        }
    }

    fn wake_reader(&mut self, now: Ps) {
        if let Process::Reading { is_asleep, .. } = &mut self.process
            && std::mem::take(is_asleep)
        {
            self.wake(now);
        }
    }

    /// Memory was freed: a writer that waits for it is woken once there is enough, and the buffer may grow.
    fn wake_writer(&mut self, now: Ps) {
        if !self.send_buffer.wakes(self.sender.queue.memory) {
            return;
        }
        if let Process::Writing { is_asleep, .. } = &mut self.process
            && std::mem::take(is_asleep)
        {
            if self.sender.segments.in_flight() < self.sender.congestion.window {
                self.send_buffer.expand(self.sender.mss, self.sender.congestion.window);
            }
            self.wake(now);
        }
    }

    /// A process is woken by a softirq: on the same processor it is next, on another one that must be told.
    fn wake(&mut self, now: Ps) {
        let costs = self.spec.costs;
        self.counted.wake_ups += 1;
        if self.softirq_cpu() == 0 {
            let cost = self.chance.around(costs.switch);
            self.cpus[0].submit(now, Level::Process, cost, Task::Awake);
        } else {
            self.wake_at = Some(now + costs.idle_exit);
        }
        self.debt += costs.wake_up;
    }

    /// Takes back what the device is done with.
    pub(super) fn settle_device(&mut self, now: Ps) {
        while let Some(&(at, memory)) = self.completions.front().filter(|&&(at, _)| at <= now) {
            debug_assert!(at <= now);
            self.completions.pop_front();
            self.sender.on_device_done(memory);
        }
    }

    /// Sending goes on behind what had to be waited for: the device, or pacing's timer (`tcp_tsq_handler`,
    /// `tcp_pace_kick`).
    pub(super) fn send_on(&mut self, now: Ps, cause: Cause) {
        if self.is_owned {
            self.deferred.output = true;
        } else {
            self.output(now, Caller::Timer(cause), Push::Nagle);
        }
    }

    pub(super) fn on_sender_timer(&mut self, now: Ps) {
        if self.is_owned {
            self.deferred.sender_timer = true;
            return;
        }
        let is_probe = self.sender.is_window_probed();
        self.counted.timeouts += u64::from(self.sender.on_timer(now));
        if !is_probe {
            self.output(now, Caller::Timer(Cause::Retransmission), Push::Nagle);
        } else if self.sender.is_window_shut() {
            self.acknowledge(Caller::Timer(Cause::WindowProbe), Cause::WindowProbe);
        } else {
            self.output(now, Caller::Timer(Cause::WindowProbe), Push::Probe);
        }
    }

    pub(super) fn on_ack_timer(&mut self) {
        if self.is_owned {
            self.deferred.ack_timer = true;
        } else if self.receiver.acks.on_timer(self.sender.round_trip.timeout(0)) {
            self.acknowledge(Caller::Timer(Cause::DelayedAck), Cause::DelayedAck);
        }
    }
}

/// Whether GRO merges the second behind the first (`tcp_gro_receive`, `tcp_offload.c`): next in sequence, no push
/// between, the same size but for the last.
fn merges(first: &Segment, second: &Segment) -> bool {
    let each = first.bytes / u32::from(first.wire_segments_count).max(1);
    first.bytes > 0
        && second.bytes > 0
        && first.end() == second.sequence
        && !first.flags.is_push
        && second.bytes <= each
        && first.bytes + second.bytes < MERGED_BYTES
        && first.wire_segments_count + second.wire_segments_count <= MERGED_SEGMENTS
        && first.sack == Sack::default()
}
