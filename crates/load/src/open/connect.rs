//! The connecting host: many connections under way at once, each welcomed before it counts.

use nix::sys::epoll::{EpollEvent, EpollFlags};
use probe::clock::mono_ns;
use schema::trial::TrialSpec;
use schema::workload::Transport;
use socket2::{SockAddr, Socket};
use std::io::{self, ErrorKind, Read};
use std::net::SocketAddr;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};
use tls::Session;

use super::handshake::{OpeningSide, is_hang_up};
use super::udt::UdtOpened;
use super::{
    ABORT_CHECK, Connection, EVENTS, ListenPlace, Opened, Times, begins_with_tls, is_aborted, is_over_quic, is_over_udt,
    numbers_of_streams, open_timeout, quic, reverse, settle, split_conductor, stream_transport, udp, udt, wait, watch,
};
use crate::LoadError;
use crate::limits;
use crate::options;
use crate::preamble::{self, Tokens, WELCOME};
use crate::secure::Calls;

/// Time that one connection may take to open.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Connections under way at most, over all ports: fewer than wait at any host's port (`net.core.somaxconn`, 4096 since Linux 5.4). One that
/// found no room there would come again after a second.
const UNDER_WAY: usize = 512;
/// Time that a connection that was dropped unheard waits before it is tried again: at first, and at most.
const AGAIN_AFTER: (Duration, Duration) = (Duration::from_millis(20), Duration::from_secs(1));
/// Time to wait where a Unix socket's queue is full.
const QUEUE_FULL: Duration = Duration::from_millis(1);

/// Opens all connections of the trial to a listening host.
///
/// # Errors
/// An option is refused, the address cannot be reached, the other host does not know the token, or
/// `abort` was set.
pub fn connect_all(spec: &TrialSpec, address: SocketAddr, abort: &AtomicBool) -> Result<Opened, LoadError> {
    let place = ListenPlace::of(spec, address);
    // While its file is there, for connections that come when it has gone.
    let held = place.clone().held();
    let mut connections = Calling::new(spec, &place)?.call_all(abort)?;
    let conductor = split_conductor(&mut connections)?;
    let mut listener = None;
    if let (true, Some(conductor)) = (reverse::is_needed(spec), &conductor) {
        listener = Some(reverse::open(spec, &place, conductor, abort)?);
    }
    if let (Transport::Udp, Some(conductor)) = (spec.transport, &conductor) {
        connections = udp::connect(spec, &place, conductor, abort)?;
    }
    let over_udt = if is_over_udt(spec) { udt::connect_all(spec, &place, abort)? } else { UdtOpened::default() };
    let over_quic = if is_over_quic(spec) { quic::connect(spec, &place, abort)? } else { Vec::new() };
    settle(&mut connections, spec)?;
    let place = held.map_err(|error| LoadError::host(format!("connecting to {place}"), error, ""))?;
    let strangers_count = listener.as_ref().map_or(0, |listener| listener.strangers_count);
    let (listeners, receivers) = listener.map_or_else(Default::default, |listener| (listener.listeners, listener.receivers));
    let UdtOpened { connections: over_udt, threads: library_threads, .. } = over_udt;
    Ok(Opened { connections, over_udt, over_quic, library_threads, strangers_count, conductor, listeners, receivers, place })
}

/// Starts to connect a socket that does not block: it is open, or will be when it can be written.
///
/// # Errors
/// As connect(2); a queue that is full (`EAGAIN`) is one.
pub(crate) fn start(socket: &Socket, address: &SockAddr) -> io::Result<()> {
    match socket.connect(address) {
        Err(error) if error.raw_os_error() == Some(libc::EINPROGRESS) => Ok(()),
        outcome => outcome,
    }
}

/// Connections that are opening.
struct Calling<'a> {
    caller: OpeningSide<'a>,
    calls: Vec<OpeningCall>,
    /// The first that may not be open yet.
    oldest: usize,
    under_way: usize,
    open_count: usize,
    /// Those that were dropped unheard, and when each is tried again.
    dropped: Vec<(Instant, usize)>,
}

struct OpeningCall {
    connection: Connection,
    stage: Stage,
    /// Number of times that the other host let it go.
    drops_count: u32,
}

enum Stage {
    Connecting,
    /// The token is sent; so many bytes of the welcome have come.
    Greeted(usize),
    Open,
    /// The other host has let it go.
    Dropped,
}

impl<'a> Calling<'a> {
    fn new(spec: &'a TrialSpec, place: &'a ListenPlace) -> Result<Self, LoadError> {
        Ok(Self { caller: OpeningSide::new(spec, place)?, calls: Vec::new(), oldest: 0, under_way: 0, open_count: 0, dropped: Vec::new() })
    }

