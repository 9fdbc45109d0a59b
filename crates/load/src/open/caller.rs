//! What the connecting end has for all of its calls, whatever they go over.

use nix::sys::epoll::{Epoll, EpollCreateFlags};
use schema::trial::TrialSpec;

use super::{Place, token_of};
use crate::LoadError;
use crate::preamble::{self, Token};

/// Who calls, where to, and how it introduces itself.
pub(super) struct Caller<'a> {
    pub spec: &'a TrialSpec,
    pub place: &'a Place,
    pub token: Token,
    pub preamble_bytes: usize,
    /// Tells of answers.
    pub epoll: Epoll,
}

impl<'a> Caller<'a> {
    /// Whoever is to make this trial's calls.
    ///
    /// # Errors
    /// No file is left, or the trial has no token.
    pub fn new(spec: &'a TrialSpec, place: &'a Place) -> Result<Self, LoadError> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC);
        let epoll = epoll.map_err(|error| LoadError::host("waiting for answers", error.into(), ""))?;
        Ok(Self { spec, place, token: token_of(spec)?, preamble_bytes: preamble::length(&spec.socket), epoll })
    }
}
