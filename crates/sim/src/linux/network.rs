//! Segments out and in: TCP's input and output, the device that has them, timers.

use super::acting::Acting;
use super::tasks::{Caller, Process, Task};
use crate::cpu::Level;
use crate::end_system::{Cause, Departure, Outbox};
use crate::linux::buffer::{OVERHEAD_BYTES, truesize};
use crate::linux::sender::Push;
use crate::linux::undo::stamp;
use crate::linux::write_queue::Buffer;
use crate::segment::{Flags, Segment};
use crate::time::Ps;

impl Acting<'_> {
    /// TCP's output (`tcp_write_xmit`), a buffer at a time; behind the last, its caller goes on.
    pub(super) fn output(&mut self, now: Ps, caller: Caller, push: Push) {
        self.settle_device(now);
        match self.own.sender.poll(now, push) {
            Some(buffer) => {
                let costs = self.shared.spec.costs;
                let frames = if self.shared.spec.adapter.has_segmentation { 1 } else { Ps::from(self.own.sender.count(buffer.bytes)) };
                let cutting = if frames > 1 { frames * costs.segmentation } else { 0 };
                self.go_on(caller, costs.output + cutting + frames * costs.transmit, Task::Sent(caller, push, buffer));
            }
            None => self.end_output(now, caller),
        }
    }

    fn end_output(&mut self, now: Ps, caller: Caller) {
        let has_sent = std::mem::take(&mut self.own.has_sent);
        let is_out_of_memory = caller == Caller::WriteSleep || matches!(self.own.process, Process::Writing { is_asleep: true, .. });
        self.own.sender.end_burst(now, has_sent, is_out_of_memory);
        match self.own.ack_due.take() {
            Some(cause) if self.own.receiver.acks.is_scheduled => self.acknowledge(caller, cause),
            _ => self.returned(now, caller),
        }
    }

    /// A buffer has left: whole where the adapter cuts it up, else in frames.
    pub(super) fn sent(&mut self, now: Ps, caller: Caller, push: Push, buffer: &Buffer, out: &mut Outbox) {
        self.own.has_sent = true;
        let each = if self.shared.spec.adapter.has_segmentation { buffer.bytes } else { self.own.sender.mss };
        let window = self.own.receiver.announce();
        self.own.receiver.acks.on_data_sent(now);
        let mut sequence = buffer.start;
        while sequence < buffer.end() {
            let bytes = each.min(u32::try_from(buffer.end() - sequence).unwrap_or(each));
            let is_last = sequence + u64::from(bytes) == buffer.end();
            let segment = Segment {
                bytes,
                sequence,
                wire_segments_count: u16::try_from(self.own.sender.count(bytes)).unwrap_or(u16::MAX),
                acknowledgment: self.own.receiver.expected,
                window,
                flags: Flags { is_push: is_last && buffer.is_push, is_retransmission: buffer.was_again_out, ..Flags::default() },
                ..Segment::data(0, 0)
            };
            let memory = u64::from(bytes) + if is_last { OVERHEAD_BYTES } else { 0 };
            self.own.handed_over.push_back(memory);
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
        self.go_on(caller, self.shared.spec.costs.ack_output, Task::Acknowledged(caller, cause));
    }

    pub(super) fn acknowledged(&mut self, now: Ps, caller: Caller, cause: Cause, out: &mut Outbox) {
        let window = self.own.receiver.announce();
        // A probe of a shut window bears a number that the other host has.
        let back = u64::from(cause == Cause::WindowProbe);
        let segment = Segment {
            sequence: self.own.sender.next.saturating_sub(back),
            acknowledgment: self.own.receiver.expected,
            window,
            sack: self.own.receiver.sack(),
            ..Segment::data(0, 0)
        };
        self.depart(now, segment, cause, out);
        self.returned(now, caller);
    }

    fn depart(&mut self, now: Ps, mut segment: Segment, cause: Cause, out: &mut Outbox) {
        if self.shared.spec.kernel.stamps {
            (segment.stamp, segment.echo) = (stamp(now), self.own.recent_stamp);
        }
        segment.flags = self.own.sender.ecn.flags(segment.flags, segment.bytes > 0);
        let wire = u64::from(segment.wire_segments_count);
        if segment.bytes > 0 {
            self.own.counted.data_segments += wire;
            self.own.counted.retransmitted_segments += if segment.flags.is_retransmission { wire } else { 0 };
        } else {
            self.own.counted.pure_acks += 1;
        }
        let outstanding_bytes = self.own.sender.next - self.own.sender.una;
        let cwnd_bytes = u64::from(self.own.sender.congestion.window) * u64::from(self.own.sender.mss);
        let segment = Segment { connection: self.own.number, ..segment };
        out.send(Departure { at: now, pace: 0, segment, outstanding_bytes, cwnd_bytes, cause });
    }

    /// TCP takes a segment in, unless the process owns the socket.
    pub(super) fn taken(&mut self, segment: Segment) {
        self.own.counted.segments_in += 1;
        if segment.bytes > 0 {
            let frames = if self.shared.spec.adapter.has_gro { u64::from(segment.wire_segments_count) } else { 1 };
            self.shared.taken_frames = (self.shared.taken_frames.0 + frames, self.own.number);
        }
        if self.own.is_owned {
            self.own.receiver.backlog_memory += truesize(segment.bytes);
            self.own.backlog.push_back(segment);
            self.go_on(Caller::Softirq, self.shared.spec.costs.backlog, Task::Backlogged);
        } else {
            let cost = self.input_cost(&segment);
            self.go_on(Caller::Softirq, cost, Task::Input(Caller::Softirq, segment));
        }
    }

    pub(super) fn input_cost(&self, segment: &Segment) -> Ps {
        if segment.bytes > 0 { self.shared.spec.costs.input } else { self.shared.spec.costs.ack_input }
    }

    /// `tcp_rcv_established`.
    pub(super) fn input(&mut self, now: Ps, caller: Caller, segment: &Segment) {
        if caller == Caller::Softirq && self.own.is_owned {
            // The process has locked the socket meanwhile, on the other processor.
            self.own.receiver.backlog_memory += truesize(segment.bytes);
            self.own.backlog.push_back(*segment);
            return self.poll_adapter();
        }
        // RFC 7323 4.3: of what came before the last acknowledgment.
        if segment.sequence <= self.own.receiver.acknowledged() {
            self.own.recent_stamp = self.own.recent_stamp.max(segment.stamp);
        }
        let acked = self.own.sender.on_acknowledgment(now, segment);
        self.shared.debt += Ps::from(acked.buffers) * self.shared.spec.costs.free_buffer;
        if segment.bytes > 0 {
            let marks = self.own.sender.ecn.on_data(segment.flags);
            if marks.is_first_mark {
                self.own.receiver.on_mark();
            }
            let taken = self.own.receiver.on_data(now, segment, &self.own.sender.round_trip);
            self.own.ack_due = taken.acknowledges.or(marks.is_confirmation.then_some(Cause::QuickAck));
            if taken.readable > 0 {
                self.wake_reader(now);
            }
        } else if segment.sequence < self.own.receiver.expected {
            // A probe of the window asks for an answer (RFC 9293 3.8.6.1).
            self.own.receiver.acks.is_scheduled = true;
            self.own.ack_due = Some(Cause::OutOfOrder);
        }
        if acked.bytes > 0 {
            self.wake_writer(now);
        }
        if caller == Caller::Backlog && self.shared.spec.kernel.defers_backlog_acks && self.own.ack_due != Some(Cause::OutOfOrder) {
            self.own.deferred.ack = self.own.deferred.ack.or(self.own.ack_due.take());
        }
        if acked.wants_output && (self.own.sender.queue.head().is_some() || self.own.sender.segments.lost > 0) {
            self.output(now, caller, Push::Nagle);
        } else {
            self.end_output(now, caller);
        }
    }

    fn wake_reader(&mut self, now: Ps) {
        if let Process::Reading { is_asleep, .. } = &mut self.own.process
            && std::mem::take(is_asleep)
        {
            self.wake(now);
        }
    }

    /// Memory was freed: a writer that waits for it is woken once there is enough, and the buffer may grow.
    fn wake_writer(&mut self, now: Ps) {
        if !self.own.send_buffer.wakes(self.own.sender.queue.memory) {
            return;
        }
        if let Process::Writing { is_asleep, .. } = &mut self.own.process
            && std::mem::take(is_asleep)
        {
            if self.own.sender.segments.in_flight() < self.own.sender.congestion.window {
                self.own.send_buffer.expand(self.own.sender.mss, self.own.sender.congestion.window);
            }
            self.wake(now);
        }
    }

    /// A process is woken by a softirq: on the same processor it queues, another processor must be interrupted, if
    /// it has nothing else to do.
    fn wake(&mut self, now: Ps) {
        let costs = self.shared.spec.costs;
        let number = self.own.number;
        let cpu = self.shared.process_cpu(number);
        self.own.counted.wake_ups += 1;
        if self.shared.softirq_cpu(number) == cpu {
            let cost = self.shared.rng.around(costs.switch);
            self.shared.cpus[cpu].submit(now, Level::Process, cost, (number, Task::Awake));
        } else {
            let is_idle = self.shared.cpus[cpu].done_at().is_none();
            self.own.wake_at = Some(now + if is_idle { costs.idle_exit } else { 0 });
        }
        self.shared.debt += costs.wake_up;
    }

    /// Takes back what the device is done with.
    pub(super) fn settle_device(&mut self, now: Ps) {
        while let Some(&(at, memory)) = self.own.completions.front().filter(|&&(at, _)| at <= now) {
            debug_assert!(at <= now);
            self.own.completions.pop_front();
            self.own.sender.on_device_done(memory);
        }
    }

    /// Sending goes on behind what had to be waited for: the device, or pacing's timer (`tcp_tsq_handler`,
    /// `tcp_pace_kick`).
    pub(super) fn send_on(&mut self, now: Ps, cause: Cause) {
        if self.own.is_owned {
            self.own.deferred.output = true;
        } else {
            self.output(now, Caller::Timer(cause), Push::Nagle);
        }
    }

    pub(super) fn on_sender_timer(&mut self, now: Ps) {
        if self.own.is_owned {
            self.own.deferred.sender_timer = true;
            return;
        }
        let is_probe = self.own.sender.is_window_probed();
        self.own.counted.timeouts += u64::from(self.own.sender.on_timer(now));
        if !is_probe {
            self.output(now, Caller::Timer(Cause::Retransmission), Push::Nagle);
        } else if self.own.sender.is_window_shut() {
            self.acknowledge(Caller::Timer(Cause::WindowProbe), Cause::WindowProbe);
        } else {
            self.output(now, Caller::Timer(Cause::WindowProbe), Push::Probe);
        }
    }

    pub(super) fn on_ack_timer(&mut self) {
        if self.own.is_owned {
            self.own.deferred.ack_timer = true;
        } else if self.own.receiver.acks.on_timer(self.own.sender.round_trip.timeout(0)) {
            self.acknowledge(Caller::Timer(Cause::DelayedAck), Cause::DelayedAck);
        }
    }
}
