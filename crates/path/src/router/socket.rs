//! A packet socket on one device of the path namespace: frames in with the kernel's arrival stamps and its
//! notes on segmentation, frames out with such notes.
//!
//! This is the module of the router that calls the kernel with pointers (packet(7), recvmmsg(2),
//! sendmmsg(2)).

use std::io;
use std::mem::{size_of, size_of_val, zeroed};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use super::slice::{Cut, HEADERS_BYTES};
use super::vnet::{self, VnetHeader};

/// Room for the longest frame: an IP packet of 65535 bytes with its Ethernet header.
pub(super) const FRAME_BYTES: usize = 65_536 + 64;
/// Frames taken in or let out by one call of the kernel.
pub(super) const BATCH: usize = 32;
/// Bytes that the kernel may keep for the router while it does not run: 20 ms of 10 Gbit/s, several times
/// over, because the kernel counts whole pages.
const RECEIVE_BUFFER_BYTES: libc::c_int = 256 << 20;
/// Bytes that may be under way into the receiving end's device.
const SEND_BUFFER_BYTES: libc::c_int = 64 << 20;
/// `PACKET_IGNORE_OUTGOING` (`linux/if_packet.h`, Linux 4.20): do not hear what was sent here.
const PACKET_IGNORE_OUTGOING: libc::c_int = 23;
/// Room for one control message that holds a `struct timespec`.
const CONTROL_BYTES: usize = 64;
const NS_PER_S: u64 = 1_000_000_000;

/// A socket bound to one device.
#[derive(Debug)]
pub(crate) struct PacketSocket {
    file: OwnedFd,
}

impl PacketSocket {
    /// Opens it on `device` in the calling thread's network namespace.
    ///
    /// # Errors
    /// The privilege (`CAP_NET_RAW`) is missing, or there is no such device.
    pub fn open(device_index: u32) -> io::Result<Self> {
        let kind = libc::SOCK_RAW | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        // SAFETY: no pointers; protocol 0 hears nothing before it is bound.
        let raw = check(unsafe { libc::socket(libc::AF_PACKET, kind, 0) })?;
        // SAFETY: the descriptor is new and nobody else's.
        let socket = Self { file: unsafe { OwnedFd::from_raw_fd(raw) } };
        socket.set(libc::SOL_PACKET, libc::PACKET_VNET_HDR, 1)?;
        socket.set(libc::SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)?;
        socket.set(libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1)?;
        socket.set(libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, RECEIVE_BUFFER_BYTES)?;
        socket.set(libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, SEND_BUFFER_BYTES)?;
        socket.bind(device_index)?;
        Ok(socket)
    }

    fn set(&self, level: libc::c_int, name: libc::c_int, value: libc::c_int) -> io::Result<()> {
        let length = socket_length(size_of_val(&value));
        // SAFETY: the pointer is to a value of that length.
        check(unsafe { libc::setsockopt(self.file.as_raw_fd(), level, name, (&raw const value).cast(), length) }).map(drop)
    }

    fn bind(&self, device_index: u32) -> io::Result<()> {
        // SAFETY: all zeros is a valid `sockaddr_ll`.
        let mut address: libc::sockaddr_ll = unsafe { zeroed() };
        address.sll_family = u16::try_from(libc::AF_PACKET).map_err(io::Error::other)?;
        address.sll_protocol = u16::try_from(libc::ETH_P_ALL).map_err(io::Error::other)?.to_be();
        address.sll_ifindex = libc::c_int::try_from(device_index).map_err(io::Error::other)?;
        let length = socket_length(size_of_val(&address));
        // SAFETY: the pointer is to an address of that length.
        check(unsafe { libc::bind(self.file.as_raw_fd(), (&raw const address).cast(), length) }).map(drop)
    }

    /// Frames that the kernel could not keep since the last time this was asked.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn drops(&self) -> io::Result<u32> {
        // SAFETY: all zeros is a valid `tpacket_stats`.
        let mut statistics: libc::tpacket_stats = unsafe { zeroed() };
        let mut length = socket_length(size_of_val(&statistics));
        let (level, name) = (libc::SOL_PACKET, libc::PACKET_STATISTICS);
        // SAFETY: both pointers are to values of the lengths that are given.
        check(unsafe { libc::getsockopt(self.file.as_raw_fd(), level, name, (&raw mut statistics).cast(), &raw mut length) })?;
        Ok(statistics.tp_drops)
    }
}

