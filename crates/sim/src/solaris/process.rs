//! The process: its calls, the stream head's copies, sleeping and waking.

use super::host::{Caller, Host, PROCESS, Process, Task};
use super::messages::of_write;
use crate::application::Call;
use crate::cpu::Level;
use crate::end_system::Cause;
use crate::time::Ps;

/// A full stream lets its writer go on when so many segments' worth is left to send (illumos `tcp_mss_set`: the send
/// low-water mark is at least twice the MSS).
const LOW_WATER_SEGMENTS: u64 = 2;

impl Host {
    /// The process makes its next call.
    pub(super) fn call(&mut self, now: Ps) {
        let (cost, task) = match self.application.next_call(now) {
            Call::Write(bytes) => {
                self.process = Process::Writing { remaining: 0, is_asleep: false };
                (self.spec.costs.write_call, Task::WriteCall(bytes))
            }
            Call::Read(room) => {
                self.process = Process::Reading { room: 0, is_asleep: false };
                (self.spec.costs.read_call, Task::ReadCall(room))
            }
            Call::Wait(until) if until > now => return self.process = Process::Waiting(until),
            Call::Wait(_) | Call::Over => return self.process = Process::Over,
        };
        self.counted.calls_begun += 1;
        let cost = self.rng.around(cost);
        self.cpus[PROCESS].go_on(Level::Process, cost, task);
    }

    /// Copies the next message of a write, sleeps, or returns from the call.
    pub(super) fn write_on(&mut self, now: Ps) {
        let Process::Writing { remaining, is_asleep } = &mut self.process else { return };
        if *remaining == 0 {
            self.counted.write_calls += 1;
            return self.call(now);
        }
        if self.sender.unsent.bytes >= u64::from(self.spec.window_bytes) {
            *is_asleep = true;
            return;
        }
        let bytes = of_write(*remaining, self.sender.mss, self.spec.rules.maxpsz_multiplier);
        let cost = self.rng.around(self.spec.costs.copy_in.of(bytes));
        self.cpus[PROCESS].go_on(Level::Process, cost, Task::CopiedIn(bytes));
    }

    pub(super) fn copied_in(&mut self, now: Ps, bytes: u32) {
        self.sender.unsent.push(bytes);
        self.counted.written_bytes += u64::from(bytes);
        self.application.on_moved(bytes);
        if let Process::Writing { remaining, .. } = &mut self.process {
            *remaining -= bytes;
        }
        if !self.begin_run(now, Caller::Writer, Cause::WriteCall) {
            self.write_on(now);
        }
    }

    /// The queue of unsent bytes is shorter: who slept for that runs again.
    pub(super) fn on_queue_shorter(&mut self, now: Ps) {
        let low = (LOW_WATER_SEGMENTS * u64::from(self.sender.mss)).min(u64::from(self.spec.window_bytes / 2));
        if let Process::Writing { is_asleep, .. } = &mut self.process
            && self.sender.unsent.bytes <= low
            && std::mem::take(is_asleep)
        {
            self.wake(now);
        }
    }

    pub(super) fn on_unread(&mut self, now: Ps) {
        if let Process::Reading { is_asleep, .. } = &mut self.process
            && std::mem::take(is_asleep)
        {
            self.wake(now);
        }
    }

    fn wake(&mut self, now: Ps) {
        self.counted.wake_ups += 1;
        self.submit(now, PROCESS, Level::Process, self.spec.costs.wake_up, Task::Awake);
    }

    pub(super) fn awake(&mut self, now: Ps) {
        match self.process {
            Process::Writing { .. } => self.write_on(now),
            Process::Reading { .. } => self.read(),
            Process::Waiting(_) | Process::Over => {}
        }
    }

    pub(super) fn read(&mut self) {
        let Process::Reading { room, is_asleep } = &mut self.process else { return };
        if self.receiver.unread == 0 {
            *is_asleep = true;
            return;
        }
        let bytes = u32::try_from(self.receiver.unread).unwrap_or(u32::MAX).min(*room);
        let cost = self.rng.around(self.spec.costs.copy_out.of(bytes));
        self.cpus[PROCESS].go_on(Level::Process, cost, Task::CopiedOut(bytes));
    }

    /// A read returns with what was there, and announces the window where that is due.
    pub(super) fn copied_out(&mut self, now: Ps, bytes: u32) {
        self.counted.on_read(now, bytes);
        self.counted.read_calls += 1;
        self.application.on_moved(bytes);
        if self.receiver.on_read(u64::from(bytes)) {
            self.begin_ack(Caller::Reader, Cause::ReadCall);
        } else {
            self.call(now);
        }
    }
}
