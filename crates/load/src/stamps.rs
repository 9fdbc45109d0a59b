//! Time stamps by the kernel, in software (`Documentation/networking/timestamping.rst`). With unsafe
//! code.
//!
//! The stamp of what leaves is taken just before the device has it, and comes over the socket's error
//! queue; that of what arrives is taken when the device hands it over, and comes with the payload. Both
//! are of `CLOCK_REALTIME`, of which only differences are used. Only stamps of
//! hardware include what a device itself adds.

use std::io;
use std::mem::zeroed;
use std::net::UdpSocket;
use std::os::fd::{AsFd, AsRawFd};

/// Flags of `include/uapi/linux/net_tstamp.h`.
const TX_SOFTWARE: libc::c_uint = 1 << 1;
const RX_SOFTWARE: libc::c_uint = 1 << 3;
const SOFTWARE: libc::c_uint = 1 << 4;
/// Stamps of what was sent are numbered: datagrams by their number, bytes of TCP by their offset.
const OPT_ID: libc::c_uint = 1 << 7;
/// They come without the payload.
const OPT_TSONLY: libc::c_uint = 1 << 11;
/// Offsets count from the byte that is written next, not from the first unacknowledged (Linux 6.2).
const OPT_ID_TCP: libc::c_uint = 1 << 16;
/// Room for a stamp and what comes with it, in words of 8 bytes.
const CONTROL_WORDS: usize = 16;

/// Asks for stamps of all that a socket sends and receives from now on; what was sent before must have
/// been acknowledged, for kernels before 6.2 count from there. A TCP socket must have begun to connect.
///
/// # Errors
/// The kernel has none.
pub fn ask(socket: &impl AsFd, is_tcp: bool) -> io::Result<()> {
    let flags = TX_SOFTWARE | RX_SOFTWARE | SOFTWARE | OPT_ID | OPT_TSONLY;
    match set(socket, if is_tcp { flags | OPT_ID_TCP } else { flags }) {
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => set(socket, flags),
        outcome => outcome,
    }
}

/// Asks for stamps of what arrives.
///
/// # Errors
/// The kernel has none.
pub fn ask_of_arrivals(socket: &impl AsFd) -> io::Result<()> {
    set(socket, RX_SOFTWARE | SOFTWARE)
}

/// Keeps the kernel stamping arrivals at all: it begins a moment after the first socket has asked, and
/// ends with the last.
///
/// # Errors
/// There is no socket left.
pub fn keep_awake() -> io::Result<UdpSocket> {
    let socket = UdpSocket::bind(("127.0.0.1", 0)).or_else(|_| UdpSocket::bind(("::", 0)))?;
    ask_of_arrivals(&socket).map(|()| socket)
}

fn set(socket: &impl AsFd, flags: libc::c_uint) -> io::Result<()> {
    let length = libc::socklen_t::try_from(size_of_val(&flags)).map_err(io::Error::other)?;
    let descriptor = socket.as_fd().as_raw_fd();
    // SAFETY: the kernel reads `length` bytes of `flags`, which lives through the call.
    let status = unsafe { libc::setsockopt(descriptor, libc::SOL_SOCKET, libc::SO_TIMESTAMPING, (&raw const flags).cast(), length) };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Receives into `bytes`, with the stamp of the last of them; `None` where it has none.
///
/// # Errors
/// As recvmsg(2).
#[inline]
pub fn receive(socket: &impl AsFd, bytes: &mut [u8], flags: i32) -> io::Result<(usize, Option<u64>)> {
    let mut control = [0u64; CONTROL_WORDS];
    let mut piece = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
    // SAFETY: all bits zero are a valid msghdr.
    let mut header: libc::msghdr = unsafe { zeroed() };
    header.msg_iov = &raw mut piece;
    header.msg_iovlen = 1;
    header.msg_control = control.as_mut_ptr().cast();
    header.msg_controllen = size_of_val(&control) as _;
    // SAFETY: the kernel writes at most the lengths of `bytes` and of `control`, which live through the
    // call.
    let moved = unsafe { libc::recvmsg(socket.as_fd().as_raw_fd(), &raw mut header, flags) };
    let moved = usize::try_from(moved).map_err(|_| io::Error::last_os_error())?;
    Ok((moved, of_message(&header)))
}

/// The stamp by software that came with a message.
pub fn of_message(header: &libc::msghdr) -> Option<u64> {
    // SAFETY: the header's control data are those that the kernel has just written, of the length it says,
    // and the macros stay within it; of three timespec the first is read wherever it stands.
    unsafe {
        let mut control = libc::CMSG_FIRSTHDR(header);
        while !control.is_null() {
            if (*control).cmsg_level == libc::SOL_SOCKET && (*control).cmsg_type == libc::SCM_TIMESTAMPING {
                let stamp = libc::CMSG_DATA(control).cast::<libc::timespec>().read_unaligned();
                let ns = u64::try_from(stamp.tv_sec).ok()? * 1_000_000_000 + u64::try_from(stamp.tv_nsec).ok()?;
                return (ns != 0).then_some(ns);
            }
            control = libc::CMSG_NXTHDR(header, control);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    #[test]
    fn a_datagram_is_stamped_when_it_arrives_and_not_when_it_is_read() {
        const WAIT: Duration = Duration::from_millis(20);
        let receiver = UdpSocket::bind("127.0.0.1:0").expect("loopback");
        let sender = UdpSocket::bind("127.0.0.1:0").expect("loopback");
        sender.connect(receiver.local_addr().expect("bound")).expect("connects");
        receiver.set_read_timeout(Some(Duration::from_secs(1))).expect("a socket");
        ask_of_arrivals(&receiver).expect("Linux");
        // The kernel begins to stamp a little later than it is asked to.
        let end = Instant::now() + Duration::from_secs(20);
        loop {
            sender.send(b"datagram").expect("sends");
            std::thread::sleep(WAIT);
            assert!(Instant::now() < end, "no stamp came");
            // What neighbors send may crowd a datagram out on the loopback.
            let Ok((moved, stamp_ns)) = receive(&receiver, &mut [0; 100], 0) else { continue };
            assert_eq!(moved, 8);
            if let Some(stamp_ns) = stamp_ns {
                let age_ns = probe::clock::realtime_ns().saturating_sub(stamp_ns);
                assert!(u128::from(age_ns) >= WAIT.as_nanos(), "{age_ns}");
                return;
            }
        }
    }
}
