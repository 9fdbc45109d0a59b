//! Tables of the BPF evidence: counters (level 1) and the segment log (level 2).

use super::cell::{table, word_enum};
use super::{CONNECTION, END, HOST, INTERVAL, PHASE, ROLE, START, Text};
use crate::trial::{Phase, Role};

word_enum! {
    /// The direction of a segment: it left or arrived.
    SegmentDirection {
        Out = "out",
        In = "in",
    }
}

word_enum! {
    /// Who made the kernel send.
    Context {
        Process = "process",
        NetRx = "net_rx",
        Timer = "timer",
        Hrtimer = "hrtimer",
        Worker = "worker",
        Other = "other",
    }
}

word_enum! {
    /// Why a pure ACK was sent.
    AckReason {
        DelayedTimer = "delayed_timer",
        ReadCall = "read_call",
        SecondSegment = "second_segment",
        Quick = "quick",
        OutOfOrder = "out_of_order",
        WindowProbe = "window_probe",
        Fin = "fin",
        Handshake = "handshake",
        Other = "other",
    }
}

word_enum! {
    /// Kind of a retransmission.
    Retransmission {
        Timeout = "timeout",
        Fast = "fast",
        Probe = "probe",
        Other = "other",
    }
}

word_enum! {
    /// The things that a size class counts.
    Sized {
        SegmentOut = "segment_out",
        SegmentIn = "segment_in",
        WriteCall = "write_call",
        ReadCall = "read_call",
    }
}

word_enum! {
    /// A softirq's vector, in the order of the kernel's numbers (`include/linux/interrupt.h`).
    Vector {
        Hi = "hi",
        Timer = "timer",
        NetTx = "net_tx",
        NetRx = "net_rx",
        Block = "block",
        IrqPoll = "irq_poll",
        Tasklet = "tasklet",
        Sched = "sched",
        Hrtimer = "hrtimer",
        Rcu = "rcu",
    }
}

word_enum! {
    /// Which way a call moved payload, whichever system call it was.
    CallKind {
        Write = "write",
        Read = "read",
    }
}

word_enum! {
    /// The way that a call ended.
    CallOutcome {
        Done = "done",
        WouldBlock = "would_block",
        Failed = "failed",
    }
}

table! {
    /// One row a segment or pure ACK.
    SEGMENTS: SegmentRow = "segments", "a segment or pure ACK that left TCP or arrived from the network; a GSO or GRO super-segment is one row";
    host: Text = HOST;
    connection: u32 = CONNECTION;
    role: Role = ROLE;
    direction: SegmentDirection = ("", "out or in.", "hook");
    segment_mono_ns: u64 = ("ns", "When it left TCP or arrived from the device.", "CLOCK_MONOTONIC");
    sequence: u32 = ("", "Sequence number of the header.", "TCP header");
    acknowledgment: u32 = ("", "Acknowledgment number of the header; 0 without the ACK flag.", "TCP header");
    payload_bytes: u32 = ("bytes", "Payload, without headers; 0 in a pure ACK.", "skb length");
    gso_size_bytes: u32 = ("bytes", "Payload of each wire segment of a super-segment; 0 in a single segment.", "skb_shared_info");
    wire_segments: u32 = ("segments", "Segments on the wire; 1 in a single segment.", "skb_shared_info");
    flags: u32 = ("", "Flags of the header: FIN 1, SYN 2, RST 4, PSH 8, ACK 16, URG 32, ECE 64, CWR 128.", "TCP header");
    window_field: u32 = ("", "Window as in the header, not scaled.", "TCP header");
    window_bytes: u32 = ("bytes", "Window announced, scaled (RFC 7323 section 2).", "TCP header and tcp_sock");
    unacked_bytes: Option<u32> = (
        "bytes",
        "Own bytes unacknowledged once this segment is sent, or its acknowledgment taken.",
        "tcp_sock snd_una, snd_nxt",
    );
    unsent_bytes: Option<u32> = ("bytes", "Own bytes written and not sent once this segment is sent.", "tcp_sock write_seq");
    cwnd_segments: Option<u32> = ("segments", "Congestion window.", "tcp_sock snd_cwnd");
    ssthresh_segments: Option<u32> = (
        "segments",
        "Slow-start threshold; 2147483647 before the first loss.",
        "tcp_sock snd_ssthresh",
    );
    srtt_ns: Option<u32> = ("ns", "Smoothed round-trip time.", "tcp_sock srtt_us");
    send_window_bytes: Option<u32> = ("bytes", "Window the peer last announced.", "tcp_sock snd_wnd");
    pacing_rate_bytes_per_second: Option<u64> = ("bytes/s", "Pacing rate; the largest value means none.", "sock sk_pacing_rate");
    receive_queue_bytes: Option<u32> = ("bytes", "Received in sequence and not read.", "tcp_sock rcv_nxt, copied_seq");
    context: Context = (
        "",
        "Who made the kernel send or receive: process, net_rx, timer, hrtimer, worker, other.",
        "softirq tracepoints",
    );
    ksoftirqd: bool = ("", "Whether that ran in ksoftirqd.", "task");
    cpu: u32 = ("", "CPU it ran on.", "hook");
    retransmission: Option<Retransmission> = (
        "",
        "Of a retransmission: timeout, fast, probe, other.",
        "tcp_sock snd_nxt, icsk_ca_state",
    );
    ack_reason: Option<AckReason> = (
        "",
        "Of a pure ACK sent: delayed_timer, read_call, second_segment, quick, out_of_order, window_probe, fin, handshake, other.",
        "segments before it, tcp_sock",
    );
}

