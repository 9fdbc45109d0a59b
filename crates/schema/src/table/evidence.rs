//! Tables of the BPF evidence: counters (level 1) and the segment log (level 2).

use super::ColumnType::{Bool, Text, U32, U64};
use super::{CONNECTION, Column, END, HOST, INTERVAL, PHASE, ROLE, START, Table, column, optional};

/// Words of a context: who made the kernel send.
pub const CONTEXTS: [&str; 6] = ["process", "net_rx", "timer", "hrtimer", "worker", "other"];

/// Words of an ACK's reason.
pub const ACK_REASONS: [&str; 9] =
    ["delayed_timer", "read_call", "second_segment", "quick", "out_of_order", "window_probe", "fin", "handshake", "other"];

/// Words of a retransmission's kind.
pub const RETRANSMISSIONS: [&str; 4] = ["timeout", "fast", "probe", "other"];

/// Words of what a size class counts.
pub const SIZED: [&str; 4] = ["segment_out", "segment_in", "write_call", "read_call"];

/// Words of a softirq's vector, in the order of the kernel's numbers (`include/linux/interrupt.h`).
pub const VECTORS: [&str; 10] = ["hi", "timer", "net_tx", "net_rx", "block", "irq_poll", "tasklet", "sched", "hrtimer", "rcu"];

const fn socket_state(name: &'static str, unit: &'static str, meaning: &'static str, source: &'static str) -> Column {
    optional(name, U32, unit, meaning, source)
}

/// One row a segment or pure ACK.
pub const SEGMENTS: Table = Table {
    name: "segments",
    row: "a segment or pure ACK that left TCP or arrived from the network; a GSO or GRO super-segment is one row",
    columns: &[
        HOST,
        CONNECTION,
        ROLE,
        column("direction", Text, "", "out or in.", "hook"),
        column("segment_mono_ns", U64, "ns", "When it left TCP or arrived from the device.", "CLOCK_MONOTONIC"),
        column("sequence", U32, "", "Sequence number of the header.", "TCP header"),
        column("acknowledgment", U32, "", "Acknowledgment number of the header; 0 without the ACK flag.", "TCP header"),
        column("payload_bytes", U32, "bytes", "Payload, without headers; 0 in a pure ACK.", "skb length"),
        column(
            "gso_size_bytes",
            U32,
            "bytes",
            "Payload of each wire segment of a super-segment; 0 in a single segment.",
            "skb_shared_info",
        ),
        column("wire_segments", U32, "segments", "Segments on the wire; 1 in a single segment.", "skb_shared_info"),
        column("flags", U32, "", "Flags of the header: FIN 1, SYN 2, RST 4, PSH 8, ACK 16, URG 32, ECE 64, CWR 128.", "TCP header"),
        column("window_field", U32, "", "Window as in the header, not scaled.", "TCP header"),
        column("window_bytes", U32, "bytes", "Window announced, scaled (RFC 7323 section 2).", "TCP header and tcp_sock"),
        socket_state(
            "unacked_bytes",
            "bytes",
            "Own bytes unacknowledged once this segment is sent, or its acknowledgment taken.",
            "tcp_sock snd_una, snd_nxt",
        ),
        socket_state("unsent_bytes", "bytes", "Own bytes written and not sent once this segment is sent.", "tcp_sock write_seq"),
        socket_state("cwnd_segments", "segments", "Congestion window.", "tcp_sock snd_cwnd"),
        socket_state("ssthresh_segments", "segments", "Slow-start threshold; 2147483647 before the first loss.", "tcp_sock snd_ssthresh"),
        socket_state("srtt_ns", "ns", "Smoothed round-trip time.", "tcp_sock srtt_us"),
        socket_state("send_window_bytes", "bytes", "Window the peer last announced.", "tcp_sock snd_wnd"),
        optional("pacing_rate_bytes_per_second", U64, "bytes/s", "Pacing rate; the largest value means none.", "sock sk_pacing_rate"),
        socket_state("receive_queue_bytes", "bytes", "Received in sequence and not read.", "tcp_sock rcv_nxt, copied_seq"),
        column(
            "context",
            Text,
            "",
            "Who made the kernel send or receive: process, net_rx, timer, hrtimer, worker, other.",
            "softirq tracepoints",
        ),
        column("ksoftirqd", Bool, "", "Whether that ran in ksoftirqd.", "task"),
        column("cpu", U32, "", "CPU it ran on.", "hook"),
        optional("retransmission", Text, "", "Of a retransmission: timeout, fast, probe, other.", "tcp_sock snd_nxt, icsk_ca_state"),
        optional(
            "ack_reason",
            Text,
            "",
            "Of a pure ACK sent: delayed_timer, read_call, second_segment, quick, out_of_order, window_probe, fin, handshake, other.",
            "segments before it, tcp_sock",
        ),
    ],
};

