//! A connection of a strand, as its thread sees it.

use std::os::fd::RawFd;

/// The descriptor of a link that is not open.
pub(super) const NO_DESCRIPTOR: RawFd = -1;

/// A connection of a strand, as the thread sees it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Link {
    pub descriptor: RawFd,
    /// The thread's own number of the strand.
    pub slot: u32,
    /// Events that epoll reports.
    pub(super) armed: u8,
    /// Events that the strand waits for.
    pub(super) wanted: u8,
    pub(super) is_watched: bool,
    /// Whether data may be there.
    pub(super) is_readable: bool,
    /// Whether its preamble has not been sent yet.
    pub(super) must_greet: bool,
    /// Whether calls wait in the kernel, though not for long.
    pub(super) is_blocking: bool,
    /// Whether nobody else holds the descriptor.
    pub(super) is_own: bool,
    /// Payload already read, in bytes.
    pub(super) credit_bytes: u32,
}

impl Link {
    /// A connection of this strand.
    pub fn new(descriptor: RawFd, slot: u32) -> Self {
        Self {
            descriptor,
            slot,
            armed: 0,
            wanted: 0,
            is_watched: false,
            is_readable: true,
            must_greet: false,
            is_blocking: false,
            is_own: false,
            credit_bytes: 0,
        }
    }

    /// One that is being opened here.
    pub fn connecting(descriptor: RawFd, slot: u32) -> Self {
        let mut link = Self::new(descriptor, slot);
        (link.must_greet, link.is_own, link.is_readable) = (true, true, false);
        link
    }

    /// One that the other end has opened, with payload that was read behind its preamble.
    pub fn arrived(descriptor: RawFd, slot: u32, credit_bytes: u32) -> Self {
        let mut link = Self::new(descriptor, slot);
        (link.credit_bytes, link.is_own) = (credit_bytes, true);
        link
    }
}
