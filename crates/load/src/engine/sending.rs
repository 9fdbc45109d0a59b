//! The ways that a thread sends otherwise than by a plain send(2): corked, without copying, from a file in memory, or
//! through a pipe. A thread has one outlet for all its users, for the payload is the same.

use schema::trial::SocketSpec;
use std::io;

use crate::outlet::Outlet;
use crate::zero_copy::ZeroCopy;

/// The way that a thread sends.
pub(crate) struct Sending {
    pub(super) outlet: Outlet,
    pub(super) is_corked: bool,
    /// By the thread's own numbers of its users.
    pub(super) zero_copies: Box<[ZeroCopy]>,
}

impl Sending {
    /// As the trial asks; none: by a plain send(2).
    ///
    /// # Errors
    /// As [`Outlet::new`].
    pub fn new(spec: &SocketSpec, source: &[u8], strands_count: usize) -> io::Result<Option<Box<Self>>> {
        let outlet = Outlet::new(spec, source)?;
        if matches!(outlet, Outlet::Send) && !spec.cork {
            return Ok(None);
        }
        let counted = if matches!(outlet, Outlet::ZeroCopy) { strands_count } else { 0 };
        Ok(Some(Box::new(Self { outlet, is_corked: spec.cork, zero_copies: vec![ZeroCopy::default(); counted].into() })))
    }

    /// Flags of each send of a ring; none where a ring cannot send so.
    pub fn ring_flags(&self) -> Option<i32> {
        match self.outlet {
            Outlet::Send => Some(0),
            Outlet::ZeroCopy => Some(libc::MSG_ZEROCOPY),
            Outlet::Sendfile(_) | Outlet::Splice { .. } => None,
        }
    }

    /// The outcome of a user's sends without copying.
    pub fn zero_copy(&self, index: usize) -> Option<ZeroCopy> {
        self.zero_copies.get(index).copied()
    }
}
