//! Tables of connections that other programs have.

use super::cell::table;
use super::{CONNECTION, HOST, SAMPLE, Text};

table! {
    /// One row a watched connection.
    WATCHED: WatchedRow = "watched", "a connection of another program, and whose it is";
    host: Text = HOST;
    connection: u32 = CONNECTION;
    local_address: Text = ("", "Local address and port.", "sock_diag");
    remote_address: Text = ("", "Remote address and port.", "sock_diag");
    cookie: u64 = ("", "The kernel's own number of the socket, never used twice.", "sock_diag, idiag_cookie");
    program: Text = ("", "Name of the program that holds it; empty where it is not known.", "/proc/<pid>/comm");
    executable: Text = ("", "Its file; empty where it is not known.", "/proc/<pid>/exe");
    process: Option<u32> = ("", "Its process.", "/proc/<pid>/fd");
    user: u32 = ("", "Number of the user that opened the socket.", "sock_diag, idiag_uid");
    control_group: Text = ("", "Path of the control group; empty where it is not known.", "sock_diag, INET_DIAG_CGROUP_ID");
    whole: bool = (
        "",
        "It opened after the watch began, or had moved nothing before: the kernel's totals count only what was watched.",
        "sock_diag, tcpi_data_segs_out, tcpi_data_segs_in",
    );
    first_mono_ns: u64 = ("ns", "When it was first seen.", "CLOCK_MONOTONIC");
    last_mono_ns: u64 = ("ns", "When it was last seen open.", "CLOCK_MONOTONIC");
    closed: bool = ("", "It closed while it was watched.", "sock_diag");
    listens: Option<bool> = (
        "",
        "This side accepted the connection: a listening socket of this host has its local port. Absent where none has, and the port is not one that the kernel chooses for connecting.",
        "sock_diag, /proc/sys/net/ipv4/ip_local_port_range",
    );
    send_buffer_fixed: Option<bool> = (
        "",
        "The program has set SO_SNDBUF, which switches autotuning off. sock_diag does not say it: absent without BPF.",
        "struct sock, sk_userlocks",
    );
    receive_buffer_fixed: Option<bool> = (
        "",
        "The program has set SO_RCVBUF, which switches autotuning off. sock_diag does not say it: absent without BPF.",
        "struct sock, sk_userlocks",
    );
}

table! {
    /// One row a watched connection and sample.
    SOCKETS: SocketRow = "sockets", "a sample of the queues and the memory of a socket of another program";
    host: Text = HOST;
    connection: u32 = CONNECTION;
    sample_mono_ns: u64 = SAMPLE;
    receive_queue_bytes: u32 = ("bytes", "Received in sequence and not read.", "sock_diag, idiag_rqueue");
    send_queue_bytes: u32 = ("bytes", "Written and not acknowledged.", "sock_diag, idiag_wqueue");
    receive_memory_bytes: Option<u32> = ("bytes", "Memory that packets wait in to be read.", "SK_MEMINFO_RMEM_ALLOC");
    receive_buffer_bytes: Option<u32> = ("bytes", "Its limit: the receive buffer now.", "SK_MEMINFO_RCVBUF");
    send_memory_bytes: Option<u32> = ("bytes", "Memory of packets handed to the device and not sent.", "SK_MEMINFO_WMEM_ALLOC");
    queued_memory_bytes: Option<u32> = ("bytes", "Memory of everything written and not acknowledged.", "SK_MEMINFO_WMEM_QUEUED");
    send_buffer_bytes: Option<u32> = ("bytes", "Its limit: the send buffer now.", "SK_MEMINFO_SNDBUF");
    backlog_bytes: Option<u32> = ("bytes", "Packets that wait until the program lets go of the socket.", "SK_MEMINFO_BACKLOG");
    dropped_packets: Option<u32> = ("packets", "Dropped at the socket since it opened.", "SK_MEMINFO_DROPS");
}
