//! The point that a process is at whose calls block: that of every system here whose reads and writes are one step long.

use crate::calls::{AtCall, Kind, Processor};
use crate::end_system::EndState;
use crate::time::Ps;
use std::fmt::{Display, Formatter, Result};

/// The point that the process is at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Process {
    /// In a write call with so many bytes left.
    Writing {
        /// Bytes of the call that are not copied.
        remaining: u32,
        /// True if it waits for room.
        is_asleep: bool,
    },
    /// In a read call.
    Reading {
        /// Room that is left in the user's buffer.
        room: u32,
        /// True if it waits for data.
        is_asleep: bool,
    },
    /// In none, until then.
    Waiting(Ps),
    /// Done.
    Over,
}

impl Process {
    /// The point that the log of calls records.
    pub fn at_call(&self, processor: Processor, counted: &EndState) -> AtCall {
        match *self {
            Self::Writing { is_asleep, .. } => AtCall::inside(Kind::Write, is_asleep, processor, counted),
            Self::Reading { is_asleep, .. } => AtCall::inside(Kind::Read, is_asleep, processor, counted),
            Self::Waiting(_) | Self::Over => AtCall::outside(counted),
        }
    }
}

/// For the finding of a run that cannot go on.
impl Display for Process {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> Result {
        match self {
            Self::Writing { remaining, is_asleep: true } => write!(formatter, "the writer sleeps with {remaining} bytes of its call left"),
            Self::Writing { remaining, .. } => write!(formatter, "the writer has {remaining} bytes of its call left"),
            Self::Reading { .. } => formatter.write_str("the reader waits for data"),
            Self::Waiting(_) => formatter.write_str("the process waits for its time"),
            Self::Over => formatter.write_str("the process is done"),
        }
    }
}
