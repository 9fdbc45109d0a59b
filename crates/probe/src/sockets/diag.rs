//! Conversations with the kernel's `sock_diag` (`linux/sock_diag.h`, `net/ipv4/inet_diag.c`).

use netlink_packet_core::{NLM_F_DUMP, NLM_F_REQUEST, NLMSG_DONE, NLMSG_ERROR, NetlinkHeader, NetlinkMessage, NetlinkPayload};
use netlink_packet_sock_diag::constants::{AF_INET, AF_INET6, IPPROTO_TCP, TCP_TIME_WAIT};
use netlink_packet_sock_diag::inet::{ExtensionFlags, InetRequest, SocketId, StateFlags};
use netlink_packet_sock_diag::{SOCK_DIAG_BY_FAMILY, SockDiagMessage};
use nix::errno::Errno;
use nix::sys::socket::sockopt::{RcvBuf, ReceiveTimeout};
use nix::sys::socket::{AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, recv, send, setsockopt, socket};
use nix::sys::time::{TimeVal, TimeValLike};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use super::message::{Messages, Socket, SocketKey, sockets_in};

/// The kernel answers at once; nothing waits longer than this for it.
const MAX_WAIT_MS: i64 = 1_000;
/// Bytes that are received at once: the kernel gives no more than 32 KiB.
const RECEIVE_BYTES: usize = 64 << 10;
/// Questions that are asked together: their answers have room in the socket's default buffer.
const BATCH: usize = 32;
/// The groups of TCP sockets that close, as a mask: `SKNLGRP_INET_TCP_DESTROY` and `SKNLGRP_INET6_TCP_DESTROY`.
const CLOSING_GROUPS: u32 = 0b101;
/// Memory for news that were not read yet.
const NEWS_BYTES: usize = 1 << 20;

/// The detail that is asked of each socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// Addresses, queues and owner.
    Names,
    /// The counters, too.
    Counters,
    /// Counters, memory and congestion control.
    All,
}

impl Detail {
    fn extensions(self) -> ExtensionFlags {
        match self {
            Self::Names => ExtensionFlags::empty(),
            Self::Counters => ExtensionFlags::INFO,
            Self::All => ExtensionFlags::INFO | ExtensionFlags::SKMEMINFO | ExtensionFlags::CONG,
        }
    }
}

/// Listening sockets, and connections of which a process, or the kernel for it, still has something to do. Those in
/// `TIME_WAIT` move nothing any more, and there may be a hundred thousand of them.
fn states() -> StateFlags {
    StateFlags::all() - StateFlags::TIME_WAIT - StateFlags::CLOSE - StateFlags::SYN_RECV
}

/// The cost of a dump.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Taken {
    /// Sockets that it named.
    pub sockets_count: u64,
    /// Receive calls.
    pub calls_count: u64,
    /// Bytes that they received.
    pub received_bytes: u64,
}

/// Asks the kernel about the TCP sockets of this thread's network namespace.
#[derive(Debug)]
pub struct Diag {
    netlink: OwnedFd,
    sequence: u32,
    buffer: Vec<u8>,
}

impl Diag {
    /// Opens a conversation.
    ///
    /// # Errors
    /// The kernel has no netlink.
    pub fn open() -> io::Result<Self> {
        let netlink = open(0)?;
        setsockopt(&netlink, ReceiveTimeout, &TimeVal::milliseconds(MAX_WAIT_MS))?;
        Ok(Self { netlink, sequence: 0, buffer: vec![0; RECEIVE_BYTES] })
    }

    /// Names all connections and listening sockets, of IPv4 and of IPv6. One that opens or closes meanwhile may be missing
    /// or come twice.
    ///
    /// # Errors
    /// The kernel has no `tcp_diag`, or does not answer.
    pub fn dump(&mut self, detail: Detail, mut on_socket: impl FnMut(Socket)) -> io::Result<Taken> {
        let mut taken = Taken::default();
        self.dump_family(AF_INET, SocketId::new_v4(), detail, &mut taken, &mut on_socket)?;
        // A kernel without IPv6 refuses.
        match self.dump_family(AF_INET6, SocketId::new_v6(), detail, &mut taken, &mut on_socket) {
            Err(error) if error.raw_os_error() == Some(nix::libc::ENOENT) => Ok(taken),
            ended => ended.map(|()| taken),
        }
    }

    fn dump_family(
        &mut self,
        family: u8,
        socket_id: SocketId,
        detail: Detail,
        taken: &mut Taken,
        on_socket: &mut impl FnMut(Socket),
    ) -> io::Result<()> {
        self.sequence = self.sequence.wrapping_add(1);
        let mut question = Vec::new();
        put(&mut question, request(family, socket_id, detail), NLM_F_REQUEST | NLM_F_DUMP, self.sequence);
        send(self.netlink.as_raw_fd(), &question, MsgFlags::empty())?;
        loop {
            let length = receive(&self.netlink, &mut self.buffer)?;
            taken.calls_count += 1;
            taken.received_bytes += length as u64;
            for message in Messages(&self.buffer[..length]).filter(|message| message.sequence == self.sequence) {
                match message.kind {
                    SOCK_DIAG_BY_FAMILY => {
                        if let Some(socket) = Socket::parse(message.content) {
                            taken.sockets_count += 1;
                            on_socket(socket);
                        }
                    }
                    NLMSG_DONE => return Ok(()),
                    NLMSG_ERROR => return Err(error_of(message.content)),
                    _ => {}
                }
            }
        }
    }

