//! Content of a `sock_diag` message (`linux/inet_diag.h`). Nothing here reads beyond what the message has, whatever its
//! lengths say.

use netlink_packet_core::{NetlinkBuffer, NlasIterator, Parseable};
use netlink_packet_sock_diag::SOCK_DIAG_BY_FAMILY;
use netlink_packet_sock_diag::constants::{INET_DIAG_CONG, INET_DIAG_INFO, INET_DIAG_SKMEMINFO, TCP_LISTEN};
use netlink_packet_sock_diag::inet::{InetResponseHeader, SocketId};
use std::net::SocketAddr;

use crate::tcp_info::TcpInfo;

/// The number of the socket's control group, from Linux 5.8 on.
const INET_DIAG_CGROUP_ID: u16 = 21;
/// Length of `struct nlmsghdr`.
const MESSAGE_HEADER_BYTES: usize = 16;
/// Length of `struct inet_diag_msg`.
const HEADER_BYTES: usize = 72;
/// Words of `SK_MEMINFO_…` (`linux/sock_diag.h`), in their order.
const MEMORY_WORDS: usize = 9;

/// The name of a socket: its addresses as the kernel has them, and its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SocketKey {
    /// This side's address and port.
    pub local: SocketAddr,
    /// The other side's.
    pub remote: SocketAddr,
    /// The device that it is bound to; 0 where it is bound to none.
    pub interface: u32,
    /// Its number, which the kernel never uses again.
    pub cookie: u64,
}

impl SocketKey {
    /// Both addresses, this side's first; one of IPv4 that is mapped into IPv6 as one of IPv4.
    pub fn ends(&self) -> [SocketAddr; 2] {
        [self.local, self.remote].map(|end| SocketAddr::new(end.ip().to_canonical(), end.port()))
    }

    fn of(id: &SocketId) -> Self {
        Self {
            local: SocketAddr::new(id.source_address, id.source_port),
            remote: SocketAddr::new(id.destination_address, id.destination_port),
            interface: id.interface_id,
            cookie: u64::from_ne_bytes(id.cookie),
        }
    }

    /// As it stands in a question about this socket.
    pub(super) fn id(&self) -> SocketId {
        SocketId {
            source_port: self.local.port(),
            destination_port: self.remote.port(),
            source_address: self.local.ip(),
            destination_address: self.remote.ip(),
            interface_id: self.interface,
            cookie: self.cookie.to_ne_bytes(),
        }
    }
}

/// State of a connection (`include/net/tcp_states.h`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SocketState(pub u8);

impl SocketState {
    /// True if it awaits connections.
    pub fn is_listening(self) -> bool {
        self.0 == TCP_LISTEN
    }
}

/// Memory of a socket, in bytes (`SK_MEMINFO_…`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[allow(missing_docs, clippy::missing_docs_in_private_items)]
pub struct Memory {
    pub receive_bytes: u32,
    pub receive_buffer_bytes: u32,
    pub send_bytes: u32,
    pub send_buffer_bytes: u32,
    pub queued_bytes: u32,
    /// From Linux 4.6 on.
    pub backlog_bytes: Option<u32>,
    /// From Linux 4.7 on.
    pub dropped_packets: Option<u32>,
}

impl Memory {
    /// Of the words that the kernel has, in the order of `SK_MEMINFO_…`; `None` where the first are missing.
    fn parse(value: &[u8]) -> Option<Self> {
        let mut numbers = [None; MEMORY_WORDS];
        for (number, bytes) in numbers.iter_mut().zip(value.chunks_exact(4)) {
            *number = bytes.first_chunk().map(|bytes| u32::from_ne_bytes(*bytes));
        }
        let [receive, receive_buffer, send, send_buffer, _forward, queued, _options, backlog, drops] = numbers;
        Some(Self {
            receive_bytes: receive?,
            receive_buffer_bytes: receive_buffer?,
            send_bytes: send?,
            send_buffer_bytes: send_buffer?,
            queued_bytes: queued?,
            backlog_bytes: backlog,
            dropped_packets: drops,
        })
    }
}

/// A socket, as a message describes it.
#[derive(Debug, Clone)]
pub struct Socket {
    /// Which it is.
    pub key: SocketKey,
    /// Its state.
    pub state: SocketState,
    /// Received in sequence and not read, in bytes. Of a listening one: connections that wait.
    pub receive_queue_bytes: u32,
    /// Written and not acknowledged, in bytes. Of a listening one: how many connections may wait.
    pub send_queue_bytes: u32,
    /// Number of the user that opened it.
    pub user: u32,
    /// Its inode; 0 where no process holds it any more.
    pub inode: u32,
    /// Its counters, where they were asked for.
    pub info: Option<TcpInfo>,
    /// Its memory, where it was asked for.
    pub memory: Option<Memory>,
    /// Its congestion control, where it was asked for.
    pub congestion_control: Option<String>,
    /// Number of its control group (version 2), where the kernel says it.
    pub control_group: Option<u64>,
}

