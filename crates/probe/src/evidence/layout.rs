//! The reader's side of `bpf/layout.h`. [`CONSTANTS_BYTES`] and the sizes that the object carries
//! hold the two together; a difference is refused when the object is opened.

/// Ports that a connecting end may have.
pub const PORTS: usize = 65_536;
/// Ends of a trial: the listening one, the connecting one.
pub const ENDS: usize = 2;
/// Size classes: 0, then powers of two.
pub const SIZE_CLASSES: usize = 24;
/// Softirq vectors, with room for more.
pub const VECTORS: usize = 16;
/// Contexts, as `schema::table::CONTEXTS`.
pub const CONTEXTS: usize = 6;
/// ACK reasons, as `schema::table::ACK_REASONS`.
pub const ACK_REASONS: usize = 9;
/// A code that says none.
pub const NONE: u8 = 255;

/// What is fixed when the object is loaded.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Constants {
    pub log_mask: u32,
    pub calls_mask: u32,
    pub connections_most: u32,
    pub record_bytes: u32,
    pub call_bytes: u32,
    pub log_bytes: u32,
    pub connection_bytes: u32,
    pub cpu_bytes: u32,
    pub control_bytes: u32,
}

/// Which connections of an end are watched, and where what is seen of them goes.
#[repr(C)]
pub struct End {
    pub netns: u32,
    pub port: u16,
    pub unused: u16,
    pub connections_first: u32,
    pub logs_first: u32,
    pub connections_count: u32,
    pub process: u32,
    pub connections_refused: u64,
}

/// What can be set and seen while programs run.
#[repr(C)]
pub struct Control {
    pub ends: [End; ENDS],
    pub slot_of_port: [[u16; PORTS]; ENDS],
}

/// A segment in the log.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Record {
    /// CLOCK_MONOTONIC in ns.
    pub mono_ns: u64,
    /// Bytes a second; the largest value means none.
    pub pacing_rate: u64,
    /// Sequence number of the header.
    pub sequence: u32,
    /// Acknowledgment number of the header.
    pub acknowledgment: u32,
    /// Payload in bytes.
    pub payload_bytes: u32,
    /// Window announced, scaled, in bytes.
    pub window_bytes: u32,
    /// Own bytes outstanding.
    pub unacked_bytes: u32,
    /// Own bytes written and not sent.
    pub unsent_bytes: u32,
    /// Congestion window in segments.
    pub cwnd: u32,
    /// Slow-start threshold in segments.
    pub ssthresh: u32,
    /// Smoothed round-trip time in eighths of a microsecond.
    pub srtt: u32,
    /// Window the peer last announced, in bytes.
    pub send_window_bytes: u32,
    /// Received in sequence and not read, in bytes.
    pub receive_queue_bytes: u32,
    /// Window of the header, not scaled.
    pub window_field: u16,
    /// The connecting end's port.
    pub port: u16,
    /// Payload of each wire segment, 0 in a single one.
    pub gso_size: u16,
    /// Segments on the wire.
    pub wire_segments: u16,
    /// 0 out, 1 in.
    pub direction: u8,
    /// Flags of the header.
    pub flags: u8,
    /// Index into `schema::table::CONTEXTS`.
    pub context: u8,
    /// Whether that ran in ksoftirqd.
    pub ksoftirqd: u8,
    /// Index into `schema::table::RETRANSMISSIONS`, or [`NONE`].
    pub retransmission: u8,
    /// Index into `schema::table::ACK_REASONS`, or [`NONE`].
    pub reason: u8,
    /// Whether the fields of the socket are there.
    pub has_state: u8,
    unused: [u8; 5],
}

/// A call in the log of calls: durations of the call, then of its thread between its last call and this one.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Call {
    /// When it began, on `CLOCK_MONOTONIC` in ns; 0: not known, and then no duration is.
    pub start_ns: u64,
    /// When it ended.
    pub end_ns: u64,
    /// Asleep.
    pub asleep_ns: u64,
    /// Runnable and not running.
    pub runnable_ns: u64,
    /// Softirqs on top of it.
    pub softirq_ns: u64,
    /// Asleep before it.
    pub asleep_before_ns: u64,
    /// Runnable and not running before it.
    pub runnable_before_ns: u64,
    /// Softirqs on top of the thread before it.
    pub softirq_before_ns: u64,
    /// Payload.
    pub moved_bytes: u32,
    /// Number of the thread.
    pub thread: u32,
    /// The connecting end's port.
    pub port: u16,
    /// Index into `schema::table::CALL_WORDS`.
    pub kind: u8,
    /// Index into `schema::table::OUTCOMES`.
    pub outcome: u8,
    unused: u32,
}

