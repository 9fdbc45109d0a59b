//! A connection at work: itself, and what it shares with the others of its host.

use super::connection::Connection;
use super::shared::Shared;
use super::tasks::{Caller, Process, Task};
use crate::cpu::Level;
use crate::end_system::{Cause, Outbox};
use crate::time::Ps;

/// One connection while something is done for it.
pub(super) struct Acting<'host> {
    pub own: &'host mut Connection,
    pub shared: &'host mut Shared,
}

impl Acting<'_> {
    /// Work of its softirqs or timers, behind what waits there.
    pub fn submit(&mut self, level: Level, cost: Ps, task: Task) {
        let cpu = self.shared.softirq_cpu(self.own.number);
        self.shared.submit(cpu, level, cost, (self.own.number, task));
    }

    pub fn go_on(&mut self, caller: Caller, cost: Ps, task: Task) {
        self.shared.go_on(caller, cost, (self.own.number, task));
    }

    pub fn poll_adapter(&mut self) {
        self.shared.poll_adapter(self.shared.queue_of(self.own.number));
    }

    pub fn on_done(&mut self, now: Ps, task: Task, out: &mut Outbox) {
        match task {
            Task::WriteCall(bytes) => self.write(now, bytes),
            Task::CopiedIn(bytes, is_new) => self.copied_in(now, bytes, is_new),
            Task::Sent(caller, push, buffer) => self.sent(now, caller, push, &buffer, out),
            Task::Acknowledged(caller, cause) => self.acknowledged(now, caller, cause, out),
            Task::Polled(room) => self.polled(room),
            Task::ReadCall(room) => self.begin_read(now, room),
            Task::CopiedOut(bytes) => self.copied_out(now, bytes),
            Task::Awake => self.awake(now),
            Task::Interrupted(queue) => self.shared.poll_adapter(queue),
            Task::Backlogged => self.poll_adapter(),
            Task::Taken(segment) => self.taken(segment),
            Task::Input(caller, segment) => self.input(now, caller, &segment),
            Task::SenderTimer => self.on_sender_timer(now),
            Task::AckTimer => self.on_ack_timer(),
            Task::DeviceDone => self.send_on(now, Cause::Deferred),
            Task::Paced => self.send_on(now, Cause::Pacing),
            Task::HandedOver => {}
        }
    }

    /// Timers and devices that are due.
    pub fn on_instant(&mut self, now: Ps) {
        let is_due = |at: Option<Ps>| at.is_some_and(|at| at <= now);
        let costs = self.shared.spec.costs;
        let process_cpu = self.shared.process_cpu(self.own.number);
        if is_due(self.own.wake_at) {
            self.own.wake_at = None;
            self.shared.submit(process_cpu, Level::Process, costs.switch, (self.own.number, Task::Awake));
        } else if self.own.sender.is_throttled && is_due(self.own.completions.front().map(|&(at, _)| at)) {
            self.settle_device(now);
            if !self.own.sender.is_throttled {
                self.submit(Level::Protocol, costs.timer, Task::DeviceDone);
            }
        } else if is_due(self.own.sender.timer_at()) {
            self.own.sender.hold_timer();
            self.submit(Level::Protocol, costs.timer, Task::SenderTimer);
        } else if is_due(self.own.sender.pacing.timer_at()) {
            self.own.sender.pacing.on_timer();
            self.submit(Level::Protocol, costs.timer, Task::Paced);
        } else if is_due(self.own.receiver.acks.due_at) {
            self.own.receiver.acks.due_at = None;
            self.submit(Level::Protocol, costs.timer, Task::AckTimer);
        } else if matches!(self.own.process, Process::Waiting(until) if until <= now) {
            self.call(now);
            self.shared.cpus[process_cpu].dispatch(now);
        }
    }
}
