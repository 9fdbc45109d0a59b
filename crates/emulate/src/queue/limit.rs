//! The capacity of a queue.

use schema::path::QueueLimit;

/// A limit that is worked out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    Bytes(u64),
    Packets(u64),
}

impl Limit {
    /// A bandwidth-delay product must have been worked out before; as such it holds everything.
    pub fn new(limit: QueueLimit) -> Self {
        match limit {
            QueueLimit::Bytes { bytes } => Limit::Bytes(bytes),
            QueueLimit::Packets { packets } => Limit::Packets(packets),
            QueueLimit::BandwidthDelayProduct => Limit::Bytes(u64::MAX),
        }
    }

    /// True if a packet finds room in addition to what is there.
    pub fn has_room(self, bytes: u64, packets: usize, arriving_bytes: u32) -> bool {
        match self {
            Limit::Bytes(limit) => bytes + u64::from(arriving_bytes) <= limit,
            Limit::Packets(limit) => (packets as u64) < limit,
        }
    }
}
