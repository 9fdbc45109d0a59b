//! `SunOS` 4.1 as an end system: BSD's sockets and TCP, one processor, one process, one connection.
//!
//! - [`spec`]: what a host is made of, as data. [`profile`]: from its file. [`host`]: one as it stands, behind [`crate::end_system`].
//! - `process`: what happens in write and read calls. `network`: segments out and in.
//! - `stages`: which stage of a segment each work is. [`rules`]: the rules as data. [`socket`], [`tcp`], [`recovery`]: what follows from them. `adapter`: between memory and line.

mod adapter;
pub mod host;
mod network;
mod process;
pub mod profile;
pub mod recovery;
pub mod rules;
pub mod socket;
pub mod spec;
mod stages;
pub mod tcp;
