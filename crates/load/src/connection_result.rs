//! The end of a connection at this host, and what it had done until then.

use crate::zero_copy::ZeroCopy;

/// Why a load was ended from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// It outlived its deadline.
    Deadline,
    /// The controller no longer wants it.
    Aborted,
}

/// The way that a connection ended at this host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// As the plan says; both hosts count the same payload.
    Complete,
    /// Cut from outside.
    Cut(Cut),
    /// It failed; the reason in a sentence.
    Failed(String),
}

/// The results of a connection on this side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectionResult {
    /// Number of the connection.
    pub number: u32,
    /// Sender: first call begins. Receiver: first payload read. CLOCK_MONOTONIC in ns.
    pub first_call_mono_ns: Option<u64>,
    /// Sender: last call returned. Receiver: last payload read. CLOCK_MONOTONIC in ns.
    pub last_call_mono_ns: Option<u64>,
    /// Payload moved in bytes.
    pub payload_bytes: u64,
    /// Send or receive calls.
    pub calls_count: u64,
    /// Calls that moved less than they asked for.
    pub short_calls_count: u64,
    /// Other system calls of the data path.
    pub other_calls_count: u64,
    /// The outcome of sends without copying, where they were asked for.
    pub zero_copy: Option<ZeroCopy>,
    /// Receive calls' messages without a stamp of the kernel, where those were asked for.
    pub unstamped_count: u64,
    /// The way that it ended.
    pub ended: Ended,
}

impl ConnectionResult {
    /// A connection that did nothing yet and, if nothing else is set, ended as it should.
    pub fn new(number: u32) -> Self {
        Self {
            number,
            first_call_mono_ns: None,
            last_call_mono_ns: None,
            payload_bytes: 0,
            calls_count: 0,
            short_calls_count: 0,
            other_calls_count: 0,
            zero_copy: None,
            unstamped_count: 0,
            ended: Ended::Complete,
        }
    }
}
