//! The record's tables: every column with its type, unit, meaning and source.
//!
//! One file a table and end, `trials/<trial>/<table>.<host>.parquet`. The agent writes counts,
//! sums and time stamps; rates, percentiles and verdicts are made by the analysis.

mod cell;
mod evidence;
mod host_counters;
mod path;
mod profile;
mod sctp;
mod stages;
mod tcp_options;
mod tls;
mod transactions;
mod transport_info;
mod watched;

use serde::Serialize;

use crate::trial::{Phase, Role};
use crate::workload::Transport;
use cell::{About, table};

pub(crate) use cell::word_enum;
pub use cell::{Cell, Maker, Measured, Row, Simulated, Sink, Text};
pub use evidence::{
    AckReason, CALLS, COUNTERS, CallKind, CallOutcome, CallRow, Context, CounterRow, Retransmission, SEGMENTS, SIZES, SOFTIRQS,
    SegmentDirection, SegmentRow, SizeRow, Sized, SoftirqRow, Vector,
};
pub use host_counters::{HOST_COUNTERS, HostCounter, HostCounterRow};
pub use path::{PATH, PATH_LATENESS, PathDirection, PathLatenessRow, PathRow, ROUND_TRIPS, RoundTripRow};
pub use profile::{FUNCTIONS, FunctionKind, FunctionRow, STACKS, StackContext, StackRow, ThreadGroup};
pub use sctp::{SCTP, SctpRow};
pub use stages::{STAGE_GAPS, STAGES, Stage, StageGap, StageGapRow, StageRow};
pub use tcp_options::{TCP_OPTIONS, TcpOptionsRow};
pub use tls::{TLS, TlsRow};
pub use transactions::{DATAGRAMS, DatagramRow, LATENCIES, LatencyKind, LatencyRow, TRANSACTIONS, TransactionRow};
pub use transport_info::{TRANSPORT_INFO, TransportInfoRow};
pub use watched::{SOCKETS, SocketRow, WATCHED, WatchedRow};

/// Type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Column {
    /// Name: `quantity_unit_statistic`.
    pub name: &'static str,
    /// Type.
    #[serde(rename = "type")]
    pub column_type: ColumnType,
    /// Unit: `ns`, `bytes`, `segments`, `count`, …; empty for labels.
    pub unit: &'static str,
    /// Its meaning, in a sentence.
    pub meaning: &'static str,
    /// Where the number comes from.
    pub source: &'static str,
    /// The words that it can hold, in the order of their codes; empty where anything can stand.
    #[serde(rename = "words", skip_serializing_if = "<[_]>::is_empty")]
    pub values: &'static [&'static str],
    /// True where a row may lack it.
    pub optional: bool,
}

/// A table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Table {
    /// Name, and first part of the file's name.
    pub name: &'static str,
    /// The meaning of a row.
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
pub const TABLES: [&Table; 28] = [
    &FLOWS,
    &INTERVALS,
    &TCP_INFO,
    &TCP_OPTIONS,
    &TLS,
    &SCTP,
    &CPU,
    &THREADS,
    &DEVICES,
    &HOST_COUNTERS,
    &COUNTERS,
    &SIZES,
    &SOFTIRQS,
    &SEGMENTS,
    &CALLS,
    &STACKS,
    &FUNCTIONS,
    &STAGES,
    &STAGE_GAPS,
    &TRANSACTIONS,
    &LATENCIES,
    &DATAGRAMS,
    &PATH,
    &PATH_LATENESS,
    &ROUND_TRIPS,
    &TRANSPORT_INFO,
    &WATCHED,
    &SOCKETS,
];

const HOST: About = ("", "End that made the row: near or far.", "plan");
const CONNECTION: About = ("", "Number of the connection, from 0, the same at both sides.", "connection preamble");
const ROLE: About = ("", "sender or receiver.", "plan");
const INTERVAL: About = ("", "Number of the interval, from 0.", "sampler");
const PHASE: About = ("", "warm-up, measure or cool-down.", "plan");
const START: About = ("ns", "Start of the interval as it really was.", "CLOCK_MONOTONIC");
const END: About = ("ns", "End of the interval as it really was.", "CLOCK_MONOTONIC");
const SAMPLE: About = ("ns", "When the sample was taken.", "CLOCK_MONOTONIC");
const FINAL: About = ("", "Last sample, taken when all payload was delivered or the load ended.", "load");

