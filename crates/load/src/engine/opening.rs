//! Connections that a workload opens and closes while it runs.
//!
//! The end that connects sends a preamble together with its first payload in one call and waits for
//! no welcome ([`crate::preamble`]): neither a call nor a round trip is added to what is measured. Where
//! something else comes first, the preamble goes alone, for the other end waits for it. Any
//! thread of the other end takes the connection from the port's queue and hands it to the thread of
//! the strand. Who does not present the token is dropped and counted.

use probe::clock::mono_ns;
use schema::workload::Transport;
use socket2::{SockAddr, Socket};
use std::fs;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, IntoRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use workload::strand::Direction;

use super::orders::{Arrival, Order};
use super::sys::{self, IN};
use super::worker::{Link, NO_DESCRIPTOR, Worker};
use crate::open::Place;
use crate::options;
use crate::preamble::{self, LATER_BYTES, Token};

/// How long a connection may take to present its token.
const PREAMBLE_TIMEOUT: Duration = Duration::from_secs(5);
/// Connections without a token that a thread keeps waiting at most; more are strangers.
const MOST_NEWCOMERS: usize = 1024;
/// Payload read together with a preamble at most, in bytes.
const MOST_CREDIT_BYTES: usize = 4096;
/// Connections taken from a port's queue before other strands get their turn.
const ACCEPTS_AT_ONCE: usize = 64;
/// Source addresses on the loopback: 127.0.0.1 to 127.0.0.16.
const MOST_SOURCES: u8 = 16;

/// How long a thread waits until a port is free, when none is.
const PORT_WAIT_NS: u64 = 5_000_000_000;
/// Ports in a row that are tried before others are.
const PORTS_TRIED: u32 = 64;
/// How long a thread sleeps when none of them is free.
const PORT_PAUSE: std::time::Duration = std::time::Duration::from_millis(2);

/// Where one thread connects from, by turns.
///
/// Left to itself, connect(2) looks for a free port from a random one on, and passes over all that
/// closed connections still keep (`TIME_WAIT`): with most of 28 000 ports kept that is a third of a
/// connection's cost. By turns, the port that comes next is the one that was closed first. Ports at an
/// even distance from the first are taken, as connect(2) itself prefers, and the others left to
/// bind(2), unless the even ones are used up. On the loopback every round of ports has another source
/// address, for the kernel takes a kept port again after a second at the earliest; elsewhere 28 000
/// connections a second to one port are the most there can be.
#[derive(Debug)]
pub(crate) struct Ports {
    first: u32,
    last: u32,
    /// Distance of two ports that this thread takes.
    step: u32,
    /// The thread's first distance from the first port.
    offset: u32,
    next: u32,
    /// The same of the ports at odd distances, while those at even ones are taken, and the other way.
    next_other: u32,
    /// Whether the kernel lets a socket choose.
    is_known: bool,
    /// Last octet of the address on the loopback.
    source: u8,
}

impl Ports {
    /// Those of this thread among so many.
    pub fn of_host(thread: u32, threads: u32) -> Self {
        let range = fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").unwrap_or_default();
        let mut bounds = range.split_ascii_whitespace().filter_map(|bound| bound.parse::<u16>().ok());
        Self::new(u32::from(bounds.next().unwrap_or(0)), u32::from(bounds.next().unwrap_or(0)), thread, threads)
    }

    fn new(first: u32, last: u32, thread: u32, threads: u32) -> Self {
        let (step, offset) = (2 * threads.max(1), 2 * thread);
        let is_known = first > 0 && last.saturating_sub(first) > step;
        Self { first, last, step, offset, next: first + offset, next_other: first + offset + 1, is_known, source: 1 }
    }

    fn turn(&mut self) -> Option<u16> {
        if !self.is_known {
            return None;
        }
        let port = self.next;
        self.next += self.step;
        if self.next > self.last {
            self.next = self.first + self.offset;
            self.source = self.source % MOST_SOURCES + 1;
        }
        u16::try_from(port).ok()
    }

