//! The path between the two ends: the embedded testbed, two network namespaces joined by a veth
//! pair, or with a third one in the path namespace that carries an emulated path ([`router`]),
//! or two through which the kernel carries it ([`netem`]).
//!
//! The namespaces are anonymous. Nothing is mounted under `/run/netns`; the process that called
//! [`build`] holds a file descriptor on each, and others enter by `/proc/PID/fd/N` ([`enter`]).
//! When the holder ends, by whatever signal, the kernel itself removes the namespaces and all in
//! them: devices, addresses, routes, sysctls. Everything that is set is read back, and what the
//! kernel did not take is an error. What can still be left by a killed run are processes; see
//! [`leftovers`].

mod carriage;
mod carry;
mod cpus;
mod ends;
mod enter;
mod error;
pub mod leftovers;
mod link;
pub mod netem;
mod netns;
mod offload;
mod path_namespace;
pub mod router;
mod settings;
mod steering;
mod testbed;

pub use carriage::Carried;
pub use enter::enter;
pub use error::PathError;
pub use testbed::{Side, Testbed, build};
