//! The work of an application, as data: groups of users that execute transactions of operations.
//!
//! The near side executes a workload as it stands; the far side executes its mirror, in which a write
//! is a read and a think is a pause of its own. Both draw random sizes from the same seed, so that
//! each side computes what the other will send. The transactions of all groups begin together: number
//! `n` begins when every user has ended number `n - 1`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::table::word_enum;

/// The work of both sides in one trial.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Workload {
    /// Name, for the record.
    pub name: String,
    /// Seed of everything random in it.
    pub seed: u64,
    /// Groups, side by side.
    pub groups: Vec<Group>,
}

/// Virtual users that do the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Group {
    /// Name, unique in the workload.
    pub name: String,
    /// Virtual users, each with connections of its own.
    pub strands_count: u32,
    /// True if each user's connection 0 is open before the start, so that setting it up is no part
    /// of the measurement. Otherwise operations connect.
    pub is_connected: bool,
    /// One after another.
    pub transactions: Vec<Transaction>,
}

/// A list of operations and how often it is executed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Transaction {
    /// Name, unique in the group.
    pub name: String,
    /// The repetition.
    pub repeat: Repeat,
    /// When each execution is to begin.
    pub arrivals: Arrivals,
    /// Executions of a user under way at the same time: more than one writes requests ahead of the
    /// replies (pipelining).
    pub outstanding_count: u32,
    /// In order.
    pub steps: Vec<Step>,
}

/// The repetition of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "by", rename_all = "snake_case", deny_unknown_fields)]
pub enum Repeat {
    /// This often by every user; 0: never.
    Iterations {
        /// Executions.
        count: u64,
    },
    /// For a time of its own.
    Duration {
        /// In ns.
        duration_ns: u64,
    },
    /// Through the phases of the trial, or until the trial's bytes have moved.
    Trial,
}

/// When the executions of a transaction are to begin, over all users of the group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "by", rename_all = "snake_case", deny_unknown_fields)]
pub enum Arrivals {
    /// Closed loop: when the one before has ended.
    Closed,
    /// Open loop at equal distances.
    Constant {
        /// Executions in 1000 seconds.
        per_kilosecond: u64,
    },
    /// Open loop with exponential distances (a Poisson process).
    Poisson {
        /// Executions in 1000 seconds on average.
        per_kilosecond: u64,
    },
    /// Open loop at given instants, from the beginning on; over when they are used up.
    Trace {
        /// In ns since the transaction began, ascending.
        intended_ns: Vec<u64>,
    },
}

/// An operation, perhaps several times.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// The operation.
    pub operation: Operation,
    /// Number of times before the next step; at least 1.
    pub count: u32,
    /// True if a failure is passed over.
    pub can_fail: bool,
}

/// One thing an application does. `connection` names a connection of the user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "operation", rename_all = "snake_case", deny_unknown_fields)]
pub enum Operation {
    /// Active open by the near side.
    Connect {
        /// Its number from now on.
        connection: u32,
    },
    /// Passive open by the near side: the far side connects.
    Accept {
        /// Its number from now on.
        connection: u32,
    },
    /// Sends until `size` bytes are taken; a datagram where the transport has datagrams.
    Write {
        /// On which connection.
        connection: u32,
        /// The amount.
        size: Size,
        /// Bytes a call asks for at most; absent: all.
        call_bytes: Option<u32>,
    },
    /// Receives until `size` bytes have come; a datagram where the transport has datagrams.
    Read {
        /// On which connection.
        connection: u32,
        /// The amount.
        size: Size,
        /// Bytes a call asks for at most; absent: all.
        call_bytes: Option<u32>,
        /// Fails when nothing comes for this long, in ns.
        timeout_ns: Option<u64>,
    },
    /// Sends files from the page cache: sendfile(2).
    SendFile {
        /// On which connection.
        connection: u32,
        /// Files and their lengths in bytes, one drawn at each execution. The far side reads that much.
        files: Vec<FileToSend>,
        /// Bytes a call asks for at most; absent: all.
        call_bytes: Option<u32>,
    },
    /// Does nothing for a time.
    Think {
        /// The duration, in ns.
        duration_ns: u64,
        /// True if it keeps the CPU busy.
        is_busy: bool,
        /// True if the far side does the same.
        is_mirrored: bool,
    },
    /// Closes.
    Disconnect {
        /// Which connection.
        connection: u32,
    },
}

impl Operation {
    /// The connection that it is about, if it is.
    pub fn connection(&self) -> Option<u32> {
        match self {
            Operation::Connect { connection }
            | Operation::Accept { connection }
            | Operation::Write { connection, .. }
            | Operation::Read { connection, .. }
            | Operation::SendFile { connection, .. }
            | Operation::Disconnect { connection } => Some(*connection),
            Operation::Think { .. } => None,
        }
    }
}

/// A file that is sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FileToSend {
    /// On the sending host.
    pub path: String,
    /// Bytes of it.
    pub length_bytes: u64,
}

/// The number of bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "by", rename_all = "snake_case", deny_unknown_fields)]
pub enum Size {
    /// Always the same.
    Fixed {
        /// Bytes.
        bytes: u64,
    },
    /// Every value as likely.
    Uniform {
        /// Least.
        low_bytes: u64,
        /// Most.
        high_bytes: u64,
    },
    /// Drawn by weight.
    Weighted {
        /// The values.
        values: Vec<WeightedSize>,
    },
    /// One after another, from the beginning again.
    Sequence {
        /// The values in bytes.
        bytes: Vec<u64>,
    },
}

/// A value of a distribution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WeightedSize {
    /// Bytes.
    pub bytes: u64,
    /// The likelihood, against the sum of all weights.
    pub weight: u32,
}

word_enum! {
    /// The transport of the connections.
    #[derive(Default, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    Transport {
        /// TCP.
        #[default]
        Tcp = "tcp",
        /// Multipath TCP (RFC 8684).
        Mptcp = "mptcp",
        /// UDP: what is written is a datagram.
        Udp = "udp",
        /// Unix stream sockets, both sides on one host.
        Unix = "unix",
        /// UDT over UDP (draft-gg-udt-03), by the packaged library.
        Udt = "udt",
        /// QUIC over UDP (RFC 9000), by quinn's engine.
        Quic = "quic",
        /// SRT's file transmission over UDP (draft-sharabayko-srt-01), by the packaged library.
        Srt = "srt",
        /// TLS over TCP (RFC 8446), by rustls or by the kernel.
        Tls = "tls",
        /// SCTP (RFC 9260): one association, each write a message.
        Sctp = "sctp",
    }
}

/// The way that a thread waits for its connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum IoModel {
    /// A thread a user, in blocking calls.
    #[default]
    Blocking,
    /// A few threads, each waiting for many users in `epoll_wait(2)`.
    Epoll,
    /// A few threads, each with an `io_uring`.
    IoUring,
}

/// A stream of numbered datagrams, sent at a rate and counted where they arrive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DatagramStream {
    /// Payload of a datagram in bytes, the header of 24 bytes that numbers it included.
    pub datagram_bytes: u32,
    /// Datagrams handed to the kernel in one call at most (`UDP_SEGMENT`); 1: no segmentation offload.
    pub batch_count: u32,
    /// Rate of each flow in bits of payload a second; 0: as fast as it can.
    pub rate_bps: u64,
    /// True if the receiver lets the kernel merge datagrams (`UDP_GRO`).
    pub is_merged: bool,
}
