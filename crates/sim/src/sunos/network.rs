//! Segments out and in between socket and driver: TCP's output and input as the host runs them.

use super::host::{Caller, Host, Output, Process, Task};
use crate::cpu::Level;
use crate::end_system::Cause;
use crate::time::Ps;

impl Host {
    pub(super) fn begin_output(&mut self, now: Ps, caller: Caller, cause: Cause) {
        let was_idle = self.tcp.is_idle();
        self.output(now, Output { caller, cause, was_idle, is_more: false });
    }

    pub(super) fn output(&mut self, now: Ps, output: Output) {
        self.output_as(now, output, false);
    }

    /// The window is asked for with a byte that it may not allow (Stevens 25.8).
    pub(super) fn probe(&mut self, now: Ps) {
        let was_idle = self.tcp.is_idle();
        self.output_as(now, Output { caller: Caller::Timer, cause: Cause::WindowProbe, was_idle, is_more: false }, true);
    }

    fn output_as(&mut self, now: Ps, output: Output, is_forced: bool) {
        let buffers = self.buffers();
        let rules = self.spec.rules.tcp;
        let Some(sending) = self.tcp.output(output.was_idle, is_forced, buffers) else {
            if self.queued > 0 && self.tcp.is_idle() {
                self.tcp.recovery.start_persist(&rules);
            }
            return self.returned(now, output.caller);
        };
        if is_forced {
            self.tcp.recovery.start_persist(&rules);
        } else if sending.segment.bytes > 0 {
            self.tcp.recovery.start_timer(&rules);
        }
        self.made = sending.segment;
        let cost = self.spec.costs.output.of(sending.segment.bytes);
        self.go_on(Level::Protocol, cost, Task::Made(Output { is_more: sending.is_more, ..output }));
    }

    /// Makes what the driver took wait for the software interrupt.
    pub(super) fn taken(&mut self, now: Ps) {
        if let Some(segment) = self.taking.pop_front() {
            self.incoming.push_back(segment);
            self.submit(now, Level::Protocol, self.spec.costs.input.of(segment.bytes), Task::Input);
        }
    }

    pub(super) fn input(&mut self, now: Ps) {
        let Some(segment) = self.incoming.pop_front() else { return };
        self.counted.segments_in += 1;
        let arrived = self.tcp.input(&segment);
        self.queued -= arrived.acknowledged;
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
        if arrived.is_lost {
            self.send_oldest_again(now);
        } else if self.tcp.is_ack_due || (arrived.wants_output && self.queued > 0) {
            let cause = if self.tcp.is_ack_due { Cause::OutOfOrder } else { Cause::Arrival };
            self.begin_output(now, Caller::Input, cause);
        }
    }

    /// Fast retransmit: the oldest segment alone, and then on from where the sender was (Stevens 29.4).
    fn send_oldest_again(&mut self, now: Ps) {
        let (next, cwnd) = (self.tcp.next, self.tcp.recovery.cwnd);
        self.tcp.next = self.tcp.una;
        self.tcp.recovery.cwnd = u64::from(self.tcp.mss);
        self.begin_output(now, Caller::Input, Cause::Retransmission);
        self.tcp.recovery.cwnd = cwnd;
        self.tcp.next = self.tcp.next.max(next);
    }
}
