//! The kernel's reports about a socket's sends on its error queue. With unsafe code.

use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsFd, AsRawFd};

use crate::stamps;

/// Who reports it, of include/uapi/linux/errqueue.h: time stamps, and sends without copying.
pub const OF_STAMPS: u8 = 4;
pub const OF_ZERO_COPY: u8 = 5;

/// A message of the queue (`struct sock_extended_err`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct QueuedMessage {
    /// Who reports it.
    pub origin: u8,
    /// Detail of the report.
    pub code: u8,
    /// An error of the socket itself; 0 where it is none.
    pub errno: u32,
    /// Meaning by origin.
    pub info: u32,
    /// Meaning by origin.
    pub data: u32,
    /// The kernel's time stamp, in ns of `CLOCK_REALTIME`.
    pub stamp_ns: Option<u64>,
}

/// The next message; none when there is none.
///
/// # Errors
/// The socket is gone.
pub fn next(socket: &impl AsFd) -> io::Result<Option<QueuedMessage>> {
    let mut control = [0u64; 32];
    // SAFETY: all bits zero are a valid msghdr: no name, no buffers.
    let mut header: libc::msghdr = unsafe { zeroed() };
    header.msg_control = control.as_mut_ptr().cast();
    header.msg_controllen = size_of::<[u64; 32]>();
    let flags = libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT;
    // SAFETY: the header points to control data of the length it says, which live through the call.
    let received = unsafe { libc::recvmsg(socket.as_fd().as_raw_fd(), &raw mut header, flags) };
    if received < 0 {
        let error = io::Error::last_os_error();
        return if error.kind() == io::ErrorKind::WouldBlock { Ok(None) } else { Err(error) };
    }
    // SAFETY: the kernel has written the control data; the macros stay within their length, and the
    // structure is read wherever it stands.
    unsafe {
        let mut message = libc::CMSG_FIRSTHDR(&raw const header);
        while !message.is_null() {
            let kind = ((*message).cmsg_level, (*message).cmsg_type);
            if kind == (libc::SOL_IP, libc::IP_RECVERR) || kind == (libc::SOL_IPV6, libc::IPV6_RECVERR) {
                let queued = libc::CMSG_DATA(message).cast::<libc::sock_extended_err>().read_unaligned();
                return Ok(Some(QueuedMessage {
                    origin: queued.ee_origin,
                    code: queued.ee_code,
                    errno: queued.ee_errno,
                    info: queued.ee_info,
                    data: queued.ee_data,
                    stamp_ns: stamps::of_message(&header),
                }));
            }
            message = libc::CMSG_NXTHDR(&raw const header, message);
        }
    }
    Ok(Some(QueuedMessage::default()))
}
