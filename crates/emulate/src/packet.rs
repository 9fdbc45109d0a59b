//! Everything that comes into a path and everything that goes out of it.

/// Something that crosses the path: one packet, or a super-segment that stands for several.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet {
    /// The caller's name for it; given back with every release and loss.
    pub key: u64,
    /// When the kernel saw it arrive, in ns. Any clock, but always the same.
    pub arrival_ns: u64,
    /// The packets on the wire that it stands for.
    pub segments: Segments,
    /// The kind of its content.
    pub kind: PacketKind,
    /// True if the IP header says ECT(0), ECT(1) or CE (RFC 3168 section 5).
    pub is_ecn_capable: bool,
}

/// The packets a super-segment stands for: all of one size but the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segments {
    /// Number of packets; 1 for an ordinary packet.
    pub count: u16,
    /// Bytes of each but the last, Ethernet header and all other headers included.
    pub full_bytes: u32,
    /// Bytes of the last, headers included.
    pub last_bytes: u32,
}

impl Segments {
    /// An ordinary packet.
    pub fn single(bytes: u32) -> Self {
        Self { count: 1, full_bytes: bytes, last_bytes: bytes }
    }

    /// A super-segment as the kernel describes it.
    ///
    /// `header_bytes` are those of Ethernet, IP and transport together, which every packet on the wire
    /// has; `segment_bytes` is the payload of each (`gso_size`). Nothing is ever split into more than
    /// 65535.
    pub fn split(frame_bytes: u32, header_bytes: u32, segment_bytes: u32) -> Self {
        let payload_bytes = frame_bytes.saturating_sub(header_bytes);
        if segment_bytes == 0 || payload_bytes <= segment_bytes {
            return Self::single(frame_bytes);
        }
        let count = u16::try_from(payload_bytes.div_ceil(segment_bytes)).unwrap_or(u16::MAX);
        let before_last_bytes = (u32::from(count) - 1) * segment_bytes;
        Self { count, full_bytes: header_bytes + segment_bytes, last_bytes: header_bytes + (payload_bytes - before_last_bytes) }
    }

    /// Bytes of one of them, the first being 0.
    pub fn bytes(&self, segment: u16) -> u32 {
        if segment + 1 == self.count { self.last_bytes } else { self.full_bytes }
    }
}

/// The content of a packet, as far as the path cares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PacketKind {
    /// TCP with payload: counted by scripted loss.
    Data,
    /// TCP that acknowledges and does nothing else: no payload, no SYN, FIN or RST, no SACK blocks. ACK
    /// thinning may take it out.
    PureAck,
    /// Everything else.
    Other,
}

/// A packet on the wire that is to leave the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Release {
    /// The caller's name of what it came with.
    pub key: u64,
    /// Which of its segments, from 0.
    pub segment: u16,
    /// When it is due, on the clock of the arrivals.
    pub due_ns: u64,
    /// True if it is to carry the mark "congestion experienced".
    pub is_marked: bool,
    /// True where it is the second of the same.
    pub is_duplicate: bool,
    /// True if nothing else will be heard of this key.
    pub is_last: bool,
}

/// A packet on the wire that does not leave the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Loss {
    /// The caller's name of what it came with.
    pub key: u64,
    /// Which of its segments, from 0.
    pub segment: u16,
    /// Why.
    pub cause: Cause,
    /// True where it was the second of the same.
    pub is_duplicate: bool,
    /// True if nothing else will be heard of this key.
    pub is_last: bool,
}

/// Why a packet was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Cause {
    /// A pure ACK that was thinned out.
    Thinned,
    /// Random loss, alone or in bursts.
    Random,
    /// The script names it.
    Scripted,
    /// The queue was full.
    Full,
    /// Active queue management.
    Early,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_super_segment_is_split_as_the_kernel_splits_it() {
        // 66 bytes of headers, three full segments and 100 bytes.
        let segments = Segments::split(66 + 3 * 1448 + 100, 66, 1448);
        assert_eq!(segments, Segments { count: 4, full_bytes: 1514, last_bytes: 166 });
        assert_eq!((0..4).map(|segment| segments.bytes(segment)).collect::<Vec<_>>(), [1514, 1514, 1514, 166]);
        assert_eq!(Segments::split(66 + 2 * 1448, 66, 1448), Segments { count: 2, full_bytes: 1514, last_bytes: 1514 });
        assert_eq!(Segments::split(1514, 66, 0), Segments::single(1514));
        assert_eq!(Segments::split(1514, 66, 1448), Segments::single(1514));
    }
}
