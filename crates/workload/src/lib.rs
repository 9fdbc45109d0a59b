//! What an application does, without doing it. Sans-IO: no sockets, no clock, no threads; time
//! and results are arguments. Used by the load, and by a simulator in the same way.
//!
//! - [`stream`]: the bulk workload: how much the next call asks for, and when the transfer ends.
//! - [`phases`]: warm-up, measurement, cool-down, and the instants at which samples are due.

pub mod exchange;
pub mod pace;
pub mod phases;
pub mod stream;