    fn call_all(mut self, abort: &AtomicBool) -> Result<Vec<Connection>, LoadError> {
        let numbers = numbers_of_streams(self.caller.spec);
        let end = Instant::now() + open_timeout(numbers.len());
        let mut events = [EpollEvent::empty(); EVENTS];
        while self.open_count < numbers.len() {
            if is_aborted(abort) {
                return Err(LoadError::Peer("aborted while connecting".to_owned()));
            }
            let is_queue_full = self.call_dropped()? || self.call_some(&numbers)?;
            let timeout = if is_queue_full { QUEUE_FULL } else { ABORT_CHECK };
            for event in wait(&self.caller.epoll, &mut events, timeout)? {
                self.on_event(usize::try_from(event.data()).unwrap_or(usize::MAX))?;
            }
            self.check_oldest(end)?;
        }
        Ok(self.calls.into_iter().map(|call| call.connection).collect())
    }

    /// Starts as many as may be under way; returns whether the other host's queue is full.
    fn call_some(&mut self, numbers: &[u32]) -> Result<bool, LoadError> {
        while self.under_way < UNDER_WAY && self.calls.len() < numbers.len() {
            let number = numbers[self.calls.len()];
            let times = Times { opening_mono_ns: mono_ns(), opened_mono_ns: 0 };
            let Some(socket) = self.call(number, self.calls.len()).map_err(|error| self.unreachable(error))? else {
                return Ok(true);
            };
            let connection = Connection { tls: self.session(number)?, ..Connection::new(number, socket, times) };
            self.calls.push(OpeningCall { connection, stage: Stage::Connecting, drops_count: 0 });
            self.under_way += 1;
        }
        Ok(false)
    }

    /// The TLS that a connection begins with, if it does.
    fn session(&self, number: u32) -> Result<Option<Box<Session>>, LoadError> {
        let hosts = self.caller.hosts.as_ref().filter(|_| begins_with_tls(self.caller.spec, number));
        let session = hosts.map(|hosts| hosts.connecting().map(Box::new)).transpose();
        session.map_err(|error| LoadError::host("beginning with TLS", error, ""))
    }

    /// Starts again those whose time has come; returns whether the other host's queue is full.
    fn call_dropped(&mut self) -> Result<bool, LoadError> {
        let now = Instant::now();
        while let Some(due) = self.dropped.iter().position(|(at, _)| *at <= now) {
            let position = self.dropped[due].1;
            let number = self.calls[position].connection.number;
            match self.call(number, position) {
                Ok(None) => return Ok(true),
                Ok(Some(socket)) => {
                    let tls = self.session(number)?;
                    let call = &mut self.calls[position];
                    (call.connection.socket, call.connection.tls, call.stage) = (socket, tls, Stage::Connecting);
                    self.dropped.swap_remove(due);
                }
                // Nobody listens any more: why it was dropped says more.
                Err(_) => return Err(self.unwelcome(position, &ErrorKind::UnexpectedEof.into())),
            }
        }
        Ok(false)
    }

