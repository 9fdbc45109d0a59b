//! Cutting packets out of a super-segment: the headers that a run of its packets has when it
//! leaves by itself.
//!
//! The changes are those of the kernel's own segmentation: IP length and identification, TCP
//! sequence number, FIN and PSH on the last packet only, CWR on the first only, UDP length, and
//! the partial checksum over the pseudo header.

use super::anatomy::{Anatomy, ETHERNET_BYTES, Network, TCP_FLAGS_AT, Transport};
use super::checksum::Sum;
use super::vnet::{Segmentation, VnetHeader};

/// Longest headers that are understood: Ethernet, IPv4 with options, TCP with options.
pub(super) const HEADERS_BYTES: usize = ETHERNET_BYTES + 60 + 60;
/// FIN and PSH: of the last packet only.
const TCP_FIN_PSH: u8 = 0b1001;
/// Of the first packet only.
const TCP_CWR: u8 = 0b1000_0000;

/// A run of packets of one frame that leaves together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Run {
    /// Its first packet, from 0.
    pub first: u32,
    /// Number of its packets.
    pub count: u32,
    /// True if all of them are marked "congestion experienced".
    pub is_marked: bool,
}

/// The parts that leave: notes for the kernel, headers, and which part of the frame follows them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cut {
    /// The notes.
    pub notes: VnetHeader,
    /// The headers; the first `headers_bytes` count.
    pub headers: [u8; HEADERS_BYTES],
    /// Length of the headers in bytes; 0: the frame leaves as it came.
    pub headers_bytes: usize,
    /// Where in the frame the payload begins.
    pub payload_at: usize,
    /// Length of the payload in bytes.
    pub payload_bytes: usize,
}

impl Default for Cut {
    fn default() -> Self {
        Self { notes: VnetHeader::default(), headers: [0; HEADERS_BYTES], headers_bytes: 0, payload_at: 0, payload_bytes: 0 }
    }
}

/// Cuts `run` out of `frame`.
pub(super) fn cut(frame: &[u8], anatomy: &Anatomy, notes: VnetHeader, run: Run) -> Cut {
    let is_whole = run.first == 0 && run.count >= anatomy.packets;
    let is_opaque = anatomy.network == Network::Other || anatomy.header_bytes > HEADERS_BYTES;
    if (is_whole && !run.is_marked) || is_opaque {
        return Cut { notes, payload_bytes: frame.len(), ..Cut::default() };
    }
    let mut headers = [0; HEADERS_BYTES];
    let headers_bytes = anatomy.header_bytes;
    headers[..headers_bytes].copy_from_slice(&frame[..headers_bytes]);
    let offset = run.first as usize * anatomy.segment_bytes;
    let payload_bytes = (anatomy.payload_bytes - offset).min(run.count as usize * anatomy.segment_bytes);
    let has_last = run.first + run.count >= anatomy.packets;
    let mut cut_notes = notes;
    if !is_whole {
        write_transport(&mut headers[..headers_bytes], anatomy, &run, offset, payload_bytes, has_last);
        write_length(&mut headers, anatomy, run.first, headers_bytes + payload_bytes);
        write_partial_checksum(&mut headers[..headers_bytes], anatomy, &notes, payload_bytes);
        cut_notes.has_cwr &= run.first == 0;
        if run.count == 1 {
            (cut_notes.segmentation, cut_notes.segment_bytes, cut_notes.has_cwr) = (Segmentation::None, 0, false);
        }
    }
    if run.is_marked {
        mark(&mut headers, anatomy.network);
    }
    if anatomy.network == Network::V4 {
        write_ipv4_checksum(&mut headers);
    }
    Cut { notes: cut_notes, headers, headers_bytes, payload_at: headers_bytes + offset, payload_bytes }
}

fn write_transport(headers: &mut [u8], anatomy: &Anatomy, run: &Run, offset: usize, payload_bytes: usize, has_last: bool) {
    let transport = &mut headers[anatomy.transport_at..];
    match anatomy.transport {
        Transport::Tcp => {
            let sequence = u32::from_be_bytes([transport[4], transport[5], transport[6], transport[7]]);
            // Sequence numbers wrap (RFC 9293 section 3.4); an offset within a frame fits 32 bits.
            let shifted = sequence.wrapping_add(u32::try_from(offset).unwrap_or(u32::MAX));
            transport[4..8].copy_from_slice(&shifted.to_be_bytes());
            if !has_last {
                transport[TCP_FLAGS_AT] &= !TCP_FIN_PSH;
            }
            if run.first > 0 {
                transport[TCP_FLAGS_AT] &= !TCP_CWR;
            }
        }
        Transport::Udp => {
            let datagram_bytes = word(transport.len() + payload_bytes);
            transport[4..6].copy_from_slice(&datagram_bytes.to_be_bytes());
        }
        Transport::Other => {}
    }
}

