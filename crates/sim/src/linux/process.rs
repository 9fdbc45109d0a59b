//! Events in the calls of the process: `tcp_sendmsg_locked`, `tcp_recvmsg_locked` (tcp.c), `poll`, and the
//! socket's lock (`release_sock`).

use super::acting::Acting;
use super::tasks::{Caller, Process, Task, Then};
use crate::application::Call;
use crate::end_system::Cause;
use crate::linux::sender::Push;
use crate::time::Ps;

/// New buffers after which a write looks at what came meanwhile (`tcp_sendmsg_locked`).
const FLUSH_BUFFERS: u32 = 16;

impl Acting<'_> {
    /// The process makes its next call, if it has one.
    pub(super) fn call(&mut self, now: Ps) {
        let costs = self.shared.spec.costs;
        match self.own.application.next_call(now) {
            Call::Write(bytes) => {
                self.own.counted.calls_begun += 1;
                self.own.process = Process::Writing { remaining: 0, is_asleep: false };
                self.go_on(Caller::Write, costs.write_call, Task::WriteCall(bytes));
            }
            Call::Read(room) => {
                self.own.counted.calls_begun += 1;
                let is_polling = costs.poll_call > 0;
                self.own.process = Process::Reading { room, has_copied: false, is_asleep: false, is_polling };
                if is_polling {
                    self.go_on(Caller::Read, costs.poll_call, Task::Polled(room));
                } else {
                    self.go_on(Caller::Read, costs.read_call, Task::ReadCall(room));
                }
            }
            Call::Wait(until) => self.rest(Process::Waiting(until)),
            Call::Over => self.rest(Process::Over),
        }
    }

    /// The process makes no call until its time, or ever.
    fn rest(&mut self, process: Process) {
        self.own.process = process;
        self.shared.end_slice(self.own.number);
    }

    pub(super) fn write(&mut self, now: Ps, bytes: u32) {
        self.own.process = Process::Writing { remaining: bytes, is_asleep: false };
        self.own.is_owned = true;
        self.own.sender.on_write();
        self.own.new_buffers = 0;
        self.copy_in(now);
    }

    /// Copies the next piece of a write into the last buffer or a new one, waits for memory, or ends the call.
    fn copy_in(&mut self, now: Ps) {
        let Process::Writing { remaining, .. } = self.own.process else { return };
        if remaining == 0 {
            return self.end_write(now);
        }
        let goal = self.own.sender.goal();
        let mut room = self.own.sender.queue.tail_room(goal);
        let is_new = room == 0;
        if is_new {
            if !self.own.send_buffer.has_room(self.own.sender.queue.memory) {
                return self.output(now, Caller::WriteSleep, Push::Forced);
            }
            if self.own.new_buffers >= FLUSH_BUFFERS && !self.own.backlog.is_empty() {
                self.own.new_buffers = 0;
                return self.release(now, Then::GoOn);
            }
            self.own.new_buffers += 1;
            self.own.sender.on_new_buffer(now);
            room = goal;
        }
        let bytes = room.min(remaining);
        let costs = self.shared.spec.costs;
        let cost = costs.copy_in.of(bytes) + if is_new { costs.new_buffer } else { 0 };
        self.go_on(Caller::Write, cost, Task::CopiedIn(bytes, is_new));
    }

    /// A buffer that is full leaves although the write goes on, if it is the first or half a window is filled.
    pub(super) fn copied_in(&mut self, now: Ps, bytes: u32, is_new: bool) {
        self.own.sender.queue.append(bytes, is_new);
        self.own.counted.written_bytes += u64::from(bytes);
        self.own.application.on_moved(bytes);
        let Process::Writing { remaining, .. } = &mut self.own.process else { return };
        *remaining -= bytes;
        let is_full = *remaining > 0 && self.own.sender.queue.tail_room(self.own.sender.goal()) == 0;
        if is_full && self.own.sender.must_push() {
            self.own.sender.mark_push();
            self.output(now, Caller::Write, Push::Forced);
        } else if is_full && self.own.sender.queue.is_head_last() {
            self.output(now, Caller::Write, Push::One);
        } else {
            self.copy_in(now);
        }
    }

    /// `tcp_push`.
    fn end_write(&mut self, now: Ps) {
        self.own.sender.mark_push();
        self.settle_device(now);
        if self.own.sender.is_corked() {
            self.release(now, Then::Return);
        } else {
            self.output(now, Caller::WriteEnd, Push::Nagle);
        }
    }

    /// The call of `poll` returns, or waits.
    pub(super) fn polled(&mut self, room: u32) {
        if self.own.receiver.readable() > 0 {
            self.enter_read(room);
        } else {
            self.own.process = Process::Reading { room, has_copied: false, is_asleep: true, is_polling: true };
        }
    }

    fn enter_read(&mut self, room: u32) {
        self.own.process = Process::Reading { room, has_copied: false, is_asleep: false, is_polling: false };
        self.go_on(Caller::Read, self.shared.spec.costs.read_call, Task::ReadCall(room));
    }

    pub(super) fn begin_read(&mut self, now: Ps, room: u32) {
        self.own.process = Process::Reading { room, has_copied: false, is_asleep: false, is_polling: false };
        self.own.is_owned = true;
        self.read(now);
    }

    /// Copies the next piece to the reader. Where there is none, what came meanwhile is taken first; then the call
    /// returns with what it has, or waits.
    fn read(&mut self, now: Ps) {
        let Process::Reading { room, has_copied, .. } = self.own.process else { return };
        let bytes = self.own.receiver.next_piece(room);
        if bytes > 0 {
            self.go_on(Caller::Read, self.shared.spec.costs.copy_out.of(bytes), Task::CopiedOut(bytes));
        } else if room > 0 && !self.own.backlog.is_empty() {
            self.release(now, Then::GoOn);
        } else if has_copied {
            self.end_read(now);
        } else {
            self.release(now, Then::Wait);
        }
    }

    pub(super) fn copied_out(&mut self, now: Ps, bytes: u32) {
        self.own.receiver.take(now, bytes);
        self.own.counted.on_read(now, bytes);
        self.shared.delivered_bytes += u64::from(bytes);
        self.own.application.on_moved(bytes);
        let Process::Reading { room, has_copied, .. } = &mut self.own.process else { return };
        *room -= bytes;
        *has_copied = true;
        self.read(now);
    }

    /// `tcp_cleanup_rbuf`.
    fn end_read(&mut self, now: Ps) {
        if self.own.receiver.is_due_on_read() {
            self.acknowledge(Caller::Read, Cause::ReadCall);
        } else {
            self.release(now, Then::Return);
        }
    }

    /// The process lets go of the socket: first it does what others left to it, one after the other.
    pub(super) fn release(&mut self, now: Ps, then: Then) {
        self.own.then = then;
        if let Some(segment) = self.own.backlog.pop_front() {
            self.own.receiver.backlog_memory -= super::buffer::truesize(segment.bytes);
            let cost = self.input_cost(&segment);
            return self.go_on(Caller::Backlog, cost, Task::Input(Caller::Backlog, segment));
        }
        if let Some(cause) = self.own.deferred.ack.take()
            && self.own.receiver.acks.is_scheduled
        {
            return self.acknowledge(Caller::Release, cause);
        }
        if std::mem::take(&mut self.own.deferred.output) {
            return self.output(now, Caller::Release, Push::Nagle);
        }
        self.own.is_owned = false;
        if std::mem::take(&mut self.own.deferred.sender_timer) {
            self.on_sender_timer(now);
        }
        if std::mem::take(&mut self.own.deferred.ack_timer) {
            self.on_ack_timer();
        }
        self.after_release(now);
    }

    fn after_release(&mut self, now: Ps) {
        let can_go_on = match self.own.process {
            Process::Writing { .. } => self.own.send_buffer.has_room(self.own.sender.queue.memory),
            Process::Reading { .. } => self.own.receiver.readable() > 0,
            Process::Waiting(_) | Process::Over => false,
        };
        match (self.own.then, self.own.process) {
            (Then::Return, Process::Writing { .. }) => {
                self.own.counted.write_calls += 1;
                self.call(now);
            }
            (Then::Return, Process::Reading { .. }) => {
                self.own.counted.read_calls += 1;
                self.call(now);
            }
            (Then::GoOn, _) => self.go_on_in_call(now),
            (Then::Wait, _) if can_go_on => self.go_on_in_call(now),
            (Then::Wait | Then::Return, _) => {
                if let Process::Writing { is_asleep, .. } | Process::Reading { is_asleep, .. } = &mut self.own.process {
                    *is_asleep = true;
                    self.shared.end_slice(self.own.number);
                }
            }
        }
    }

    fn go_on_in_call(&mut self, now: Ps) {
        self.own.is_owned = true;
        match self.own.process {
            Process::Writing { .. } => self.copy_in(now),
            Process::Reading { .. } => self.read(now),
            Process::Waiting(_) | Process::Over => self.own.is_owned = false,
        }
    }

    /// The process runs again where it slept.
    pub(super) fn awake(&mut self, now: Ps) {
        match self.own.process {
            Process::Reading { room, is_polling: true, .. } => self.enter_read(room),
            Process::Writing { .. } | Process::Reading { .. } => {
                self.own.then = Then::Wait;
                self.after_release(now);
            }
            Process::Waiting(_) | Process::Over => {}
        }
    }

    /// Behind TCP's output goes on whoever ran it.
    pub(super) fn returned(&mut self, now: Ps, caller: Caller) {
        match caller {
            Caller::Write => self.copy_in(now),
            Caller::WriteEnd | Caller::Read => self.release(now, Then::Return),
            Caller::WriteSleep => self.release(now, Then::Wait),
            Caller::Backlog | Caller::Release => self.release(now, self.own.then),
            Caller::Softirq => self.poll_adapter(),
            Caller::Timer(_) => {}
        }
    }
}
