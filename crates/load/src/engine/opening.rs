//! Connections that a workload opens and closes while it runs.
//!
//! The end that connects sends a preamble together with its first payload in one call and waits for
//! no welcome ([`crate::preamble`]): neither a call nor a round trip is added to what is measured. Where
//! something else comes first, the preamble goes alone, for the other host waits for it.

use probe::clock::mono_ns;
use schema::workload::Transport;
use socket2::{SockAddr, SockRef, Socket};
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, IntoRawFd, RawFd};
use std::time::Duration;
use workload::user::Direction;

use super::connections::{Link, NO_DESCRIPTOR};
use super::ledger::Kind;
use super::sys;
use super::worker::Worker;
use crate::open;
use crate::options;
use crate::preamble::{self, LATER_BYTES};

/// Time that a thread waits until a port is free, or a queue has room, when none is.
const PORT_WAIT_NS: u64 = 5_000_000_000;
/// Ports in a row that are tried before others are.
const PORTS_TRIED: u32 = 64;
/// Time that a thread sleeps when none of them is free.
const PORT_PAUSE: Duration = Duration::from_millis(2);
/// Time for which a connection is opened again that is dropped before its preamble has gone.
pub(super) const GREETING_WAIT_NS: u64 = 5_000_000_000;
/// Time that it sleeps when the other host has to take connections first.
const QUEUE_PAUSE: Duration = Duration::from_micros(50);