    /// None of the ports that come next is free: takes the odd ones, or the even ones again.
    fn take_others(&mut self) {
        if self.is_known {
            std::mem::swap(&mut self.next, &mut self.next_other);
            self.offset ^= 1;
        }
    }

    /// The address to connect from where the destination is on the loopback; none: as the kernel says.
    fn source(&self, address: &SockAddr) -> Option<SockAddr> {
        let SocketAddr::V4(destination) = address.as_socket()? else { return None };
        let is_other = destination.ip().is_loopback() && self.source > 1;
        is_other.then(|| SocketAddr::from(([127, 0, 0, self.source], 0)).into())
    }
}

/// What opening a connection needs.
pub(crate) struct Openings {
    pub token: Token,
    pub place: Place,
    pub listeners: Vec<Socket>,
    /// Connections that did not present the token.
    pub strangers: AtomicU64,
}

/// A connection that has not presented the token yet.
pub(crate) struct Newcomer {
    socket: OwnedFd,
    since_ns: u64,
    have: usize,
    bytes: [u8; LATER_BYTES],
}

/// Which of an event's keys means what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Key {
    /// The thread has been woken.
    Waker,
    /// Somebody is at a port.
    Listener(usize),
    /// A newcomer has said something.
    Newcomer(usize),
    /// A strand's connection.
    Link(usize),
}

const LISTENER: u64 = 1 << 62;
const NEWCOMER: u64 = 1 << 61;

impl Key {
    pub fn code(self) -> u64 {
        match self {
            Key::Waker => u64::MAX,
            Key::Listener(index) => LISTENER | index as u64,
            Key::Newcomer(index) => NEWCOMER | index as u64,
            Key::Link(index) => index as u64,
        }
    }

    #[inline]
    pub fn decode(code: u64) -> Self {
        let index = usize::try_from(code & u64::from(u32::MAX)).unwrap_or(usize::MAX);
        if code < NEWCOMER {
            Key::Link(index)
        } else if code == u64::MAX {
            Key::Waker
        } else if code & LISTENER != 0 {
            Key::Listener(index)
        } else {
            Key::Newcomer(index)
        }
    }
}