impl AsRawFd for PacketSocket {
    fn as_raw_fd(&self) -> i32 {
        self.file.as_raw_fd()
    }
}

impl AsFd for PacketSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// A frame as it came in.
#[derive(Debug)]
pub(super) struct Received<'a> {
    /// When the sending end handed it to its device, on `CLOCK_REALTIME`, in ns; absent when the
    /// kernel stamped nothing.
    pub stamp_realtime_ns: Option<u64>,
    /// The kernel's notes.
    pub notes: VnetHeader,
    /// The frame, in the first `length` bytes. The taker may put another buffer of
    /// [`FRAME_BYTES`] in its place.
    pub buffer: &'a mut Box<[u8]>,
    /// Length of the frame in bytes.
    pub length: usize,
}

/// Where frames come in, a batch at a time.
#[derive(Debug)]
pub(super) struct Inbox {
    buffers: Vec<Box<[u8]>>,
    notes: Vec<[u8; vnet::BYTES]>,
    controls: Vec<Control>,
}

#[derive(Debug, Clone, Copy)]
#[repr(C, align(8))]
struct Control([u8; CONTROL_BYTES]);

impl Inbox {
    /// An inbox for [`BATCH`] frames.
    pub fn new() -> Self {
        let buffers = std::iter::repeat_with(|| vec![0; FRAME_BYTES].into_boxed_slice()).take(BATCH).collect();
        Self { buffers, notes: vec![[0; vnet::BYTES]; BATCH], controls: vec![Control([0; CONTROL_BYTES]); BATCH] }
    }

    /// Takes in what waits at `socket`, at most [`BATCH`] frames, and says how many came.
    ///
    /// # Errors
    /// The kernel refuses; that nothing waits is no error.
    pub fn receive(&mut self, socket: &PacketSocket, mut take: impl FnMut(Received<'_>)) -> io::Result<usize> {
        // SAFETY: all zeros is a valid `iovec` and a valid `mmsghdr`.
        let (mut parts, mut messages): ([[libc::iovec; 2]; BATCH], [libc::mmsghdr; BATCH]) = unsafe { (zeroed(), zeroed()) };
        for (index, message) in messages.iter_mut().enumerate() {
            let buffer = &mut self.buffers[index];
            parts[index] = [
                libc::iovec { iov_base: self.notes[index].as_mut_ptr().cast(), iov_len: vnet::BYTES },
                libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() },
            ];
            message.msg_hdr.msg_iov = parts[index].as_mut_ptr();
            message.msg_hdr.msg_iovlen = 2;
            message.msg_hdr.msg_control = self.controls[index].0.as_mut_ptr().cast();
            message.msg_hdr.msg_controllen = CONTROL_BYTES;
        }
        let count = libc::c_uint::try_from(BATCH).unwrap_or(1);
        let flags = libc::MSG_DONTWAIT;
        // SAFETY: every message points to buffers of the lengths it states, which live until the call returns.
        let got = unsafe { libc::recvmmsg(socket.as_raw_fd(), messages.as_mut_ptr(), count, flags as _, std::ptr::null_mut()) };
        let got = match check(got) {
            Ok(got) => usize::try_from(got).unwrap_or(0),
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => return Ok(0),
            Err(error) => return Err(error),
        };
        for (index, message) in messages[..got].iter().enumerate() {
            let length = (message.msg_len as usize).saturating_sub(vnet::BYTES);
            take(Received {
                stamp_realtime_ns: stamp(&message.msg_hdr),
                notes: VnetHeader::from_bytes(&self.notes[index]),
                buffer: &mut self.buffers[index],
                length,
            });
        }
        Ok(got)
    }
}