/// Words of a call's direction.
pub const CALL_WORDS: [&str; 2] = ["write", "read"];

/// Words of how a call ended.
pub const OUTCOMES: [&str; 3] = ["done", "would_block", "failed"];

const fn call_ns(name: &'static str, meaning: &'static str, source: &'static str) -> Column {
    optional(name, U64, "ns", meaning, source)
}

/// One row a read or write call.
pub const CALLS: Table = Table {
    name: "calls",
    row: "a call that moved payload into a connection's socket or out of it, or tried to; rows of a CPU are in the order of their ends",
    columns: &[
        HOST,
        CONNECTION,
        ROLE,
        column(
            "thread",
            U32,
            "",
            "The thread that called, by its number in the whole system, which is that of `threads` where processes have no namespace of their own.",
            "task",
        ),
        column("call", Text, "", "write or read, whichever system call it was.", "hook"),
        call_ns(
            "start_mono_ns",
            "When the thread entered the system call, or the end of the call before it in the same one; absent of a thread not seen before.",
            "raw_syscalls:sys_enter, CLOCK_MONOTONIC",
        ),
        column("end_mono_ns", U64, "ns", "When the socket was done.", "sock:sock_send_length, sock:sock_recv_length"),
        column("moved_bytes", U32, "bytes", "Payload taken or given; 0 when none was.", "the same"),
        column(
            "outcome",
            Text,
            "",
            "done (a read of 0 bytes: the peer's end), would_block (nothing moved, and it was not to wait) or failed.",
            "the same",
        ),
        call_ns("blocked_ns", "Of the call, time asleep.", "sched:sched_switch, sched:sched_waking"),
        call_ns(
            "preempted_ns",
            "Of the call, time runnable and not running: preempted, or woken and waiting for a CPU.",
            "sched:sched_switch, sched:sched_waking",
        ),
        call_ns("softirq_ns", "Of the call, time of softirqs on top of it, on its CPU.", "irq:softirq_entry, irq:softirq_exit"),
        call_ns(
            "waited_before_ns",
            "Time the thread was asleep between the call of it before, on whatever connection, and this one.",
            "sched:sched_switch, sched:sched_waking",
        ),
        call_ns("runnable_before_ns", "Between the two, time runnable and not running.", "sched:sched_switch, sched:sched_waking"),
        call_ns("softirq_before_ns", "Between the two, time of softirqs on top of the thread.", "irq:softirq_entry, irq:softirq_exit"),
        column("cpu", U32, "", "CPU it ended on.", "hook"),
    ],
};