table! {
    /// One row per connection and side.
    FLOWS: FlowRow = "flows", "a connection, from open to close, at one side";
    host: Text = HOST;
    connection: u32 = CONNECTION;
    role: Role = ROLE;
    transport: Transport = (
        "",
        "tcp, mptcp, udp, unix, udt, quic or srt; tcp where the other side does not support Multipath TCP.",
        "plan, MPTCP_INFO",
    );
    local_address: Text = ("", "Local address and port; empty where a socket has none.", "getsockname, UDT::getsockname");
    remote_address: Text = ("", "Remote address and port; empty where a socket has none.", "getpeername");
    opening_mono_ns: Option<u64> = (
        "ns",
        "Connecting side: before the connect call. Listening side: when accept returned. Only of connections that are open before the start.",
        "CLOCK_MONOTONIC",
    );
    opened_mono_ns: Option<u64> = ("ns", "When the token was accepted. Only of connections that are open before the start.", "CLOCK_MONOTONIC");
    window_requested_bytes: Option<u32> = ("bytes", "Window asked for.", "plan");
    send_buffer_requested_bytes: Option<u32> = ("bytes", "Send buffer asked for.", "plan");
    send_buffer_granted_bytes: u32 = (
        "bytes",
        "Send buffer the kernel reports; it doubles a request to hold its own bookkeeping.",
        "SO_SNDBUF",
    );
    receive_buffer_requested_bytes: Option<u32> = ("bytes", "Receive buffer asked for.", "plan");
    receive_buffer_granted_bytes: u32 = (
        "bytes",
        "Receive buffer the kernel reports; it doubles a request to hold its own bookkeeping.",
        "SO_RCVBUF",
    );
    window_clamp_bytes: Option<u32> = ("bytes", "Upper bound of the window this side announces.", "TCP_WINDOW_CLAMP");
    mss_bytes: Option<u32> = ("bytes", "Largest segment this side sends.", "TCP_MAXSEG");
    congestion_control: Option<Text> = ("", "Congestion control in use.", "TCP_CONGESTION");
    no_delay: Option<bool> = ("", "Nagle off.", "TCP_NODELAY");
    quick_ack: bool = ("", "Delayed ACK off.", "plan");
    thread: u32 = ("", "Thread that carried the connection.", "gettid");
    first_call_mono_ns: Option<u64> = ("ns", "Sender: first send call begins. Receiver: first payload read.", "CLOCK_MONOTONIC");
    last_call_mono_ns: Option<u64> = ("ns", "Sender: last send call returned. Receiver: last payload read.", "CLOCK_MONOTONIC");
    payload_bytes: u64 = ("bytes", "Payload moved from open to close.", "return values of send or recv");
    calls_count: u64 = ("count", "Send or receive calls made.", "load");
    short_calls_count: u64 = ("count", "Calls that moved less than they asked for.", "load");
    other_calls_count: u64 = ("count", "Other system calls of the data path: polling, re-arming of quick ACK.", "load");
    ended: Text = ("", "complete, deadline, aborted or the error.", "load");
}

table! {
    /// One row a connection, end and interval.
    INTERVALS: IntervalRow = "intervals", "the payload of a connection in one interval on one side; above 10,000 connections of a group, with the number of its first connection";
    host: Text = HOST;
    connection: u32 = CONNECTION;
    role: Role = ROLE;
    interval: u32 = INTERVAL;
    phase: Phase = PHASE;
    start_mono_ns: u64 = START;
    end_mono_ns: u64 = END;
    payload_bytes: u64 = ("bytes", "Payload moved in the interval.", "return values of send or recv");
    calls_count: u64 = ("count", "Send or receive calls that returned in the interval.", "load");
}

