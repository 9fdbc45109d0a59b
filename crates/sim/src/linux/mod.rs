//! Linux, kernels 5.10 to 6.18: TCP, sockets, softirqs, adapters.
//!
//! The rules are those of `net/ipv4/tcp*.c`; each names its function there. They are small and pure; [`host`]
//! puts them together.

pub mod acknowledging;
mod acting;
mod adapter;
pub mod buffer;
pub mod congestion;
mod connection;
pub mod delivery;
pub mod ecn;
pub mod host;
pub mod nagle;
mod network;
pub mod pacing;
mod process;
pub mod profile;
mod rack;
pub mod receiver;
pub mod recovery;
pub mod round_trip;
pub mod sender;
mod shared;
pub mod sizing;
pub mod spec;
mod tasks;
pub mod tuning;
pub mod undo;
pub mod window;
pub mod write_queue;
