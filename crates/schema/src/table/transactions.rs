//! Tables of workloads: transactions, their latency, and datagrams.

use super::ColumnType::{Text, U32, U64};
use super::{CONNECTION, Column, END, HOST, INTERVAL, PHASE, START, Table, column, optional};

/// Words of what a latency histogram counts.
///
/// - `intended`: from the instant at which the transaction was to begin. Open loop only: what waited
///   behind a slow one counts its wait, so nothing is omitted in coordination.
/// - `service`: from the first call of the transaction to the end of its last.
/// - `wire`: from the kernel's stamp of the request's last segment to that of the response's last.
///   Where a transaction has several requests, their sum. Counted where all stamps came.
/// - `connect`: from the connect call to the open connection.
/// - `host`: what `wire` leaves of `service`: calls, stack and threads of this side's host.
pub const LATENCY_KINDS: [&str; 5] = ["intended", "service", "wire", "connect", "host"];

const GROUP: Column = column("group", Text, "", "Group of the workload.", "plan");
const TRANSACTION: Column = column("transaction", Text, "", "Transaction of the group.", "plan");

/// One row a group, transaction, end and interval.
pub const TRANSACTIONS: Table = Table {
    name: "transactions",
    row: "the transactions of a group in one interval at one side",
    columns: &[
        HOST,
        GROUP,
        TRANSACTION,
        INTERVAL,
        PHASE,
        START,
        END,
        column("transactions_count", U64, "count", "Executions that ended in the interval.", "load"),
        column("intended_count", U64, "count", "Executions that were to begin in the interval; in a closed loop those that did.", "load"),
        column("begun_count", U64, "count", "Executions that began in the interval.", "load"),
        column("failed_count", U64, "count", "Executions that failed or timed out in the interval.", "load"),
        column("sent_bytes", U64, "bytes", "Payload written in the interval.", "return values of send"),
        column("received_bytes", U64, "bytes", "Payload read in the interval.", "return values of recv"),
        column("calls_count", U64, "count", "System calls of the data path in the interval, waiting included.", "load"),
        column("operations_count", U64, "count", "Operations that ended in the interval.", "load"),
    ],
};

/// One row a value of a histogram.
pub const LATENCIES: Table = Table {
    name: "latencies",
    row: "a value of a latency histogram, merged over threads without loss, and how often it occurred",
    columns: &[
        HOST,
        GROUP,
        TRANSACTION,
        column("phase", Text, "", "Phase in which the transaction ended: warm-up, measure or cool-down.", "load"),
        column("kind", Text, "", "intended, service, wire, connect or host.", "load"),
        column("latency_ns_low", U64, "ns", "Smallest latency that counts here.", "HDR histogram"),
        column("latency_ns_high", U64, "ns", "Largest.", "HDR histogram"),
        column("latency_count", U64, "count", "Transactions.", "HDR histogram"),
    ],
};

/// One row a flow of datagrams, end and interval.
pub const DATAGRAMS: Table = Table {
    name: "datagrams",
    row: "the datagrams of a flow in one interval at one side",
    columns: &[
        HOST,
        CONNECTION,
        INTERVAL,
        PHASE,
        START,
        END,
        column("sent_count", U64, "count", "Datagrams taken by the kernel; 0 at the receiver.", "return values of sendmsg"),
        column("received_count", U64, "count", "Datagrams that arrived, duplicates not counted; 0 at the sender.", "sequence numbers"),
        column("payload_bytes", U64, "bytes", "Payload sent, or that arrived for the first time.", "sequence numbers"),
        column(
            "late_count",
            U64,
            "count",
            "Datagrams that arrived behind a later one (reordered, RFC 4737 type-P-reordered).",
            "sequence numbers",
        ),
        column("duplicate_count", U64, "count", "Datagrams that arrived again.", "sequence numbers"),
        optional(
            "highest_sequence_count",
            U64,
            "count",
            "Highest number seen so far, plus 1; with received_count it gives the loss.",
            "header",
        ),
        optional(
            "jitter_ns",
            U64,
            "ns",
            "Smoothed variation of the transit time at the end of the interval (RFC 3550 6.4.1).",
            "header and clock",
        ),
        column(
            "kernel_drops_count",
            U32,
            "count",
            "Datagrams the receiving socket dropped since the start because its buffer was full.",
            "SO_MEMINFO, sock_diag(7)",
        ),
    ],
};
