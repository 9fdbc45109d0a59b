//! System calls of the engine that no crate in use wraps as it needs them. With unsafe code.

use socket2::Socket;
use std::io;
use std::mem::{ManuallyDrop, zeroed};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;

/// Events taken from the kernel at a time.
const EVENTS_AT_ONCE: usize = 256;

/// Something to read, or the end of the stream.
pub const IN: u32 = 1;
/// Room to write.
pub const OUT: u32 = 4;
/// Only one of several threads that wait is woken.
pub const EXCLUSIVE: u32 = 1 << 28;
/// Something failed, or a message is in the error queue; reported whether asked for or not.
pub const FAILED: u32 = 8;
/// That, or closed both ways.
pub const BROKEN: u32 = FAILED | 16;

/// An epoll instance.
#[derive(Debug)]
pub struct Epoll {
    descriptor: OwnedFd,
    events: Box<[libc::epoll_event]>,
    /// True if the kernel supports waiting times in ns: `epoll_pwait2`, Linux 5.11.
    is_exact: bool,
}

impl Epoll {
    /// Makes one.
    ///
    /// # Errors
    /// No file is left.
    pub fn new() -> io::Result<Self> {
        // SAFETY: no memory is passed.
        let descriptor = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
        if descriptor < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel has just given this descriptor, and nobody else has it.
        let descriptor = unsafe { OwnedFd::from_raw_fd(descriptor) };
        let events = vec![libc::epoll_event { events: 0, u64: 0 }; EVENTS_AT_ONCE].into();
        Ok(Self { descriptor, events, is_exact: true })
    }

