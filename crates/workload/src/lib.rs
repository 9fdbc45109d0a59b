//! Decides what an application does, without doing it. Sans-IO: no sockets, no clock, no threads; time
//! and results are arguments. Used by the load, and by a simulator in the same way.
//!
//! - [`stream`]: the bulk workload: how much the next call asks for, and when the transfer ends.
//! - [`datagrams`]: numbered datagrams: their header, when they are due, what arrived of them.
//! - [`datagram_order`]: which operation of a workload a datagram belongs to.
//! - [`phases`]: warm-up, measurement, cool-down, and the instants at which samples are due.
//! - [`schedule`]: flows that start and stop at set times.
//! - [`script`]: a workload of groups and transactions made ready for one host, checked and mirrored.
//! - [`user`]: what a user does next; sizes come from [`sizes`], intended instants from
//!   [`arrivals`].

pub mod arrivals;
mod cursor;
pub mod datagram_order;
pub mod datagrams;
pub mod exchange;
pub mod pace;
pub mod phases;
pub mod schedule;
pub mod script;
pub mod sizes;
pub mod stream;
pub mod user;
