//! What a host with Solaris 8 is made of, as data: its rules, what its steps cost, its adapter.

use crate::coalescing::Coalescing;
use crate::cost::Cost;
use crate::time::{MS, Ps};

/// Buffers of a socket whose size nobody asked for: `tcp_recv_hiwat` (Solaris 8 Tunable Parameters Reference Manual).
pub const DEFAULT_WINDOW_BYTES: u32 = 24_576;

/// The rules of the stream head and of TCP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rules {
    /// Segments take whole messages; without, a stream of bytes.
    pub keeps_boundaries: bool,
    /// `tcp_maxpsz_multiplier`: segments' worth of a write that the stream head copies at once.
    pub maxpsz_multiplier: u32,
    /// `tcp_naglim_def`: less than this waits for an acknowledgment, as long as it is below the MSS.
    pub nagle_limit_bytes: u32,
    /// `tcp_deferred_acks_max`; 1 defers nothing.
    pub deferred_acks_max: u32,
    /// A second small segment is answered at once.
    pub answers_small_segments: bool,
    /// `tcp_deferred_ack_interval`.
    pub deferred_ack_interval: Ps,
    /// A window of zero is probed.
    pub has_persist_timer: bool,
}

impl Rules {
    /// Those of Solaris 8. The multiplier is that of illumos; study 2 varied it from 1 to 44.
    pub const SOLARIS_8: Self = Self {
        keeps_boundaries: true,
        maxpsz_multiplier: 10,
        nagle_limit_bytes: 4095,
        deferred_acks_max: 8,
        answers_small_segments: true,
        deferred_ack_interval: 100 * MS,
        has_persist_timer: true,
    };
}

/// The costs of a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Costs {
    /// Entering and leaving a write call.
    pub write_call: Ps,
    /// From the user into a message.
    pub copy_in: Cost,
    /// TCP, IP and driver of a segment that leaves.
    pub send: Cost,
    /// The same of one without payload.
    pub send_ack: Ps,
    /// Taking an interrupt.
    pub interrupt: Ps,
    /// Driver, IP and TCP of a segment with payload that arrives.
    pub receive: Cost,
    /// The same of one without.
    pub receive_ack: Ps,
    /// From a process being made ready to its running.
    pub wake_up: Ps,
    /// Entering and leaving a read call.
    pub read_call: Ps,
    /// From messages to the user.
    pub copy_out: Cost,
    /// A run of one of TCP's timers.
    pub timer: Ps,
}

/// What a host is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostSpec {
    /// Its rules.
    pub rules: Rules,
    /// What its steps cost.
    pub costs: Costs,
    /// When its adapter interrupts.
    pub coalescing: Coalescing,
    /// Time over which its adapter fetches a byte from memory.
    pub dma_per_byte: Ps,
    /// Interrupts have a processor of their own.
    pub has_interrupt_processor: bool,
    /// Largest payload of a segment.
    pub mss: u32,
    /// Send buffer and receive buffer: the window.
    pub window_bytes: u32,
    /// `TCP_NODELAY`.
    pub no_delay: bool,
    /// Largest deviation of a cost, in thousandths.
    pub jitter_per_mille: u64,
}
