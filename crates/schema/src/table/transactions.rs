//! Tables of workloads: transactions, their latency, and datagrams.

use super::cell::{table, word_enum};
use super::{About, CONNECTION, END, HOST, INTERVAL, PHASE, START, Text};
use crate::trial::Phase;

word_enum! {
    /// The latency that a histogram counts.
    LatencyKind {
        /// From the instant at which the transaction was to begin. Open loop only: what waited behind a slow one counts
        /// its wait, so nothing is omitted in coordination.
        Intended = "intended",
        /// From the first call of the transaction to the end of its last.
        Service = "service",
        /// From the kernel's stamp of the request's last segment to that of the response's last. Where a transaction has
        /// several requests, their sum. Counted where all stamps came.
        Wire = "wire",
        /// From the connect call to the open connection.
        Connect = "connect",
        /// The part of `service` that `wire` leaves: calls, stack and threads of this side's host.
        Host = "host",
    }
}

const GROUP: About = ("", "Group of the workload.", "plan");
const TRANSACTION: About = ("", "Transaction of the group.", "plan");

table! {
    /// One row a group, transaction, end and interval.
    TRANSACTIONS: TransactionRow = "transactions", "the transactions of a group in one interval at one side";
    host: Text = HOST;
    group: Text = GROUP;
    transaction: Text = TRANSACTION;
    interval: u32 = INTERVAL;
    phase: Phase = PHASE;
    start_mono_ns: u64 = START;
    end_mono_ns: u64 = END;
    transactions_count: u64 = ("count", "Executions that ended in the interval.", "load");
    intended_count: u64 = ("count", "Executions that were to begin in the interval; in a closed loop those that did.", "load");
    begun_count: u64 = ("count", "Executions that began in the interval.", "load");
    failed_count: u64 = ("count", "Executions that failed or timed out in the interval.", "load");
    sent_bytes: u64 = ("bytes", "Payload written in the interval.", "return values of send");
    received_bytes: u64 = ("bytes", "Payload read in the interval.", "return values of recv");
    calls_count: u64 = ("count", "System calls of the data path in the interval, waiting included.", "load");
    operations_count: u64 = ("count", "Operations that ended in the interval.", "load");
}

table! {
    /// One row a value of a histogram.
    LATENCIES: LatencyRow = "latencies", "a value of a latency histogram, merged over threads without loss, and how often it occurred";
    host: Text = HOST;
    group: Text = GROUP;
    transaction: Text = TRANSACTION;
    phase: Phase = ("", "Phase in which the transaction ended: warm-up, measure or cool-down.", "load");
    kind: LatencyKind = ("", "intended, service, wire, connect or host.", "load");
    latency_ns_low: u64 = ("ns", "Lower bound of this bin.", "HDR histogram");
    latency_ns_high: u64 = ("ns", "Largest.", "HDR histogram");
    latency_count: u64 = ("count", "Transactions.", "HDR histogram");
}

table! {
    /// One row a flow of datagrams, end and interval.
    DATAGRAMS: DatagramRow = "datagrams", "the datagrams of a flow in one interval at one side";
    host: Text = HOST;
    connection: u32 = CONNECTION;
    interval: u32 = INTERVAL;
    phase: Phase = PHASE;
    start_mono_ns: u64 = START;
    end_mono_ns: u64 = END;
    sent_count: u64 = ("count", "Datagrams taken by the kernel; 0 at the receiver.", "return values of sendmsg");
    received_count: u64 = ("count", "Datagrams that arrived, duplicates not counted; 0 at the sender.", "sequence numbers");
    payload_bytes: u64 = ("bytes", "Payload sent, or that arrived for the first time.", "sequence numbers");
    late_count: u64 = (
        "count",
        "Datagrams that arrived behind a later one (reordered, RFC 4737 type-P-reordered).",
        "sequence numbers",
    );
    duplicate_count: u64 = ("count", "Datagrams that arrived again.", "sequence numbers");
    highest_sequence_count: Option<u64> = (
        "count",
        "Highest number seen so far, plus 1; with received_count it gives the loss.",
        "header",
    );
    jitter_ns: Option<u64> = (
        "ns",
        "Smoothed variation of the transit time at the end of the interval (RFC 3550 6.4.1).",
        "header and clock",
    );
    kernel_drops_count: u32 = (
        "count",
        "Datagrams the receiving socket dropped since the start because its buffer was full.",
        "SO_MEMINFO, sock_diag(7)",
    );
}
