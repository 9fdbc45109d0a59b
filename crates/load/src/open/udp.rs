//! Flows of datagrams: a connected UDP socket each, at both hosts.
//!
//! A preamble that is lost is sent again, and so is a welcome, because the preamble behind it comes
//! again. When the connecting host has all its welcomes it says so on the conductor's connection,
//! where nothing is lost. A datagram without the token gets no answer.

use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags};
use probe::clock::mono_ns;
use schema::trial::TrialSpec;
use schema::workload::Transport;
use socket2::Socket;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use super::handshake::OpeningSide;
use super::{Arrivals, Connection, EVENTS, ListenPlace, Times, is_aborted, numbers, open_timeout, token_of, wait, watch};
use crate::LoadError;
use crate::options;
use crate::preamble::{self, Token, WELCOME};

/// Flows under way at most: their preambles must find room in one receive buffer.
const UNDER_WAY: usize = 64;
/// Time that a preamble waits for its welcome before it is sent again.
const AGAIN_AFTER_NS: u64 = 50_000_000;
/// Time between two looks at that.
const TICK: Duration = Duration::from_millis(10);
/// Datagrams taken from a socket before the others get their turn.
const AT_A_TIME: usize = 256;
/// The number that the kernel reports with events of the conductor.
const OF_CONDUCTOR: u64 = u64::MAX;

/// A socket at each port that takes the first datagram of flows.
pub(super) fn bind(spec: &TrialSpec, place: &ListenPlace) -> Result<Vec<UdpSocket>, LoadError> {
    let bound =
        |error| LoadError::host(format!("receiving datagrams at {place}"), error, "; choose another port, or 0 to let the kernel choose");
    let mut sockets = Vec::new();
    for port in 0..u32::from(place.ports_count()) {
        let socket = options::prepare(place.domain(), Transport::Udp, &spec.socket, spec.role)?;
        // The flows' own sockets share the port. With SO_REUSEADDR any other user's could, too: socket(7).
        socket.set_reuse_port(true).map_err(bound)?;
        socket.bind(&place.address_of(port).map_err(bound)?).map_err(bound)?;
        socket.set_nonblocking(true).map_err(bound)?;
        sockets.push(socket.into());
    }
    Ok(sockets)
}

/// The listening host: waits for all flows, until the connecting host has all its welcomes.
pub(super) fn accept(
    spec: &TrialSpec,
    listeners: &[UdpSocket],
    conductor: &Socket,
    arrivals: &Arrivals,
    abort: &AtomicBool,
) -> Result<Vec<Connection>, LoadError> {
    let mut reception = Reception::new(spec, listeners, conductor, arrivals)?;
    let end = Instant::now() + open_timeout(reception.slots.len());
    let mut events = [EpollEvent::empty(); EVENTS];
    loop {
        if is_aborted(abort) {
            return Err(LoadError::Peer("aborted while waiting for datagrams".to_owned()));
        }
        if Instant::now() > end {
            let (have, want) = (reception.slots.iter().flatten().count(), reception.slots.len());
            return Err(LoadError::Peer(format!("{have} of {want} flows of datagrams arrived; is a firewall in between?")));
        }
        for event in wait(&reception.epoll, &mut events, super::ABORT_CHECK)? {
            match usize::try_from(event.data()).ok().filter(|_| event.data() != OF_CONDUCTOR) {
                None if is_finished(conductor)? => return Ok(reception.finish()),
                None => {}
                Some(number) if number < listeners.len() => reception.take(&listeners[number])?,
                Some(number) => reception.welcome_again(number - listeners.len()),
            }
        }
    }
}

/// Looks whether the connecting host has said that it has all its welcomes.
fn is_finished(mut conductor: &Socket) -> Result<bool, LoadError> {
    match conductor.read(&mut [0]) {
        Ok(1) => Ok(true),
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(false),
        _ => Err(LoadError::Peer("the other host is gone while flows of datagrams open".to_owned())),
    }
}

struct Reception<'a> {
    spec: &'a TrialSpec,
    token: Token,
    /// This host's address, as the conductor's connection found it.
    local: SocketAddr,
    preamble_bytes: usize,
    epoll: Epoll,
    listeners_count: usize,
    slots: Vec<Option<Connection>>,
    arrivals: &'a Arrivals,
}