/// Head of a CPU's log; its records or calls follow.
#[repr(C)]
pub struct LogHead {
    pub head: u64,
    pub lost: u64,
    pub pad1: [u64; 6],
    pub tail: u64,
    pub pad2: [u64; 7],
}

/// Count and bytes of a size class.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sized {
    /// How many.
    pub count: u64,
    /// Their bytes together.
    pub bytes: u64,
}

/// What was counted of what left.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Out {
    sock: u64,
    /// The connecting end's port.
    pub port: u32,
    last_acknowledgment: u32,
    has_acknowledged: u32,
    /// Whether a FIN has left.
    pub fin: u32,
    /// Sent with payload.
    pub data_packets: u64,
    /// The same as wire segments.
    pub data_segments: u64,
    /// Payload.
    pub data_bytes: u64,
    /// Retransmissions among them.
    pub retransmitted_packets: u64,
    /// Sent in ksoftirqd among them.
    pub ksoftirqd_packets: u64,
    /// Data sent, by context.
    pub by_context: [u64; CONTEXTS],
    /// Pure ACKs sent, by reason.
    pub by_reason: [u64; ACK_REASONS],
    /// Data sent, by size.
    pub sizes: [Sized; SIZE_CLASSES],
}

/// What was counted of what arrived.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct In {
    next: u32,
    has_next: u32,
    /// Whether a FIN has arrived.
    pub fin: u32,
    fin_next: u32,
    last_acknowledgment: u32,
    last_window: u32,
    /// Arrived with payload.
    pub data_packets: u64,
    /// The same as wire segments.
    pub data_segments: u64,
    /// Payload.
    pub data_bytes: u64,
    /// Pure ACKs.
    pub acks: u64,
    /// Duplicate ACKs among them.
    pub duplicate_acks: u64,
    /// Data that was not the next in sequence.
    pub out_of_order_packets: u64,
    /// Data, by size.
    pub sizes: [Sized; SIZE_CLASSES],
}

/// What is known and counted of one connection.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Connection {
    /// What left.
    pub out: Out,
    /// What arrived.
    pub arrived: In,
    processed: [u32; 2],
    reading: [u32; 2],
    /// Write calls by bytes moved.
    pub writes: [Sized; SIZE_CLASSES],
    /// Read calls by bytes moved.
    pub reads: [Sized; SIZE_CLASSES],
}

/// Time of one vector.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Vector {
    /// How often its handler ended.
    pub runs: u64,
    /// Time in it, in ns.
    pub ns: u64,
}

/// Softirqs of one CPU.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cpu {
    entered_ns: u64,
    running: u32,
    pub(super) is_timed: [u16; ENDS],
    /// By number of the vector.
    pub vectors: [Vector; VECTORS],
    pad: [u64; 6],
}

/// The sizes that the object must carry.
#[allow(clippy::cast_possible_truncation)]
pub const SIZES: Constants = Constants {
    log_mask: 0,
    calls_mask: 0,
    connections_most: 1,
    record_bytes: size_of::<Record>() as u32,
    call_bytes: size_of::<Call>() as u32,
    log_bytes: size_of::<LogHead>() as u32,
    connection_bytes: size_of::<Connection>() as u32,
    cpu_bytes: size_of::<Cpu>() as u32,
    control_bytes: size_of::<Control>() as u32,
};

impl Constants {
    /// As bytes of .rodata.
    pub fn to_bytes(self) -> [u8; size_of::<Constants>()] {
        let mut bytes = [0; size_of::<Constants>()];
        for (place, value) in bytes.chunks_exact_mut(4).zip(self.fields()) {
            place.copy_from_slice(&value.to_ne_bytes());
        }
        bytes
    }

    /// From bytes of .rodata.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; size_of::<Constants>()] = bytes.get(..size_of::<Constants>())?.try_into().ok()?;
        let mut values = bytes.chunks_exact(4).filter_map(|four| Some(u32::from_ne_bytes(four.try_into().ok()?)));
        let mut next = || values.next();
        Some(Self {
            log_mask: next()?,
            calls_mask: next()?,
            connections_most: next()?,
            record_bytes: next()?,
            call_bytes: next()?,
            log_bytes: next()?,
            connection_bytes: next()?,
            cpu_bytes: next()?,
            control_bytes: next()?,
        })
    }

    fn fields(self) -> [u32; 9] {
        [
            self.log_mask,
            self.calls_mask,
            self.connections_most,
            self.record_bytes,
            self.call_bytes,
            self.log_bytes,
            self.connection_bytes,
            self.cpu_bytes,
            self.control_bytes,
        ]
    }
}