/// The kernel's stamp among a message's control messages.
fn stamp(message: &libc::msghdr) -> Option<u64> {
    // SAFETY: the kernel filled the control buffer of this message and stated its length.
    let mut control = unsafe { libc::CMSG_FIRSTHDR(message) };
    while !control.is_null() {
        // SAFETY: the macro only returns headers that lie within the buffer.
        let header = unsafe { *control };
        if header.cmsg_level == libc::SOL_SOCKET && header.cmsg_type == libc::SCM_TIMESTAMPNS {
            // SAFETY: a message of this type holds a `struct timespec`, perhaps not aligned.
            let time: libc::timespec = unsafe { libc::CMSG_DATA(control).cast::<libc::timespec>().read_unaligned() };
            let (seconds, nanoseconds) = (u64::try_from(time.tv_sec).ok()?, u64::try_from(time.tv_nsec).ok()?);
            return Some(seconds * NS_PER_S + nanoseconds);
        }
        // SAFETY: `control` is a header of this message.
        control = unsafe { libc::CMSG_NXTHDR(message, control) };
    }
    None
}

/// Frames to send, a batch at a time.
#[derive(Debug)]
pub(super) struct Outbox<'a> {
    socket: &'a PacketSocket,
    parcels: [(&'a [u8], Cut); BATCH],
    count: usize,
    /// Frames that the kernel refused.
    pub refused_count: u64,
}

impl<'a> Outbox<'a> {
    /// An empty outbox of `socket`.
    pub fn new(socket: &'a PacketSocket) -> Self {
        Self { socket, parcels: [(&[], Cut::default()); BATCH], count: 0, refused_count: 0 }
    }

    /// Sends what is cut out of `frame`, now or with those to come.
    pub fn put(&mut self, frame: &'a [u8], cut: Cut) {
        self.parcels[self.count] = (frame, cut);
        self.count += 1;
        if self.count == BATCH {
            self.send();
        }
    }

    /// Sends what waits.
    pub fn send(&mut self) {
        self.refused_count += send_batch(self.socket, &self.parcels[..self.count]);
        self.count = 0;
    }
}

fn send_batch(socket: &PacketSocket, parcels: &[(&[u8], Cut)]) -> u64 {
    let mut notes = [[0; vnet::BYTES]; BATCH];
    // SAFETY: all zeros is a valid `iovec` and a valid `mmsghdr`.
    let (mut parts, mut messages): ([[libc::iovec; 3]; BATCH], [libc::mmsghdr; BATCH]) = unsafe { (zeroed(), zeroed()) };
    for (index, (frame, cut)) in parcels.iter().enumerate() {
        notes[index] = cut.notes.to_bytes();
        let payload = &frame[cut.payload_at..cut.payload_at + cut.payload_bytes];
        let headers = &cut.headers[..cut.headers_bytes.min(HEADERS_BYTES)];
        parts[index] = [part(&notes[index]), part(headers), part(payload)];
        messages[index].msg_hdr.msg_iov = parts[index].as_mut_ptr();
        messages[index].msg_hdr.msg_iovlen = 3;
    }
    let (mut sent, mut refused) = (0, 0);
    while sent < parcels.len() {
        let count = libc::c_uint::try_from(parcels.len() - sent).unwrap_or(1);
        // SAFETY: the messages point to parts, and those to buffers, that live until this function returns; the
        // kernel only reads them.
        let done = unsafe { libc::sendmmsg(socket.as_raw_fd(), messages[sent..].as_mut_ptr(), count, 0) };
        match usize::try_from(done) {
            Ok(done) if done > 0 => sent += done,
            // The first of the rest was refused: it is counted and passed over.
            _ => (sent, refused) = (sent + 1, refused + 1),
        }
    }
    refused
}

/// A buffer that the kernel reads.
fn part(bytes: &[u8]) -> libc::iovec {
    libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() }
}

fn socket_length(bytes: usize) -> libc::socklen_t {
    libc::socklen_t::try_from(bytes).unwrap_or(0)
}

fn check(returned: libc::c_int) -> io::Result<libc::c_int> {
    if returned < 0 { Err(io::Error::last_os_error()) } else { Ok(returned) }
}

const _: () = assert!(CONTROL_BYTES >= size_of::<libc::cmsghdr>() + size_of::<libc::timespec>());