impl<'a> Reception<'a> {
    fn new(spec: &'a TrialSpec, listeners: &[UdpSocket], conductor: &Socket, arrivals: &'a Arrivals) -> Result<Self, LoadError> {
        let failed = |error: io::Error| LoadError::host("waiting for datagrams", error, "");
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).map_err(|error| failed(error.into()))?;
        for (number, socket) in (0u64..).zip(listeners) {
            watch(&epoll, socket, EpollFlags::EPOLLIN, number)?;
        }
        watch(&epoll, conductor, EpollFlags::EPOLLIN, OF_CONDUCTOR)?;
        let local = conductor.local_addr().map_err(failed)?.as_socket().ok_or_else(|| failed(ErrorKind::Unsupported.into()))?;
        let slots = numbers(spec).last().map_or(0, |last| *last as usize + 1);
        Ok(Self {
            spec,
            token: token_of(spec)?,
            local,
            preamble_bytes: preamble::length(&spec.socket),
            epoll,
            listeners_count: listeners.len(),
            slots: (0..slots).map(|_| None).collect(),
            arrivals,
        })
    }

    fn take(&mut self, listener: &UdpSocket) -> Result<(), LoadError> {
        let failed = |error: io::Error| LoadError::host("opening a flow of datagrams", error, "");
        let port = listener.local_addr().map_or(0, |address| address.port());
        let mut bytes = [0; preamble::MAX_BYTES + 1];
        for _ in 0..AT_A_TIME {
            let (count, peer) = match listener.recv_from(&mut bytes) {
                Ok(received) => received,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(_) => continue,
            };
            let number = preamble::decode(&self.token, &bytes[..count]).filter(|_| count == self.preamble_bytes);
            let Some(slot) = number.and_then(|number| self.slots.get_mut(number as usize)) else {
                self.arrivals.on_unauthenticated();
                continue;
            };
            // Its own socket answers what comes twice; this one was there before that was.
            if slot.is_some() {
                continue;
            }
            let times = Times { opening_mono_ns: mono_ns(), opened_mono_ns: mono_ns() };
            let socket = options::prepare(self.local_domain(), Transport::Udp, &self.spec.socket, self.spec.role)?;
            socket.set_reuse_port(true).map_err(failed)?;
            socket.bind(&SocketAddr::new(self.local.ip(), port).into()).map_err(failed)?;
            socket.connect(&peer.into()).map_err(failed)?;
            socket.set_nonblocking(true).map_err(failed)?;
            let number = number.unwrap_or(0);
            watch(&self.epoll, &socket, EpollFlags::EPOLLIN, self.listeners_count as u64 + u64::from(number))?;
            let _ = socket.send(&vec![WELCOME; self.preamble_bytes]);
            self.slots[number as usize] = Some(Connection::new(number, socket, times));
            self.arrivals.on_known();
        }
        Ok(())
    }

    fn local_domain(&self) -> socket2::Domain {
        socket2::Domain::for_address(self.local)
    }

    /// Answers a preamble that came again: the welcome was lost.
    fn welcome_again(&mut self, position: usize) {
        let Some(Some(connection)) = self.slots.get(position) else { return };
        let mut bytes = [0; preamble::MAX_BYTES + 1];
        if let Ok(count) = (&connection.socket).read(&mut bytes)
            && preamble::decode(&self.token, &bytes[..count]) == Some(connection.number)
        {
            let _ = connection.socket.send(&vec![WELCOME; self.preamble_bytes]);
        }
    }

    fn finish(self) -> Vec<Connection> {
        let connections: Vec<Connection> = self.slots.into_iter().flatten().collect();
        drain(&connections);
        connections
    }
}

/// Throws away what came twice.
fn drain(connections: &[Connection]) {
    let mut bytes = [0; preamble::MAX_BYTES + 1];
    for connection in connections {
        while (&connection.socket).read(&mut bytes).is_ok() {}
    }
}