    /// Watches a descriptor for `interest`, level-triggered; `is_known` says whether it already did.
    ///
    /// # Errors
    /// The kernel's.
    pub fn watch(&self, descriptor: RawFd, interest: u32, key: u64, is_known: bool) -> io::Result<()> {
        let operation = if is_known { libc::EPOLL_CTL_MOD } else { libc::EPOLL_CTL_ADD };
        let mut event = libc::epoll_event { events: interest, u64: key };
        // SAFETY: the kernel reads `event`, which lives through the call.
        let status = unsafe { libc::epoll_ctl(self.descriptor.as_raw_fd(), operation, descriptor, &raw mut event) };
        if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// Watches a descriptor no more.
    pub fn forget(&self, descriptor: RawFd) {
        // SAFETY: no memory is passed; a descriptor that is not watched is refused.
        unsafe { libc::epoll_ctl(self.descriptor.as_raw_fd(), libc::EPOLL_CTL_DEL, descriptor, ptr::null_mut()) };
    }

    /// Waits for events at most this long; `None`: without end. Returns how many there are.
    ///
    /// # Errors
    /// The kernel's, but no interruption.
    pub fn wait(&mut self, timeout_ns: Option<u64>) -> io::Result<usize> {
        let count = if timeout_ns.is_none_or(|timeout_ns| timeout_ns == 0) || !self.is_exact {
            // Rounded up: waking early would mean waiting again.
            let milliseconds = timeout_ns.map_or(-1, |ns| i32::try_from(ns.div_ceil(1_000_000)).unwrap_or(i32::MAX));
            let most = i32::try_from(self.events.len()).unwrap_or(0);
            // SAFETY: the kernel writes at most `most` events, which `events` holds.
            unsafe { libc::epoll_wait(self.descriptor.as_raw_fd(), self.events.as_mut_ptr(), most, milliseconds) }
        } else {
            let timeout = timespec(timeout_ns.unwrap_or(0));
            // SAFETY: as above; the kernel reads `timeout`, and no signal mask is passed.
            let count = unsafe {
                libc::syscall(
                    libc::SYS_epoll_pwait2,
                    self.descriptor.as_raw_fd(),
                    self.events.as_mut_ptr(),
                    self.events.len(),
                    &raw const timeout,
                    ptr::null::<libc::sigset_t>(),
                    0usize,
                )
            };
            i32::try_from(count).unwrap_or(-1)
        };
        if count >= 0 {
            return Ok(usize::try_from(count).unwrap_or(0));
        }
        let error = io::Error::last_os_error();
        match error.raw_os_error() {
            Some(libc::EINTR) => Ok(0),
            Some(libc::ENOSYS) if self.is_exact => {
                self.is_exact = false;
                self.wait(timeout_ns)
            }
            _ => Err(error),
        }
    }

    /// To wait for.
    pub fn descriptor(&self) -> RawFd {
        self.descriptor.as_raw_fd()
    }

    /// The kind of event `index` of the last wait, and whom it is about.
    #[inline]
    pub fn event(&self, index: usize) -> (u32, u64) {
        let event = self.events[index];
        (event.events, event.u64)
    }
}

fn timespec(ns: u64) -> libc::timespec {
    // SAFETY: all bits zero are a valid timespec.
    let mut timeout: libc::timespec = unsafe { zeroed() };
    timeout.tv_sec = (ns / 1_000_000_000).try_into().unwrap_or(libc::time_t::MAX);
    timeout.tv_nsec = (ns % 1_000_000_000).try_into().unwrap_or(0);
    timeout
}

/// Wakes a thread that waits for events.
#[derive(Debug)]
pub struct Waker(OwnedFd);

impl Waker {
    /// Makes one.
    ///
    /// # Errors
    /// No file is left.
    pub fn new() -> io::Result<Self> {
        // SAFETY: no memory is passed.
        let descriptor = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
        if descriptor < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel has just given this descriptor, and nobody else has it.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(descriptor) }))
    }

    /// Wakes.
    pub fn wake(&self) {
        let increment = 1u64;
        // SAFETY: the kernel reads 8 bytes of `increment`. A full counter wakes as well.
        unsafe { libc::write(self.0.as_raw_fd(), (&raw const increment).cast(), 8) };
    }

    /// Has been woken.
    pub fn clear(&self) {
        let mut count = 0u64;
        // SAFETY: the kernel writes 8 bytes into `count`.
        unsafe { libc::read(self.0.as_raw_fd(), (&raw mut count).cast(), 8) };
    }

    /// To wait for.
    pub fn descriptor(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

impl AsFd for Waker {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Sends from `bytes` without waiting.
#[inline]
pub fn send(descriptor: RawFd, bytes: &[u8], flags: i32) -> io::Result<usize> {
    // SAFETY: the kernel reads at most the length of `bytes`.
    let moved = unsafe { libc::send(descriptor, bytes.as_ptr().cast(), bytes.len(), flags | libc::MSG_NOSIGNAL) };
    usize::try_from(moved).map_err(|_| io::Error::last_os_error())
}

/// Receives into `bytes`.
#[inline]
pub fn receive(descriptor: RawFd, bytes: &mut [u8], flags: i32) -> io::Result<usize> {
    // SAFETY: the kernel writes at most the length of `bytes`, whatever its content was. With
    // MSG_TRUNC on a stream it writes nothing (tcp(7)).
    let moved = unsafe { libc::recv(descriptor, bytes.as_mut_ptr().cast(), bytes.len(), flags) };
    usize::try_from(moved).map_err(|_| io::Error::last_os_error())
}

/// Lets the calling thread's timers be as exact as the clock is; the default gathers them in 50 µs.
pub fn sharpen_timers() {
    // SAFETY: no memory is passed.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1 as libc::c_ulong) };
}

/// Turns delayed ACK off until the kernel finds the connection interactive again (tcp(7)).
pub fn quick_ack(descriptor: RawFd) -> io::Result<()> {
    // SAFETY: the descriptor stays open through the call; one that is not is refused by the kernel.
    crate::options::quick_ack(&unsafe { BorrowedFd::borrow_raw(descriptor) })
}

/// Lets calls on a descriptor return instead of waiting, or wait again.
pub fn set_nonblocking(descriptor: RawFd, is_nonblocking: bool) -> io::Result<()> {
    let value = libc::c_int::from(is_nonblocking);
    // SAFETY: the kernel reads an int.
    let status = unsafe { libc::ioctl(descriptor, libc::FIONBIO, &raw const value) };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Lets connect(2) choose this port and no other (`IP_LOCAL_PORT_RANGE`, Linux 6.3).
pub fn choose_port(descriptor: RawFd, port: u16) -> io::Result<()> {
    // Of linux/in.h; the upper half is the last port, the lower the first.
    const IP_LOCAL_PORT_RANGE: libc::c_int = 51;
    let range = u32::from(port) << 16 | u32::from(port);
    let length = libc::socklen_t::try_from(size_of::<u32>()).unwrap_or(0);
    // SAFETY: the kernel reads `length` bytes of `range`, which lives through the call.
    let status = unsafe { libc::setsockopt(descriptor, libc::IPPROTO_IP, IP_LOCAL_PORT_RANGE, (&raw const range).cast(), length) };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Takes a connection from a port's queue; it does not block.
pub fn accept(listener: RawFd) -> io::Result<OwnedFd> {
    let flags = libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: no address is asked for.
    let descriptor = unsafe { libc::accept4(listener, ptr::null_mut(), ptr::null_mut(), flags) };
    if descriptor < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just given this descriptor, and nobody else has it.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

/// Sends two pieces in one call, without waiting.
pub fn send_two(descriptor: RawFd, first: &[u8], second: &[u8], flags: i32) -> io::Result<usize> {
    let piece = |bytes: &[u8]| libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
    let mut pieces = [piece(first), piece(second)];
    // SAFETY: all bits zero are a valid msghdr.
    let mut message: libc::msghdr = unsafe { zeroed() };
    message.msg_iov = pieces.as_mut_ptr();
    message.msg_iovlen = pieces.len() as _;
    // SAFETY: the kernel reads the pieces, which live through the call.
    let sent = unsafe { libc::sendmsg(descriptor, &raw const message, flags | libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL) };
    usize::try_from(sent).map_err(|_| io::Error::last_os_error())
}

/// Sends from a file, without waiting where the socket does not.
pub fn send_file(descriptor: RawFd, file: RawFd, offset: u64, bytes: usize) -> io::Result<usize> {
    let mut offset = libc::off_t::try_from(offset).map_err(io::Error::other)?;
    // SAFETY: the kernel reads and writes `offset`, which lives through the call.
    let sent = unsafe { libc::sendfile(descriptor, file, &raw mut offset, bytes) };
    usize::try_from(sent).map_err(|_| io::Error::last_os_error())
}

/// Closes both directions of a connection that somebody else holds too.
pub fn shut_down(descriptor: RawFd) {
    // SAFETY: no memory is passed.
    unsafe { libc::shutdown(descriptor, libc::SHUT_RDWR) };
}

/// The descriptor of a link for calls that ask for no number.
pub fn borrowed<'a>(descriptor: RawFd) -> BorrowedFd<'a> {
    // SAFETY: a link's descriptor is open as long as the link has it; one that is not is refused by the
    // kernel.
    unsafe { BorrowedFd::borrow_raw(descriptor) }
}

/// The descriptor of a link, to be closed: a link's own descriptor is nobody else's.
pub fn owned(descriptor: RawFd) -> OwnedFd {
    // SAFETY: the link that held it came from an `OwnedFd` and is gone.
    unsafe { OwnedFd::from_raw_fd(descriptor) }
}

/// The same descriptor as a socket, which must not outlive it.
pub fn socket_of(descriptor: &OwnedFd) -> ManuallyDrop<Socket> {
    // SAFETY: it is a socket, and as it is never dropped here it closes nothing.
    ManuallyDrop::new(unsafe { Socket::from_raw_fd(descriptor.as_raw_fd()) })
}
