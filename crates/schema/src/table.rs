//! The record's tables: every column with its type, unit, meaning and source.
//!
//! One file a table and end, `trials/<trial>/<table>.<host>.parquet`. The agent writes counts,
//! sums and time stamps; rates, percentiles and verdicts are made by the analysis.

mod evidence;
mod path;
mod round_trips;
mod transactions;
mod transport_info;

use schemars::JsonSchema;
use serde::Serialize;

pub use evidence::{
    ACK_REASONS, CALL_WORDS, CALLS, CONTEXTS, COUNTERS, OUTCOMES, RETRANSMISSIONS, SEGMENTS, SIZED, SIZES, SOFTIRQS, VECTORS,
};
pub use path::{PATH, PATH_DIRECTIONS, PATH_LATENESS};
pub use round_trips::ROUND_TRIPS;
pub use transactions::{DATAGRAMS, LATENCIES, LATENCY_KINDS, TRANSACTIONS};
pub use transport_info::TRANSPORT_INFO;

/// Type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ColumnType {
    /// Unsigned, 32 bits.
    U32,
    /// Unsigned, 64 bits.
    U64,
    /// Yes or no.
    Bool,
    /// UTF-8 text.
    Text,
}

/// A column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Column {
    /// Name: `quantity_unit_statistic`.
    pub name: &'static str,
    /// Type.
    #[serde(rename = "type")]
    pub column_type: ColumnType,
    /// Unit: `ns`, `bytes`, `segments`, `count`, …; empty for labels.
    pub unit: &'static str,
    /// What it says, in a sentence.
    pub meaning: &'static str,
    /// Where the number comes from.
    pub source: &'static str,
    /// Whether a row may lack it.
    pub optional: bool,
}

/// A table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Table {
    /// Name, and first part of the file's name.
    pub name: &'static str,
    /// What a row is.
    pub row: &'static str,
    /// The columns in order.
    pub columns: &'static [Column],
}

impl Table {
    /// The position of a column.
    pub fn position(&self, column: &str) -> Option<usize> {
        self.columns.iter().position(|candidate| candidate.name == column)
    }
}

/// All tables of this record version.
pub const TABLES: [&Table; 18] = [
    &FLOWS,
    &INTERVALS,
    &TCP_INFO,
    &CPU,
    &THREADS,
    &DEVICES,
    &COUNTERS,
    &SIZES,
    &SOFTIRQS,
    &SEGMENTS,
    &CALLS,
    &TRANSACTIONS,
    &LATENCIES,
    &DATAGRAMS,
    &PATH,
    &PATH_LATENESS,
    &ROUND_TRIPS,
    &TRANSPORT_INFO,
];

/// A cell of a row. Its type must be the column's; [`Value::None`] only in optional columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// Unsigned, 32 bits.
    U32(u32),
    /// Unsigned, 64 bits.
    U64(u64),
    /// Yes or no.
    Bool(bool),
    /// Text.
    Text(String),
    /// Absent.
    None,
}

impl From<u32> for Value {
    fn from(value: u32) -> Self {
        Value::U32(value)
    }
}

impl From<u64> for Value {
    fn from(value: u64) -> Self {
        Value::U64(value)
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Value::Bool(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Value::Text(value.to_owned())
    }
}

impl From<String> for Value {
    fn from(value: String) -> Self {
        Value::Text(value)
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Value::None, Into::into)
    }
}

use ColumnType::{Bool, Text, U32, U64};

const fn column(name: &'static str, column_type: ColumnType, unit: &'static str, meaning: &'static str, source: &'static str) -> Column {
    Column { name, column_type, unit, meaning, source, optional: false }
}

const fn optional(name: &'static str, column_type: ColumnType, unit: &'static str, meaning: &'static str, source: &'static str) -> Column {
    Column { name, column_type, unit, meaning, source, optional: true }
}

const HOST: Column = column("host", Text, "", "End that made the row: near or far.", "plan");
const CONNECTION: Column =
    column("connection", U32, "", "Number of the connection, from 0, the same at both sides.", "connection preamble");
const ROLE: Column = column("role", Text, "", "sender or receiver.", "plan");
const INTERVAL: Column = column("interval", U32, "", "Number of the interval, from 0.", "sampler");
const PHASE: Column = column("phase", Text, "", "warm-up, measure or cool-down.", "plan");
const START: Column = column("start_mono_ns", U64, "ns", "Start of the interval as it really was.", "CLOCK_MONOTONIC");
const END: Column = column("end_mono_ns", U64, "ns", "End of the interval as it really was.", "CLOCK_MONOTONIC");
const SAMPLE: Column = column("sample_mono_ns", U64, "ns", "When the sample was taken.", "CLOCK_MONOTONIC");
const FINAL: Column = column("final", Bool, "", "Last sample, taken when all payload was delivered or the load ended.", "load");