table! {
    /// One row a read or write call.
    CALLS: CallRow = "calls", "a call that moved payload into a connection's socket or out of it, or tried to; rows of a CPU are in the order of their ends";
    host: Text = HOST;
    connection: u32 = CONNECTION;
    role: Role = ROLE;
    thread: u32 = (
        "",
        "Thread that called: its number in the initial PID namespace; the same as in `threads` unless the process has a PID namespace of its own.",
        "task",
    );
    call: CallKind = ("", "write or read, whichever system call it was.", "hook");
    start_mono_ns: Option<u64> = (
        "ns",
        "Start of the system call, or end of the previous call within the same system call. Null for the first call of a thread.",
        "raw_syscalls:sys_enter, CLOCK_MONOTONIC",
    );
    end_mono_ns: u64 = ("ns", "When the socket was done.", "sock:sock_send_length, sock:sock_recv_length");
    moved_bytes: u32 = ("bytes", "Payload taken or given; 0 when none was.", "the same");
    outcome: CallOutcome = (
        "",
        "done (a read of 0 bytes: the peer's end), would_block (nothing moved, and it was not to wait) or failed.",
        "the same",
    );
    blocked_ns: Option<u64> = ("ns", "Of the call, time asleep.", "sched:sched_switch, sched:sched_waking");
    preempted_ns: Option<u64> = (
        "ns",
        "Of the call, time runnable and not running: preempted, or woken and waiting for a CPU.",
        "sched:sched_switch, sched:sched_waking",
    );
    softirq_ns: Option<u64> = (
        "ns",
        "Of the call, time of softirqs on top of it, on its CPU.",
        "irq:softirq_entry, irq:softirq_exit",
    );
    waited_before_ns: Option<u64> = (
        "ns",
        "Time the thread was asleep between its previous call (on any connection) and this one.",
        "sched:sched_switch, sched:sched_waking",
    );
    runnable_before_ns: Option<u64> = (
        "ns",
        "Between the two, time runnable and not running.",
        "sched:sched_switch, sched:sched_waking",
    );
    softirq_before_ns: Option<u64> = (
        "ns",
        "Between the two, time of softirqs on top of the thread.",
        "irq:softirq_entry, irq:softirq_exit",
    );
    cpu: u32 = ("", "CPU it ended on.", "hook");
}

