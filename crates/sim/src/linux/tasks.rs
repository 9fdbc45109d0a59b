//! The words of a host's work: who runs TCP's output, what a processor does, what a process is at.

use crate::calls::{AtCall, Kind, Processor};
use crate::end_system::{Cause, EndState};
use crate::linux::sender::Push;
use crate::linux::write_queue::Buffer;
use crate::segment::Segment;
use crate::time::Ps;

/// Who runs TCP's output, and goes on behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Caller {
    /// The process, within a write call.
    Write,
    /// The process, at the end of a write call.
    WriteEnd,
    /// The process, before it waits for memory.
    WriteSleep,
    /// The process, at the end of a read call.
    Read,
    /// The process, with what came while it owned the socket.
    Backlog,
    /// The process, before it lets go of the socket.
    Release,
    /// The softirq that took a segment in.
    Softirq,
    /// A timer, or a completion of the device.
    Timer(Cause),
}

impl Caller {
    pub(super) fn is_process(self) -> bool {
        !matches!(self, Self::Softirq | Self::Timer(_))
    }

    /// The cause that the log records for data that leaves.
    pub(super) fn cause(self) -> Cause {
        match self {
            Self::Write | Self::WriteEnd | Self::WriteSleep => Cause::WriteCall,
            Self::Read => Cause::ReadCall,
            Self::Backlog | Self::Softirq => Cause::Arrival,
            Self::Release => Cause::Deferred,
            Self::Timer(cause) => cause,
        }
    }
}

/// Work of a processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Task {
    /// The process has entered a write call of so many bytes.
    WriteCall(u32),
    /// A piece of a write lies in the send queue, in a buffer of its own or not.
    CopiedIn(u32, bool),
    /// A buffer has gone through TCP, IP and the driver.
    Sent(Caller, Push, Buffer),
    /// An acknowledgment has.
    Acknowledged(Caller, Cause),
    /// The process has asked whether there is something to read.
    Polled(u32),
    /// The process has entered a read call with so much room.
    ReadCall(u32),
    /// A piece of the receive queue lies with the user.
    CopiedOut(u32),
    /// The process runs again.
    Awake,
    /// The processor has taken the adapter's interrupt for that queue.
    Interrupted(usize),
    /// Driver and IP have taken a segment.
    Taken(Segment),
    /// TCP has.
    Input(Caller, Segment),
    /// It lies before the socket's owner.
    Backlogged,
    /// The sender's timer.
    SenderTimer,
    /// The timer of delayed acknowledgments.
    AckTimer,
    /// The device is done with something, and sending goes on.
    DeviceDone,
    /// The timer of pacing.
    Paced,
    /// The other host's processor was interrupted for what was handed over.
    HandedOver,
}

impl Task {
    /// Whose it is, on the processor of the process.
    pub(super) fn processor(&self) -> Processor {
        match self {
            Self::WriteCall(_) | Self::CopiedIn(..) | Self::Polled(_) | Self::ReadCall(_) | Self::CopiedOut(_) | Self::Awake => {
                Processor::Own
            }
            Self::Sent(caller, ..) | Self::Acknowledged(caller, _) | Self::Input(caller, _) if caller.is_process() => Processor::Own,
            _ => Processor::Displaced,
        }
    }
}

/// The point that the process is at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Process {
    /// In a write call with so many bytes left.
    Writing { remaining: u32, is_asleep: bool },
    /// In a read call, or waiting for one.
    Reading { room: u32, has_copied: bool, is_asleep: bool, is_polling: bool },
    /// In none, until then.
    Waiting(Ps),
    /// Done.
    Over,
}

impl Process {
    /// The point that the log of calls records. A process that polls for data is before its read call, not in it.
    pub(super) fn at_call(&self, processor: Processor, counted: &EndState) -> AtCall {
        match *self {
            Self::Writing { is_asleep, .. } => AtCall::inside(Kind::Write, is_asleep, processor, counted),
            Self::Reading { is_asleep, is_polling: true, .. } => AtCall::before(is_asleep, processor, counted),
            Self::Reading { is_asleep, .. } => AtCall::inside(Kind::Read, is_asleep, processor, counted),
            Self::Waiting(_) | Self::Over => AtCall::outside(counted),
        }
    }
}

/// The next step of the process once it has let go of the socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Then {
    /// Leaves the call.
    Return,
    /// Waits for memory or data.
    Wait,
    /// Locks the socket again and goes on.
    GoOn,
}

/// Work that was put off because the process owned the socket.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Deferred {
    pub output: bool,
    pub ack: Option<Cause>,
    pub sender_timer: bool,
    pub ack_timer: bool,
}
