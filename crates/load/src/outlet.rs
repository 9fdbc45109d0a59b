//! The call through which payload leaves: send(2), with or without copying, sendfile(2) or
//! splice(2). With unsafe code.

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, SpliceFFlags, fcntl, splice, vmsplice};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::sendfile::sendfile64;
use nix::unistd::{pipe, write};
use schema::trial::{SendCall, SocketSpec};
use socket2::Socket;
use std::io::{self, IoSlice};
use std::mem::{size_of, zeroed};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::time::{Duration, Instant};

use crate::sockopt;

/// How long the kernel may keep the last bytes that it sends without copying.
const LAST_COMPLETIONS: Duration = Duration::from_secs(2);
/// Sends without copying between looks at what the kernel is done with.
const COMPLETIONS_EVERY: u64 = 32;

/// How payload leaves through one socket. The payload is the same memory each time.
pub struct Outlet {
    way: Way,
    is_corked: bool,
}

enum Way {
    Send,
    ZeroCopy(ZeroCopy),
    Sendfile(OwnedFd),
    Splice { from: OwnedFd, into: OwnedFd, held_bytes: usize },
}

/// Sends without copying, and what became of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ZeroCopy {
    /// Calls.
    pub sent_count: u64,
    /// Calls that the kernel is done with.
    pub completed_count: u64,
    /// Of them, those that it copied after all.
    pub copied_count: u64,
}

impl Outlet {
    /// The outlet that a trial asks for, whose calls take up to all of `source`.
    ///
    /// # Errors
    /// There is no room for a file in memory, or for a pipe.
    pub fn new(spec: &SocketSpec, source: &[u8]) -> io::Result<Self> {
        let way = match spec.send_call {
            SendCall::Send if spec.zero_copy => Way::ZeroCopy(ZeroCopy::default()),
            SendCall::Send => Way::Send,
            SendCall::Sendfile => Way::Sendfile(file_of(source)?),
            SendCall::Splice => {
                let (from, into) = pipe()?;
                // A pipe of 64 KB is what there is where a larger one is not allowed; calls are shorter then.
                let wanted = i32::try_from(source.len()).unwrap_or(i32::MAX);
                let _ = fcntl(&into, FcntlArg::F_SETPIPE_SZ(wanted));
                Way::Splice { from, into, held_bytes: 0 }
            }
        };
        Ok(Self { way, is_corked: spec.cork })
    }

    /// Sends up to all of `payload`, which begins where the source does; returns how much was taken.
    ///
    /// # Errors
    /// As the call.
    #[inline]
    pub fn send(&mut self, socket: &Socket, payload: &[u8]) -> io::Result<usize> {
        match &mut self.way {
            Way::Send => socket.send_with_flags(payload, libc::MSG_NOSIGNAL),
            Way::ZeroCopy(counts) => counts.send(socket, payload),
            Way::Sendfile(file) => Ok(sendfile64(socket, &*file, Some(&mut 0), payload.len())?),
            Way::Splice { from, into, held_bytes } => {
                if *held_bytes == 0 {
                    *held_bytes = vmsplice(&*into, &[IoSlice::new(payload)], SpliceFFlags::empty())?;
                }
                let length = payload.len().min(*held_bytes);
                let taken = splice(&*from, None, socket, None, length, SpliceFFlags::empty())?;
                *held_bytes -= taken;
                Ok(taken)
            }
        }
    }

    /// A write operation is over: lets go of what the cork holds back. Returns the system calls.
    ///
    /// # Errors
    /// The socket is gone.
    #[inline]
    pub fn on_written(&self, socket: &Socket) -> io::Result<u64> {
        if !self.is_corked {
            return Ok(0);
        }
        sockopt::CORK.set(socket, 0)?;
        sockopt::CORK.set(socket, 1)?;
        Ok(2)
    }