impl Socket {
    /// Of the content of a message; `None` where it is cut or of another family.
    pub fn parse(content: &[u8]) -> Option<Self> {
        let (header, attributes) = content.split_at_checked(HEADER_BYTES)?;
        let header = InetResponseHeader::parse(header).ok()?;
        let mut socket = Self {
            key: SocketKey::of(&header.socket_id),
            state: SocketState(header.state),
            receive_queue_bytes: header.recv_queue,
            send_queue_bytes: header.send_queue,
            user: header.uid,
            inode: header.inode,
            info: None,
            memory: None,
            congestion_control: None,
            control_group: None,
        };
        for attribute in NlasIterator::new(attributes) {
            let Ok(attribute) = attribute else { break };
            let value = attribute.value();
            match attribute.kind() {
                INET_DIAG_INFO => socket.info = Some(TcpInfo::from_bytes(value)),
                INET_DIAG_SKMEMINFO => socket.memory = Memory::parse(value),
                INET_DIAG_CONG => socket.congestion_control = text(value),
                INET_DIAG_CGROUP_ID => socket.control_group = value.first_chunk().map(|bytes| u64::from_ne_bytes(*bytes)),
                _ => {}
            }
        }
        Some(socket)
    }

    /// Bytes that have arrived at their readers' hosts: acknowledged by the peer, and received; 0 where they are not known.
    pub fn moved_bytes(&self) -> u64 {
        self.info.map_or(0, |info| info.raw.bytes_acked.saturating_add(info.raw.bytes_received))
    }

    /// True if no payload has been sent or received on it.
    pub fn has_moved_nothing(&self) -> bool {
        self.info.is_some_and(|info| info.raw.data_segs_out == 0 && info.raw.data_segs_in == 0 && info.raw.bytes_received == 0)
    }
}

/// A text that ends with a zero.
fn text(value: &[u8]) -> Option<String> {
    let text = value.split(|byte| *byte == 0).next()?;
    std::str::from_utf8(text).ok().filter(|text| !text.is_empty()).map(str::to_owned)
}

/// The sockets that are named in what was received at once.
pub fn sockets_in(received: &[u8]) -> impl Iterator<Item = Socket> {
    let messages = Messages(received).filter(|message| message.kind == SOCK_DIAG_BY_FAMILY);
    messages.filter_map(|message| Socket::parse(message.content))
}

/// A message of netlink.
pub(super) struct Message<'a> {
    /// Its type.
    pub kind: u16,
    /// The number of the question that it answers.
    pub sequence: u32,
    /// Its content.
    pub content: &'a [u8],
}

/// The messages in what was received at once; what is cut is left out.
pub(super) struct Messages<'a>(pub &'a [u8]);