    /// Asks about single connections with all detail; one that is gone has none. The answers are in the order of the
    /// questions.
    ///
    /// # Errors
    /// The kernel does not answer.
    pub fn query(&mut self, keys: &[SocketKey]) -> io::Result<Vec<Option<Socket>>> {
        let mut answers = Vec::with_capacity(keys.len());
        for keys in keys.chunks(BATCH) {
            self.query_batch(keys, &mut answers)?;
        }
        Ok(answers)
    }

    fn query_batch(&mut self, keys: &[SocketKey], answers: &mut Vec<Option<Socket>>) -> io::Result<()> {
        let first = self.sequence.wrapping_add(1);
        let mut questions = Vec::new();
        for key in keys {
            self.sequence = self.sequence.wrapping_add(1);
            let family = if key.local.is_ipv4() { AF_INET } else { AF_INET6 };
            put(&mut questions, request(family, key.id(), Detail::All), NLM_F_REQUEST, self.sequence);
        }
        send(self.netlink.as_raw_fd(), &questions, MsgFlags::empty())?;
        let start = answers.len();
        answers.resize(start + keys.len(), None);
        let mut awaited = vec![true; keys.len()];
        while awaited.contains(&true) {
            let length = receive(&self.netlink, &mut self.buffer)?;
            for message in Messages(&self.buffer[..length]) {
                let position = message.sequence.wrapping_sub(first) as usize;
                let Some(is_awaited) = awaited.get_mut(position) else { continue };
                *is_awaited = false;
                let socket = (message.kind == SOCK_DIAG_BY_FAMILY).then(|| Socket::parse(message.content)).flatten();
                // What waits for the time to pass only has the number of the socket that is gone.
                let is_it = |socket: &Socket| socket.key.cookie == keys[position].cookie && socket.state.0 != TCP_TIME_WAIT;
                answers[start + position] = socket.filter(is_it);
            }
        }
        Ok(())
    }
}

/// News of TCP sockets of this network namespace that close, with their last counters: of connections between whose
/// opening and closing nobody looked, too. While somebody listens, each socket that closes costs the kernel a message.
#[derive(Debug)]
pub struct Closings {
    netlink: OwnedFd,
    buffer: Vec<u8>,
    /// Number of times that news were lost, because too many came at once.
    pub overruns_count: u64,
}

impl Closings {
    /// Listens from now on.
    ///
    /// # Errors
    /// The kernel does not send news to this user.
    pub fn open() -> io::Result<Self> {
        let netlink = open(CLOSING_GROUPS)?;
        // As much as the host allows; less loses news earlier.
        let _ = setsockopt(&netlink, RcvBuf, &NEWS_BYTES);
        Ok(Self { netlink, buffer: vec![0; RECEIVE_BYTES], overruns_count: 0 })
    }

    /// Hands over what has closed since this was last called.
    pub fn take(&mut self, mut on_socket: impl FnMut(Socket)) {
        loop {
            match recv(self.netlink.as_raw_fd(), &mut self.buffer, MsgFlags::MSG_DONTWAIT) {
                Ok(length) => sockets_in(&self.buffer[..length]).for_each(&mut on_socket),
                Err(Errno::EINTR) => {}
                Err(Errno::ENOBUFS) => self.overruns_count += 1,
                Err(_) => return,
            }
        }
    }
}

fn open(groups: u32) -> io::Result<OwnedFd> {
    let netlink = socket(AddressFamily::Netlink, SockType::Raw, SockFlag::SOCK_CLOEXEC, SockProtocol::NetlinkSockDiag)?;
    bind(netlink.as_raw_fd(), &NetlinkAddr::new(0, groups))?;
    Ok(netlink)
}

fn receive(netlink: &OwnedFd, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match recv(netlink.as_raw_fd(), buffer, MsgFlags::empty()) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Err(Errno::EINTR) => {}
            received => return Ok(received?),
        }
    }
}

fn request(family: u8, socket_id: SocketId, detail: Detail) -> InetRequest {
    InetRequest { family, protocol: IPPROTO_TCP, extensions: detail.extensions(), states: states(), socket_id }
}

/// Appends a message.
fn put(bytes: &mut Vec<u8>, request: InetRequest, flags: u16, sequence: u32) {
    let mut header = NetlinkHeader::default();
    (header.flags, header.sequence_number) = (flags, sequence);
    let mut message = NetlinkMessage::new(header, NetlinkPayload::from(SockDiagMessage::InetRequest(request)));
    message.finalize();
    let start = bytes.len();
    bytes.resize(start + message.buffer_len(), 0);
    message.serialize(&mut bytes[start..]);
}

/// The error of a message of the type `NLMSG_ERROR`, which begins with a negative number of errno.
fn error_of(content: &[u8]) -> io::Error {
    let code = content.first_chunk().map_or(0, |bytes| i32::from_ne_bytes(*bytes));
    io::Error::from_raw_os_error(code.saturating_neg())
}
