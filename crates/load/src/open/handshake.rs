//! The way that a connection presents the trial's token: the connecting host's calls, and the peers that have not
//! presented it yet.

use nix::sys::epoll::{Epoll, EpollCreateFlags};
use probe::clock::mono_ns;
use schema::trial::TrialSpec;
use socket2::Socket;
use std::io::{self, ErrorKind, Read};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tls::{Hosts, Session};

use super::{ListenPlace, tokens_of};
use crate::LoadError;
use crate::preamble::{self, Tokens, WELCOME};
use crate::secure::{self, Calls};

/// Who calls, where to, and how it introduces itself.
pub(super) struct OpeningSide<'a> {
    pub spec: &'a TrialSpec,
    pub place: &'a ListenPlace,
    pub tokens: Tokens,
    pub preamble_bytes: usize,
    /// Both sides of TLS, where the trial has it.
    pub hosts: Option<Arc<Hosts>>,
    /// Reports answers.
    pub epoll: Epoll,
}

impl<'a> OpeningSide<'a> {
    /// Whoever is to make this trial's calls.
    ///
    /// # Errors
    /// No file is left, or the trial has no token.
    pub fn new(spec: &'a TrialSpec, place: &'a ListenPlace) -> Result<Self, LoadError> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC);
        let epoll = epoll.map_err(|error| LoadError::host("waiting for answers", error.into(), ""))?;
        Ok(Self {
            spec,
            place,
            tokens: tokens_of(spec)?,
            preamble_bytes: preamble::length(&spec.socket),
            hosts: secure::hosts_of(spec)?,
            epoll,
        })
    }
}

/// True if the other host has let a connection go. A listening host that unauthenticated peers crowd may do so to one of
/// the trial's whose token it has not read yet.
pub(super) fn is_hang_up(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset | ErrorKind::ConnectionAborted | ErrorKind::BrokenPipe)
}

/// Somebody who has not said yet who it is.
pub(super) struct Unknown {
    pub socket: Socket,
    pub since: Instant,
    pub opening_mono_ns: u64,
    have: usize,
    pub bytes: Vec<u8>,
    /// Where it began with TLS.
    pub tls: Option<Box<Session>>,
    has_begun: bool,
}

/// The outcome of an arrival after a look at its bytes.
pub(super) enum Heard {
    NotYet,
    Known(u32),
    Unauthenticated,
}

impl Unknown {
    /// One that has just come, by a socket that does not block.
    pub fn new(socket: Socket, preamble_bytes: usize) -> Self {
        Self {
            socket,
            since: Instant::now(),
            opening_mono_ns: mono_ns(),
            have: 0,
            bytes: vec![0; preamble_bytes],
            tls: None,
            has_begun: false,
        }
    }

    /// Reads all that is there, but nothing behind the preamble; it may begin with TLS where there are hosts for that.
    pub fn hear(&mut self, tokens: &Tokens, hosts: Option<&Hosts>) -> Heard {
        while self.have < self.bytes.len() {
            match self.read(hosts) {
                Ok(0) => return Heard::Unauthenticated,
                Ok(count) => self.have += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Heard::NotYet,
                Err(_) => return Heard::Unauthenticated,
            }
        }
        preamble::decode(tokens.of(self.tls.is_some()), &self.bytes).map_or(Heard::Unauthenticated, Heard::Known)
    }

    /// Has the connection reset when it is closed: its end is to know that nobody takes it, not wait for more.
    pub fn reset(&self) {
        // A Unix socket needs none: what is sent to one that is closed fails.
        let _ = self.socket.set_linger(Some(Duration::ZERO));
    }

    fn read(&mut self, hosts: Option<&Hosts>) -> io::Result<usize> {
        if let (Some(hosts), false) = (hosts, self.has_begun) {
            if secure::begins_with_tls(&self.socket)? {
                self.tls = Some(Box::new(hosts.listening()?));
            }
            self.has_begun = true;
        }
        let bytes = &mut self.bytes[self.have..];
        let Some(session) = &mut self.tls else { return (&self.socket).read(bytes) };
        let mut calls = Calls::new(&self.socket, libc::MSG_DONTWAIT);
        session.handshake(&mut calls)?;
        session.read(&mut calls, bytes)
    }

    /// Welcomes it; whether that has gone.
    pub fn welcome(&mut self) -> bool {
        let welcome = vec![WELCOME; self.bytes.len()];
        // A welcome is less than any empty send buffer, so it does not block.
        match &mut self.tls {
            Some(session) => session.write(&mut Calls::new(&self.socket, libc::MSG_DONTWAIT), &welcome).is_ok(),
            None => self.socket.send_with_flags(&welcome, libc::MSG_NOSIGNAL).is_ok(),
        }
    }
}