/// One row per connection and side.
pub const FLOWS: Table = Table {
    name: "flows",
    row: "a connection, from open to close, at one side",
    columns: &[
        HOST,
        CONNECTION,
        ROLE,
        column(
            "transport",
            Text,
            "",
            "tcp, mptcp, udp, unix, udt, quic or srt; tcp where the other side does not support Multipath TCP.",
            "plan, MPTCP_INFO",
        ),
        column("local_address", Text, "", "Local address and port; empty where a socket has none.", "getsockname, UDT::getsockname"),
        column("remote_address", Text, "", "Remote address and port; empty where a socket has none.", "getpeername"),
        optional(
            "opening_mono_ns",
            U64,
            "ns",
            "Connecting side: before the connect call. Listening side: when accept returned. Only of connections that are open before the start.",
            "CLOCK_MONOTONIC",
        ),
        optional(
            "opened_mono_ns",
            U64,
            "ns",
            "When the token was accepted. Only of connections that are open before the start.",
            "CLOCK_MONOTONIC",
        ),
        optional("window_requested_bytes", U32, "bytes", "Window asked for.", "plan"),
        optional("send_buffer_requested_bytes", U32, "bytes", "Send buffer asked for.", "plan"),
        column(
            "send_buffer_granted_bytes",
            U32,
            "bytes",
            "Send buffer the kernel reports; it doubles a request to hold its own bookkeeping.",
            "SO_SNDBUF",
        ),
        optional("receive_buffer_requested_bytes", U32, "bytes", "Receive buffer asked for.", "plan"),
        column(
            "receive_buffer_granted_bytes",
            U32,
            "bytes",
            "Receive buffer the kernel reports; it doubles a request to hold its own bookkeeping.",
            "SO_RCVBUF",
        ),
        optional("window_clamp_bytes", U32, "bytes", "Upper bound of the window this side announces.", "TCP_WINDOW_CLAMP"),
        optional("mss_bytes", U32, "bytes", "Largest segment this side sends.", "TCP_MAXSEG"),
        optional("congestion_control", Text, "", "Congestion control in use.", "TCP_CONGESTION"),
        optional("no_delay", Bool, "", "Nagle off.", "TCP_NODELAY"),
        column("quick_ack", Bool, "", "Delayed ACK off.", "plan"),
        column("thread", U32, "", "Thread that carried the connection.", "gettid"),
        optional("first_call_mono_ns", U64, "ns", "Sender: first send call begins. Receiver: first payload read.", "CLOCK_MONOTONIC"),
        optional("last_call_mono_ns", U64, "ns", "Sender: last send call returned. Receiver: last payload read.", "CLOCK_MONOTONIC"),
        column("payload_bytes", U64, "bytes", "Payload moved from open to close.", "return values of send or recv"),
        column("calls_count", U64, "count", "Send or receive calls made.", "load"),
        column("short_calls_count", U64, "count", "Calls that moved less than they asked for.", "load"),
        column("other_calls_count", U64, "count", "Other system calls of the data path: polling, re-arming of quick ACK.", "load"),
        column("ended", Text, "", "complete, deadline, aborted or the error.", "load"),
    ],
};

/// One row a connection, end and interval.
pub const INTERVALS: Table = Table {
    name: "intervals",
    row: "a connection's payload in one interval at one side; beyond 10000 connections a group's, under its first",
    columns: &[
        HOST,
        CONNECTION,
        ROLE,
        INTERVAL,
        PHASE,
        START,
        END,
        column("payload_bytes", U64, "bytes", "Payload moved in the interval.", "return values of send or recv"),
        column("calls_count", U64, "count", "Send or receive calls that returned in the interval.", "load"),
    ],
};

