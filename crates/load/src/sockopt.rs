//! Socket options that no crate in use wraps. With unsafe code.

use std::io;
use std::mem::size_of;
use std::os::fd::{AsFd, AsRawFd};

/// Sets an integer option of the TCP level.
pub fn set_tcp(socket: &impl AsFd, option: libc::c_int, value: libc::c_int) -> io::Result<()> {
    let length = libc::socklen_t::try_from(size_of::<libc::c_int>()).map_err(io::Error::other)?;
    // SAFETY: the kernel reads `length` bytes of `value`, which lives through the call.
    let status = unsafe {
        libc::setsockopt(socket.as_fd().as_raw_fd(), libc::IPPROTO_TCP, option, (&raw const value).cast::<libc::c_void>(), length)
    };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Reads an integer option of the TCP level.
pub fn get_tcp(socket: &impl AsFd, option: libc::c_int) -> io::Result<libc::c_int> {
    let mut value: libc::c_int = 0;
    let mut length = libc::socklen_t::try_from(size_of::<libc::c_int>()).map_err(io::Error::other)?;
    // SAFETY: the kernel writes at most `length` bytes of `value`, for which any bits are valid.
    let status = unsafe {
        libc::getsockopt(socket.as_fd().as_raw_fd(), libc::IPPROTO_TCP, option, (&raw mut value).cast::<libc::c_void>(), &raw mut length)
    };
    if status == 0 { Ok(value) } else { Err(io::Error::last_os_error()) }
}

/// Bounds the socket's pacing rate, in bytes a second; TCP paces itself where the queueing
/// discipline does not.
pub(crate) fn pace(socket: &impl AsFd, bytes_per_second: u64) -> io::Result<()> {
    let length = libc::socklen_t::try_from(size_of::<u64>()).unwrap_or(0);
    // SAFETY: the file descriptor is borrowed for the call, and the value is `length` bytes that are
    // only read.
    let status = unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_MAX_PACING_RATE,
            (&raw const bytes_per_second).cast(),
            length,
        )
    };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
