//! What a process of an end system does next.

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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
}

impl Application {
    /// The next call at `now`, which is when the last one returned.
    pub fn next_call(&self, _now: Ps) -> Call {
        match *self {
            Self::Writer { left_bytes: 0, .. } | Self::Reader { left_bytes: 0, .. } => Call::Over,
            Self::Writer { call_bytes, left_bytes } => {
                Call::Write(u32::try_from(left_bytes).map_or(call_bytes, |left| left.min(call_bytes)))
            }
            Self::Reader { call_bytes, .. } => Call::Read(call_bytes),
        }
    }

    /// So many bytes of a call went over; a call may be told of in pieces.
    pub fn on_moved(&mut self, bytes: u32) {
        let (Self::Writer { left_bytes, .. } | Self::Reader { left_bytes, .. }) = self;
        *left_bytes = left_bytes.saturating_sub(u64::from(bytes));
    }

    /// Whether all is written and read.
    pub fn is_complete(&self) -> bool {
        let (Self::Writer { left_bytes, .. } | Self::Reader { left_bytes, .. }) = *self;
        left_bytes == 0
    }
}
