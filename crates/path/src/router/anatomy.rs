//! The inside of a frame: where its headers stand and how many packets of the wire it stands for.

use super::vnet::{Segmentation, VnetHeader};

/// Ethernet header, in bytes.
pub(super) const ETHERNET_BYTES: usize = 14;
/// Shortest IPv4 header, in bytes (RFC 791).
const IPV4_BYTES: usize = 20;
/// IPv6 header, in bytes (RFC 8200).
const IPV6_BYTES: usize = 40;
/// Shortest TCP header, in bytes (RFC 9293).
const TCP_BYTES: usize = 20;
/// UDP header, in bytes (RFC 768).
const UDP_BYTES: usize = 8;
const PROTOCOL_TCP: u8 = 6;
const PROTOCOL_UDP: u8 = 17;
/// Where TCP keeps its flags.
pub(super) const TCP_FLAGS_AT: usize = 13;
/// FIN, SYN and RST: a segment with one of them is no pure ACK.
const TCP_FIN_SYN_RST: u8 = 0b111;
const TCP_ACK: u8 = 0b1_0000;
/// Kind of the SACK option (RFC 2018 section 3).
const OPTION_SACK: u8 = 5;

/// The network layer of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Network {
    /// IPv4.
    V4,
    /// IPv6.
    V6,
    /// Neither, as ARP.
    Other,
}

/// The transport layer of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Transport {
    /// TCP with all of its header.
    Tcp,
    /// UDP.
    Udp,
    /// Something else, or a fragment.
    Other,
}

/// Where everything stands in a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Anatomy {
    /// The network layer.
    pub network: Network,
    /// The transport layer.
    pub transport: Transport,
    /// Where the transport header begins.
    pub transport_at: usize,
    /// Length of all headers in bytes; all of the frame where they are not understood.
    pub header_bytes: usize,
    /// Length of what follows them, in bytes.
    pub payload_bytes: usize,
    /// Payload of each packet but the last, in bytes.
    pub segment_bytes: usize,
    /// Packets that the frame stands for.
    pub packets: u32,
    /// A TCP segment that carries nothing but its acknowledgment.
    pub is_pure_ack: bool,
    /// A pure ACK with SACK blocks.
    pub has_sack: bool,
    /// True if the network may mark it (RFC 3168 section 5).
    pub is_ecn_capable: bool,
}

impl Anatomy {
    /// Reads `frame`, which the kernel handed over with `notes`.
    pub fn of(frame: &[u8], notes: &VnetHeader) -> Self {
        let (network, protocol, transport_at) = network(frame);
        let rest = frame.get(transport_at..).unwrap_or_default();
        let (transport, transport_bytes) = match protocol {
            Some(PROTOCOL_TCP) if rest.len() >= TCP_BYTES => (Transport::Tcp, usize::from(rest[12] >> 4) * 4),
            Some(PROTOCOL_UDP) if rest.len() >= UDP_BYTES => (Transport::Udp, UDP_BYTES),
            _ => (Transport::Other, rest.len()),
        };
        let header_bytes = (transport_at + transport_bytes).min(frame.len());
        let payload_bytes = frame.len() - header_bytes;
        let is_split = match notes.segmentation {
            Segmentation::TcpV4 | Segmentation::TcpV6 => transport == Transport::Tcp,
            Segmentation::Udp => transport == Transport::Udp,
            Segmentation::None | Segmentation::Other(_) => false,
        };
        let segment_bytes = match usize::from(notes.segment_bytes) {
            bytes if is_split && bytes > 0 => bytes,
            _ => payload_bytes.max(1),
        };
        let packets = u32::try_from(payload_bytes.div_ceil(segment_bytes)).unwrap_or(u32::MAX).max(1);
        let flags = if transport == Transport::Tcp { rest[TCP_FLAGS_AT] } else { 0 };
        let is_pure_ack = payload_bytes == 0 && flags & TCP_ACK != 0 && flags & TCP_FIN_SYN_RST == 0;
        Self {
            network,
            transport,
            transport_at,
            header_bytes,
            payload_bytes,
            segment_bytes,
            packets,
            is_pure_ack,
            has_sack: is_pure_ack && has_sack(&rest[TCP_BYTES..transport_bytes.clamp(TCP_BYTES, rest.len())]),
            is_ecn_capable: ecn_field(frame, network) != 0,
        }
    }

    /// Payload of packet `index`, from 0, in bytes.
    pub fn payload_of(&self, index: u32) -> usize {
        let before = (index as usize).saturating_mul(self.segment_bytes);
        self.payload_bytes.saturating_sub(before).min(self.segment_bytes)
    }

    /// Length of packet `index` with its Ethernet header, in bytes.
    pub fn bytes_of(&self, index: u32) -> usize {
        self.header_bytes + self.payload_of(index)
    }
}

/// Network layer, the protocol above it where it can be read, and where that begins.
fn network(frame: &[u8]) -> (Network, Option<u8>, usize) {
    let ether_type = frame.get(12..ETHERNET_BYTES).map(|bytes| u16::from_be_bytes([bytes[0], bytes[1]]));
    let packet = frame.get(ETHERNET_BYTES..).unwrap_or_default();
    match ether_type {
        Some(0x0800) if packet.len() >= IPV4_BYTES => {
            // More fragments, or an offset: only the first has a transport header, and none has a whole one.
            let is_fragment = u16::from_be_bytes([packet[6], packet[7]]) & 0x3fff != 0;
            let transport_at = ETHERNET_BYTES + usize::from(packet[0] & 0xf) * 4;
            (Network::V4, (!is_fragment).then_some(packet[9]), transport_at)
        }
        // Behind extension headers the transport is not looked for.
        Some(0x86dd) if packet.len() >= IPV6_BYTES => (Network::V6, Some(packet[6]), ETHERNET_BYTES + IPV6_BYTES),
        _ => (Network::Other, None, frame.len().min(ETHERNET_BYTES)),
    }
}

/// The two bits of RFC 3168 section 5; 0 where there are none.
fn ecn_field(frame: &[u8], network: Network) -> u8 {
    match network {
        Network::V4 => frame[ETHERNET_BYTES + 1] & 0b11,
        Network::V6 => frame[ETHERNET_BYTES + 1] >> 4 & 0b11,
        Network::Other => 0,
    }
}

fn has_sack(mut options: &[u8]) -> bool {
    // RFC 9293 section 3.1: kind 0 ends the list, kind 1 stands alone, the others have a length.
    while let [kind, rest @ ..] = options {
        options = match (*kind, rest.first()) {
            (OPTION_SACK, _) => return true,
            (1, _) => rest,
            (0, _) | (_, None) => return false,
            (_, Some(&length)) => options.get(usize::from(length).max(2)..).unwrap_or_default(),
        };
    }
    false
}
