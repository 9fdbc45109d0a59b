//! The process: its calls, the stream head's copies, sleeping and waking.

use super::host::Acting;
use super::messages::of_write;
use super::tasks::{Caller, Process, Task};
use crate::application::Call;
use crate::cpu::Level;
use crate::end_system::Cause;
use crate::time::Ps;

/// A full stream lets its writer go on when so many segments' worth is left to send (illumos `tcp_mss_set`: the send
/// low-water mark is at least twice the MSS).
const LOW_WATER_SEGMENTS: u64 = 2;

impl Acting<'_> {
    /// The process makes its next call: at once, or behind others where it has waited for its time.
    pub(super) fn call(&mut self, now: Ps, has_waited: bool) {
        let costs = &self.shared.spec.costs;
        let (cost, task) = match self.own.application.next_call(now) {
            Call::Write(bytes) => {
                self.own.process = Process::Writing { remaining: 0, is_asleep: false };
                (costs.write_call, Task::WriteCall(bytes))
            }
            Call::Read(room) => {
                self.own.process = Process::Reading { room: 0, is_asleep: false };
                (costs.read_call, Task::ReadCall(room))
            }
            Call::Wait(until) if until > now => return self.rest(Process::Waiting(until)),
            Call::Wait(_) | Call::Over => return self.rest(Process::Over),
        };
        self.own.counted.calls_begun += 1;
        let work = (self.own.number, task);
        if has_waited {
            self.shared.submit_to_process(Level::Process, cost, work);
        } else {
            self.shared.go_on_process(cost, work);
        }
    }

    /// The process makes no call until its time, or ever.
    fn rest(&mut self, process: Process) {
        self.own.process = process;
        self.shared.end_slice(self.own.number);
    }

    /// Copies the next message of a write, sleeps, or returns from the call.
    pub(super) fn write_on(&mut self, now: Ps) {
        let is_full = self.own.unsent_bytes() >= u64::from(self.shared.spec.window_bytes);
        let Process::Writing { remaining, is_asleep } = &mut self.own.process else { return };
        if *remaining == 0 {
            self.own.counted.write_calls += 1;
            return self.call(now, false);
        }
        if is_full {
            *is_asleep = true;
            return self.shared.end_slice(self.own.number);
        }
        let bytes = of_write(*remaining, self.own.sender.mss, self.shared.spec.rules.maxpsz_multiplier);
        let cost = self.shared.spec.costs.copy_in.of(bytes);
        self.shared.go_on_process(cost, (self.own.number, Task::CopiedIn(bytes)));
    }

    /// A message is TCP's, or waits for the one who is inside of the perimeter.
    pub(super) fn copied_in(&mut self, now: Ps, bytes: u32) {
        self.own.counted.written_bytes += u64::from(bytes);
        self.own.application.on_moved(bytes);
        if let Process::Writing { remaining, .. } = &mut self.own.process {
            *remaining -= bytes;
        }
        if self.own.run.is_some() && self.shared.spec.rules.hands_messages_over {
            self.own.handed_over.push_back(bytes);
            self.own.handed_over_bytes += u64::from(bytes);
            return self.write_on(now);
        }
        self.own.sender.unsent.push(bytes);
        if !self.begin_run(now, Caller::Writer, Cause::WriteCall) {
            self.write_on(now);
        }
    }

    /// The queue of unsent bytes is shorter: who slept for that runs again.
    pub(super) fn on_queue_shorter(&mut self) {
        let unsent_bytes = self.own.unsent_bytes();
        let low = (LOW_WATER_SEGMENTS * u64::from(self.own.sender.mss)).min(u64::from(self.shared.spec.window_bytes / 2));
        if let Process::Writing { is_asleep, .. } = &mut self.own.process
            && unsent_bytes <= low
            && std::mem::take(is_asleep)
        {
            self.wake();
        }
    }

    pub(super) fn on_unread(&mut self) {
        if let Process::Reading { is_asleep, .. } = &mut self.own.process
            && std::mem::take(is_asleep)
        {
            self.wake();
        }
    }

    fn wake(&mut self) {
        self.own.counted.wake_ups += 1;
        self.shared.submit_to_process(Level::Process, self.shared.spec.costs.wake_up, (self.own.number, Task::Awake));
    }

    pub(super) fn awake(&mut self, now: Ps) {
        match self.own.process {
            Process::Writing { .. } => self.write_on(now),
            Process::Reading { .. } => self.read(),
            Process::Waiting(_) | Process::Over => {}
        }
    }

    pub(super) fn read(&mut self) {
        let Process::Reading { room, is_asleep } = &mut self.own.process else { return };
        if self.own.receiver.unread == 0 {
            *is_asleep = true;
            return self.shared.end_slice(self.own.number);
        }
        let bytes = u32::try_from(self.own.receiver.unread).unwrap_or(u32::MAX).min(*room);
        let cost = self.shared.spec.costs.copy_out.of(bytes);
        self.shared.go_on_process(cost, (self.own.number, Task::CopiedOut(bytes)));
    }

    /// A read returns with what was there, and announces the window where that is due.
    pub(super) fn copied_out(&mut self, now: Ps, bytes: u32) {
        self.own.counted.on_read(now, bytes);
        self.shared.delivered_bytes += u64::from(bytes);
        self.own.counted.read_calls += 1;
        self.own.application.on_moved(bytes);
        if self.own.receiver.on_read(u64::from(bytes)) {
            self.begin_ack(Caller::Reader, Cause::ReadCall);
        } else {
            self.call(now, false);
        }
    }
}
