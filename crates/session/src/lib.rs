//! An agent's answers to a controller, and when. Sans-IO: bytes of the pipe, ends of threads and the time go in;
//! replies and things to do come out.
//!
//! [`Session`] has the states of a trial, [`Outbox`] the replies that wait for the pipe and the heartbeats,
//! [`report`] the order in which a trial's result is sent. Times are ns of any monotonic clock.

mod action;
pub mod outbox;
pub mod report;
mod session;

pub use action::{Action, PipeError, Prepared, Refusal};
pub use outbox::{Outbox, Sent, message_frame};
pub use session::Session;

/// The time that everything may take to end after the pipe closed, in ns; only what hangs takes that long.
pub const END_GRACE_NS: u64 = 1_000_000_000;
/// Time from the pipe's closing to the process's end, whatever it is doing, in ns: an agent never outlives its pipe by
/// 2 s.
pub const CLOSED_GRACE_NS: u64 = 1_700_000_000;
/// The time that a trial may take to end, and to reply with its result, after it was aborted, in ns.
pub const ABORT_GRACE_NS: u64 = 1_500_000_000;