    /// Begins to connect a socket; none where the other host's queue is full.
    fn call(&self, number: u32, position: usize) -> Result<Option<Socket>, CallError> {
        let address = self.caller.place.address_of(number)?;
        let own = self.caller.spec.of_connection(number);
        let socket = options::prepare(self.caller.place.domain(), stream_transport(&own), &own.socket, own.role)?;
        socket.set_nonblocking(true)?;
        if self.caller.spec.transport != Transport::Unix {
            // Else its port could be listened at only when it has waited its minute (TIME-WAIT, RFC
            // 9293 section 3.6), and thousands of them leave the next trial no row of free ports.
            socket.set_reuse_address(true)?;
        }
        options::bind_source(&socket, &own.socket)?;
        match start(&socket, &address) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(None),
            Err(error) => return Err(error.into()),
        }
        let edges = EpollFlags::EPOLLIN | EpollFlags::EPOLLOUT | EpollFlags::EPOLLET;
        watch(&self.caller.epoll, &socket, edges, position as u64)?;
        Ok(Some(socket))
    }

    fn on_event(&mut self, position: usize) -> Result<(), LoadError> {
        let Some(call) = self.calls.get_mut(position) else { return Ok(()) };
        let heard = match call.greet(&self.caller.tokens, self.caller.preamble_bytes) {
            Ok(()) => call.hear_welcome(self.caller.preamble_bytes),
            Err(error) if is_hang_up(&error) => Err(error),
            Err(error) if call.drops_count > 0 => return Err(self.unwelcome(position, &error)),
            Err(error) => return Err(self.unreachable(error.into())),
        };
        match heard {
            Ok(Welcome::Open) => {
                self.open_count += 1;
                self.under_way -= 1;
                Ok(())
            }
            Ok(Welcome::NotYet) => Ok(()),
            Ok(Welcome::OtherThing) => Err(LoadError::Peer(format!("{} is not a whyperf agent of this trial", self.destination(position)))),
            Err(error) if is_hang_up(&error) => {
                let after = AGAIN_AFTER.0 * (1 << call.drops_count.min(6));
                call.drops_count += 1;
                call.stage = Stage::Dropped;
                self.dropped.push((Instant::now() + after.min(AGAIN_AFTER.1), position));
                Ok(())
            }
            Err(error) => Err(self.unwelcome(position, &error)),
        }
    }

    /// Looks whether the one that is longest under way takes too long.
    fn check_oldest(&mut self, end: Instant) -> Result<(), LoadError> {
        while self.calls.get(self.oldest).is_some_and(|call| matches!(call.stage, Stage::Open)) {
            self.oldest += 1;
        }
        let Some(call) = self.calls.get(self.oldest) else { return Ok(()) };
        let since = Duration::from_nanos(mono_ns().saturating_sub(call.connection.times.opening_mono_ns));
        let (allowed, is_connected) = match call.stage {
            Stage::Connecting if call.drops_count == 0 => (CONNECT_TIMEOUT, false),
            _ => (open_timeout(0), true),
        };
        if since <= allowed && Instant::now() <= end {
            return Ok(());
        }
        let late = io::Error::new(ErrorKind::TimedOut, format!("no answer within {} s", since.min(allowed).as_secs()));
        Err(if is_connected { self.unwelcome(self.oldest, &late) } else { self.unreachable(late.into()) })
    }

    fn destination(&self, position: usize) -> String {
        let address = self.calls.get(position).and_then(|call| self.caller.place.address_of(call.connection.number).ok()?.as_socket());
        address.map_or_else(|| self.caller.place.to_string(), |address| address.to_string())
    }

    fn unwelcome(&self, position: usize, error: &io::Error) -> LoadError {
        let address = self.destination(position);
        let dropped = match self.calls[position].drops_count {
            0 => String::new(),
            count => format!(" and let it go {count} times"),
        };
        LoadError::Peer(format!("{address} accepted a connection{dropped} but did not welcome its token: {error}"))
    }

    fn unreachable(&self, error: CallError) -> LoadError {
        let error = match error {
            CallError::Load(error) => return error,
            CallError::Kernel(error) => error,
        };
        if error.kind() == ErrorKind::AddrNotAvailable && self.caller.spec.transport != Transport::Unix {
            return limits::of_local_ports(self.caller.place, self.caller.place.ports_count(), self.caller.spec.connections_count);
        }
        let advice = match self.caller.spec.transport {
            Transport::Unix => "; with Unix sockets both agents must run on one host, as one user",
            _ => "; is the address right and no firewall in between?",
        };
        LoadError::host(format!("connecting to {}", self.caller.place), error, advice)
    }
}

/// Why a connection cannot be begun.
enum CallError {
    /// Of this host, with a sentence of its own.
    Load(LoadError),
    Kernel(io::Error),
}

impl From<LoadError> for CallError {
    fn from(error: LoadError) -> Self {
        Self::Load(error)
    }
}

impl From<io::Error> for CallError {
    fn from(error: io::Error) -> Self {
        Self::Kernel(error)
    }
}

/// The state of a welcome.
enum Welcome {
    NotYet,
    Open,
    OtherThing,
}

impl OpeningCall {
    /// Presents the token as soon as the connection stands.
    fn greet(&mut self, tokens: &Tokens, preamble_bytes: usize) -> io::Result<()> {
        let socket = &self.connection.socket;
        if !matches!(self.stage, Stage::Connecting) {
            return Ok(());
        }
        if let Some(error) = socket.take_error()? {
            return Err(error);
        }
        let preamble = preamble::encode(tokens.of(self.connection.tls.is_some()), self.connection.number, preamble_bytes);
        // An empty send buffer takes all of it.
        let sent = match &mut self.connection.tls {
            Some(session) => {
                let mut calls = Calls::new(socket, libc::MSG_DONTWAIT);
                session.handshake(&mut calls).and_then(|()| session.write(&mut calls, &preamble))
            }
            None => socket.send_with_flags(&preamble, libc::MSG_NOSIGNAL),
        };
        match sent {
            Ok(_) => self.stage = Stage::Greeted(0),
            // Not connected yet.
            Err(error) if error.kind() == ErrorKind::WouldBlock || error.kind() == ErrorKind::NotConnected => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn hear_welcome(&mut self, preamble_bytes: usize) -> io::Result<Welcome> {
        let Stage::Greeted(mut have) = self.stage else { return Ok(Welcome::NotYet) };
        let mut piece = [0; preamble::MAX_BYTES];
        while have < preamble_bytes {
            let ask = &mut piece[..preamble_bytes - have];
            let heard = match &mut self.connection.tls {
                Some(session) => session.read(&mut Calls::new(&self.connection.socket, libc::MSG_DONTWAIT), ask),
                None => (&self.connection.socket).read(ask),
            };
            match heard {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(count) if piece[..count].iter().any(|byte| *byte != WELCOME) => return Ok(Welcome::OtherThing),
                Ok(count) => have += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.stage = Stage::Greeted(have);
                    return Ok(Welcome::NotYet);
                }
                Err(error) => return Err(error),
            }
        }
        self.stage = Stage::Open;
        self.connection.times.opened_mono_ns = mono_ns();
        Ok(Welcome::Open)
    }
}
