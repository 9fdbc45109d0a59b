//! TCP over STREAMS as Solaris 8 has it: a write is a message, and messages keep their boundaries.
//!
//! Sources: study 2 (Huang, "Understanding Gigabit Ethernet Performance on Sun Fire Systems", 2003); the "Solaris 8
//! Tunable Parameters Reference Manual" for what a tunable means; and illumos, which carries that TCP on, where both
//! are silent (`usr/src/uts/common/inet/tcp`).
//!
//! - [`host`]: an end system; its connections, their processes, and TCP as work of processors. [`spec`]: what it is made
//!   of. [`profile`]: from TOML.
//! - [`messages`]: how writes become segments. [`nagle`]: when a small one waits. [`sender`]: what may leave.
//! - [`deferred`]: when data is acknowledged. [`receiver`]: what has come.

mod connection;
pub mod deferred;
pub mod host;
pub mod messages;
pub mod nagle;
mod network;
mod process;
pub mod profile;
pub mod receiver;
pub mod sender;
mod shared;
pub mod spec;
mod tasks;
