//! Several datagrams in one receive call. With unsafe code.

use socket2::Socket;
use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::AsRawFd;

use crate::stamps;

/// Control data of a message in 8-byte words: room for what `UDP_GRO` reports, and for a time stamp.
const CONTROL_WORDS: usize = 16;

/// Buffers of several messages, made once.
pub struct Messages {
    /// All buffers, one behind the other; the kernel's structures point into it.
    bytes: Vec<u8>,
    each: usize,
    /// The vectors that the headers point to.
    _vectors: Vec<libc::iovec>,
    headers: Vec<libc::mmsghdr>,
    controls: Vec<[u64; CONTROL_WORDS]>,
}

impl Messages {
    /// `count` buffers of `each` bytes, at least 1 of each.
    pub fn new(count: usize, each: usize) -> Self {
        let mut bytes = vec![0u8; count * each];
        let mut vectors: Vec<libc::iovec> =
            bytes.chunks_exact_mut(each).map(|buffer| libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: each }).collect();
        let controls = vec![[0u64; CONTROL_WORDS]; count];
        let headers = vectors
            .iter_mut()
            .map(|vector| {
                // SAFETY: all bits zero are a valid mmsghdr: no name, no buffers, no control data.
                let mut header: libc::mmsghdr = unsafe { zeroed() };
                header.msg_hdr.msg_iov = vector;
                header.msg_hdr.msg_iovlen = 1;
                header
            })
            .collect();
        Self { bytes, each, _vectors: vectors, headers, controls }
    }

    /// Waits for a message and takes those that are there; returns how many.
    ///
    /// # Errors
    /// As recvmmsg(2).
    pub fn receive(&mut self, socket: &Socket) -> io::Result<usize> {
        for (header, control) in self.headers.iter_mut().zip(&mut self.controls) {
            header.msg_hdr.msg_control = control.as_mut_ptr().cast();
            header.msg_hdr.msg_controllen = size_of::<[u64; CONTROL_WORDS]>();
        }
        let count = libc::c_uint::try_from(self.headers.len()).map_err(io::Error::other)?;
        // SAFETY: the headers point to vectors, and these to buffers, of the length they say; so do the
        // control data. All of them live in `self`, which does not move them; no timeout is passed.
        let received =
            unsafe { libc::recvmmsg(socket.as_raw_fd(), self.headers.as_mut_ptr(), count, libc::MSG_WAITFORONE, std::ptr::null_mut()) };
        usize::try_from(received).map_err(|_| io::Error::last_os_error())
    }

    /// The kernel's stamp of a received message, in ns of `CLOCK_REALTIME`.
    pub fn stamp_ns(&self, position: usize) -> Option<u64> {
        stamps::of_message(&self.headers[position].msg_hdr)
    }

    /// A received message, and the size of the datagrams that were merged into it.
    pub fn received(&self, position: usize) -> (&[u8], Option<usize>) {
        let header = &self.headers[position];
        let length = (header.msg_len as usize).min(self.each);
        (&self.bytes[position * self.each..][..length], merged_size(&header.msg_hdr))
    }
}

/// Reads what the kernel says of merged datagrams.
fn merged_size(header: &libc::msghdr) -> Option<usize> {
    // SAFETY: the header's control data are those that the kernel has just written, of the length it
    // says, and the macros stay within it; an integer is read wherever it stands.
    unsafe {
        let mut control = libc::CMSG_FIRSTHDR(header);
        while !control.is_null() {
            if (*control).cmsg_level == libc::SOL_UDP && (*control).cmsg_type == libc::UDP_GRO {
                return usize::try_from(libc::CMSG_DATA(control).cast::<libc::c_int>().read_unaligned()).ok();
            }
            control = libc::CMSG_NXTHDR(header, control);
        }
    }
    None
}
