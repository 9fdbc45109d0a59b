//! Evidence of a trial's connections from within the kernel, by BPF programs on tracepoints:
//! counters for each connection (level 1) and logs of every segment and of every call (level 2).
//!
//! Hooks: [`hooks::PLACES`]. Columns: [`schema::table::COUNTERS`], [`schema::table::SIZES`],
//! [`schema::table::SOFTIRQS`], [`schema::table::SEGMENTS`], [`schema::table::CALLS`]. Needs `CAP_BPF` and `CAP_PERFMON` and a
//! kernel with BTF; [`hooks()`] says what is missing. Nothing stays attached when the process ends,
//! however it ends: the kernel removes a program with its last file descriptor.
//!
//! Which connections are watched is said by the port of a trial ([`Watch`]), or by a list of sockets of any programs
//! ([`ChosenWatch`]), which may exist already. The programs are the same, compiled for one or the other.
//!
//! A program looks at the ports first and leaves at once when the traffic is another's. What it
//! counts of a connection needs no lock, because the kernel itself lets one at a time send, receive
//! or process on it. A segment's record is written once, into memory that the reader shares: one log
//! a CPU, no system call, no wake-up. A full log loses the newest records and counts them.
//!
//! Not seen: packets that the kernel sends for a connection without its socket (resets, and before
//! Linux 6.13 the ACKs of a connection in `TIME_WAIT`); TCP behind IPv6 extension headers; before 6.2
//! the socket's state at an arrival; whatever the kernel does on top of a process that it hides
//! from tracing, as some sandboxes do with their own: programs do not run there, and only TCP's own
//! counts of segments show it. A comparison with a capture would show it, too.

mod chosen;
pub mod hooks;
#[rustfmt::skip]
#[allow(missing_docs, dead_code, clippy::doc_markdown, clippy::unreadable_literal, reason = "it is generated")]
mod layout;
mod log;
pub(crate) mod mapped;
pub(crate) mod object;
mod picks;
pub(crate) mod shared;
mod watch;

pub use chosen::{ChosenSocket, ChosenWatch, network_namespace};
pub(crate) use layout::LogHead;
pub use layout::{Call, Connection, Cpu, NONE, Record, Sized, Vector};
pub use log::LogReader;
pub(crate) use object::silence;
pub use object::{Refused, hooks};
pub use watch::{Watch, Watched};