table! {
    /// One row a connection, end and sample.
    TCP_INFO: TcpInfoRow = "tcp_info", "a sample of the kernel's view of a connection; above 10,000 connections only 1,000 of them, evenly spread, are sampled until the last sample, which has all";
    host: Text = HOST;
    connection: u32 = CONNECTION;
    role: Role = ROLE;
    phase: Phase = PHASE;
    sample_mono_ns: u64 = SAMPLE;
    is_final as "final": bool = FINAL;
    state: u32 = ("", "TCP state.", "tcpi_state");
    ca_state: u32 = ("", "Congestion state: 0 open, 1 disorder, 2 CWR, 3 recovery, 4 loss.", "tcpi_ca_state");
    rto_ns: u64 = ("ns", "Retransmission timeout (RFC 6298).", "tcpi_rto");
    ato_ns: u64 = ("ns", "Delayed-ACK timeout.", "tcpi_ato");
    send_mss_bytes: u32 = ("bytes", "Segment size sent.", "tcpi_snd_mss");
    receive_mss_bytes: u32 = ("bytes", "Segment size received, as the receiver estimates it.", "tcpi_rcv_mss");
    unacked_segments: u32 = ("segments", "Sent and not acknowledged.", "tcpi_unacked");
    lost_segments: u32 = ("segments", "Taken for lost.", "tcpi_lost");
    rtt_ns: u64 = ("ns", "Smoothed round-trip time.", "tcpi_rtt");
    rtt_ns_deviation: u64 = ("ns", "Mean deviation of the round-trip time.", "tcpi_rttvar");
    rtt_ns_min: u64 = ("ns", "Smallest round-trip time seen.", "tcpi_min_rtt");
    ssthresh_segments: u32 = ("segments", "Slow-start threshold.", "tcpi_snd_ssthresh");
    cwnd_segments: u32 = ("segments", "Congestion window.", "tcpi_snd_cwnd");
    pmtu_bytes: u32 = ("bytes", "Path MTU.", "tcpi_pmtu");
    reordering_segments: u32 = ("segments", "Reordering the sender allows for.", "tcpi_reordering");
    receive_rtt_ns: u64 = ("ns", "Round-trip time as the receiver estimates it.", "tcpi_rcv_rtt");
    receive_space_bytes: u32 = (
        "bytes",
        "Bytes the application reads per round trip, as receive autotuning sees it.",
        "tcpi_rcv_space",
    );
    retransmitted_segments: u32 = ("segments", "Retransmitted since the connection opened.", "tcpi_total_retrans");
    pacing_rate_bytes_per_second: u64 = ("bytes/s", "Pacing rate; the largest value means none.", "tcpi_pacing_rate");
    bytes_acked: u64 = ("bytes", "Acknowledged by the peer (RFC 4898 tcpEStatsAppHCThruOctetsAcked).", "tcpi_bytes_acked");
    bytes_received: u64 = ("bytes", "Received in sequence (RFC 4898 tcpEStatsAppHCThruOctetsReceived).", "tcpi_bytes_received");
    segments_out: u64 = ("segments", "Sent, ACKs included; a GSO segment counts as its wire segments.", "tcpi_segs_out");
    segments_in: u64 = ("segments", "Received, ACKs included.", "tcpi_segs_in");
    data_segments_out: u64 = ("segments", "Sent with payload.", "tcpi_data_segs_out");
    data_segments_in: u64 = ("segments", "Received with payload.", "tcpi_data_segs_in");
    not_sent_bytes: u32 = ("bytes", "Written and not yet sent.", "tcpi_notsent_bytes");
    delivery_rate_bytes_per_second: u64 = ("bytes/s", "Latest delivery rate sample.", "tcpi_delivery_rate");
    busy_ns: u64 = ("ns", "Time with data outstanding or waiting.", "tcpi_busy_time");
    rwnd_limited_ns: u64 = ("ns", "Time limited by the receiver's window.", "tcpi_rwnd_limited");
    send_buffer_limited_ns: u64 = ("ns", "Time limited by the send buffer.", "tcpi_sndbuf_limited");
    bytes_sent: Option<u64> = ("bytes", "Sent, retransmissions included.", "tcpi_bytes_sent, Linux 4.19");
    bytes_retransmitted: Option<u64> = ("bytes", "Retransmitted.", "tcpi_bytes_retrans, Linux 4.19");
    out_of_order_segments: Option<u32> = ("segments", "Received out of order.", "tcpi_rcv_ooopack, Linux 5.4");
    peer_window_bytes: Option<u32> = ("bytes", "Window the peer last announced.", "tcpi_snd_wnd, Linux 5.4");
    own_window_bytes: Option<u32> = ("bytes", "Window this side last announced.", "tcpi_rcv_wnd, Linux 6.2");
    ecn: bool = ("", "Both sides agreed on ECN (RFC 3168 section 6.1.1).", "tcpi_options");
    delivered_segments: Option<u32> = ("segments", "Delivered, as acknowledgments say.", "tcpi_delivered, Linux 4.18");
    delivered_marked_segments: Option<u32> = (
        "segments",
        "Those of them whose acknowledgment said that the path had marked packets (ECE, RFC 3168 section 6.1.3).",
        "tcpi_delivered_ce, Linux 4.18",
    );
    duplicate_sacks_count: Option<u32> = (
        "",
        "Segments acknowledged as having arrived twice (RFC 2883).",
        "tcpi_dsack_dups, Linux 4.19",
    );
    reordering_events_count: Option<u32> = (
        "",
        "Times the sender saw segments arrive in another order than it had sent them.",
        "tcpi_reord_seen, Linux 4.19",
    );
    application_limited: bool = (
        "",
        "The application had too little to send while the latest delivery rate was sampled.",
        "tcpi_delivery_rate_app_limited",
    );
}

