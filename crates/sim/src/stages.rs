//! Where the time of segments goes in a host: each piece of its processor's work that is of a segment, as it ended.
//!
//! An end system keeps them only where it is asked for them, and only that of `SunOS` does. The words are the record's
//! ([`schema::table::Stage`]), so that a model's segments and a kernel's are read alike. What the words cannot say here:
//!
//! - A call's entry and its return are one cost of the model, in `call_entry`. That of a read has the bytes that it may read.
//! - Making an ACK and its driver are one `ack_out`.
//! - Waking a reader has the switch to it within. What wakes a writer, timers, and the interrupt when a segment has left
//!   are in no stage: they are in the time of the processor alone.

use crate::time::Ps;
use schema::table::{Context, SegmentDirection, Stage};

/// Work that has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Staged {
    /// The stage that it was.
    pub stage: Stage,
    /// The direction: of payload that leaves the host or that arrives, or of its ACKs.
    pub direction: SegmentDirection,
    /// Number of the first byte; of an ACK what it acknowledges.
    pub sequence: u64,
    /// Payload of the segment, the copy or the call.
    pub bytes: u32,
    /// When it began.
    pub start: Ps,
    /// From its start to its end, with what interrupted it.
    pub wall: Ps,
    /// Time of the processor.
    pub cpu: Ps,
    /// True if the segment had left before.
    pub is_again: bool,
    /// Who did it: the process in a call, the receive processing, or a timer.
    pub context: Context,
}
