//! The makeup of a host with Solaris 8, as data: its rules, what its steps cost, its adapter.

use super::messages::Blocks;
use super::sender::Piece;
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
    /// A message that finds another inside of the connection's perimeter waits for that one, who takes it in by itself;
    /// without, TCP's queue has it at once.
    pub hands_messages_over: bool,
    /// A block above this is mapped for the adapter in advance (fast DVMA); others are copied or mapped one by one.
    pub dvma_above_bytes: u32,
    /// A segment of more blocks than this is copied into one.
    pub max_blocks: u32,
    /// A frame with a payload above this needs a page of the receiving adapter's instead of a small buffer.
    pub page_above_bytes: u32,
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
        hands_messages_over: true,
        dvma_above_bytes: 1024,
        max_blocks: 15,
        page_above_bytes: 202,
    };
}

/// The costs of a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Costs {
    /// Entering and leaving a write call.
    pub write_call: Ps,
    /// From the user into a message.
    pub copy_in: Cost,
    /// Taking a message in that waited for the perimeter.
    pub hand_over: Ps,
    /// TCP, IP and driver of a segment that leaves, of one block that is copied or mapped.
    pub send: Cost,
    /// The same of one with a block that was mapped in advance, without the bytes.
    pub send_mapped: Ps,
    /// Each block of a segment behind the first.
    pub send_block: Ps,
    /// Copying a segment's blocks into one.
    pub pull_up: Cost,
    /// The same of one without payload.
    pub send_ack: Ps,
    /// Taking an interrupt.
    pub interrupt: Ps,
    /// Driver, IP and TCP of a segment with payload that arrives.
    pub receive: Cost,
    /// The extra cost of one that came in a page.
    pub receive_page: Ps,
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

/// The makeup of a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostSpec {
    /// Its rules.
    pub rules: Rules,
    /// The costs of its steps.
    pub costs: Costs,
    /// When its adapter interrupts.
    pub coalescing: Coalescing,
    /// Time over which its adapter fetches a byte from memory or stores it there: all of a frame before it is on the
    /// line, and before it interrupts.
    pub dma_per_byte: Ps,
    /// Time over which the switch before it repeats a byte on the line, having stored all of the frame.
    pub switch_per_byte: Ps,
    /// Processors of processes.
    pub processors: u32,
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

impl HostSpec {
    /// Processor time of a segment with payload that leaves.
    pub fn send_of(&self, piece: &Piece) -> Ps {
        let costs = &self.costs;
        let is_pulled_up = piece.blocks.count > self.rules.max_blocks;
        let pull_up = if is_pulled_up { costs.pull_up.of(piece.bytes) } else { 0 };
        let blocks = if is_pulled_up { Blocks::single(piece.bytes) } else { piece.blocks };
        let is_mapped = blocks.largest_bytes > self.rules.dvma_above_bytes;
        let fixed = if is_mapped { costs.send_mapped } else { costs.send.fixed };
        let more_blocks = Ps::from(blocks.count.saturating_sub(1)) * costs.send_block;
        pull_up + fixed + more_blocks + costs.send.per_byte * Ps::from(piece.bytes)
    }

    /// Processor time of a segment with payload that arrives.
    pub fn receive_of(&self, bytes: u32) -> Ps {
        self.costs.receive.of(bytes) + if bytes > self.rules.page_above_bytes { self.costs.receive_page } else { 0 }
    }
}