table! {
    /// One row a connection, end and interval.
    COUNTERS: CounterRow = "counters", "what was counted in the kernel of a connection in one interval";
    host: Text = HOST;
    connection: u32 = CONNECTION;
    role: Role = ROLE;
    interval: u32 = INTERVAL;
    phase: Phase = PHASE;
    start_mono_ns: u64 = START;
    end_mono_ns: u64 = END;
    data_out_packets: u64 = ("packets", "Sent with payload; a GSO super-segment counts once.", "net:net_dev_queue");
    data_out_segments: u64 = ("segments", "Sent with payload, as segments on the wire.", "net:net_dev_queue");
    data_out_bytes: u64 = ("bytes", "Payload sent, retransmissions included.", "net:net_dev_queue");
    retransmitted_out_packets: u64 = ("packets", "Of those sent, retransmissions.", "net:net_dev_queue");
    acks_out_count: u64 = ("count", "Pure ACKs sent.", "net:net_dev_queue");
    data_in_packets: u64 = ("packets", "Arrived with payload; a GRO super-segment counts once.", "net:netif_receive_skb");
    data_in_segments: u64 = ("segments", "Arrived with payload, as segments on the wire.", "net:netif_receive_skb");
    data_in_bytes: u64 = ("bytes", "Payload arrived.", "net:netif_receive_skb");
    acks_in_count: u64 = ("count", "Pure ACKs arrived.", "net:netif_receive_skb");
    duplicate_acks_in_count: u64 = ("count", "Duplicate ACKs arrived (RFC 5681 section 2).", "net:netif_receive_skb");
    out_of_order_in_packets: u64 = (
        "packets",
        "Arrived with payload that was not the next in sequence.",
        "net:netif_receive_skb",
    );
    process_out_packets: u64 = (
        "packets",
        "Data sent from a process: a write, a read, a socket's backlog.",
        "softirq tracepoints",
    );
    net_rx_out_packets: u64 = ("packets", "Data sent from receive processing: released by an ACK.", "softirq tracepoints");
    timer_out_packets: u64 = ("packets", "Data sent from a timer.", "softirq tracepoints");
    hrtimer_out_packets: u64 = ("packets", "Data sent from a high-resolution timer: pacing.", "softirq tracepoints");
    worker_out_packets: u64 = (
        "packets",
        "Data sent from a deferred worker: TCP small queues, workqueues, threads that poll a device (threaded NAPI).",
        "softirq tracepoints",
    );
    other_out_packets: u64 = ("packets", "Data sent from anywhere else.", "softirq tracepoints");
    ksoftirqd_out_packets: u64 = ("packets", "Of all data sent, in ksoftirqd.", "task");
    delayed_timer_acks_count: u64 = ("count", "Pure ACKs sent because the delayed-ACK timer ran out.", "ACK reason");
    read_call_acks_count: u64 = ("count", "Pure ACKs sent by a read call, window updates included.", "ACK reason");
    second_segment_acks_count: u64 = (
        "count",
        "Pure ACKs sent because more than a full segment was unacknowledged.",
        "ACK reason",
    );
    quick_acks_count: u64 = ("count", "Pure ACKs sent at once, without a second segment.", "ACK reason");
    out_of_order_acks_count: u64 = ("count", "Pure ACKs sent for data out of order or duplicate.", "ACK reason");
    window_probe_acks_count: u64 = ("count", "Window probes and keepalives sent.", "ACK reason");
    fin_acks_count: u64 = ("count", "Pure ACKs sent for the peer's FIN.", "ACK reason");
    handshake_acks_count: u64 = ("count", "Pure ACKs sent to complete the handshake.", "ACK reason");
    other_acks_count: u64 = ("count", "Pure ACKs sent for none of these reasons.", "ACK reason");
}

table! {
    /// One row a connection, end, interval and size class.
    SIZES: SizeRow = "sizes", "segments or calls of one size class of a connection in one interval; a class without any has no row";
    host: Text = HOST;
    connection: u32 = CONNECTION;
    role: Role = ROLE;
    interval: u32 = INTERVAL;
    phase: Phase = PHASE;
    what: Sized = ("", "segment_out, segment_in (a super-segment counts once), write_call or read_call.", "hook");
    class_bytes: u32 = ("bytes", "Smallest size of the class, a power of two, or 0; the class ends before the next.", "probe");
    sizes_count: u64 = (
        "count",
        "Segments or calls of the class.",
        "net_dev_queue, netif_receive_skb, sock_send_length, sock_recv_length",
    );
    sizes_bytes: u64 = ("bytes", "Their bytes together.", "the same");
}

table! {
    /// One row a CPU, interval and vector.
    SOFTIRQS: SoftirqRow = "softirqs", "the time of one softirq vector on one of the end's own CPUs in one interval; a vector that did not run has no row";
    host: Text = HOST;
    cpu: u32 = ("", "Number of the CPU.", "kernel");
    own: bool = ("", "Whether the plan counts this CPU as this side's alone.", "plan");
    interval: u32 = INTERVAL;
    phase: Phase = PHASE;
    start_mono_ns: u64 = START;
    end_mono_ns: u64 = END;
    vector: Vector = ("", "hi, timer, net_tx, net_rx, block, irq_poll, tasklet, sched, hrtimer, rcu.", "irq:softirq_entry");
    runs_count: u64 = ("count", "Times the vector's handler ended.", "irq:softirq_exit");
    softirq_ns: u64 = (
        "ns",
        "Time in the handler, hardware interrupts on top of it included.",
        "irq:softirq_entry, irq:softirq_exit",
    );
    on_load_ns: Option<u64> = (
        "ns",
        "Of that, on top of a thread of this end's load; null where these threads are too many to be looked for.",
        "irq:softirq_exit",
    );
}
