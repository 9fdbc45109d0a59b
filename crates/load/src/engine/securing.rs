//! The differences where the thread itself encrypts and decrypts what its connections carry.
//!
//! A session may have to read before it can send, as while it opens; so its user is woken by whatever its connection
//! waits for.

use probe::clock::mono_ns;
use schema::workload::Transport;
use std::io;
use std::os::fd::AsRawFd;
use tls::Session;
use workload::user::Direction;

use super::connections::{Link, PendingConnection};
use super::interest::bits;
use super::ledger::Kind;
use super::opening::{GREETING_WAIT_NS, is_dropped};
use super::sys::{self, IN, OUT};
use super::worker::Worker;
use crate::preamble::{self, LATER_BYTES};
use crate::secure::{self, Calls};

/// Bytes that a session of a user reads at a time: a few records.
pub(super) const AHEAD_BYTES: usize = 32 << 10;

impl Worker {
    /// True if the thread encrypts what a connection carries.
    #[inline]
    pub(super) fn is_secured(&self, link: usize) -> bool {
        self.plan.transport == Transport::Tls && self.sessions.get(link).is_some_and(Option::is_some)
    }

    /// Opens a session on a connection that is being opened.
    pub(super) fn begin_session(&mut self, link: usize) -> io::Result<()> {
        if let Some(hosts) = &self.shared.openings.hosts {
            self.sessions[link] = Some(Box::new(hosts.connecting()?));
        }
        Ok(())
    }

    /// A user's connection has a session, or the kernel its keys.
    pub(super) fn settle_session(&mut self, index: usize, link: usize, session: Box<Session>) -> io::Result<()> {
        let socket = sys::borrowed(self.links[link].descriptor);
        let (facts, session) = secure::settle(session, &socket, self.plan.socket_spec.ktls, self.plan.role).map_err(io::Error::other)?;
        if let Some(view) = self.tls_views.get(index) {
            // Those of the first connection stay.
            let _ = view.set(facts);
        }
        self.sessions[link] = session.map(|mut session| {
            session.read_ahead(AHEAD_BYTES);
            session
        });
        Ok(())
    }

    pub(super) fn send_secured(&mut self, index: usize, row: Option<usize>, link: usize, ask: usize) -> io::Result<()> {
        let flags = self.waiting(index, link);
        let Some(session) = &mut self.sessions[link] else { return Ok(()) };
        let socket = sys::borrowed(self.links[link].descriptor);
        match session.write(&mut Calls::new(&socket, flags), &self.buffers.source[..ask]) {
            Ok(moved) => self.on_sent(index, row, link, ask, Ok(moved)),
            Err(error) => {
                self.count_call(index, row);
                self.refused_secured(error, index, link, Direction::Send)
            }
        }
    }

    pub(super) fn receive_secured(&mut self, index: usize, row: Option<usize>, link: usize, bytes: u64) -> io::Result<()> {
        let flags = self.waiting(index, link);
        let ask = usize::try_from(bytes).unwrap_or(usize::MAX).min(self.buffers.sink.len());
        let Link { is_readable, is_blocking, descriptor, .. } = self.links[link];
        let Some(session) = &mut self.sessions[link] else { return Ok(()) };
        if !is_readable && !is_blocking && !session.may_have_more() {
            return self.refused_secured(io::ErrorKind::WouldBlock.into(), index, link, Direction::Receive);
        }
        let socket = sys::borrowed(descriptor);
        match session.read(&mut Calls::new(&socket, flags), &mut self.buffers.sink[..ask]) {
            Ok(moved) => {
                let is_more = session.may_have_more();
                self.on_received(index, row, link, ask, Ok(moved))?;
                self.links[link].is_readable |= is_more;
                Ok(())
            }
            Err(error) => {
                self.count_call(index, row);
                self.refused_secured(error, index, link, Direction::Receive)
            }
        }
    }

