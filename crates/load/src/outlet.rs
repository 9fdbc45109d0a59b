//! The call through which payload leaves: send(2), with or without copying, sendfile(2) or
//! splice(2). With unsafe code.

use nix::fcntl::{FcntlArg, SpliceFFlags, fcntl, splice, vmsplice};
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::sendfile::sendfile64;
use nix::unistd::{pipe, write};
use schema::trial::{SendCall, SocketSpec};
use socket2::Socket;
use std::io::{self, IoSlice};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::time::{Duration, Instant};

use crate::sockopt;
use crate::zero_copy::ZeroCopy;

/// Time for which the kernel may keep the last bytes that it sends without copying.
pub(crate) const LAST_COMPLETIONS: Duration = Duration::from_secs(2);
/// Time of one wait until it is done with some, in ms.
const COMPLETIONS_MS: u8 = 10;

/// The way that payload leaves. The payload is the same memory each time.
pub enum Outlet {
    /// By send(2).
    Send,
    /// By send(2), without copying.
    ZeroCopy,
    /// From a file in memory.
    Sendfile(OwnedFd),
    /// Through a pipe, which may hold some of it.
    Splice {
        /// Its end to read from.
        from: OwnedFd,
        /// Its end to write to.
        into: OwnedFd,
        /// Payload in it, in bytes.
        held_bytes: usize,
    },
}

impl Outlet {
    /// The outlet that a trial asks for, whose calls take up to all of `source`.
    ///
    /// # Errors
    /// There is no room for a file in memory, or for a pipe.
    pub fn new(spec: &SocketSpec, source: &[u8]) -> io::Result<Self> {
        Ok(match spec.send_call {
            SendCall::Send if spec.zero_copy => Outlet::ZeroCopy,
            SendCall::Send => Outlet::Send,
            SendCall::Sendfile => Outlet::Sendfile(file_of(source)?),
            SendCall::Splice => {
                let (from, into) = pipe()?;
                // A pipe of 64 KB is what there is where a larger one is not allowed; calls are shorter then.
                let wanted = i32::try_from(source.len()).unwrap_or(i32::MAX);
                let _ = fcntl(&into, FcntlArg::F_SETPIPE_SZ(wanted));
                Outlet::Splice { from, into, held_bytes: 0 }
            }
        })
    }

    /// True if its calls take flags; otherwise they wait where the socket's do.
    pub fn takes_flags(&self) -> bool {
        matches!(self, Outlet::Send | Outlet::ZeroCopy)
    }

    /// Sends up to all of `payload`, which begins where the source does; returns how much was taken.
    ///
    /// # Errors
    /// As the call.
    #[inline]
    pub fn send(&mut self, socket: &impl AsFd, payload: &[u8], flags: i32) -> io::Result<usize> {
        match self {
            Outlet::Send => send(socket, payload, flags),
            Outlet::ZeroCopy => send(socket, payload, flags | libc::MSG_ZEROCOPY),
            Outlet::Sendfile(file) => Ok(sendfile64(socket, &*file, Some(&mut 0), payload.len())?),
            Outlet::Splice { from, into, held_bytes } => {
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
}

/// Lets go of what a cork holds back, and holds back what follows; that is two system calls.
///
/// # Errors
/// The socket is gone.
pub(crate) fn let_go(socket: &impl AsFd) -> io::Result<()> {
    sockopt::CORK.set(socket, 0)?;
    sockopt::CORK.set(socket, 1)
}

/// The way that the payload of one connection leaves, in calls that wait.
pub struct Stream {
    outlet: Outlet,
    is_corked: bool,
    zero_copy: ZeroCopy,
}

impl Stream {
    /// As the trial asks.
    ///
    /// # Errors
    /// As [`Outlet::new`].
    pub fn new(spec: &SocketSpec, source: &[u8]) -> io::Result<Self> {
        Ok(Self { outlet: Outlet::new(spec, source)?, is_corked: spec.cork, zero_copy: ZeroCopy::default() })
    }

    /// As [`Outlet::send`].
    ///
    /// # Errors
    /// As the call.
    #[inline]
    pub fn send(&mut self, socket: &Socket, payload: &[u8]) -> io::Result<usize> {
        loop {
            match self.outlet.send(socket, payload, 0) {
                Ok(count) => {
                    if matches!(self.outlet, Outlet::ZeroCopy) {
                        self.zero_copy.on_sent(socket)?;
                    }
                    return Ok(count);
                }
                // The kernel holds as much as it may (net.core.optmem_max): what it is done with first.
                Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) && matches!(self.outlet, Outlet::ZeroCopy) => {
                    self.zero_copy.await_some(socket, COMPLETIONS_MS)?;
                }
                Err(error) => return Err(error),
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
        let_go(socket).map(|()| 2)
    }

    /// Waits, but not long, until the kernel is done with all that it sent without copying.
    ///
    /// # Errors
    /// The socket is gone.
    pub fn finish(&mut self, socket: &Socket) -> io::Result<Option<ZeroCopy>> {
        if !matches!(self.outlet, Outlet::ZeroCopy) {
            return Ok(None);
        }
        let end = Instant::now() + LAST_COMPLETIONS;
        while self.zero_copy.is_awaited() && Instant::now() < end {
            self.zero_copy.await_some(socket, COMPLETIONS_MS)?;
        }
        Ok(Some(self.zero_copy))
    }
}

#[inline]
fn send(socket: &impl AsFd, payload: &[u8], flags: i32) -> io::Result<usize> {
    let descriptor = socket.as_fd().as_raw_fd();
    // SAFETY: the kernel reads at most the length of `payload`; what it reads later, without copying, is
    // the trial's source, which nobody changes.
    let count = unsafe { libc::send(descriptor, payload.as_ptr().cast(), payload.len(), flags | libc::MSG_NOSIGNAL) };
    usize::try_from(count).map_err(|_| io::Error::last_os_error())
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

/// Receives up to `length` bytes that the kernel throws away (tcp(7), `MSG_TRUNC`); returns how many.
///
/// # Errors
/// As recv(2).
pub fn receive_nothing(socket: &Socket, length: usize) -> io::Result<usize> {
    // SAFETY: with MSG_TRUNC a TCP socket writes nothing, so that no buffer is passed.
    let count = unsafe { libc::recv(socket.as_raw_fd(), std::ptr::null_mut(), length, libc::MSG_TRUNC) };
    usize::try_from(count).map_err(|_| io::Error::last_os_error())
}

/// Bytes that are there to be read (`SIOCINQ`, tcp(7)).
///
/// # Errors
/// The socket is gone.
pub fn waiting_bytes(socket: &Socket) -> io::Result<usize> {
    let mut bytes: libc::c_int = 0;
    // SAFETY: the kernel writes an int.
    let status = unsafe { libc::ioctl(socket.as_raw_fd(), libc::FIONREAD, &raw mut bytes) };
    if status == 0 { Ok(usize::try_from(bytes).unwrap_or(0)) } else { Err(io::Error::last_os_error()) }
}

/// Bytes to send that no layer can predict; real memory, not the kernel's shared zero page.
pub(crate) fn pattern(length: u32) -> Vec<u8> {
    let mut state = 0x9e37_79b9_u32;
    (0..length)
        .map(|_| {
            // xorshift32 (Marsaglia 2003).
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            state.to_le_bytes()[0]
        })
        .collect()
}