impl Worker {
    /// Opens a connection. Where payload follows at once, that it stands shows when that is taken, with
    /// the preamble in front; otherwise it is open when the preamble is taken.
    pub(super) fn connect(&mut self, index: usize, row: Option<usize>, connection: u32) -> io::Result<()> {
        let link = (self.slots[index].first_link + connection) as usize;
        let slot = &mut self.slots[index];
        if !std::mem::take(&mut slot.is_greeting) {
            self.begin_link(index, link)?;
        }
        if !self.slots[index].strand.greets_by_payload(&self.script) {
            match self.greet(index, row, link, 0) {
                Ok(_) => {}
                Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
                    self.slots[index].is_greeting = true;
                    return self.refused(error, index, link, Direction::Send);
                }
                Err(error) => {
                    self.close(link);
                    return Err(error);
                }
            }
        }
        self.slots[index].strand.on_done(self.now_ns);
        Ok(())
    }

    /// Makes a socket for a link, and begins to connect it.
    fn begin_link(&mut self, index: usize, link: usize) -> io::Result<()> {
        let strand = self.slots[index].strand.number();
        let address = self.openings.place.address_of(strand)?;
        let begin_ns = mono_ns();
        let mut refusals_count = 0;
        let socket = loop {
            let domain = self.openings.place.domain();
            let socket = options::prepare(domain, self.transport, &self.socket_spec, self.role).map_err(io::Error::other)?;
            sys::set_nonblocking(socket.as_raw_fd(), true)?;
            match self.begin_connect(&socket, &address) {
                Ok(()) => break socket,
                Err(error) if error.raw_os_error() == Some(libc::EADDRNOTAVAIL) => {
                    refusals_count += 1;
                    if mono_ns().saturating_sub(begin_ns) > PORT_WAIT_NS {
                        return Err(ports_used_up(&error));
                    }
                    // The port that comes next was closed first: when a few in a row are kept, so are those behind.
                    if refusals_count % PORTS_TRIED == 0 {
                        self.ports.take_others();
                    }
                    if refusals_count % (2 * PORTS_TRIED) == 0 {
                        std::thread::sleep(PORT_PAUSE);
                    }
                }
                Err(error) => return Err(error),
            }
        };
        if self.ring.is_some() {
            // A ring waits only for sockets whose calls may.
            sys::set_nonblocking(socket.as_raw_fd(), false)?;
            self.slots[index].other_calls_count += 1;
        }
        let slot = self.links[link].slot;
        self.links[link] = Link::connecting(socket.into_raw_fd(), slot);
        self.slots[index].opening_ns = begin_ns;
        self.slots[index].other_calls_count += 2;
        self.now_ns = mono_ns();
        Ok(())
    }

    /// Connects from the port, and on the loopback the address, whose turn it is.
    fn begin_connect(&mut self, socket: &Socket, address: &SockAddr) -> io::Result<()> {
        if self.transport != Transport::Unix {
            let source = self.ports.source(address);
            if let Some(port) = self.ports.turn()
                && sys::choose_port(socket.as_raw_fd(), port).is_err()
            {
                self.ports.is_known = false;
            }
            if let Some(source) = source {
                sys::bind_without_port(socket.as_raw_fd())?;
                socket.bind(&source)?;
            }
        }
        match socket.connect(address) {
            Err(error) if error.raw_os_error() == Some(libc::EINPROGRESS) => Ok(()),
            outcome => outcome,
        }
    }

    /// Sends the preamble, and payload behind it, as the first bytes of a connection. Returns how much
    /// payload has gone.
    pub(super) fn greet(&mut self, index: usize, row: Option<usize>, link: usize, payload: usize) -> io::Result<usize> {
        let slot = &mut self.slots[index];
        let preamble = preamble::encode_later(&self.openings.token, slot.strand.number(), slot.connects_count);
        let sent = sys::send_two(self.links[link].descriptor, &preamble, &self.source[..payload])?;
        self.now_ns = mono_ns();
        let Some(moved) = sent.checked_sub(LATER_BYTES) else {
            return Err(io::Error::other("the kernel took less than a preamble"));
        };
        self.links[link].must_greet = false;
        slot.connects_count = slot.connects_count.wrapping_add(1);
        if let Some(row) = row {
            self.latencies.record_since(row, super::ledger::Kind::Connect, slot.opening_ns, self.now_ns);
        }
        Ok(moved)
    }

    /// Takes the connection that the other end has opened for this strand, if it is there.
    pub(super) fn accept(&mut self, index: usize, connection: u32) {
        let slot = &mut self.slots[index];
        let wanted = slot.connects_count;
        let Some(position) = slot.arrivals.iter().position(|arrival| arrival.ordinal == wanted) else {
            slot.strand.on_blocked(Direction::Receive);
            return;
        };
        let arrival = slot.arrivals.swap_remove(position);
        slot.connects_count = slot.connects_count.wrapping_add(1);
        let link = (slot.first_link + connection) as usize;
        self.links[link] = Link::arrived(arrival.descriptor.into_raw_fd(), self.links[link].slot, arrival.credit_bytes);
        slot.strand.on_done(self.now_ns);
    }

    /// Closes a connection.
    pub(super) fn disconnect(&mut self, index: usize, row: Option<usize>, connection: u32) -> io::Result<()> {
        let link = self.link(index, connection)?;
        if self.links[link].must_greet {
            // Nothing has gone over it, but the other end waits for it.
            match self.greet(index, row, link, 0) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return self.refused(error, index, link, Direction::Send),
                outcome => drop(outcome?),
            }
        }
        self.close(link);
        self.slots[index].other_calls_count += 1;
        self.slots[index].strand.on_done(self.now_ns);
        Ok(())
    }

    /// Closes a connection when the other end has.
    pub(super) fn hear(&mut self, index: usize, connection: u32) -> io::Result<()> {
        let link = self.link(index, connection)?;
        if self.transport == Transport::Udp {
            // The end of a flow of datagrams is not to be heard.
            self.close(link);
            self.slots[index].strand.on_done(self.now_ns);
            return Ok(());
        }
        if self.links[link].credit_bytes > 0 {
            return Err(io::Error::other("the other end sent more than the workload says"));
        }
        if !self.links[link].is_readable {
            return self.refused(io::ErrorKind::WouldBlock.into(), index, link, Direction::Receive);
        }
        self.slots[index].other_calls_count += 1;
        match sys::receive(self.links[link].descriptor, &mut self.sink[..1], libc::MSG_DONTWAIT) {
            Ok(0) => {}
            Ok(_) => return Err(io::Error::other("the other end sent more than the workload says")),
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => {}
            Err(error) => return self.refused(error, index, link, Direction::Receive),
        }
        self.close(link);
        self.slots[index].strand.on_done(self.now_ns);
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
    fn close(&mut self, link: usize) {
        let slot = self.links[link].slot;
        let old = std::mem::replace(&mut self.links[link], Link::new(NO_DESCRIPTOR, slot));
        if old.is_own {
            drop(sys::owned(old.descriptor));
        } else if old.descriptor != NO_DESCRIPTOR {
            // It was open before the start, and whoever samples it still has it.
            self.epoll.forget(old.descriptor);
            sys::shut_down(old.descriptor);
        }
    }

    /// Takes who is at a port.
    pub(super) fn on_listener(&mut self, index: usize) {
        for _ in 0..ACCEPTS_AT_ONCE {
            let Some(listener) = self.openings.listeners.get(index) else { return };
            match sys::accept(listener.as_raw_fd()) {
                Ok(socket) => {
                    let newcomer = Newcomer { socket, since_ns: self.now_ns, have: 0, bytes: [0; LATER_BYTES] };
                    self.hear_newcomer(newcomer, None);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                // One that was gone before it was taken. Without descriptors the next look may be better.
                Err(_) => return,
            }
        }
    }

    /// A newcomer has said something.
    pub(super) fn on_newcomer(&mut self, index: usize) {
        if let Some(newcomer) = self.newcomers.get_mut(index).and_then(Option::take) {
            self.hear_newcomer(newcomer, Some(index));
        }
    }

    /// Drops who has been silent for too long.
    pub(super) fn drop_silent(&mut self) {
        let limit_ns = u64::try_from(PREAMBLE_TIMEOUT.as_nanos()).unwrap_or(u64::MAX);
        for place in &mut self.newcomers {
            if place.as_ref().is_some_and(|newcomer| self.now_ns.saturating_sub(newcomer.since_ns) > limit_ns) {
                *place = None;
                self.openings.strangers.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    fn hear_newcomer(&mut self, mut newcomer: Newcomer, place: Option<usize>) {
        let missing = LATER_BYTES - newcomer.have;
        let most = (missing + MOST_CREDIT_BYTES).min(self.sink.len());
        let descriptor = newcomer.socket.as_raw_fd();
        match sys::receive(descriptor, &mut self.sink[..most], libc::MSG_DONTWAIT) {
            Ok(0) => return self.on_stranger(),
            Ok(count) if count < missing => {
                newcomer.bytes[newcomer.have..newcomer.have + count].copy_from_slice(&self.sink[..count]);
                newcomer.have += count;
            }
            Ok(count) => {
                newcomer.bytes[newcomer.have..].copy_from_slice(&self.sink[..missing]);
                return self.welcome(newcomer, count - missing, place.is_some());
            }
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
            Err(_) => return self.on_stranger(),
        }
        let free = place.or_else(|| self.newcomers.iter().position(Option::is_none));
        let index = match free {
            Some(index) => index,
            None if self.newcomers.len() < MOST_NEWCOMERS => {
                self.newcomers.push(None);
                self.newcomers.len() - 1
            }
            None => return self.on_stranger(),
        };
        if place.is_none() && self.epoll.watch(descriptor, IN, Key::Newcomer(index).code(), false).is_err() {
            return self.on_stranger();
        }
        self.newcomers[index] = Some(newcomer);
    }

    fn on_stranger(&self) {
        self.openings.strangers.fetch_add(1, Ordering::Relaxed);
    }

    fn welcome(&mut self, newcomer: Newcomer, credit: usize, is_watched: bool) {
        let Some((strand, ordinal)) = preamble::decode_later(&self.openings.token, &newcomer.bytes) else { return self.on_stranger() };
        let arrival = Arrival { strand, ordinal, descriptor: newcomer.socket, credit_bytes: u32::try_from(credit).unwrap_or(0) };
        // Where it was watched as a newcomer it will be watched anew, by its strand's thread.
        if is_watched {
            self.epoll.forget(arrival.descriptor.as_raw_fd());
        }
        match self.inboxes.get(strand as usize % self.inboxes.len().max(1)) {
            Some(inbox) if !std::sync::Arc::ptr_eq(inbox, &self.inbox) => inbox.push(Order::Adopt(arrival)),
            _ => self.adopt(arrival),
        }
    }

    /// A connection has come for one of the thread's strands.
    pub(super) fn adopt(&mut self, arrival: Arrival) {
        let Some(index) = self.slot_of(arrival.strand) else { return self.on_stranger() };
        let fits = options::settle(&sys::socket_of(&arrival.descriptor), self.transport, &self.socket_spec, self.role);
        if fits.is_err() {
            return self.on_stranger();
        }
        let slot = &mut self.slots[index];
        if self.ring.is_some() {
            // A ring waits only for sockets whose calls may. The descriptor is a socket, so it takes it.
            let _ = sys::set_nonblocking(arrival.descriptor.as_raw_fd(), false);
            slot.other_calls_count += 1;
        }
        slot.arrivals.push(arrival);
        slot.strand.on_ready(Direction::Receive.bit());
        self.enqueue(index);
    }
}

fn ports_used_up(error: &io::Error) -> io::Error {
    io::Error::new(
        error.kind(),
        "no port was free to connect from for 5 s: closed connections keep theirs for a minute (TIME_WAIT); widen net.ipv4.ip_local_port_range, \
         or set net.ipv4.tcp_tw_reuse=1 on the connecting host",
    )
}

impl Link {
    fn connecting(descriptor: RawFd, slot: u32) -> Self {
        let mut link = Self::new(descriptor, slot);
        (link.must_greet, link.is_own, link.is_readable) = (true, true, false);
        link
    }

    fn arrived(descriptor: RawFd, slot: u32, credit_bytes: u32) -> Self {
        let mut link = Self::new(descriptor, slot);
        (link.credit_bytes, link.is_own) = (credit_bytes, true);
        link
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_come_out_as_they_went_in() {
        for key in [Key::Waker, Key::Listener(0), Key::Listener(7), Key::Newcomer(0), Key::Newcomer(1023), Key::Link(0), Key::Link(200_000)]
        {
            assert_eq!(Key::decode(key.code()), key);
        }
    }

    #[test]
    fn threads_share_the_ports_and_begin_anew_from_another_address() {
        let loopback = SocketAddr::from(([127, 0, 0, 1], 80)).into();
        let mut threads = [Ports::new(100, 107, 0, 2), Ports::new(100, 107, 1, 2)];
        let mut turns = |thread: usize| -> Vec<u16> { (0..3).map(|_| threads[thread].turn().expect("known")).collect() };
        assert_eq!(turns(0), [100, 104, 100]);
        assert_eq!(turns(1), [102, 106, 102]);
        let source = threads[0].source(&loopback).and_then(|source| source.as_socket()).expect("an address");
        assert_eq!(source.to_string(), "127.0.0.2:0");
        assert!(threads[0].source(&SocketAddr::from(([192, 0, 2, 1], 80)).into()).is_none());
        threads[0].take_others();
        assert_eq!([threads[0].turn(), threads[0].turn()], [Some(101), Some(105)]);
        threads[0].take_others();
        assert_eq!(threads[0].turn(), Some(104), "where the even ones were left");
    }
}
