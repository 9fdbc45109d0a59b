//! The traffic that passes an end's device, with the kernel's stamps.

use std::fs::File;
use std::os::fd::{AsRawFd, OwnedFd};
use std::thread;

use nix::sched::{CloneFlags, setns};
use nix::sys::socket::sockopt::RcvBufForce;
use nix::sys::socket::{AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, recv, setsockopt, socket};

nix::ioctl_read_bad!(
    /// When the frame that was received last passed (`SIOCGSTAMPNS`, `asm-generic/sockios.h`).
    last_stamp,
    0x8907,
    libc::timespec
);

/// Room for frames that wait for [`Tap::drain`].
const BUFFER_BYTES: usize = 1 << 30;
/// Ethernet header in bytes.
const ETHERNET_BYTES: usize = 14;

/// A segment of TCP with payload, as large as it crossed the device.
#[derive(Debug, Clone, Copy)]
pub struct Observation {
    /// The kernel's stamp on `CLOCK_REALTIME`, in ns.
    pub realtime_ns: u64,
    /// Its first sequence number.
    pub sequence: u32,
    /// Its headers from Ethernet on, in bytes.
    pub header_bytes: u32,
    /// Its payload in bytes.
    pub payload_bytes: u32,
}

/// A packet socket on everything of a namespace.
#[derive(Debug)]
pub struct Tap {
    socket: OwnedFd,
}

impl Tap {
    /// Sees what passes from now on.
    pub fn open(netns: &str) -> Self {
        let netns = File::open(netns).expect("namespace");
        let open = move || {
            setns(netns, CloneFlags::CLONE_NEWNET).expect("enter");
            let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
            socket(AddressFamily::Packet, SockType::Raw, flags, SockProtocol::EthAll).expect("packet socket")
        };
        let socket = thread::spawn(open).join().expect("thread");
        setsockopt(&socket, RcvBufForce, &BUFFER_BYTES).expect("buffer");
        // The first question makes the kernel stamp; there is no answer yet.
        let _ = stamp_ns(&socket);
        Self { socket }
    }

    /// Takes what has passed so far.
    pub fn drain(&self, seen: &mut Vec<Observation>) {
        let mut head = [0; 128];
        while let Ok(length) = recv(self.socket.as_raw_fd(), &mut head, MsgFlags::MSG_TRUNC) {
            if let Some(segment) = segment(&head[..length.min(128)]) {
                seen.push(Observation { realtime_ns: stamp_ns(&self.socket), ..segment });
            }
        }
    }
}

fn stamp_ns(socket: &OwnedFd) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a `timespec`.
    let outcome = unsafe { last_stamp(socket.as_raw_fd(), &raw mut time) };
    let whole = |number: i64| u64::try_from(number).unwrap_or(0);
    outcome.map_or(0, |_| whole(time.tv_sec) * 1_000_000_000 + whole(time.tv_nsec))
}

/// A segment of TCP over IPv4 with payload, not yet stamped.
fn segment(head: &[u8]) -> Option<Observation> {
    let word = |at: usize| Some(u32::from(u16::from_be_bytes([*head.get(at)?, *head.get(at + 1)?])));
    if word(12)? != 0x0800 || *head.get(23)? != 6 {
        return None;
    }
    let network_bytes = usize::from(head[ETHERNET_BYTES] & 15) * 4;
    let tcp_at = ETHERNET_BYTES + network_bytes;
    let tcp_bytes = usize::from(head.get(tcp_at + 12)? >> 4) * 4;
    let header_bytes = u32::try_from(tcp_at + tcp_bytes).ok()?;
    let payload_bytes = (word(16)? + 14).checked_sub(header_bytes).filter(|&bytes| bytes > 0)?;
    Some(Observation { realtime_ns: 0, sequence: word(tcp_at + 4)? << 16 | word(tcp_at + 6)?, header_bytes, payload_bytes })
}