    /// Waits, but not long, until the kernel is done with all that it sent without copying.
    ///
    /// # Errors
    /// The socket is gone.
    pub fn finish(&mut self, socket: &Socket) -> io::Result<Option<ZeroCopy>> {
        let Way::ZeroCopy(counts) = &mut self.way else { return Ok(None) };
        let end = Instant::now() + LAST_COMPLETIONS;
        while counts.completed_count < counts.sent_count && Instant::now() < end {
            counts.await_some(socket)?;
        }
        Ok(Some(*counts))
    }
}

/// A file in memory that holds the payload.
fn file_of(source: &[u8]) -> io::Result<OwnedFd> {
    let file = memfd_create(c"whyperf-payload", MFdFlags::MFD_CLOEXEC)?;
    let mut left = source;
    while !left.is_empty() {
        let count = write(&file, left)?;
        left = &left[count..];
    }
    Ok(file)
}

impl ZeroCopy {
    fn send(&mut self, socket: &Socket, payload: &[u8]) -> io::Result<usize> {
        loop {
            match socket.send_with_flags(payload, libc::MSG_NOSIGNAL | libc::MSG_ZEROCOPY) {
                Ok(count) => {
                    self.sent_count += 1;
                    if self.sent_count.is_multiple_of(COMPLETIONS_EVERY) {
                        self.take(socket)?;
                    }
                    return Ok(count);
                }
                // The kernel holds as much as it may (net.core.optmem_max): what it is done with first.
                Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => self.await_some(socket)?,
                Err(error) => return Err(error),
            }
        }
    }

    /// Waits a moment for the kernel to be done with something.
    fn await_some(&mut self, socket: &Socket) -> io::Result<()> {
        // Errors are waited for without being asked for.
        match poll(&mut [PollFd::new(socket.as_fd(), PollFlags::empty())], PollTimeout::from(10u8)) {
            Ok(_) | Err(Errno::EINTR) => self.take(socket),
            Err(error) => Err(error.into()),
        }
    }

    /// Takes what the kernel tells of it (`Documentation/networking/msg_zerocopy.rst`).
    fn take(&mut self, socket: &Socket) -> io::Result<()> {
        /// Of include/uapi/linux/errqueue.h.
        const ORIGIN_ZERO_COPY: u8 = 5;
        const CODE_COPIED: u8 = 1;
        while let Some(told) = next_error(socket)? {
            if told.ee_errno != 0 || told.ee_origin != ORIGIN_ZERO_COPY {
                continue;
            }
            // A range of calls, which counts them modulo 2^32.
            let count = u64::from(told.ee_data.wrapping_sub(told.ee_info)) + 1;
            self.completed_count += count;
            if told.ee_code == CODE_COPIED {
                self.copied_count += count;
            }
        }
        Ok(())
    }
}

/// The next message of the socket's error queue.
fn next_error(socket: &Socket) -> io::Result<Option<libc::sock_extended_err>> {
    let mut control = [0u64; 32];
    // SAFETY: all bits zero are a valid msghdr: no name, no buffers.
    let mut header: libc::msghdr = unsafe { zeroed() };
    header.msg_control = control.as_mut_ptr().cast();
    header.msg_controllen = size_of::<[u64; 32]>();
    // SAFETY: the header points to control data of the length it says, which live through the call.
    let received = unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut header, libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT) };
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
                return Ok(Some(libc::CMSG_DATA(message).cast::<libc::sock_extended_err>().read_unaligned()));
            }
            message = libc::CMSG_NXTHDR(&raw const header, message);
        }
    }
    Ok(None)
}

/// Receives up to `length` bytes that the kernel throws away (tcp(7), `MSG_TRUNC`); returns how many.
///
/// # Errors
/// As recv(2).
pub fn receive_nothing(socket: &Socket, length: usize) -> io::Result<usize> {
    // SAFETY: with MSG_TRUNC a TCP socket writes nothing, so that no buffer is passed.
    let count = unsafe { libc::recv(socket.as_raw_fd(), std::ptr::null_mut(), length, libc::MSG_TRUNC) };
    usize::try_from(count).map_err(|_| io::Error::last_os_error())
}
