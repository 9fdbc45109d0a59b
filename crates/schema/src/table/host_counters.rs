//! Table of what a host counted and limited while a trial ran: control groups, TCP/IP, queueing disciplines.

use super::cell::{table, word_enum};
use super::{END, HOST, START, Text};

word_enum! {
    /// The quantity that a row of the table counts. Counters of TCP/IP have the names that `nstat` prints.
    HostCounter {
        /// CPU time that a control group may use in each period, over all CPUs.
        CpuQuota = "cpu_quota",
        CpuPeriod = "cpu_period",
        /// Periods in which the group had threads that wanted to run.
        CpuPeriods = "cpu_periods",
        /// Periods in which the group used up its quota.
        CpuThrottledPeriods = "cpu_throttled_periods",
        /// Time for which the group was kept from its CPUs, summed over the CPUs.
        CpuThrottled = "cpu_throttled",
        /// CPU time that the group used.
        CpuUsed = "cpu_used",
        /// Time in which a thread of the group waited for a CPU (PSI).
        CpuStalled = "cpu_stalled",
        MemoryLimit = "memory_limit",
        /// The limit from which on the kernel reclaims memory of the group.
        MemoryHigh = "memory_high",
        MemoryUsed = "memory_used",
        /// Number of times that the group met its limit.
        MemoryLimitHits = "memory_limit_hits",
        MemoryHighHits = "memory_high_hits",
        /// Processes of the group that were ended because memory was used up.
        MemoryKills = "memory_kills",
        /// Time in which a thread of the group waited for memory (PSI).
        MemoryStalled = "memory_stalled",
        /// The limit of what sockets of the group may hold.
        TcpMemoryLimit = "tcp_memory_limit",
        TcpMemoryLimitHits = "tcp_memory_limit_hits",
        /// Memory that all TCP sockets of the host hold.
        TcpMemoryUsed = "tcp_memory_used",
        /// Packets that the host took from its devices.
        SoftnetProcessed = "softnet_processed",
        /// Packets that it dropped because the backlog of a CPU was full.
        SoftnetDropped = "softnet_dropped",
        /// Times that it stopped taking packets because its budget or its time was used up.
        SoftnetTimeSqueezed = "softnet_time_squeezed",
        QdiscSent = "qdisc_sent",
        QdiscDropped = "qdisc_dropped",
        /// Times that a queueing discipline could not send at once.
        QdiscOverlimits = "qdisc_overlimits",
        QdiscRequeues = "qdisc_requeues",
        QdiscBacklog = "qdisc_backlog",
        /// The rate that a queueing discipline allows (`tbf`).
        QdiscRate = "qdisc_rate",
        /// Most bytes that wait in a queueing discipline (`tbf`, `bfifo`).
        QdiscLimit = "qdisc_limit",
        /// Most packets that wait in a queueing discipline (`pfifo`).
        QdiscPacketLimit = "qdisc_packet_limit",
        IpOutDiscards = "IpOutDiscards",
        IpExtInEct0Pkts = "IpExtInECT0Pkts",
        IpExtInCePkts = "IpExtInCEPkts",
        /// Adapters of a host of the model, where it has several.
        Adapters = "adapters",
        /// Time for which the bus of a host of the model moved something.
        BusBusy = "bus_busy",
        /// Time for which the processor on the adapter of a host of the model worked for what leaves.
        AdapterSendBusy = "adapter_send_busy",
        /// The same for what arrives.
        AdapterReceiveBusy = "adapter_receive_busy",
        TcpRetransSegs = "TcpRetransSegs",
        TcpExtPruneCalled = "TcpExtPruneCalled",
        TcpExtRcvPruned = "TcpExtRcvPruned",
        TcpExtOfoPruned = "TcpExtOfoPruned",
        TcpExtListenOverflows = "TcpExtListenOverflows",
        TcpExtListenDrops = "TcpExtListenDrops",
        TcpExtTcpSackReorder = "TcpExtTCPSACKReorder",
        TcpExtTcpTsReorder = "TcpExtTCPTSReorder",
        TcpExtTcpLostRetransmit = "TcpExtTCPLostRetransmit",
        TcpExtTcpTimeouts = "TcpExtTCPTimeouts",
        TcpExtTcpLossProbes = "TcpExtTCPLossProbes",
        TcpExtTcpSpuriousRtos = "TcpExtTCPSpuriousRTOs",
        TcpExtTcpRcvCollapsed = "TcpExtTCPRcvCollapsed",
        TcpExtTcpDsackRecv = "TcpExtTCPDSACKRecv",
        TcpExtTcpDsackOfoRecv = "TcpExtTCPDSACKOfoRecv",
        TcpExtTcpMemoryPressures = "TcpExtTCPMemoryPressures",
        TcpExtTcpMemoryPressuresChrono = "TcpExtTCPMemoryPressuresChrono",
        TcpExtTcpBacklogDrop = "TcpExtTCPBacklogDrop",
        TcpExtTcpRcvQDrop = "TcpExtTCPRcvQDrop",
        TcpExtTcpZeroWindowDrop = "TcpExtTCPZeroWindowDrop",
        TcpExtTcpFromZeroWindowAdv = "TcpExtTCPFromZeroWindowAdv",
        TcpExtTcpToZeroWindowAdv = "TcpExtTCPToZeroWindowAdv",
        TcpExtTcpWantZeroWindowAdv = "TcpExtTCPWantZeroWindowAdv",
        TcpExtTcpAutoCorking = "TcpExtTCPAutoCorking",
        UdpInErrors = "UdpInErrors",
        UdpRcvbufErrors = "UdpRcvbufErrors",
        UdpSndbufErrors = "UdpSndbufErrors",
    }
}

