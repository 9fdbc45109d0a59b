//! The next action of an end system's process: a bulk stream, or a user of a workload.

mod scripted;

pub use self::scripted::{Executed, Refusal, Scripted};

use crate::time::Ps;

/// A system call, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Call {
    /// Write so many bytes; returns when all of them are taken.
    Write(u32),
    /// Read at most so many.
    Read(u32),
    /// Nothing until then.
    Wait(Ps),
    /// Nothing ever again.
    Over,
}

/// One process.
#[derive(Debug, Clone)]
pub enum Application {
    /// Writes so many bytes in calls of that size.
    Writer {
        /// Bytes of each call.
        call_bytes: u32,
        /// Bytes that are left.
        left_bytes: u64,
    },
    /// Reads so many bytes in calls of that size.
    Reader {
        /// Room in each call.
        call_bytes: u32,
        /// Bytes that are left.
        left_bytes: u64,
    },
    /// A user of a workload.
    Scripted(Box<Scripted>),
}

impl Application {
    /// The next call at `now`, which is when the last one returned, or until when the process waited.
    pub fn next_call(&mut self, now: Ps) -> Call {
        match self {
            Self::Writer { left_bytes: 0, .. } | Self::Reader { left_bytes: 0, .. } => Call::Over,
            Self::Writer { call_bytes, left_bytes } => {
                Call::Write(u32::try_from(*left_bytes).map_or(*call_bytes, |left| left.min(*call_bytes)))
            }
            Self::Reader { call_bytes, .. } => Call::Read(*call_bytes),
            Self::Scripted(scripted) => scripted.next_call(now),
        }
    }

    /// So many bytes of a call went over; one call may be reported in pieces.
    pub fn on_moved(&mut self, bytes: u32) {
        match self {
            Self::Writer { left_bytes, .. } | Self::Reader { left_bytes, .. } => {
                *left_bytes = left_bytes.saturating_sub(u64::from(bytes));
            }
            Self::Scripted(scripted) => scripted.on_moved(bytes),
        }
    }

    /// True if all is written and read.
    pub fn is_complete(&self) -> bool {
        match self {
            Self::Writer { left_bytes, .. } | Self::Reader { left_bytes, .. } => *left_bytes == 0,
            Self::Scripted(scripted) => scripted.is_complete(),
        }
    }

    /// The executions of a workload's transactions that ended, in order; none of a stream.
    pub fn executed(&self) -> &[Executed] {
        match self {
            Self::Writer { .. } | Self::Reader { .. } => &[],
            Self::Scripted(scripted) => scripted.executed(),
        }
    }
}