/// The connecting host: opens all flows, and reports to the other host when they are.
pub(super) fn connect(
    spec: &TrialSpec,
    place: &ListenPlace,
    mut conductor: &Socket,
    abort: &AtomicBool,
) -> Result<Vec<Connection>, LoadError> {
    let mut calling = Calling::new(spec, place)?;
    let numbers = numbers(spec);
    let end = Instant::now() + open_timeout(numbers.len());
    let mut events = [EpollEvent::empty(); EVENTS];
    while calling.open_count < numbers.len() {
        if is_aborted(abort) {
            return Err(LoadError::Peer("aborted while opening flows of datagrams".to_owned()));
        }
        if Instant::now() > end {
            let late = io::Error::new(ErrorKind::TimedOut, format!("{} of {} flows were welcomed", calling.open_count, numbers.len()));
            return Err(calling.unreachable(late));
        }
        while calling.flows.len() < numbers.len() && calling.flows.len() - calling.open_count < UNDER_WAY {
            calling.start(numbers[calling.flows.len()])?;
        }
        for event in wait(&calling.caller.epoll, &mut events, TICK)? {
            calling.hear(usize::try_from(event.data()).unwrap_or(usize::MAX))?;
        }
        calling.ask_again()?;
    }
    let connections: Vec<Connection> = calling.flows.into_iter().map(|flow| flow.connection).collect();
    drain(&connections);
    conductor.write_all(&[WELCOME]).map_err(|error| LoadError::Peer(format!("the other host is gone while flows open: {error}")))?;
    Ok(connections)
}

struct Calling<'a> {
    caller: OpeningSide<'a>,
    flows: Vec<Flow>,
    /// The first that may not be open yet.
    oldest: usize,
    open_count: usize,
}

struct Flow {
    connection: Connection,
    asked_mono_ns: u64,
}

impl Flow {
    fn is_open(&self) -> bool {
        self.connection.times.opened_mono_ns != 0
    }
}

impl<'a> Calling<'a> {
    fn new(spec: &'a TrialSpec, place: &'a ListenPlace) -> Result<Self, LoadError> {
        Ok(Self { caller: OpeningSide::new(spec, place)?, flows: Vec::new(), oldest: 0, open_count: 0 })
    }

    fn start(&mut self, number: u32) -> Result<(), LoadError> {
        let socket = options::prepare(self.caller.place.domain(), Transport::Udp, &self.caller.spec.socket, self.caller.spec.role)?;
        let address = self.caller.place.address_of(number).map_err(|error| self.unreachable(error))?;
        options::bind_source(&socket, &self.caller.spec.socket)?;
        socket.connect(&address).map_err(|error| self.unreachable(error))?;
        socket.set_nonblocking(true).map_err(|error| self.unreachable(error))?;
        watch(&self.caller.epoll, &socket, EpollFlags::EPOLLIN, self.flows.len() as u64)?;
        let times = Times { opening_mono_ns: mono_ns(), opened_mono_ns: 0 };
        self.flows.push(Flow { connection: Connection::new(number, socket, times), asked_mono_ns: 0 });
        self.ask(self.flows.len() - 1)
    }

    fn ask(&mut self, position: usize) -> Result<(), LoadError> {
        let flow = &mut self.flows[position];
        flow.asked_mono_ns = mono_ns();
        match flow.connection.socket.send(&preamble::encode(&self.caller.tokens.plain, flow.connection.number, self.caller.preamble_bytes))
        {
            Err(error) if error.kind() != ErrorKind::WouldBlock => Err(self.unreachable(error)),
            _ => Ok(()),
        }
    }

    fn hear(&mut self, position: usize) -> Result<(), LoadError> {
        let Some(flow) = self.flows.get_mut(position) else { return Ok(()) };
        let mut bytes = [0; preamble::MAX_BYTES + 1];
        match (&flow.connection.socket).read(&mut bytes) {
            Ok(count) if count == self.caller.preamble_bytes && bytes[..count].iter().all(|byte| *byte == WELCOME) && !flow.is_open() => {
                flow.connection.times.opened_mono_ns = mono_ns();
                self.open_count += 1;
                Ok(())
            }
            Err(error) if error.kind() != ErrorKind::WouldBlock => Err(self.unreachable(error)),
            _ => Ok(()),
        }
    }

    /// Sends preambles again that got no welcome in time.
    fn ask_again(&mut self) -> Result<(), LoadError> {
        let now = mono_ns();
        while self.flows.get(self.oldest).is_some_and(Flow::is_open) {
            self.oldest += 1;
        }
        for position in self.oldest..self.flows.len() {
            let flow = &self.flows[position];
            if !flow.is_open() && now.saturating_sub(flow.asked_mono_ns) > AGAIN_AFTER_NS {
                self.ask(position)?;
            }
        }
        Ok(())
    }

    fn unreachable(&self, error: io::Error) -> LoadError {
        LoadError::host(format!("sending datagrams to {}", self.caller.place), error, "; is a firewall in between?")
    }
}