/// One row a connection, end and interval.
pub const COUNTERS: Table = Table {
    name: "counters",
    row: "what was counted in the kernel of a connection in one interval",
    columns: &[
        HOST,
        CONNECTION,
        ROLE,
        INTERVAL,
        PHASE,
        START,
        END,
        column("data_out_packets", U64, "packets", "Sent with payload; a GSO super-segment counts once.", "net:net_dev_queue"),
        column("data_out_segments", U64, "segments", "Sent with payload, as segments on the wire.", "net:net_dev_queue"),
        column("data_out_bytes", U64, "bytes", "Payload sent, retransmissions included.", "net:net_dev_queue"),
        column("retransmitted_out_packets", U64, "packets", "Of those sent, retransmissions.", "net:net_dev_queue"),
        column("acks_out_count", U64, "count", "Pure ACKs sent.", "net:net_dev_queue"),
        column("data_in_packets", U64, "packets", "Arrived with payload; a GRO super-segment counts once.", "net:netif_receive_skb"),
        column("data_in_segments", U64, "segments", "Arrived with payload, as segments on the wire.", "net:netif_receive_skb"),
        column("data_in_bytes", U64, "bytes", "Payload arrived.", "net:netif_receive_skb"),
        column("acks_in_count", U64, "count", "Pure ACKs arrived.", "net:netif_receive_skb"),
        column("duplicate_acks_in_count", U64, "count", "Duplicate ACKs arrived (RFC 5681 section 2).", "net:netif_receive_skb"),
        column(
            "out_of_order_in_packets",
            U64,
            "packets",
            "Arrived with payload that was not the next in sequence.",
            "net:netif_receive_skb",
        ),
        column(
            "process_out_packets",
            U64,
            "packets",
            "Data sent from a process: a write, a read, a socket's backlog.",
            "softirq tracepoints",
        ),
        column("net_rx_out_packets", U64, "packets", "Data sent from receive processing: released by an ACK.", "softirq tracepoints"),
        column("timer_out_packets", U64, "packets", "Data sent from a timer.", "softirq tracepoints"),
        column("hrtimer_out_packets", U64, "packets", "Data sent from a high-resolution timer: pacing.", "softirq tracepoints"),
        column(
            "worker_out_packets",
            U64,
            "packets",
            "Data sent from a deferred worker: TCP small queues, workqueues.",
            "softirq tracepoints",
        ),
        column("other_out_packets", U64, "packets", "Data sent from anywhere else.", "softirq tracepoints"),
        column("ksoftirqd_out_packets", U64, "packets", "Of all data sent, in ksoftirqd.", "task"),
        column("delayed_timer_acks_count", U64, "count", "Pure ACKs sent because the delayed-ACK timer ran out.", "ACK reason"),
        column("read_call_acks_count", U64, "count", "Pure ACKs sent by a read call, window updates included.", "ACK reason"),
        column(
            "second_segment_acks_count",
            U64,
            "count",
            "Pure ACKs sent because more than a full segment was unacknowledged.",
            "ACK reason",
        ),
        column("quick_acks_count", U64, "count", "Pure ACKs sent at once, without a second segment.", "ACK reason"),
        column("out_of_order_acks_count", U64, "count", "Pure ACKs sent for data out of order or duplicate.", "ACK reason"),
        column("window_probe_acks_count", U64, "count", "Window probes and keepalives sent.", "ACK reason"),
        column("fin_acks_count", U64, "count", "Pure ACKs sent for the peer's FIN.", "ACK reason"),
        column("handshake_acks_count", U64, "count", "Pure ACKs sent to complete the handshake.", "ACK reason"),
        column("other_acks_count", U64, "count", "Pure ACKs sent for none of these reasons.", "ACK reason"),
    ],
};

/// One row a connection, end, interval and size class.
pub const SIZES: Table = Table {
    name: "sizes",
    row: "segments or calls of one size class of a connection in one interval; a class without any has no row",
    columns: &[
        HOST,
        CONNECTION,
        ROLE,
        INTERVAL,
        PHASE,
        column("what", Text, "", "segment_out, segment_in (a super-segment counts once), write_call or read_call.", "hook"),
        column("class_bytes", U32, "bytes", "Smallest size of the class, a power of two, or 0; the class ends before the next.", "probe"),
        column(
            "sizes_count",
            U64,
            "count",
            "Segments or calls of the class.",
            "net_dev_queue, netif_receive_skb, sock_send_length, sock_recv_length",
        ),
        column("sizes_bytes", U64, "bytes", "Their bytes together.", "the same"),
    ],
};

/// One row a CPU, interval and vector.
pub const SOFTIRQS: Table = Table {
    name: "softirqs",
    row: "the time of one softirq vector on one of the end's own CPUs in one interval; a vector that did not run has no row",
    columns: &[
        HOST,
        column("cpu", U32, "", "Number of the CPU.", "kernel"),
        column("own", Bool, "", "Whether the plan counts this CPU as this side's alone.", "plan"),
        INTERVAL,
        PHASE,
        START,
        END,
        column("vector", Text, "", "hi, timer, net_tx, net_rx, block, irq_poll, tasklet, sched, hrtimer, rcu.", "irq:softirq_entry"),
        column("runs_count", U64, "count", "Times the vector's handler ended.", "irq:softirq_exit"),
        column(
            "softirq_ns",
            U64,
            "ns",
            "Time in the handler, hardware interrupts on top of it included.",
            "irq:softirq_entry, irq:softirq_exit",
        ),
    ],
};