table! {
    /// One row a CPU and interval.
    CPU: CpuRow = "cpu", "the time of one CPU of the host in one interval";
    host: Text = HOST;
    cpu: u32 = ("", "Number of the CPU.", "kernel");
    own: bool = ("", "Whether the plan counts this CPU as this side's alone.", "plan");
    interval: u32 = INTERVAL;
    phase: Phase = PHASE;
    start_mono_ns: u64 = START;
    end_mono_ns: u64 = END;
    user_ns: u64 = ("ns", "User mode, nice included. Ticks of the kernel's accounting clock.", "/proc/stat user + nice");
    system_ns: u64 = ("ns", "Kernel mode on behalf of processes.", "/proc/stat system");
    irq_ns: u64 = ("ns", "Hardware interrupts.", "/proc/stat irq");
    softirq_ns: u64 = ("ns", "Soft interrupts; up to half wrong where the kernel counts by ticks.", "/proc/stat softirq");
    steal_ns: u64 = ("ns", "Taken by the hypervisor.", "/proc/stat steal");
    idle_ns: u64 = ("ns", "Idle, waiting for I/O included.", "/proc/stat idle + iowait");
    ksoftirqd_ns: Option<u64> = ("ns", "CPU time of the CPU's ksoftirqd thread.", "/proc/<ksoftirqd>/schedstat");
    pmu_cycles_count: Option<u64> = ("cycles", "Core cycles not halted, all contexts.", "perf_event_open");
}

table! {
    /// One row a thread and interval.
    THREADS: ThreadRow = "threads", "the CPU time of one of the load's threads, or of those of a watched program, in one interval";
    host: Text = HOST;
    thread: u32 = ("", "Thread id.", "gettid");
    role: Role = ROLE;
    interval: u32 = INTERVAL;
    phase: Phase = PHASE;
    start_mono_ns: u64 = START;
    end_mono_ns: u64 = END;
    cpu: u32 = ("", "CPU the thread last ran on.", "/proc/self/task/<tid>/stat field 39");
    cpu_ns: u64 = (
        "ns",
        "CPU time used, system calls included. Soft interrupts on top of the thread are in it unless the kernel keeps them apart (CONFIG_IRQ_TIME_ACCOUNTING).",
        "thread CPU clock",
    );
    run_queue_ns: u64 = ("ns", "Time runnable but not running.", "/proc/self/task/<tid>/schedstat");
    scheduled_count: u64 = ("count", "Times it was given a CPU: context switches to it.", "/proc/self/task/<tid>/schedstat");
    process: Option<u32> = ("", "Process of a watched program; absent for the load's threads.", "/proc/<pid>/task");
}

