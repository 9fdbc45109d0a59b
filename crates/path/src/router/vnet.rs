//! The header that a packet socket with `PACKET_VNET_HDR` puts before each frame: what is left of
//! the kernel's notes on checksum and segmentation (`struct virtio_net_hdr`, virtio 1.2 section
//! 5.1.6, in the host's byte order).

/// Length of the header in bytes.
pub(super) const BYTES: usize = 10;

/// `VIRTIO_NET_HDR_F_NEEDS_CSUM`: the transport checksum holds the sum of the pseudo header only.
const NEEDS_CHECKSUM: u8 = 1;
/// `VIRTIO_NET_HDR_GSO_ECN`: the first segment alone carries CWR (RFC 3168 section 6.1.2).
const ECN: u8 = 0x80;

/// The composition of a super-segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Segmentation {
    /// It is one packet.
    #[default]
    None,
    /// TCP segments over IPv4.
    TcpV4,
    /// TCP segments over IPv6.
    TcpV6,
    /// UDP datagrams of one size (`UDP_SEGMENT`).
    Udp,
    /// Something else, by its number. It is passed on as it came.
    Other(u8),
}

impl Segmentation {
    fn from_number(number: u8) -> Self {
        match number & !ECN {
            0 => Self::None,
            1 => Self::TcpV4,
            4 => Self::TcpV6,
            5 => Self::Udp,
            other => Self::Other(other),
        }
    }

    fn number(self) -> u8 {
        match self {
            Self::None => 0,
            Self::TcpV4 => 1,
            Self::TcpV6 => 4,
            Self::Udp => 5,
            Self::Other(number) => number,
        }
    }
}

/// The header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct VnetHeader {
    /// True if the transport checksum is yet to be made.
    pub needs_checksum: bool,
    /// The composition of the frame.
    pub segmentation: Segmentation,
    /// True if the super-segment begins with CWR.
    pub has_cwr: bool,
    /// Length of all headers, in bytes; a hint.
    pub header_bytes: u16,
    /// Payload of each segment but the last, in bytes.
    pub segment_bytes: u16,
    /// Where the checksum begins to count, from the frame's start.
    pub checksum_start: u16,
    /// Where it stands, from there.
    pub checksum_offset: u16,
}

impl VnetHeader {
    /// Reads it.
    pub fn from_bytes(bytes: &[u8; BYTES]) -> Self {
        let word = |at: usize| u16::from_ne_bytes([bytes[at], bytes[at + 1]]);
        Self {
            needs_checksum: bytes[0] & NEEDS_CHECKSUM != 0,
            segmentation: Segmentation::from_number(bytes[1]),
            has_cwr: bytes[1] & ECN != 0,
            header_bytes: word(2),
            segment_bytes: word(4),
            checksum_start: word(6),
            checksum_offset: word(8),
        }
    }

    /// Writes it.
    pub fn to_bytes(self) -> [u8; BYTES] {
        let mut bytes = [0; BYTES];
        bytes[0] = if self.needs_checksum { NEEDS_CHECKSUM } else { 0 };
        bytes[1] = self.segmentation.number() | if self.has_cwr { ECN } else { 0 };
        let fields = [self.header_bytes, self.segment_bytes, self.checksum_start, self.checksum_offset];
        for (place, word) in bytes[2..].chunks_exact_mut(2).zip(fields) {
            place.copy_from_slice(&word.to_ne_bytes());
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_survives_reading_and_writing(mut bytes in prop::array::uniform10(any::<u8>())) {
            bytes[0] &= NEEDS_CHECKSUM;
            prop_assert_eq!(VnetHeader::from_bytes(&bytes).to_bytes(), bytes);
        }
    }
}
