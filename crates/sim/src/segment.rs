//! What travels between the hosts.

/// A TCP segment, without a handshake: numbers begin at 0 in both directions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// Number of its first byte.
    pub sequence: u64,
    /// Payload in bytes.
    pub bytes: u32,
    /// The next byte that is expected from the other end.
    pub acknowledgment: u64,
    /// Bytes that the other end may send beyond it.
    pub window: u32,
}
