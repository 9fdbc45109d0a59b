//! Segments that travel between the end systems.

/// Blocks of a selective acknowledgment that fit next to other options (RFC 2018 section 3).
pub const SACK_BLOCKS: usize = 3;

/// A TCP segment, without a handshake: numbers begin at 0 in both directions.
///
/// One that an adapter with segmentation offload cuts up, or that was merged on receiving, is a
/// super-segment: `wire_segments_count` says how many lie on the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// Which connection of the two end systems it belongs to, counted from 0.
    pub connection: u16,
    /// Number of segments that it is on the line, at least 1.
    pub wire_segments_count: u16,
    /// Payload in bytes.
    pub bytes: u32,
    /// Number of its first byte.
    pub sequence: u64,
    /// The next byte that is expected from the other host.
    pub acknowledgment: u64,
    /// Bytes that the other host may send beyond it, already scaled.
    pub window: u32,
    /// Data that the receiver has beyond its acknowledgment.
    pub sack: Sack,
    /// Time stamp of its sender, and the one that it echoes, in a clock of the sender's; 0: none (RFC 7323 section 3).
    pub stamp: u32,
    /// As above.
    pub echo: u32,
    /// PSH, ECN and the rest.
    pub flags: Flags,
}

/// The flags of a segment, and what its packet's header says of congestion.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Flags {
    /// PSH.
    pub is_push: bool,
    /// Bytes that left before.
    pub is_retransmission: bool,
    /// ECT(0) in the IP header: a path may mark it (RFC 3168 section 5).
    pub is_ecn_capable: bool,
    /// ECE: a mark of congestion is echoed (RFC 3168 section 6.1).
    pub is_congestion_echoed: bool,
    /// CWR: the sender has reduced its window (RFC 3168 section 6.1).
    pub is_window_reduced: bool,
    /// CE in the IP header, set on the path (RFC 3168 section 5).
    pub is_congestion_experienced: bool,
}

/// Up to three blocks, the newest first (RFC 2018 section 4).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sack {
    blocks: [Block; SACK_BLOCKS],
    count: u8,
}

/// Bytes that arrived out of order, counted from the acknowledgment of the same segment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Block {
    /// Bytes between the acknowledgment and the first of the block.
    pub after_bytes: u32,
    /// Bytes of the block.
    pub bytes: u32,
}

impl Sack {
    /// Adds a block where there is room for one.
    pub fn push(&mut self, block: Block) {
        if let Some(place) = self.blocks.get_mut(usize::from(self.count)) {
            *place = block;
            self.count += 1;
        }
    }

    /// The blocks, the newest first.
    pub fn blocks(&self) -> &[Block] {
        &self.blocks[..usize::from(self.count)]
    }
}

impl Segment {
    /// A segment of the first connection that carries `bytes` and says nothing yet of the other direction.
    pub fn data(sequence: u64, bytes: u32) -> Self {
        Self {
            connection: 0,
            wire_segments_count: 1,
            bytes,
            sequence,
            acknowledgment: 0,
            window: 0,
            sack: Sack::default(),
            stamp: 0,
            echo: 0,
            flags: Flags::default(),
        }
    }

    /// Number of the first byte behind it.
    pub fn end(&self) -> u64 {
        self.sequence + u64::from(self.bytes)
    }
}