table! {
    /// One row a device and phase.
    DEVICES: DeviceRow = "devices", "the counters of one network device over the load";
    host: Text = HOST;
    device: Text = ("", "Interface name.", "kernel");
    start_mono_ns: u64 = START;
    end_mono_ns: u64 = END;
    tx_bytes: u64 = ("bytes", "Sent.", "/proc/net/dev");
    tx_packets: u64 = ("packets", "Sent; a GSO packet counts once.", "/proc/net/dev");
    tx_dropped_packets: u64 = ("packets", "Dropped before sending.", "/proc/net/dev");
    tx_errors_count: u64 = ("count", "Send errors.", "/proc/net/dev");
    rx_bytes: u64 = ("bytes", "Received.", "/proc/net/dev");
    rx_packets: u64 = ("packets", "Received.", "/proc/net/dev");
    rx_dropped_packets: u64 = ("packets", "Dropped after receiving.", "/proc/net/dev");
    rx_errors_count: u64 = ("count", "Receive errors.", "/proc/net/dev");
    tso: Option<bool> = ("", "TCP segmentation offload is on at the end of the load.", "ETHTOOL_GTSO");
    gso: Option<bool> = ("", "Generic segmentation offload is on.", "ETHTOOL_GGSO");
    gro: Option<bool> = ("", "Generic receive offload is on.", "ETHTOOL_GGRO");
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whoever reads a record reads columns by the checked-in definition; `make schemas` writes it.
    #[test]
    fn the_checked_in_tables_have_these_columns_in_this_order() {
        let checked_in: serde_json::Value = serde_json::from_str(include_str!("../../../schemas/tables.json")).expect("JSON");
        let current = serde_json::to_value(TABLES).expect("JSON");
        let columns = |tables: &serde_json::Value| -> Vec<String> {
            let tables = tables.as_array().expect("tables").iter();
            tables
                .flat_map(|table| table["columns"].as_array().expect("columns").iter().map(|column| format!("{}: {column}", table["name"])))
                .collect()
        };
        for (current, checked_in) in columns(&current).into_iter().zip(columns(&checked_in["tables"])) {
            assert_eq!(current, checked_in, "run make schemas if this change is meant");
        }
        assert!(current == checked_in["tables"], "other tables; run make schemas if this change is meant");
    }

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

    /// Keeps what a row gives.
    #[derive(Default)]
    struct Kept(Vec<String>);

    impl Sink for Kept {
        fn u32(&mut self, value: Option<u32>) {
            self.0.push(format!("{value:?}"));
        }
        fn u64(&mut self, value: Option<u64>) {
            self.0.push(format!("{value:?}"));
        }
        fn bool(&mut self, value: Option<bool>) {
            self.0.push(format!("{value:?}"));
        }
        fn text(&mut self, value: Option<&str>) {
            self.0.push(format!("{value:?}"));
        }
        fn word(&mut self, known: &'static [&'static str], code: Option<u8>) {
            self.0.push(format!("{:?}", code.map(|code| known[usize::from(code)])));
        }
    }

    #[test]
    fn a_row_gives_its_values_in_the_order_of_its_columns() {
        let mut kept = Kept::default();
        ThreadRow::<Measured> {
            host: "near",
            thread: 7,
            role: Role::Sender,
            interval: 1,
            phase: Phase::Measure,
            start_mono_ns: 10,
            end_mono_ns: 20,
            cpu: 3,
            cpu_ns: 5,
            run_queue_ns: 6,
            scheduled_count: 8,
            process: None,
        }
        .put(&mut kept);
        let columns = ["\"near\"", "7", "\"sender\"", "1", "\"measure\"", "10", "20", "3", "5", "6", "8"];
        assert_eq!(kept.0.pop().as_deref(), Some("None"));
        assert_eq!(kept.0, columns.map(|value| format!("Some({value})")));
        // Of the model's rows every value may be missing, and of a measured one those that are optional.
        let mut simulated = Kept::default();
        ThreadRow::<Simulated> { thread: Some(7), ..ThreadRow::default() }.put(&mut simulated);
        assert_eq!(simulated.0.iter().filter(|value| *value != "None").collect::<Vec<_>>(), ["Some(7)"]);
        let mut counter = Kept::default();
        let row = HostCounterRow::<Measured> {
            host: "near",
            start_mono_ns: 1,
            end_mono_ns: 2,
            counter: HostCounter::QdiscRate,
            subject: "",
            kind: "",
            unit: HostCounter::QdiscRate.unit(),
            value_at_start: Some(8),
            value_at_end: None,
        };
        row.put(&mut counter);
        assert_eq!(counter.0[6..], ["Some(\"bit/s\")", "Some(8)", "None"]);
    }

    #[test]
    fn a_host_counters_unit_follows_its_name() {
        for counter in HostCounter::ALL {
            let name = counter.name();
            let is_event = ["hits", "kills", "periods", "squeezed", "overlimits"].iter().any(|end| name.ends_with(end));
            let expected = match name {
                "TcpExtTCPMemoryPressuresChrono" => "ms",
                "qdisc_rate" => "bit/s",
                "qdisc_backlog" | "qdisc_limit" => "bytes",
                _ if is_event => "count",
                "bus_busy" | "adapter_send_busy" | "adapter_receive_busy" => "ns",
                _ if name.starts_with("cpu_") || name == "memory_stalled" => "ns",
                _ if name.starts_with("memory_") || name.starts_with("tcp_memory_") => "bytes",
                _ if name.starts_with("softnet_") || name.starts_with("qdisc_") => "packets",
                _ => "count",
            };
            assert_eq!(counter.unit(), expected, "{name}");
        }
    }
}
