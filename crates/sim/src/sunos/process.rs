//! Events in the calls of the process: copies, sleeps, returns.

use super::host::{Caller, Host, Process, Task};
use super::socket::{self, Piece};
use crate::application::Call;
use crate::cpu::Level;
use crate::end_system::Cause;
use crate::time::Ps;

impl Host {
    /// The process makes its next call, if it has one.
    pub(super) fn call(&mut self, now: Ps) {
        match self.application.next_call(now) {
            Call::Write(bytes) => {
                self.counted.calls_begun += 1;
                self.process = Process::Writing { remaining: 0, is_asleep: false };
                self.go_on(Level::Process, self.spec.costs.write_call, Task::WriteCall(bytes));
            }
            Call::Read(room) => {
                self.counted.calls_begun += 1;
                self.process = Process::Reading { room: 0, is_asleep: false };
                self.go_on(Level::Process, self.spec.costs.read_call, Task::ReadCall(room));
            }
            Call::Wait(until) => self.process = Process::Waiting(until),
            Call::Over => self.process = Process::Over,
        }
    }

    /// The process is in a write call.
    pub(super) fn write(&mut self, bytes: u32) {
        self.process = Process::Writing { remaining: bytes, is_asleep: false };
        self.copy_in();
    }

    /// Copies the next piece of a write, or sleeps.
    fn copy_in(&mut self) {
        let Process::Writing { remaining, is_asleep } = &mut self.process else { return };
        match socket::to_copy(&self.spec.rules, *remaining, self.queued, u64::from(self.spec.window_bytes)) {
            Some(Piece { bytes, buffers }) => {
                let cost = self.spec.costs.copy_in.of_several(buffers, bytes);
                self.go_on(Level::Process, cost, Task::CopiedIn(bytes));
            }
            None => *is_asleep = true,
        }
    }

    /// A piece of a write is in the send buffer, and TCP is asked to send.
    pub(super) fn copied_in(&mut self, now: Ps, bytes: u32) {
        self.queued += u64::from(bytes);
        self.counted.written_bytes += u64::from(bytes);
        self.application.on_moved(bytes);
        if let Process::Writing { remaining, .. } = &mut self.process {
            *remaining -= bytes;
        }
        self.begin_output(now, Caller::Writer, Cause::WriteCall);
    }

    /// Behind TCP's output a write goes on with what is left of it, or returns.
    pub(super) fn write_on(&mut self, now: Ps) {
        if matches!(self.process, Process::Writing { remaining: 0, .. }) {
            self.counted.write_calls += 1;
            self.call(now);
        } else {
            self.copy_in();
        }
    }

    /// Copies the next piece to the reader, or lets it sleep.
    pub(super) fn read(&mut self) {
        let Process::Reading { room, is_asleep } = &mut self.process else { return };
        let bytes = self.received.to_copy(*room);
        if bytes == 0 {
            *is_asleep = true;
        } else {
            self.go_on(Level::Process, self.spec.costs.copy_out.of(bytes), Task::CopiedOut(bytes));
        }
    }

    /// A read returns when the user's buffer is full or the socket's is empty, and then announces the window.
    pub(super) fn copied_out(&mut self, now: Ps, bytes: u32) {
        self.received.take(bytes);
        self.counted.on_read(now, bytes);
        self.application.on_moved(bytes);
        let Process::Reading { room, .. } = &mut self.process else { return };
        *room -= bytes;
        if *room == 0 || self.received.bytes == 0 {
            self.begin_output(now, Caller::Reader, Cause::ReadCall);
        } else {
            self.read();
        }
    }

    /// The process runs again where it slept.
    pub(super) fn awake(&mut self, now: Ps) {
        match self.process {
            Process::Writing { .. } => self.write_on(now),
            Process::Reading { .. } => self.read(),
            Process::Waiting(_) | Process::Over => {}
        }
    }

    /// Whoever ran TCP's output goes on.
    pub(super) fn returned(&mut self, now: Ps, caller: Caller) {
        match caller {
            Caller::Writer => self.write_on(now),
            Caller::Reader => {
                self.counted.read_calls += 1;
                self.call(now);
            }
            Caller::Input | Caller::Timer => {}
        }
    }
}
