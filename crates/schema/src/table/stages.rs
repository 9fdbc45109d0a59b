//! Tables of the stage times (evidence `stages`): where the time of sampled segments goes in a host.

use super::cell::{table, word_enum};
use super::{CONNECTION, Context, HOST, ROLE, Retransmission, SegmentDirection, Text};
use crate::trial::Role;

word_enum! {
    /// A part of a segment's life in a host. Each ends where the next hook runs.
    Stage {
        /// Entry of a system call, until the socket begins to copy. A poll before a read is one, too.
        CallEntry = "call_entry",
        /// Copies from the application, without a transmission.
        CopyIn = "copy_in",
        /// TCP and IP until the queue of the device, and what TCP does after a transmission. In a process, the copy
        /// right before it is in it, see `copied_bytes`.
        TcpOut = "tcp_out",
        /// The queue discipline until the driver.
        QdiscOut = "qdisc_out",
        /// Waiting in the queue discipline.
        QdiscWait = "qdisc_wait",
        /// The driver's transmission.
        DriverOut = "driver_out",
        /// Receive processing without a packet of its own after a transmission: it signals another CPU what is in its
        /// backlog.
        Handover = "handover",
        /// The end of a call: from the last copy or transmission back to the application.
        CallExit = "call_exit",
        /// The application between two calls.
        Application = "application",
        /// The hardware interrupt before it.
        Interrupt = "interrupt",
        /// Waiting for receive processing to begin.
        SoftirqWait = "softirq_wait",
        /// The driver's reception, or taking it out of a CPU's backlog.
        DriverIn = "driver_in",
        /// Generic receive offload.
        Gro = "gro",
        /// IP and what filters there are, until TCP.
        IpIn = "ip_in",
        /// TCP, until the reader is notified.
        TcpIn = "tcp_in",
        /// Notifying the reader, and what TCP does after it.
        Wakeup = "wakeup",
        /// The reader waits for a CPU.
        WakeupWait = "wakeup_wait",
        /// Waiting in the socket for a reader that was not asleep.
        SocketWait = "socket_wait",
        /// Copies to the application.
        CopyOut = "copy_out",
        /// An ACK's queue discipline and driver; making it is in the stage before.
        AckOut = "ack_out",
        /// TCP's processing of an ACK.
        AckIn = "ack_in",
    }
}

word_enum! {
    /// Why a stage of a sampled segment is not there, or what happened to the segment.
    StageGap {
        /// The hook before the stage ran unseen: the first segment of a block on this CPU.
        NoStart = "no_start",
        /// Wire segments that GRO merged into a sampled one.
        Merged = "merged",
        /// Parts that a super-segment was cut into before the driver.
        Split = "split",
        /// Sampled segments that were retransmissions.
        Retransmission = "retransmission",
        /// Sampled segments that receive processing or a timer sent, not a call: nothing before `tcp_out` belongs to them.
        SoftirqSent = "softirq_sent",
        /// Segments that TCP processed in the process that held the socket.
        SocketBacklog = "socket_backlog",
        /// Segments that left a queue discipline on another CPU than they had entered it.
        OtherCpu = "other_cpu",
        /// Transmissions through a device below another.
        StackedDevice = "stacked_device",
        /// Transmissions that the driver refused.
        Requeued = "requeued",
        /// Copies whose data came at a time that is not known.
        NoArrival = "no_arrival",
        /// Rows for which the log had no room.
        LostRecord = "lost_record",
    }
}

table! {
    /// One row a stage of a sampled segment.
    STAGES: StageRow = "stages", "a stage of a sampled segment, or of a sampled part of a call, in one host; a stage may have several rows";
    host: Text = HOST;
    connection: u32 = CONNECTION;
    role: Role = ROLE;
    direction: SegmentDirection = ("", "out: leaves this host; in: arrives.", "hook");
    stage: Stage = ("", "The stage, see `Stage` in crates/schema.", "hook");
    sequence: u32 = (
        "",
        "Sequence number of the first payload byte as in the header; of an ACK its acknowledgment number. Of a call: of the first byte that it moves.",
        "TCP header, tcp_sock",
    );
    payload_bytes: u32 = (
        "bytes",
        "Payload of the segment or of the copy; 0 of an ACK. Of call_entry of a write: what it is to write; of call_exit: what the call moved.",
        "skb, msghdr, return value",
    );
    wire_segments: u32 = ("segments", "Segments on the wire; 1 in a single segment, 0 of a copy.", "skb_shared_info");
    start_mono_ns: u64 = ("ns", "When the stage began.", "CLOCK_MONOTONIC");
    wall_ns: u64 = ("ns", "From the start of the stage to its end, whatever happened between.", "CLOCK_MONOTONIC");
    cpu_ns: u64 = (
        "ns",
        "Of that, processing: without interrupts and softirqs on top, time off the CPU, and writing rows; 0 of a stage that waits.",
        "CLOCK_MONOTONIC",
    );
    probes_count: u32 = (
        "count",
        "Runs of programs that are in `cpu_ns`, each about `empty_pair_ns` of the trial's report.",
        "BPF",
    );
    copied_bytes: u32 = ("bytes", "Payload that was copied within the stage; 0 where none was.", "tcp_sock write_seq, skb");
    thread: u32 = (
        "",
        "Thread on the CPU at the end of the stage: its number in the initial PID namespace; 0 of an idle CPU.",
        "task",
    );
    context: Context = (
        "",
        "In which context the stage ended: process, net_rx, timer, hrtimer, worker, other.",
        "softirq tracepoints",
    );
    retransmission: Option<Retransmission> = (
        "",
        "Of a retransmission: timeout, fast, probe, other.",
        "tcp_sock snd_nxt, icsk_ca_state",
    );
    one_in_count: u32 = ("count", "Of so many blocks of the sequence space one was sampled, when the row was written.", "BPF");
    cpu: u32 = ("", "CPU on which the stage ended.", "hook");
}

table! {
    /// One row a connection and reason.
    STAGE_GAPS: StageGapRow = "stage_gaps", "what of sampled segments was not followed, or happened to them, of one connection and reason";
    host: Text = HOST;
    connection: Option<u32> = ("", "Number of the connection; absent of rows that a log lost.", "connection preamble");
    reason: StageGap = ("", "The reason, see `StageGap` in crates/schema.", "BPF");
    gaps_count: u64 = ("count", "How many.", "BPF");
}