/// One row a connection, end and sample.
pub const TCP_INFO: Table = Table {
    name: "tcp_info",
    row: "a sample of the kernel's view of a connection; with more than 10,000, before the last sample only of up to 1,000, evenly spread",
    columns: &[
        HOST,
        CONNECTION,
        ROLE,
        PHASE,
        SAMPLE,
        FINAL,
        column("state", U32, "", "TCP state.", "tcpi_state"),
        column("ca_state", U32, "", "Congestion state: 0 open, 1 disorder, 2 CWR, 3 recovery, 4 loss.", "tcpi_ca_state"),
        column("rto_ns", U64, "ns", "Retransmission timeout (RFC 6298).", "tcpi_rto"),
        column("ato_ns", U64, "ns", "Delayed-ACK timeout.", "tcpi_ato"),
        column("send_mss_bytes", U32, "bytes", "Segment size sent.", "tcpi_snd_mss"),
        column("receive_mss_bytes", U32, "bytes", "Segment size received, as the receiver estimates it.", "tcpi_rcv_mss"),
        column("unacked_segments", U32, "segments", "Sent and not acknowledged.", "tcpi_unacked"),
        column("lost_segments", U32, "segments", "Taken for lost.", "tcpi_lost"),
        column("rtt_ns", U64, "ns", "Smoothed round-trip time.", "tcpi_rtt"),
        column("rtt_ns_deviation", U64, "ns", "Mean deviation of the round-trip time.", "tcpi_rttvar"),
        column("rtt_ns_min", U64, "ns", "Smallest round-trip time seen.", "tcpi_min_rtt"),
        column("ssthresh_segments", U32, "segments", "Slow-start threshold.", "tcpi_snd_ssthresh"),
        column("cwnd_segments", U32, "segments", "Congestion window.", "tcpi_snd_cwnd"),
        column("pmtu_bytes", U32, "bytes", "Path MTU.", "tcpi_pmtu"),
        column("reordering_segments", U32, "segments", "Reordering the sender allows for.", "tcpi_reordering"),
        column("receive_rtt_ns", U64, "ns", "Round-trip time as the receiver estimates it.", "tcpi_rcv_rtt"),
        column(
            "receive_space_bytes",
            U32,
            "bytes",
            "Bytes the application reads per round trip, as receive autotuning sees it.",
            "tcpi_rcv_space",
        ),
        column("retransmitted_segments", U32, "segments", "Retransmitted since the start.", "tcpi_total_retrans"),
        column("pacing_rate_bytes_per_second", U64, "bytes/s", "Pacing rate; the largest value means none.", "tcpi_pacing_rate"),
        column("bytes_acked", U64, "bytes", "Acknowledged by the peer (RFC 4898 tcpEStatsAppHCThruOctetsAcked).", "tcpi_bytes_acked"),
        column("bytes_received", U64, "bytes", "Received in sequence (RFC 4898 tcpEStatsAppHCThruOctetsReceived).", "tcpi_bytes_received"),
        column("segments_out", U64, "segments", "Sent, ACKs included; a GSO segment counts as its wire segments.", "tcpi_segs_out"),
        column("segments_in", U64, "segments", "Received, ACKs included.", "tcpi_segs_in"),
        column("data_segments_out", U64, "segments", "Sent with payload.", "tcpi_data_segs_out"),
        column("data_segments_in", U64, "segments", "Received with payload.", "tcpi_data_segs_in"),
        column("not_sent_bytes", U32, "bytes", "Written and not yet sent.", "tcpi_notsent_bytes"),
        column("delivery_rate_bytes_per_second", U64, "bytes/s", "Latest delivery rate sample.", "tcpi_delivery_rate"),
        column("busy_ns", U64, "ns", "Time with data outstanding or waiting.", "tcpi_busy_time"),
        column("rwnd_limited_ns", U64, "ns", "Time limited by the receiver's window.", "tcpi_rwnd_limited"),
        column("send_buffer_limited_ns", U64, "ns", "Time limited by the send buffer.", "tcpi_sndbuf_limited"),
        optional("bytes_sent", U64, "bytes", "Sent, retransmissions included.", "tcpi_bytes_sent, Linux 4.19"),
        optional("bytes_retransmitted", U64, "bytes", "Retransmitted.", "tcpi_bytes_retrans, Linux 4.19"),
        optional("out_of_order_segments", U32, "segments", "Received out of order.", "tcpi_rcv_ooopack, Linux 5.4"),
        optional("peer_window_bytes", U32, "bytes", "Window the peer last announced.", "tcpi_snd_wnd, Linux 5.4"),
        optional("own_window_bytes", U32, "bytes", "Window this side last announced.", "tcpi_rcv_wnd, Linux 6.2"),
        column("ecn", Bool, "", "Both sides agreed on ECN (RFC 3168 section 6.1.1).", "tcpi_options"),
        optional("delivered_segments", U32, "segments", "Delivered, as acknowledgments say.", "tcpi_delivered, Linux 4.18"),
        optional(
            "delivered_marked_segments",
            U32,
            "segments",
            "Those of them whose acknowledgment said that the path had marked packets (ECE, RFC 3168 section 6.1.3).",
            "tcpi_delivered_ce, Linux 4.18",
        ),
        optional(
            "duplicate_sacks_count",
            U32,
            "",
            "Segments acknowledged as having arrived twice (RFC 2883).",
            "tcpi_dsack_dups, Linux 4.19",
        ),
        optional(
            "reordering_events_count",
            U32,
            "",
            "Times the sender saw segments arrive in another order than it had sent them.",
            "tcpi_reord_seen, Linux 4.19",
        ),
        column(
            "application_limited",
            Bool,
            "",
            "The application had too little to send while the latest delivery rate was sampled.",
            "tcpi_delivery_rate_app_limited",
        ),
    ],
};

