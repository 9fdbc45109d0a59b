//! Two end systems and the link between them as discrete events: pure, seeded, no I/O.
//!
//! Throughput between hosts follows from the rules of their sockets and TCP, and from what each step costs
//! them. [`world::run`] takes two end systems and a line, and gives every segment.
//!
//! - [`world`]: moves time on and carries segments. [`end_system`]: what it asks of an end system.
//! - [`sunos`]: the end system with `SunOS` 4.1. [`solaris`]: with Solaris 8. [`linux`]: with Linux. [`machine`]: one
//!   of any kind.
//! - [`profile`]: host profiles as data.
//! - [`application`]: what a process does next. [`process`]: what it is at. [`segment`]: what travels. [`link`]: the line.
//! - [`cpu`]: who may interrupt whom. [`cost`]: what a step costs. [`event_queue`]: what is planned.
//! - [`log`]: what was sent. [`calls`]: what the processes called. [`stages`]: where segments' time went.

pub mod application;
pub mod bus;
pub mod calls;
pub mod coalescing;
pub mod cost;
pub mod cpu;
pub mod end_state;
pub mod end_system;
pub mod event_queue;
pub mod link;
pub mod linux;
pub mod log;
pub mod machine;
pub mod process;
pub mod profile;
pub mod rng;
pub mod segment;
pub mod solaris;
pub mod stages;
pub mod sunos;
pub mod time;
pub mod world;