impl<'a> Iterator for Messages<'a> {
    type Item = Message<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        let buffer = NetlinkBuffer::new_checked(self.0).ok()?;
        let length = usize::try_from(buffer.length()).ok()?;
        let content = self.0.get(MESSAGE_HEADER_BYTES..length)?;
        let message = Message { kind: buffer.message_type(), sequence: buffer.sequence_number(), content };
        self.0 = self.0.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some(message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const FAMILY_IPV6: u8 = 10;

    fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
        let length = u16::try_from(4 + value.len()).expect("short");
        let mut bytes = [length.to_ne_bytes(), kind.to_ne_bytes()].concat();
        bytes.extend(value);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    /// A connection of IPv4 in a socket of IPv6.
    fn mapped() -> Vec<u8> {
        let address = |last: u8| [&[0; 10][..], &[255, 255, 10, 0, 0, last]].concat();
        let mut bytes = vec![FAMILY_IPV6, 1, 0, 0];
        bytes.extend([443_u16.to_be_bytes(), 50_000_u16.to_be_bytes()].concat());
        bytes.extend([address(1), address(2)].concat());
        bytes.extend(3_u32.to_ne_bytes());
        bytes.extend(0x0102_0304_0506_0708_u64.to_ne_bytes());
        for word in [0_u32, 5, 6, 1_000, 77] {
            bytes.extend(word.to_ne_bytes());
        }
        assert_eq!(bytes.len(), HEADER_BYTES);
        bytes
    }

    #[test]
    fn addresses_queues_and_attributes_stand_in_their_fields() {
        let numbers: Vec<u8> = (1_u32..=9).flat_map(u32::to_ne_bytes).collect();
        let mut info = vec![0; 8];
        info[0] = 8;
        let content = [
            mapped(),
            attribute(INET_DIAG_SKMEMINFO, &numbers),
            attribute(INET_DIAG_INFO, &info),
            attribute(INET_DIAG_CONG, b"cubic\0"),
            attribute(INET_DIAG_CGROUP_ID, &42_u64.to_ne_bytes()),
            attribute(99, b"later kernels"),
        ]
        .concat();
        let socket = Socket::parse(&content).expect("a socket");
        assert_eq!(socket.key.ends().map(|end| end.to_string()), ["10.0.0.1:443", "10.0.0.2:50000"]);
        assert_eq!(socket.key.local.to_string(), "[::ffff:10.0.0.1]:443");
        assert_eq!((socket.key.interface, socket.key.cookie), (3, 0x0102_0304_0506_0708));
        assert_eq!((socket.state, socket.receive_queue_bytes, socket.send_queue_bytes), (SocketState(1), 5, 6));
        assert_eq!((socket.user, socket.inode), (1_000, 77));
        let memory = Memory {
            receive_bytes: 1,
            receive_buffer_bytes: 2,
            send_bytes: 3,
            send_buffer_bytes: 4,
            queued_bytes: 6,
            backlog_bytes: Some(8),
            dropped_packets: Some(9),
        };
        assert_eq!(socket.memory, Some(memory));
        assert_eq!(socket.congestion_control.as_deref(), Some("cubic"));
        assert_eq!(socket.control_group, Some(42));
        let info = socket.info.expect("it is there");
        assert_eq!((info.raw.state, info.bytes_sent()), (8, None));
    }

    #[test]
    fn what_is_cut_or_lies_about_its_length_gives_what_is_there() {
        let whole = [mapped(), attribute(INET_DIAG_SKMEMINFO, &[0; 36]), attribute(INET_DIAG_INFO, &[0; 300])].concat();
        for length in 0..whole.len() {
            let socket = Socket::parse(&whole[..length]);
            assert_eq!(socket.is_some(), length >= HEADER_BYTES, "{length}");
        }
        for (place, byte) in (HEADER_BYTES..HEADER_BYTES + 4).flat_map(|place| (0..=u8::MAX).map(move |byte| (place, byte))) {
            let mut lies = whole.clone();
            lies[place] = byte;
            assert!(Socket::parse(&lies).is_some());
        }
    }

    #[test]
    fn messages_end_where_their_lengths_say_or_where_they_are_cut() {
        let message = |length: u32, kind: u16, sequence: u32, content: &[u8]| {
            let mut bytes = length.to_ne_bytes().to_vec();
            bytes.extend([kind.to_ne_bytes(), [0; 2]].concat());
            bytes.extend([sequence.to_ne_bytes(), [0; 4]].concat());
            bytes.extend(content);
            bytes
        };
        let found =
            |bytes: &[u8]| Messages(bytes).map(|message| (message.kind, message.sequence, message.content.len())).collect::<Vec<_>>();
        let two = [message(18, 20, 1, &[1, 2, 0, 0]), message(16, 3, 2, &[])].concat();
        assert_eq!(found(&two), [(20, 1, 2), (3, 2, 0)]);
        assert_eq!(found(&two[..two.len() - 1]), [(20, 1, 2)]);
        for length in [0, 15, 17, u32::MAX] {
            assert_eq!(found(&message(length, 20, 1, &[])), []);
        }
    }

    /// Two sockets with all attributes, as they are received.
    fn received() -> Vec<u8> {
        let content = [
            mapped(),
            attribute(INET_DIAG_SKMEMINFO, &[1; 36]),
            attribute(INET_DIAG_INFO, &[2; 248]),
            attribute(INET_DIAG_CONG, b"cubic\0"),
            attribute(INET_DIAG_CGROUP_ID, &[3; 8]),
        ]
        .concat();
        let length = u32::try_from(MESSAGE_HEADER_BYTES + content.len()).expect("short");
        let header = [&length.to_ne_bytes()[..], &SOCK_DIAG_BY_FAMILY.to_ne_bytes(), &[0; 10]].concat();
        [header, content].concat().repeat(2)
    }

    proptest! {
        /// Whatever is changed, cut or repeated in it: no more sockets than there is room for, and no empty text. What the
        /// fuzz target `sockets` looks for at length.
        #[test]
        fn whatever_is_received_is_read_within_its_bounds(
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..12),
            cut in any::<prop::sample::Index>(),
            noise in prop::collection::vec(any::<u8>(), 0..200),
        ) {
            let mut bytes = received();
            for (place, byte) in changes {
                let place = place.index(bytes.len());
                bytes[place] = byte;
            }
            bytes.truncate(cut.index(bytes.len() + 1));
            bytes.extend(noise);
            let found: Vec<Socket> = sockets_in(&bytes).collect();
            prop_assert!(found.len() * (MESSAGE_HEADER_BYTES + HEADER_BYTES) <= bytes.len());
            for socket in found {
                prop_assert!(socket.congestion_control.is_none_or(|name| !name.is_empty() && !name.contains('\0')));
                prop_assert!(socket.key.ends().iter().all(|end| end.ip() == end.ip().to_canonical()));
            }
        }
    }

    #[test]
    fn both_sockets_are_read_where_nothing_is_changed() {
        assert_eq!(sockets_in(&received()).count(), 2);
    }
}
