//! Moves bytes: opens the data connections of a trial and drives the workload over them.
//!
//! The way through: [`options`] sets up a socket as the trial asks and reads back what was
//! granted; [`open`] makes the connections, each introduced by the trial's token
//! ([`preamble`]); [`running`] drives them, one thread a connection ([`sender`], [`receiver`], or
//! [`datagrams`]), started and stopped by [`control`], as [`flow`]s with counters that a
//! sampler may read at any time ([`counter`]), punctually ([`urgency`]), until each connection has ended.
//! [`thread`] pins and accounts. What a stream's connection can do, be it a socket of the kernel or a
//! library's, is its [`transport`]; over sockets payload leaves through an [`outlet`]. Where it is encrypted, [`secure`] says by whom.
//! In addition, the probe of [`round_trips`] may run.
//! Workloads of groups and transactions are executed by [`engine`], few threads for many users.

mod asking;
pub mod connection_result;
pub(crate) mod control;
pub mod counter;
pub mod datagrams;
pub mod engine;
mod error_queue;
pub mod flow;
pub mod limits;
pub mod open;
pub mod options;
pub mod outlet;
mod pending;
pub mod preamble;
mod receiver;
pub mod round_trips;
pub mod running;
mod sctp;
pub mod secure;
mod sender;
pub mod sockopt;
mod stamps;
pub mod thread;
pub mod transport;
pub mod urgency;
pub mod zero_copy;

use std::io;

/// Why a load cannot run.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The trial asks for something that makes no sense.
    #[error("{0}")]
    Usage(String),
    /// This host refuses or lacks something.
    #[error("{doing}: {source}{advice}")]
    Host {
        /// The action that was under way, with the value.
        doing: String,
        /// The kernel's answer.
        source: io::Error,
        /// Advice on what to do, led by a separator; may be empty.
        advice: &'static str,
    },
    /// A limit of this host is lower than the trial needs; names it, its value and what to do.
    #[error("{0}")]
    Limit(String),
    /// The other host does not answer as it should.
    #[error("{0}")]
    Peer(String),
}

impl LoadError {
    fn host(doing: impl Into<String>, source: io::Error, advice: &'static str) -> Self {
        Self::Host { doing: doing.into(), source, advice }
    }
}