impl HostCounter {
    /// Unit of its values.
    pub const fn unit(self) -> &'static str {
        match self {
            Self::CpuQuota
            | Self::CpuPeriod
            | Self::CpuThrottled
            | Self::CpuUsed
            | Self::CpuStalled
            | Self::MemoryStalled
            | Self::BusBusy
            | Self::AdapterSendBusy
            | Self::AdapterReceiveBusy => "ns",
            Self::MemoryLimit
            | Self::MemoryHigh
            | Self::MemoryUsed
            | Self::TcpMemoryLimit
            | Self::TcpMemoryUsed
            | Self::QdiscBacklog
            | Self::QdiscLimit => "bytes",
            Self::SoftnetProcessed
            | Self::SoftnetDropped
            | Self::QdiscSent
            | Self::QdiscDropped
            | Self::QdiscRequeues
            | Self::QdiscPacketLimit => "packets",
            Self::QdiscRate => "bit/s",
            Self::TcpExtTcpMemoryPressuresChrono => "ms",
            _ => "count",
        }
    }
}

table! {
    /// One row a counter.
    HOST_COUNTERS: HostCounterRow = "host_counters", "a counter or a limit of the host just before and just after the load; without values where the host has none";
    host: Text = HOST;
    start_mono_ns: u64 = START;
    end_mono_ns: u64 = END;
    counter: HostCounter = ("", "What is counted; names in capitals are those of nstat.", "the file or message that `kind` names");
    subject: Text = (
        "",
        "What it is counted of: the path of a control group, the name of a device, or nothing for the network namespace (TCP/IP) or the host (softnet_, tcp_memory_used).",
        "kernel",
    );
    kind: Text = (
        "",
        "cgroup v1 or cgroup v2; the kind of a queueing discipline; of the model the word model; otherwise the file.",
        "/proc/self/cgroup, RTM_GETQDISC, /proc/net",
    );
    unit: Text = ("", "Unit of the values.", "whyperf");
    value_at_start: Option<u64> = ("", "Before the load; of limits and sums that are in use, the value then.", "kernel");
    value_at_end: Option<u64> = ("", "After the load.", "kernel");
}