/// Writes the length of the network layer and, for IPv4, the identification, which the kernel
/// counts up from packet to packet (`inet_gso_segment`).
fn write_length(headers: &mut [u8], anatomy: &Anatomy, first: u32, frame_bytes: usize) {
    let packet = &mut headers[ETHERNET_BYTES..];
    let packet_bytes = frame_bytes - ETHERNET_BYTES;
    match anatomy.network {
        Network::V4 => {
            packet[2..4].copy_from_slice(&word(packet_bytes).to_be_bytes());
            let identification = u16::from_be_bytes([packet[4], packet[5]]);
            // Only 16 bits of the count matter to a number of 16 bits.
            let shifted = identification.wrapping_add(word(first as usize & 0xffff));
            packet[4..6].copy_from_slice(&shifted.to_be_bytes());
        }
        Network::V6 => packet[4..6].copy_from_slice(&word(packet_bytes - 40).to_be_bytes()),
        Network::Other => {}
    }
}

/// Where the checksum is still to be made, its field holds the sum of the pseudo header (RFC 9293
/// section 3.1, RFC 8200 section 8.1), of which the length is a part.
fn write_partial_checksum(headers: &mut [u8], anatomy: &Anatomy, notes: &VnetHeader, payload_bytes: usize) {
    let checksum_at = usize::from(notes.checksum_start) + usize::from(notes.checksum_offset);
    if !notes.needs_checksum || checksum_at + 2 > headers.len() {
        return;
    }
    let packet = &headers[ETHERNET_BYTES..];
    let (addresses, protocol) = match anatomy.network {
        Network::V4 => (&packet[12..20], packet[9]),
        Network::V6 => (&packet[8..40], packet[6]),
        Network::Other => return,
    };
    let transport_bytes = headers.len() - anatomy.transport_at + payload_bytes;
    let sum = Sum::default().add(addresses).add_word(u16::from(protocol)).add_word(word(transport_bytes)).folded();
    headers[checksum_at..checksum_at + 2].copy_from_slice(&sum.to_be_bytes());
}

/// Sets both ECN bits: congestion experienced (RFC 3168 section 5).
fn mark(headers: &mut [u8], network: Network) {
    match network {
        Network::V4 => headers[ETHERNET_BYTES + 1] |= 0b11,
        Network::V6 => headers[ETHERNET_BYTES + 1] |= 0b11 << 4,
        Network::Other => {}
    }
}

fn write_ipv4_checksum(headers: &mut [u8]) {
    let packet = &mut headers[ETHERNET_BYTES..];
    let header_bytes = usize::from(packet[0] & 0xf) * 4;
    packet[10..12].fill(0);
    let checksum = Sum::default().add(&packet[..header_bytes]).checksum();
    packet[10..12].copy_from_slice(&checksum.to_be_bytes());
}

