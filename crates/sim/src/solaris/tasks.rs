//! The work of a host's processors, and who asked for it.

use crate::calls::Processor;
use crate::end_system::Cause;
pub(super) use crate::process::Process;
use crate::segment::Segment;

/// Who runs TCP's output, and goes on behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Caller {
    /// The process, in a write call.
    Writer,
    /// The process, at the end of a read call.
    Reader,
    /// The interrupt that took a segment in.
    Input,
    /// A timer.
    Timer,
}

impl Caller {
    fn is_process(self) -> bool {
        matches!(self, Self::Writer | Self::Reader)
    }
}

/// Work of a processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Task {
    /// The process enters a write call of so many bytes.
    WriteCall(u32),
    /// A message of a write is handed to TCP.
    CopiedIn(u32),
    /// A message that waited for the perimeter is handed to TCP by the one who was inside.
    HandedOver(Caller, u32),
    /// A segment with payload has left.
    Sent(Caller),
    /// One without has.
    AckSent(Caller, Cause),
    /// The adapter interrupts.
    Interrupt,
    /// A segment has gone up to TCP.
    Received,
    /// The process enters a read call with room for so many bytes.
    ReadCall(u32),
    /// Bytes lie with the user.
    CopiedOut(u32),
    /// The process runs again.
    Awake,
    /// The timer of deferred acknowledgments.
    DeferredTimer,
    /// The retransmission timer.
    RetransmissionTimer,
    /// The persist timer.
    PersistTimer,
}

impl Task {
    /// Whose time it is for the process of its connection.
    pub fn processor(self) -> Processor {
        let is_own = match self {
            Self::WriteCall(_) | Self::CopiedIn(_) | Self::ReadCall(_) | Self::CopiedOut(_) | Self::Awake => true,
            Self::Sent(caller) | Self::AckSent(caller, _) | Self::HandedOver(caller, _) => caller.is_process(),
            Self::Interrupt | Self::Received | Self::DeferredTimer | Self::RetransmissionTimer | Self::PersistTimer => false,
        };
        if is_own { Processor::Own } else { Processor::Displaced }
    }
}

/// A run of TCP's output under way.
#[derive(Debug, Clone, Copy)]
pub(super) struct Run {
    pub caller: Caller,
    pub cause: Cause,
    /// Bytes that it may still send.
    pub left: u64,
    /// The segment that is being made.
    pub segment: Segment,
}