/// One row a CPU and interval.
pub const CPU: Table = Table {
    name: "cpu",
    row: "the time of one CPU of the host in one interval",
    columns: &[
        HOST,
        column("cpu", U32, "", "Number of the CPU.", "kernel"),
        column("own", Bool, "", "Whether the plan counts this CPU as this side's alone.", "plan"),
        INTERVAL,
        PHASE,
        START,
        END,
        column("user_ns", U64, "ns", "User mode, nice included. Ticks of the kernel's accounting clock.", "/proc/stat user + nice"),
        column("system_ns", U64, "ns", "Kernel mode on behalf of processes.", "/proc/stat system"),
        column("irq_ns", U64, "ns", "Hardware interrupts.", "/proc/stat irq"),
        column("softirq_ns", U64, "ns", "Soft interrupts; up to half wrong where the kernel counts by ticks.", "/proc/stat softirq"),
        column("steal_ns", U64, "ns", "Taken by the hypervisor.", "/proc/stat steal"),
        column("idle_ns", U64, "ns", "Idle, waiting for I/O included.", "/proc/stat idle + iowait"),
        optional("ksoftirqd_ns", U64, "ns", "CPU time of the CPU's ksoftirqd thread.", "/proc/<ksoftirqd>/schedstat"),
        optional("pmu_cycles_count", U64, "cycles", "Core cycles not halted, all contexts.", "perf_event_open"),
    ],
};

/// One row a thread and interval.
pub const THREADS: Table = Table {
    name: "threads",
    row: "the CPU time of one of the load's threads in one interval",
    columns: &[
        HOST,
        column("thread", U32, "", "Thread id.", "gettid"),
        ROLE,
        INTERVAL,
        PHASE,
        START,
        END,
        column("cpu", U32, "", "CPU the thread last ran on.", "/proc/self/task/<tid>/stat field 39"),
        column("cpu_ns", U64, "ns", "CPU time used, system calls and the soft interrupts on top of them included.", "thread CPU clock"),
        column("run_queue_ns", U64, "ns", "Time runnable but not running.", "/proc/self/task/<tid>/schedstat"),
    ],
};

/// One row a device and phase.
pub const DEVICES: Table = Table {
    name: "devices",
    row: "the counters of one network device over the load",
    columns: &[
        HOST,
        column("device", Text, "", "Interface name.", "kernel"),
        START,
        END,
        column("tx_bytes", U64, "bytes", "Sent.", "/proc/net/dev"),
        column("tx_packets", U64, "packets", "Sent; a GSO packet counts once.", "/proc/net/dev"),
        column("tx_dropped_packets", U64, "packets", "Dropped before sending.", "/proc/net/dev"),
        column("tx_errors_count", U64, "count", "Send errors.", "/proc/net/dev"),
        column("rx_bytes", U64, "bytes", "Received.", "/proc/net/dev"),
        column("rx_packets", U64, "packets", "Received.", "/proc/net/dev"),
        column("rx_dropped_packets", U64, "packets", "Dropped after receiving.", "/proc/net/dev"),
        column("rx_errors_count", U64, "count", "Receive errors.", "/proc/net/dev"),
        optional("tso", Bool, "", "TCP segmentation offload is on at the end of the load.", "ETHTOOL_GTSO"),
        optional("gso", Bool, "", "Generic segmentation offload is on.", "ETHTOOL_GGSO"),
        optional("gro", Bool, "", "Generic receive offload is on.", "ETHTOOL_GGRO"),
    ],
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_carry_their_unit() {
        for table in TABLES {
            for (index, column) in table.columns.iter().enumerate() {
                assert_eq!(table.position(column.name), Some(index), "{} twice in {}", column.name, table.name);
                for unit in ["ns", "bytes", "segments", "packets", "count"] {
                    if column.unit == unit {
                        let parts: Vec<&str> = column.name.split('_').collect();
                        assert!(parts.contains(&unit), "{}.{} does not name its unit {unit}", table.name, column.name);
                    }
                }
            }
        }
    }
}
