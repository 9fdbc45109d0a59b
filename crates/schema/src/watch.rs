//! Watching connections of other programs: which of them, how closely, and what is reported while it goes on.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::evidence::Evidence;

/// More connections than this are refused: a report of them has to fit into a message.
pub const CONNECTIONS_MOST: u32 = 1_000;

/// The controller's request to an agent that watches. Level user needs no privilege for the user's own network namespace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WatchSpec {
    /// Side that the rows name: near or far.
    pub host: String,
    /// Which connections.
    pub selection: Selection,
    /// The amount of evidence taken; where the host refuses a level, a lower one is taken, and the report says why.
    pub evidence: Evidence,
    /// Stack samples of each CPU in a second; absent: none.
    #[serde(default)]
    pub profile_hz: Option<u32>,
    /// Time between two samples of a connection, in ns; more when samples of many sockets take long.
    pub sample_ns: u64,
    /// Time between two [`Reply::Watched`](crate::message::Reply::Watched), in ns.
    pub report_ns: u64,
    /// Connections that are watched one by one, those that have closed included; more are only counted. A busier one takes
    /// the place of the one that moved least. At most [`CONNECTIONS_MOST`].
    pub connections_most: u32,
    /// The duration, in ns; absent: until [`Request::EndWatch`](crate::message::Request::EndWatch).
    #[serde(default)]
    pub duration_ns: Option<u64>,
    /// A process with whose end the watch ends; absent: none. What it has started may go on.
    #[serde(default)]
    pub ends_with_process: Option<u32>,
}

/// Which connections are watched: those that satisfy every list that is not empty, by any of its entries. Where all
/// lists are empty, the busiest connections of the host.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Selection {
    /// Ports, local or remote.
    #[serde(default)]
    pub ports: Vec<u16>,
    /// Processes, by their numbers in the agent's PID namespace, with the processes that they start.
    #[serde(default)]
    pub processes: Vec<u32>,
    /// Names of programs, as in `/proc/<pid>/comm` or the last part of the executable's path.
    #[serde(default)]
    pub programs: Vec<String>,
    /// Numeric addresses, local or remote, without a port; one of IPv4 also stands for the same address mapped to IPv6.
    #[serde(default)]
    pub addresses: Vec<String>,
    /// Control groups (version 2), by their paths below the mount point, with those inside them.
    #[serde(default)]
    pub control_groups: Vec<String>,
    /// Exact connections: of the other side, when it is watched too.
    #[serde(default)]
    pub connections: Vec<Endpoints>,
    /// Connections that are never watched, by their ends in either order: those that carry this very watch.
    #[serde(default)]
    pub excluded: Vec<Endpoints>,
}

/// The two ends of a connection, each `address:port`, or `[address]:port` of IPv6, as the watching host has
/// them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Endpoints {
    /// The end on the host that watches.
    pub local: String,
    /// The end on the other host.
    pub remote: String,
}

/// The view at an instant. For display only: the record's tables are the result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WatchProgress {
    /// When, on this host's CLOCK_MONOTONIC, in ns.
    pub mono_ns: u64,
    /// The level of evidence that is taken.
    pub level: Evidence,
    /// Why it is lower than asked for, in a sentence; absent when it is not.
    pub reason: Option<String>,
    /// The connections that are watched and open, or have closed since the last report.
    pub connections: Vec<WatchedConnection>,
    /// TCP connections of this network namespace that are not watched, because others are asked for or too many.
    pub others_count: u64,
    /// Of these, those that satisfy the selection and are too many.
    pub beyond_limit_count: u64,
    /// Connections whose process could not be found: of other users, where the agent has no privilege. Where the selection
    /// names processes or programs, those that might be theirs; otherwise of the ones that are watched.
    pub unknown_owner_count: u64,
    /// The time that the last look at all sockets took, in ns.
    pub look_ns: u64,
    /// Time between two samples now, in ns.
    pub sample_ns: u64,
    /// Sockets of the selected processes in place of TCP connections; absent where the selection names no process and no
    /// program, and where connections are watched.
    #[serde(default)]
    pub instead: Option<Instead>,
}

/// Sockets of processes that have no TCP connection, which are not watched.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Instead {
    /// Processes that the selection names and that run, with those that they have started.
    pub processes_count: u32,
    /// Their UDP sockets.
    pub udp_sockets_count: u32,
    /// Their Unix sockets.
    pub unix_sockets_count: u32,
    /// Their TCP sockets that listen.
    pub listening_sockets_count: u32,
}

/// A watched connection at an instant: totals since it opened, and its present state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WatchedConnection {
    /// Its number in the tables, from 0, in the order in which they are found.
    pub connection: u32,
    /// Its two ends.
    pub endpoints: Endpoints,
    /// The program that holds it: `/proc/<pid>/comm`; empty where it is not known.
    pub program: String,
    /// Its process; absent where it is not known.
    pub process: Option<u32>,
    /// State (`include/net/tcp_states.h`); 7, closed, once it is gone.
    pub state: u8,
    /// True if it opened after the watch began, or had moved nothing before.
    pub is_whole: bool,
    /// Acknowledged by the peer, in bytes.
    pub acked_bytes: u64,
    /// Received in sequence, in bytes.
    pub received_bytes: u64,
    /// Retransmitted segments.
    pub retransmitted_segments: u32,
    /// Segments sent with payload.
    pub data_segments_out: u32,
    /// Smoothed round-trip time, in ns.
    pub rtt_ns: u64,
    /// Congestion window, in segments.
    pub cwnd_segments: u32,
    /// Segment size sent, in bytes.
    pub mss_bytes: u32,
    /// Window that the peer last announced, in bytes; absent on kernels before 5.4.
    pub peer_window_bytes: Option<u32>,
    /// Window that this side last announced, in bytes; absent on kernels before 6.2.
    pub own_window_bytes: Option<u32>,
    /// Written and not sent, in bytes.
    pub unsent_bytes: u32,
    /// Sent and not acknowledged, or not sent, in bytes.
    pub send_queue_bytes: u32,
    /// Received and not read, in bytes.
    pub receive_queue_bytes: u32,
    /// Time with data outstanding or waiting, in ns.
    pub busy_ns: u64,
    /// Of it, limited by the receiver's window.
    pub rwnd_limited_ns: u64,
    /// And by the send buffer.
    pub send_buffer_limited_ns: u64,
}