/// A length that is known to fit the field, as part of a frame that had one.
fn word(length: usize) -> u16 {
    u16::try_from(length).unwrap_or(u16::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SEGMENT_BYTES: usize = 100;

    /// A super-segment of TCP with FIN, PSH, CWR and ACK set, `payload_bytes` long.
    fn super_segment(is_v6: bool, payload_bytes: usize) -> (Vec<u8>, VnetHeader) {
        let mut frame = vec![0_u8; 12];
        let tcp_bytes = 32 + payload_bytes;
        if is_v6 {
            frame.extend([0x86, 0xdd, 0x60, 0x20, 0, 0]);
            frame.extend(u16::try_from(tcp_bytes).expect("short").to_be_bytes());
            frame.extend([6, 64]);
            frame.extend((1..=32).collect::<Vec<u8>>());
        } else {
            frame.extend([0x08, 0x00, 0x45, 0x02]);
            frame.extend(u16::try_from(20 + tcp_bytes).expect("short").to_be_bytes());
            frame.extend([0xff, 0xfe, 0x40, 0, 64, 6, 0, 0, 198, 18, 0, 1, 198, 18, 0, 2]);
        }
        let transport_at = frame.len();
        frame.extend([0x12, 0x34, 0x56, 0x78, 0xff, 0xff, 0xff, 0x80, 0, 0, 0, 9, 0x80, 0b1001_1001, 1, 1, 0, 0, 0, 0]);
        frame.extend([1; 12]);
        frame.extend((0..payload_bytes).map(|at| u8::try_from(at % 251).expect("byte")));
        let segmentation = if is_v6 { Segmentation::TcpV6 } else { Segmentation::TcpV4 };
        let notes = VnetHeader {
            needs_checksum: true,
            segmentation,
            has_cwr: true,
            header_bytes: word(transport_at + 32),
            segment_bytes: word(SEGMENT_BYTES),
            checksum_start: word(transport_at),
            checksum_offset: 16,
        };
        (frame, notes)
    }

    /// The frame that leaves.
    fn left(frame: &[u8], cut: &Cut) -> Vec<u8> {
        [&cut.headers[..cut.headers_bytes], &frame[cut.payload_at..cut.payload_at + cut.payload_bytes]].concat()
    }

    proptest! {
        #[test]
        fn a_run_is_what_the_kernel_would_have_cut(
            is_v6: bool,
            payload_bytes in 101_usize..3_000,
            draws in (any::<u32>(), any::<u32>()),
            is_marked: bool,
        ) {
            let (frame, notes) = super_segment(is_v6, payload_bytes);
            let anatomy = Anatomy::of(&frame, &notes);
            let first = draws.0 % anatomy.packets;
            let longest = (anatomy.packets - first).min(anatomy.packets - 1);
            let count = 1 + draws.1 % longest;
            let cut = cut(&frame, &anatomy, notes, Run { first, count, is_marked });
            let left = left(&frame, &cut);
            let at = first as usize * SEGMENT_BYTES;
            let payload = &left[anatomy.header_bytes..];
            prop_assert_eq!(payload, &frame[anatomy.header_bytes + at..][..payload.len()]);
            // TCP: sequence number (here across the wrap), flags.
            let tcp = &left[anatomy.transport_at..];
            let sequence = u32::from_be_bytes([tcp[4], tcp[5], tcp[6], tcp[7]]);
            prop_assert_eq!(sequence, 0xffff_ff80_u32.wrapping_add(u32::try_from(at).expect("short")));
            let is_last = first + count == anatomy.packets;
            let flags = 0b1_0000 | if is_last { 0b1001 } else { 0 } | if first == 0 { 0b1000_0000 } else { 0 };
            prop_assert_eq!(tcp[13], flags);
            prop_assert_eq!(cut.notes.segmentation == Segmentation::None, count == 1);
            prop_assert_eq!(cut.notes.has_cwr, first == 0 && count > 1);
            // What the frame says of itself is what it is.
            let read = Anatomy::of(&left, &cut.notes);
            prop_assert_eq!((read.packets, read.payload_bytes), (count, payload.len()));
            let packet = &left[ETHERNET_BYTES..];
            let addresses = if is_v6 {
                prop_assert_eq!(u16::from_be_bytes([packet[4], packet[5]]) as usize, packet.len() - 40);
                prop_assert_eq!(packet[1] >> 4 & 0b11, if is_marked { 0b11 } else { 0b10 });
                &packet[8..40]
            } else {
                prop_assert_eq!(u16::from_be_bytes([packet[2], packet[3]]) as usize, packet.len());
                prop_assert_eq!(u16::from_be_bytes([packet[4], packet[5]]), 0xfffe_u16.wrapping_add(u16::try_from(first).expect("short")));
                prop_assert_eq!(Sum::default().add(&packet[..20]).folded(), 0xffff);
                prop_assert_eq!(packet[1] & 0b11, if is_marked { 0b11 } else { 0b10 });
                &packet[12..20]
            };
            let pseudo = Sum::default().add(addresses).add_word(6).add_word(word(tcp.len())).folded();
            prop_assert_eq!(u16::from_be_bytes([tcp[16], tcp[17]]), pseudo);
        }
    }

    #[test]
    fn what_leaves_whole_leaves_as_it_came() {
        let (frame, notes) = super_segment(false, 1_000);
        let anatomy = Anatomy::of(&frame, &notes);
        let whole = Run { first: 0, count: anatomy.packets, is_marked: false };
        let cut = cut(&frame, &anatomy, notes, whole);
        assert_eq!((cut.headers_bytes, cut.payload_at, cut.payload_bytes, cut.notes), (0, 0, frame.len(), notes));
    }
}
