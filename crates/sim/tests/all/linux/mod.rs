//! Streams between hosts with Linux.

mod ablations;
mod flow;
mod losses;
mod pacing;
mod path;
mod profiles;
