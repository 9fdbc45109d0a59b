//! Which stage of a segment each piece of the processor's work is.

use super::host::{Caller, Host, Process, Task};
use crate::stages::Staged;
use crate::time::Ps;
use schema::table::SegmentDirection::{In, Out};
use schema::table::{Context, SegmentDirection, Stage};

/// A receive buffer is far below that.
fn narrow(bytes: u64) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

/// Who does it: output is its caller's.
fn context_of(task: Task) -> Context {
    match task {
        Task::Made(output) | Task::Sent(output) => match output.caller {
            Caller::Writer | Caller::Reader => Context::Process,
            Caller::Input => Context::NetRx,
            Caller::Timer => Context::Timer,
        },
        Task::WriteCall(_) | Task::CopiedIn(_) | Task::ReadCall(_) | Task::CopiedOut(_) => Context::Process,
        Task::FastTimer | Task::RetransmissionTimer | Task::PersistTimer => Context::Timer,
        // As the kernel's log has it, waking is of the receive processing that wakes.
        Task::Taken | Task::Lost | Task::Input | Task::SentInterrupt | Task::Awake => Context::NetRx,
    }
}

impl Host {
    /// Keeps the work that is done at `now`, before the host goes on with what follows from it.
    pub(super) fn note_stage(&mut self, now: Ps, task: Task) {
        if self.stages.is_none() {
            return;
        }
        let Some((direction, stage, sequence, bytes)) = self.stage_of(task) else { return };
        let is_again = matches!(task, Task::Made(_) | Task::Sent(_)) && self.made.flags.is_retransmission;
        let (mut start, mut cpu) = self.cpu.last();
        if stage == Stage::AckOut {
            // Making an ACK and its driver are one row.
            if matches!(task, Task::Made(_)) {
                self.ack_made = Some((start, cpu));
                return;
            }
            if let Some((began, made)) = self.ack_made.take() {
                (start, cpu) = (began, made + cpu);
            }
        }
        let context = context_of(task);
        let staged = Staged { stage, direction, sequence, bytes, start, wall: now - start, cpu, is_again, context };
        self.stages.iter_mut().for_each(|stages| stages.push(staged));
    }

    fn stage_of(&self, task: Task) -> Option<(SegmentDirection, Stage, u64, u32)> {
        let (written, read) = (self.counted.written_bytes, self.counted.read_bytes);
        Some(match task {
            Task::WriteCall(bytes) => (Out, Stage::CallEntry, written, bytes),
            Task::CopiedIn(bytes) => (Out, Stage::CopyIn, written, bytes),
            // What acknowledges what arrived.
            Task::Made(_) | Task::Sent(_) if self.made.bytes == 0 => (In, Stage::AckOut, self.made.acknowledgment, 0),
            Task::Made(_) => (Out, Stage::TcpOut, self.made.sequence, self.made.bytes),
            Task::Sent(_) => (Out, Stage::DriverOut, self.made.sequence, self.made.bytes),
            Task::Taken => {
                let taken = self.taking.front().filter(|segment| segment.bytes > 0)?;
                (In, Stage::DriverIn, taken.sequence, taken.bytes)
            }
            Task::Input => match self.incoming.front()? {
                ack if ack.bytes == 0 => (Out, Stage::AckIn, ack.acknowledgment, 0),
                segment => (In, Stage::TcpIn, segment.sequence, segment.bytes),
            },
            Task::Awake if matches!(self.process, Process::Reading { .. }) => (In, Stage::Wakeup, read, narrow(self.received.bytes)),
            Task::ReadCall(room) => (In, Stage::CallEntry, read, room),
            Task::CopiedOut(bytes) => (In, Stage::CopyOut, read, bytes),
            Task::Awake | Task::Lost | Task::SentInterrupt | Task::FastTimer | Task::RetransmissionTimer | Task::PersistTimer => {
                return None;
            }
        })
    }
}