impl Worker {
    /// Opens a connection. Where payload follows at once, that it stands shows when that is taken, with
    /// the preamble in front; otherwise it is open when the preamble is taken.
    pub(super) fn connect(&mut self, index: usize, row: Option<usize>, connection: u32) -> io::Result<()> {
        if self.plan.transport == Transport::Udp {
            return self.connect_flow(index, row, connection);
        }
        let link = (self.slots[index].first_link + connection) as usize;
        let slot = &mut self.slots[index];
        if !std::mem::take(&mut slot.is_greeting) {
            self.begin_link(index, link)?;
        }
        let is_secured = self.is_secured(link);
        if is_secured || !self.slots[index].user.greets_by_payload(&self.plan.script) {
            let greeted = if is_secured { self.greet_secured(index, row, link) } else { self.greet(index, row, link, 0).map(drop) };
            match greeted {
                Ok(()) => {}
                Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
                    self.slots[index].is_greeting = true;
                    if is_secured {
                        return self.refused_secured(error, index, link, Direction::Send);
                    }
                    return self.refused(error, index, link, Direction::Send);
                }
                Err(error) => {
                    self.close(link);
                    return Err(error);
                }
            }
        }
        self.slots[index].user.on_done(self.now_ns);
        Ok(())
    }

    /// Makes a socket for a link, and begins to connect it.
    pub(super) fn begin_link(&mut self, index: usize, link: usize) -> io::Result<()> {
        let user = self.slots[index].user.number();
        // Flows of one user go to different ports: one takes few of them.
        let place = if self.plan.transport == Transport::Udp {
            user.wrapping_add(u32::try_from(link).unwrap_or(0).wrapping_sub(self.slots[index].first_link))
        } else {
            user
        };
        let address = self.shared.openings.place.address_of(place)?;
        let begin_ns = mono_ns();
        let mut refusals_count = 0;
        let socket = loop {
            let domain = self.shared.openings.place.domain();
            let socket = options::prepare(domain, self.plan.transport, &self.plan.socket_spec, self.plan.role).map_err(io::Error::other)?;
            sys::set_nonblocking(socket.as_raw_fd(), true)?;
            self.cork(&socket)?;
            match self.begin_connect(&socket, &address) {
                Ok(()) => break socket,
                Err(error) if error.raw_os_error() == Some(libc::EADDRNOTAVAIL) => {
                    refusals_count += 1;
                    if mono_ns().saturating_sub(begin_ns) > PORT_WAIT_NS {
                        return Err(ports_used_up(&error));
                    }
                    // The port that comes next was closed first: when a few in a row are kept, so are those behind.
                    if refusals_count % PORTS_TRIED == 0 {
                        self.opening.ports.take_others();
                    }
                    if refusals_count % (2 * PORTS_TRIED) == 0 {
                        std::thread::sleep(PORT_PAUSE);
                    }
                }
                // The queue of a Unix socket is full, and no event reports when there is room.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock && mono_ns().saturating_sub(begin_ns) < PORT_WAIT_NS => {
                    std::thread::sleep(QUEUE_PAUSE);
                }
                Err(error) => return Err(error),
            }
        };
        if self.events.ring.is_some() {
            // A ring waits only for sockets whose calls may.
            sys::set_nonblocking(socket.as_raw_fd(), false)?;
            self.slots[index].other_calls_count += 1;
        }
        let slot = self.links[link].slot;
        self.links[link] = Link::connecting(socket.into_raw_fd(), slot);
        self.begin_session(link)?;
        self.ask_for_stamps(link);
        self.slots[index].opening_ns = begin_ns;
        self.slots[index].other_calls_count += 2;
        self.now_ns = mono_ns();
        Ok(())
    }

    /// Connects from the next port, and from the address that the trial asks for, or on the loopback from the next one.
    fn begin_connect(&mut self, socket: &Socket, address: &SockAddr) -> io::Result<()> {
        if self.plan.transport != Transport::Unix {
            let source = if let Some(source) = options::source(&self.plan.socket_spec) {
                Some(SockAddr::from(SocketAddr::new(source, 0)))
            } else {
                self.opening.ports.source(address)
            };
            if let Some(port) = self.opening.ports.next_port()
                && sys::choose_port(socket.as_raw_fd(), port).is_err()
            {
                self.opening.ports.is_known = false;
            }
            if let Some(source) = source {
                options::bind_without_port(socket, &source)?;
            }
        }
        open::start(socket, address)
    }

    /// Sends the preamble, and payload behind it, as the first bytes of a connection. Returns how much
    /// payload has gone.
    pub(super) fn greet(&mut self, index: usize, row: Option<usize>, link: usize, payload: usize) -> io::Result<usize> {
        let moved = self.greet_with(index, row, link, payload, 0)?;
        if payload == 0 && self.sending.is_some() {
            self.uncork(index, self.links[link].descriptor)?;
        }
        Ok(moved)
    }

    /// The same, with flags of the call.
    pub(super) fn greet_with(&mut self, index: usize, row: Option<usize>, link: usize, payload: usize, flags: i32) -> io::Result<usize> {
        let slot = &mut self.slots[index];
        let preamble = preamble::encode_later(&self.shared.openings.token, slot.user.number(), slot.connects_count);
        let descriptor = self.links[link].descriptor;
        let sent = match sys::send_two(descriptor, &preamble, &self.buffers.source[..payload], flags) {
            Err(error) if self.plan.transport == Transport::Sctp && is_associating(descriptor, &error) => {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            Err(error) if is_dropped(&error) && mono_ns().saturating_sub(slot.opening_ns) < GREETING_WAIT_NS => {
                return Err(self.connect_again(index, link)?);
            }
            sent => sent?,
        };
        self.now_ns = mono_ns();
        let Some(moved) = sent.checked_sub(LATER_BYTES) else {
            return Err(io::Error::other("the kernel took less than a preamble"));
        };
        self.links[link].must_greet = false;
        if let Some(wire) = &mut self.wire {
            wire.pass_over(link, LATER_BYTES);
        }
        slot.connects_count = slot.connects_count.wrapping_add(1);
        if let Some(row) = row {
            self.tally.latencies.lock().record_since(row, Kind::Connect, slot.opening_ns, self.now_ns);
        }
        Ok(moved)
    }

    /// Opens a connection once more that the other host dropped before it had the preamble, as it does with the one
    /// that has been silent longest when too many are pending. Returns that the call has to wait.
    pub(super) fn connect_again(&mut self, index: usize, link: usize) -> io::Result<io::Error> {
        let opening_ns = self.slots[index].opening_ns;
        self.close(link);
        self.begin_link(index, link)?;
        self.slots[index].opening_ns = opening_ns;
        Ok(io::ErrorKind::WouldBlock.into())
    }

    /// Takes the connection that the other host has opened for this user, if it is there.
    pub(super) fn accept(&mut self, index: usize, row: Option<usize>, connection: u32) -> io::Result<()> {
        if self.plan.transport == Transport::Udp {
            return self.accept_flow(index, row, connection);
        }
        let slot = &mut self.slots[index];
        let wanted = u64::from(slot.connects_count);
        let Some(position) = slot.arrivals.iter().position(|arrival| arrival.ordinal == wanted) else {
            slot.user.on_blocked(Direction::Receive);
            return Ok(());
        };
        let arrival = slot.arrivals.swap_remove(position);
        slot.connects_count = slot.connects_count.wrapping_add(1);
        let link = (slot.first_link + connection) as usize;
        self.links[link] = Link::arrived(arrival.descriptor.into_raw_fd(), self.links[link].slot, arrival.credit_bytes);
        slot.user.on_done(self.now_ns);
        self.ask_for_stamps(link);
        match arrival.tls {
            Some(session) => self.settle_session(index, link, session),
            None => Ok(()),
        }
    }

    /// Closes a connection.
    pub(super) fn disconnect(&mut self, index: usize, row: Option<usize>, connection: u32) -> io::Result<()> {
        if self.plan.transport == Transport::Udp {
            self.close_flow(index, connection);
            return Ok(());
        }
        let link = self.link(index, connection)?;
        if self.links[link].must_greet {
            // Nothing has gone over it, but the other host waits for it.
            match self.greet(index, row, link, 0) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return self.refused(error, index, link, Direction::Send),
                outcome => drop(outcome?),
            }
        }
        self.close(link);
        self.slots[index].other_calls_count += 1;
        self.slots[index].user.on_done(self.now_ns);
        Ok(())
    }

    /// Closes a connection when the other host has.
    pub(super) fn hear(&mut self, index: usize, connection: u32) -> io::Result<()> {
        if self.plan.transport == Transport::Udp {
            // The end of a flow of datagrams is not to be heard.
            self.close_flow(index, connection);
            return Ok(());
        }
        let link = self.link(index, connection)?;
        if self.links[link].credit_bytes > 0 {
            return Err(io::Error::other("the other host sent more than the workload says"));
        }
        if self.is_secured(link) {
            self.slots[index].other_calls_count += 1;
            match self.is_over(link) {
                Ok(true) => {}
                Ok(false) => return Err(io::Error::other("the other host sent more than the workload says")),
                Err(error) => return self.refused_secured(error, index, link, Direction::Receive),
            }
            self.close(link);
            self.slots[index].user.on_done(self.now_ns);
            return Ok(());
        }
        if !self.links[link].is_readable {
            return self.refused(io::ErrorKind::WouldBlock.into(), index, link, Direction::Receive);
        }
        self.slots[index].other_calls_count += 1;
        match sys::receive(self.links[link].descriptor, &mut self.buffers.sink[..1], libc::MSG_DONTWAIT) {
            Ok(0) => {}
            Ok(_) => return Err(io::Error::other("the other host sent more than the workload says")),
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => {}
            Err(error) => return self.refused(error, index, link, Direction::Receive),
        }
        self.close(link);
        self.slots[index].user.on_done(self.now_ns);
        Ok(())
    }

    /// Closes all that nobody else holds.
    pub(super) fn close_own(&mut self) {
        for link in 0..self.links.len() {
            if self.links[link].is_own {
                self.close(link);
            }
        }
    }

    /// Closes what a link holds; epoll forgets it with the last descriptor.
    pub(super) fn close(&mut self, link: usize) {
        if self.sending.is_some() && self.links[link].descriptor != NO_DESCRIPTOR {
            self.give_up_completions(link);
        }
        self.end_session(link);
        let slot = self.links[link].slot;
        let old = std::mem::replace(&mut self.links[link], Link::new(NO_DESCRIPTOR, slot));
        if old.is_own {
            drop(sys::owned(old.descriptor));
        } else if old.descriptor != NO_DESCRIPTOR {
            // It was open before the start, and whoever samples it still has it.
            self.events.epoll.forget(old.descriptor);
            sys::shut_down(old.descriptor);
        }
    }
}

/// True if the other host has closed the connection that was to be written to.
pub(super) fn is_dropped(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe)
}

/// True if an association is not there yet: its socket refuses what is to be sent, as if it were over (`sctp_id2assoc`,
/// `net/sctp/socket.c`), but has not failed.
fn is_associating(descriptor: RawFd, error: &io::Error) -> bool {
    let socket = sys::borrowed(descriptor);
    error.kind() == io::ErrorKind::BrokenPipe && SockRef::from(&socket).take_error().is_ok_and(|failed| failed.is_none())
}

fn ports_used_up(error: &io::Error) -> io::Error {
    io::Error::new(
        error.kind(),
        "no port was free to connect from for 5 s: closed connections keep theirs for a minute (TIME_WAIT); widen net.ipv4.ip_local_port_range, \
         or set net.ipv4.tcp_tw_reuse=1 on the connecting host",
    )
}