    /// Opens the session of a connection, and presents the preamble in it.
    pub(super) fn greet_secured(&mut self, index: usize, row: Option<usize>, link: usize) -> io::Result<()> {
        let (number, ordinal) = (self.slots[index].user.number(), self.slots[index].connects_count);
        let preamble = preamble::encode_later(&self.shared.openings.token, number, ordinal);
        let Some(session) = &mut self.sessions[link] else { return Err(io::Error::other("a connection without a session")) };
        let socket = sys::borrowed(self.links[link].descriptor);
        let mut calls = Calls::new(&socket, libc::MSG_DONTWAIT);
        match session.handshake(&mut calls).and_then(|()| session.write(&mut calls, &preamble)) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotConnected => return Err(io::ErrorKind::WouldBlock.into()),
            Err(error) if is_dropped(&error) && mono_ns().saturating_sub(self.slots[index].opening_ns) < GREETING_WAIT_NS => {
                return Err(self.connect_again(index, link)?);
            }
            Err(error) => return Err(error),
        }
        self.now_ns = mono_ns();
        self.links[link].must_greet = false;
        let slot = &mut self.slots[index];
        slot.connects_count = slot.connects_count.wrapping_add(1);
        if let Some(row) = row {
            self.tally.latencies.lock().record_since(row, Kind::Connect, slot.opening_ns, self.now_ns);
        }
        match self.sessions[link].take() {
            Some(session) => self.settle_session(index, link, session),
            None => Ok(()),
        }
    }

    /// A call that moved nothing: the user waits for what its session waits for.
    pub(super) fn refused_secured(&mut self, error: io::Error, index: usize, link: usize, direction: Direction) -> io::Result<()> {
        match error.kind() {
            io::ErrorKind::WouldBlock => {}
            io::ErrorKind::Interrupted => return Ok(()),
            _ => return Err(error),
        }
        let Some(session) = &self.sessions[link] else { return Ok(()) };
        let mut events = 0;
        if session.has_unsent() {
            events |= OUT;
        }
        if events == 0 || direction == Direction::Receive {
            events |= IN;
        }
        self.slots[index].user.on_blocked(direction);
        self.links[link].is_readable &= direction == Direction::Send;
        self.links[link].wanted |= bits(events);
        self.arm(link, events)
    }

    /// Goes on with a pending connection's session, and reads what has come of its preamble. Returns the connection
    /// if more is missing.
    pub(super) fn read_secured_preamble(&mut self, mut pending: PendingConnection) -> Option<PendingConnection> {
        match self.hear_secured(&mut pending) {
            Ok(()) => {
                self.welcome(pending, 0);
                None
            }
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => Some(pending),
            Err(_) => {
                self.on_unauthenticated();
                None
            }
        }
    }

    fn hear_secured(&self, pending: &mut PendingConnection) -> io::Result<()> {
        let mut session = match (pending.tls.take(), &self.shared.openings.hosts) {
            (Some(session), _) => session,
            (None, Some(hosts)) => Box::new(hosts.listening()?),
            (None, None) => return Err(io::Error::other("no TLS in this trial")),
        };
        let socket = sys::borrowed(pending.socket.as_raw_fd());
        let mut calls = Calls::new(&socket, libc::MSG_DONTWAIT);
        let heard = session.handshake(&mut calls).and_then(|()| {
            while pending.have < LATER_BYTES {
                match session.read(&mut calls, &mut pending.bytes[pending.have..])? {
                    0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                    count => pending.have += count,
                }
            }
            Ok(())
        });
        pending.tls = Some(session);
        heard
    }

    /// Says that nothing more comes over a connection that is about to be closed.
    pub(super) fn end_session(&mut self, link: usize) {
        if let Some(mut session) = self.sessions.get_mut(link).and_then(Option::take) {
            let socket = sys::borrowed(self.links[link].descriptor);
            if !session.is_handshaking() {
                // One that is gone needs no word.
                let _ = session.close(&mut Calls::new(&socket, libc::MSG_DONTWAIT));
            }
        }
    }

    /// True if the other host has closed a connection: its session has come to its end.
    pub(super) fn is_over(&mut self, link: usize) -> io::Result<bool> {
        let socket = sys::borrowed(self.links[link].descriptor);
        let Some(session) = &mut self.sessions[link] else { return Ok(true) };
        match session.read(&mut Calls::new(&socket, libc::MSG_DONTWAIT), &mut self.buffers.sink[..1]) {
            Ok(count) => Ok(count == 0),
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => Ok(true),
            Err(error) => Err(error),
        }
    }
}
