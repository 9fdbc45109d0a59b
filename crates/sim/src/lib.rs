//! Two end systems and the link between them as discrete events: pure, seeded, no I/O.
//!
//! Throughput between hosts follows from the rules of their sockets and TCP, and from what each step costs
//! them. [`world::run`] takes both as data and gives every segment.
//!
//! - [`world`]: what happens, one event after the other.
//! - [`host`]: an end system: processor, buffers, TCP, process.
//! - [`cpu`]: who may interrupt whom.
//! - [`socket`], [`tcp`]: the rules of `SunOS` 4.1.
//! - [`cost`]: what steps cost. [`link`]: the line. [`log`]: what was sent.

pub mod agenda;
pub mod chance;
pub mod cost;
pub mod cpu;
pub mod host;
pub mod link;
pub mod log;
pub mod segment;
pub mod socket;
pub mod tcp;
pub mod time;
pub mod world;
