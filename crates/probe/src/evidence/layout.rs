//! Generated from `bpf/layout.h` by `make schemas`; a test compares the two.

use {u8 as __u8, u16 as __u16, u32 as __u32, u64 as __u64};

pub const PORTS: u32 = 65536;
pub const PROCESS_WORDS: u8 = 16;
pub const PICKS: u16 = 256;
pub const SPARE_PICKS: u8 = 64;
pub const SEVERAL_NAMESPACES: u32 = 4294967295;
pub const NONE: u8 = 255;
pub const LISTENING: EndNumber = 0;
pub const CONNECTING: EndNumber = 1;
pub const ENDS: EndNumber = 2;
/// The ends of a trial. Where both are on this machine, one set of programs watches both.
pub type EndNumber = ::core::ffi::c_uint;
/** Which connections of a side are watched, and where what is seen of them goes. Each side's reader
 writes its own, at any time. Where sockets are chosen, one reader writes both alike.*/
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct End {
    /// inode number of the network namespace; `SEVERAL_NAMESPACES` where sockets are chosen
    pub netns: __u32,
    /// the listening end's port, 1 where sockets are chosen; 0: nothing is watched
    pub port: __u16,
    pub unused: __u16,
    /// first of its part of the map `connections`
    pub connections_first: __u32,
    /// first of its part of the map `logs`
    pub logs_first: __u32,
    /// the programs' own: slots in use
    pub connections_count: __u32,
    /// the programs' own: the number of the process that calls, once one has
    pub process: __u32,
    pub connections_refused: __u64,
    /// of the agent's PID namespace, as stat(2) has it
    pub namespace_device: __u64,
    pub namespace_inode: __u64,
    /// the agent's number in that namespace; 0: the load's threads are not known
    pub agent: __u32,
    pub unused_too: __u32,
}
/** A thread of the load of an end, in the map `load_threads`; where sockets are chosen, a process that has some, under
 `LISTENING`, and under `CONNECTING` one whose sockets are chosen at their SYN.*/
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct LoadThread {
    /// of `enum end_number`
    pub end: __u32,
    /// its number in the PID namespace of the end's agent
    pub thread: __u32,
}
/** A socket, by what the headers of its packets say of it, too: the key of the map `chosen_sockets`. An address of IPv4 is
 mapped to IPv6 (RFC 4291 section 2.5.5.2).*/
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct Tuple {
    /// address, in network byte order
    pub local: [__u32; 4usize],
    pub remote: [__u32; 4usize],
    /// inode number of the network namespace
    pub netns: __u32,
    pub local_port: __u16,
    pub remote_port: __u16,
}
/// A place for a socket that programs choose themselves, at its SYN.
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct Pick {
    pub socket: Tuple,
    /// the reader's offer: what the socket is numbered
    pub number: __u32,
    /// of `watched_t`, what stands for the socket; 0: none was chosen after all
    pub which: __u32,
    /// how many were taken when it was, once all that is written
    pub taken: __u32,
    pub unused: __u32,
}
/// A segment in the log.
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct Record {
    /// CLOCK_MONOTONIC in ns
    pub mono_ns: __u64,
    /// bytes a second; the largest value means none
    pub pacing_rate: __u64,
    /// sequence number of the header
    pub sequence: __u32,
    /// acknowledgment number of the header
    pub acknowledgment: __u32,
    /// payload in bytes
    pub payload_bytes: __u32,
    /// window announced, scaled, in bytes
    pub window_bytes: __u32,
    /// own bytes outstanding
    pub unacked_bytes: __u32,
    /// own bytes written and not sent
    pub unsent_bytes: __u32,
    /// congestion window in segments
    pub cwnd: __u32,
    /// slow-start threshold in segments
    pub ssthresh: __u32,
    /// smoothed round-trip time in eighths of a microsecond
    pub srtt: __u32,
    /// window the peer last announced, in bytes
    pub send_window_bytes: __u32,
    /// received in sequence and not read, in bytes
    pub receive_queue_bytes: __u32,
    /// window of the header, not scaled
    pub window_field: __u16,
    /// port of the connecting end, or number of the chosen socket: identifies the connection
    pub port: __u16,
    /// payload of each wire segment, 0 in a single one
    pub gso_size: __u16,
    /// segments on the wire
    pub wire_segments: __u16,
    /// of `enum direction`
    pub direction: __u8,
    /// flags of the header
    pub flags: __u8,
    /// of `enum context`, as in `schema::table::Context`
    pub context: __u8,
    /// whether that ran in ksoftirqd
    pub ksoftirqd: __u8,
    /// of `enum retransmission`, as in `schema::table::Retransmission`, or `NONE`
    pub retransmission: __u8,
    /// of `enum ack_reason`, as in `schema::table::AckReason`, or `NONE`
    pub reason: __u8,
    /// whether the fields of the socket are there
    pub has_state: __u8,
    pub unused: [__u8; 5usize],
}
/** A call in the log of calls: durations of the call, then of its thread between its last call and this
 one.*/
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct Call {
    /// when it began, on CLOCK_MONOTONIC in ns; 0: not known, and then no duration is
    pub start_ns: __u64,
    /// when it ended
    pub end_ns: __u64,
    /// asleep
    pub asleep_ns: __u64,
    /// runnable and not running
    pub runnable_ns: __u64,
    /// softirqs on top of it
    pub softirq_ns: __u64,
    /// asleep before it
    pub asleep_before_ns: __u64,
    /// runnable and not running before it
    pub runnable_before_ns: __u64,
    /// softirqs on top of the thread before it
    pub softirq_before_ns: __u64,
    /// payload
    pub moved_bytes: __u32,
    /// number of the thread
    pub thread: __u32,
    /// port of the connecting end, or number of the chosen socket: identifies the connection
    pub port: __u16,
    /// of `enum call_kind`, as in `schema::table::CallKind`
    pub kind: __u8,
    /// of `enum outcome`, as in `schema::table::CallOutcome`
    pub outcome: __u8,
    pub unused: __u32,
}
/** Head of an end's log of one CPU, filled by that CPU alone; its records or calls follow. Head and tail
 count them since the start.*/
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct LogHead {
    /// written by the programs
    pub head: __u64,
    /// records for which there was no room
    pub lost: __u64,
    pub pad1: [__u64; 6usize],
    /// written by the reader
    pub tail: __u64,
    pub pad2: [__u64; 7usize],
}
/// Count and bytes of a size class.
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct Sized {
    /// how many
    pub count: __u64,
    /// their bytes together
    pub bytes: __u64,
}
/// The counts of what left.
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct Out {
    pub sock: __u64,
    /// the connecting end's port, or the chosen socket's number
    pub port: __u32,
    pub last_acknowledgment: __u32,
    pub has_acknowledged: __u32,
    /// whether a FIN has left
    pub fin: __u32,
    /// sent with payload
    pub data_packets: __u64,
    /// the same as wire segments
    pub data_segments: __u64,
    /// payload
    pub data_bytes: __u64,
    /// retransmissions among them
    pub retransmitted_packets: __u64,
    /// sent in ksoftirqd among them
    pub ksoftirqd_packets: __u64,
    /// data sent, by context
    pub by_context: [__u64; 6usize],
    /// pure ACKs sent, by reason
    pub by_reason: [__u64; 9usize],
    /// what follows begins with a cache line
    pub pad: __u64,
    /// data sent, by size
    pub sizes: [Sized; 24usize],
}
/// The counts of what arrived.
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct Arrived {
    pub next: __u32,
    pub has_next: __u32,
    /// whether a FIN has arrived
    pub fin: __u32,
    pub fin_next: __u32,
    pub last_acknowledgment: __u32,
    pub last_window: __u32,
    /// arrived with payload
    pub data_packets: __u64,
    /// the same as wire segments
    pub data_segments: __u64,
    /// payload
    pub data_bytes: __u64,
    /// pure ACKs
    pub acks: __u64,
    /// duplicate ACKs among them
    pub duplicate_acks: __u64,
    /// data that was not the next in sequence
    pub out_of_order_packets: __u64,
    /// none of what follows is in two cache lines
    pub pad: __u64,
    /// data, by size
    pub sizes: [Sized; 24usize],
}
/// The state of a read call: whether it has ended, and how far it had read by then.
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct Reading {
    pub has_read: __u32,
    pub copied_seq: __u32,
}
/** What is known and counted of one connection, in as few cache lines a segment as can be. Each part has one writer at a time: `out` under the
 socket's lock, `arrived` in the receive softirq, `reading` and the calls in the application's thread.*/
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct Connection {
    /// what left
    pub out: Out,
    /// what arrived
    pub arrived: Arrived,
    pub reading: Reading,
    pub unused: __u64,
    /// write calls by bytes moved
    pub writes: [Sized; 24usize],
    /// read calls by bytes moved
    pub reads: [Sized; 24usize],
    /// whole cache lines
    pub pad: [__u64; 4usize],
}
/// Time of one vector.
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct Vector {
    /// how often its handler ended
    pub runs: __u64,
    /// time in it, in ns
    pub ns: __u64,
    /// of that, on top of threads of the load of each side
    pub on_load_ns: [__u64; 2usize],
}
/// Softirqs of one CPU, written by that CPU alone but for two fields. A softirq uses one cache line of it and its vector's.
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct Cpu {
    pub entered_ns: __u64,
    /// the thread that ran when it was looked up last, as of bpf_get_current_pid_tgid
    pub runner: __u64,
    /// what it is
    pub runner_bits: __u32,
    /// `changes` when it was looked up
    pub runner_changes: __u32,
    /// counted up by each side's reader after it has changed what is of its load
    pub changes: __u32,
    /// vector + 1; 0: no softirq runs
    pub running: __u32,
    /// set by each side's reader: whether its softirqs' time is taken
    pub is_timed: [__u16; 2usize],
    pub unused: [__u32; 7usize],
    /// by number of the vector
    pub vectors: [Vector; 16usize],
}
/// Values that are fixed when the object is loaded; all there is in .rodata.
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct Constants {
    /// slots of a CPU's log - 1; 0: no log
    pub log_mask: __u32,
    /// the same of its log of calls
    pub calls_mask: __u32,
    /// an end's slots of the map `connections`
    pub connections_most: __u32,
}
/// Values that the reader sets and sees without a system call; all there is in .bss.
#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct Control {
    pub ends: [End; 2usize],
    /// slot + 1 among the end's; 0: none. Of a chosen socket, by its number
    pub slot_of_port: [__u16; 131072usize],
    /// by the exclusive or of a socket's ports: whether one is chosen
    pub chosen_bits: [__u64; 1024usize],
    /// by the lowest bits of its number: whether a process has chosen sockets
    pub process_bits: [__u64; 16usize],
    /// by port: whether connections with it are chosen at their SYN
    pub armed_bits: [__u64; 1024usize],
    /// as `process_bits`, of processes whose connections are
    pub opener_bits: [__u64; 16usize],
    /// places that the reader has offered until now
    pub picks_offered: __u32,
    /// the programs' own: of these, taken
    pub picks_taken: __u32,
    /// place n is the one of n modulo their number
    pub picks: [Pick; 256usize],
}
