//! The path between the two ends: today the embedded testbed, two network namespaces joined by a
//! veth pair.
//!
//! The namespaces are anonymous. Nothing is mounted under `/run/netns`; the process that called
//! [`build`] holds a file descriptor on each, and others enter by `/proc/PID/fd/N` ([`enter`]).
//! When the holder ends, by whatever signal, the kernel itself removes the namespaces and all in
//! them: devices, addresses, routes, sysctls. Everything that is set is read back, and what the
//! kernel did not take is an error. What can still be left by a killed run are processes; see
//! [`leftovers`].

mod carry;
mod cpus;
mod ends;
mod enter;
mod error;
pub mod leftovers;
mod link;
mod netns;
mod offload;
mod settings;
mod steering;
mod testbed;

pub use enter::enter;
pub use error::PathError;
pub use testbed::{Testbed, build};
