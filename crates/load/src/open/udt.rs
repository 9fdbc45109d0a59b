//! Connections of the UDT library, and of SRT's: at the listening host behind one UDP port, at the
//! connecting host with a port each.
//!
//! A library's sockets are no files that the kernel could report on, so that both hosts look every
//! millisecond what has come.
//!
//! A library has no token: it answers whoever calls. So each connecting socket first presents the token in a datagram, again
//! and again until it is connected. The listening host gives its port to the library when it has heard all of them, and has
//! the kernel drop what others send ([`admit`]). The connecting host takes datagrams of the listening one only.

use probe::clock::mono_ns;
use probe::threads;
use schema::trial::{Role, TrialSpec};
use schema::workload::Transport;
use socket2::Domain;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, Instant};
use udt::{Library, Socket, SocketState};

use super::admitted::admit;
use super::{Arrivals, ListenPlace, Times, UDT_LIKE, address_of_library, is_aborted, is_over, numbers_over, open_timeout, token_of};
use crate::LoadError;
use crate::pending::Pending;
use crate::preamble::{self, FLOW_BYTES, FlowPreamble, Token, WELCOME};
use crate::sockopt;
use crate::thread::pin_this_thread;
use crate::transport::udt::{TICK, UdtView};

/// Name of the thread that opens, which the library's threads inherit (kthreads(7), `comm`).
const THREAD_NAME: &str = "udt";
/// Connections under way at most: the library keeps as many waiting at a port.
const UNDER_WAY: usize = 64;
/// Connections without a token yet that are kept waiting at most.
const MAX_UNKNOWN: usize = 256;
/// Arrivals taken before the others get their turn.
const ARRIVALS_AT_A_TIME: usize = 256;
/// Time between two looks of both hosts at what has come.
const LOOK: Duration = Duration::from_millis(1);
/// A connecting host presents its tokens at each of so many looks.
const ANNOUNCED_EACH: u32 = 20;
/// Time that a connection may take to present its token.
const PREAMBLE_TIMEOUT: Duration = Duration::from_secs(5);
/// Time for which one connection is tried.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Largest packet with its IPv4 and UDP headers: the library's default, and Ethernet's MTU.
const MAX_MSS_BYTES: u32 = 1500;
/// Octets of a packet that are not payload, as the library counts them when it makes packets of bytes.
const HEADERS_BYTES: u32 = 28;
/// Packets in flight at most, unless a window asks for more: the library's default.
const FLIGHT_PACKETS: u32 = 25_600;

/// One open connection.
#[derive(Debug)]
pub struct UdtConnection {
    /// Number, the same at both hosts.
    pub number: u32,
    /// The connection.
    pub view: Arc<UdtView>,
    /// When it opened.
    pub times: Times,
}

/// Connections, and the threads that the library made for them.
#[derive(Debug, Default)]
pub(super) struct UdtOpened {
    pub connections: Vec<UdtConnection>,
    pub threads: Vec<u32>,
}

impl UdtOpened {
    fn add(&mut self, more: Self) {
        self.connections.extend(more.connections);
        self.threads.extend(more.threads);
    }
}

/// A UDP port that a library will take connections at.
pub(super) struct UdtListener {
    transport: Transport,
    udp: UdpSocket,
}

/// Its name in a sentence.
fn title(transport: Transport) -> &'static str {
    library_of(transport).title()
}

fn library_of(transport: Transport) -> Library {
    UDT_LIKE.iter().find(|(carried, _)| *carried == transport).map_or(Library::Udt, |(_, library)| *library)
}

/// Those of the trial.
fn transports(spec: &TrialSpec) -> impl Iterator<Item = Transport> {
    UDT_LIKE.into_iter().map(|(transport, _)| transport).filter(|transport| is_over(spec, *transport))
}

/// Runs what makes a library's threads: they take over name and CPUs. Returns those that are new.
fn on_named_thread<T: Send>(
    spec: &TrialSpec,
    library: Library,
    work: impl FnOnce() -> Result<T, LoadError> + Send,
) -> Result<(T, Vec<u32>), LoadError> {
    let of_library = || threads::named(|name| library.is_thread(name, THREAD_NAME));
    let before = of_library();
    thread::scope(|scope| {
        let named = thread::Builder::new().name(THREAD_NAME.to_owned()).spawn_scoped(scope, || {
            pin_this_thread(&spec.pin_cpus)?;
            let made = work()?;
            let own = u32::try_from(nix::unistd::gettid().as_raw()).unwrap_or(0);
            let new = of_library().into_iter().filter(|thread| *thread != own && !before.contains(thread));
            Ok((made, new.collect()))
        });
        let named =
            named.map_err(|error| LoadError::host(format!("making a thread that opens {} connections", library.title()), error, ""))?;
        named.join().unwrap_or_else(|_| Err(LoadError::Peer(format!("the thread that opens {} connections panicked", library.title()))))
    })
}

/// A socket with the options of the trial, as its own direction has them; one that listens hands down
/// those of both.
fn prepare(spec: &TrialSpec, transport: Transport, role: Option<Role>, domain: Domain, mss_bytes: u32) -> Result<Socket, LoadError> {
    let made = || -> io::Result<Socket> {
        let socket = Socket::open(library_of(transport), domain)?;
        socket.set_mss(mss_bytes)?;
        let (window, own) = (spec.socket.window_bytes, &spec.socket);
        if let Some(bytes) = window.or(own.receive_buffer_bytes) {
            // A window beyond the packets that may be in flight is none.
            socket.set_flight(FLIGHT_PACKETS.max(bytes.div_ceil(mss_bytes - HEADERS_BYTES)))?;
        }
        if let (None | Some(Role::Sender), Some(bytes)) = (role, own.send_buffer_bytes.or(window)) {
            socket.set_send_buffer(bytes)?;
        }
        if let (None | Some(Role::Receiver), Some(bytes)) = (role, own.receive_buffer_bytes.or(window)) {
            socket.set_receive_buffer(bytes)?;
        }
        socket.set_waiting(None)?;
        Ok(socket)
    };
    made().map_err(|error| LoadError::host(format!("opening a {} socket", title(transport)), error, ""))
}

/// Listens for all of them, each at its UDP port.
pub(super) fn listen_all(spec: &TrialSpec, place: &ListenPlace) -> Result<Vec<UdtListener>, LoadError> {
    transports(spec).map(|transport| listen(spec, transport, place)).collect()
}

fn listen(spec: &TrialSpec, transport: Transport, place: &ListenPlace) -> Result<UdtListener, LoadError> {
    let address = address_of_library(spec, place, transport)?;
    let bound = UdpSocket::bind(address).and_then(|udp| udp.set_nonblocking(true).map(|()| udp));
    let udp = bound.map_err(|error| {
        let doing = format!("listening on {address} for {}", title(transport));
        LoadError::host(doing, error, "; choose another port, or 0 to let the kernel choose")
    })?;
    Ok(UdtListener { transport, udp })
}

/// Waits for all connections of the trial, of one library after the other.
pub(super) fn accept_all(
    spec: &TrialSpec,
    listeners: Vec<UdtListener>,
    arrivals: &Arrivals,
    abort: &AtomicBool,
) -> Result<UdtOpened, LoadError> {
    let mut opened = UdtOpened::default();
    for listener in listeners {
        opened.add(accept(spec, listener, arrivals, abort)?);
    }
    Ok(opened)
}

fn accept(spec: &TrialSpec, listener: UdtListener, arrivals: &Arrivals, abort: &AtomicBool) -> Result<UdtOpened, LoadError> {
    let name = title(listener.transport);
    let mut callers = Callers::new(spec, listener.transport)?;
    let mut reception = Reception::new(spec, listener.transport, arrivals)?;
    let want = reception.awaited.len();
    let timeout = open_timeout(want);
    let end = Instant::now() + timeout;
    let go_on = |have: usize| {
        if is_aborted(abort) {
            return Err(LoadError::Peer(format!("aborted while waiting for {name} connections")));
        }
        if Instant::now() > end {
            let seconds = timeout.as_secs();
            return Err(LoadError::Peer(format!(
                "{have} of {want} {name} connections arrived within {seconds} s; is a firewall in between?"
            )));
        }
        thread::sleep(LOOK);
        Ok(())
    };
    while !callers.hear(&listener.udp) {
        go_on(callers.known.len())?;
    }
    arrivals.add_unauthenticated(callers.strangers_count());
    let (socket, threads) = on_named_thread(spec, library_of(listener.transport), || callers.hand_over(spec, listener))?;
    while !reception.awaited.is_empty() {
        reception.take(&socket)?;
        reception.hear()?;
        go_on(reception.opened.connections.len())?;
    }
    arrivals.add_unauthenticated(reception.unknown.len() as u64);
    reception.opened.threads = threads;
    Ok(reception.opened)
}

/// Who has called at a port that no library reads yet.
struct Callers {
    token: Token,
    awaited: BTreeSet<u32>,
    /// Of the trial's connections, from where they call.
    known: BTreeMap<u32, SocketAddr>,
    /// Others, and connections of the trial whose datagram with the token was lost.
    others: BTreeSet<SocketAddr>,
}

impl Callers {
    fn new(spec: &TrialSpec, transport: Transport) -> Result<Self, LoadError> {
        let awaited = numbers_over(spec, transport).into_iter().collect();
        Ok(Self { token: token_of(spec)?, awaited, known: BTreeMap::new(), others: BTreeSet::new() })
    }

    /// Reads what has come; whether all have called.
    fn hear(&mut self, udp: &UdpSocket) -> bool {
        let mut bytes = [0; FLOW_BYTES + 1];
        for _ in 0..ARRIVALS_AT_A_TIME {
            let (count, source) = match udp.recv_from(&mut bytes) {
                Ok(received) => received,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                // What the network says of an earlier datagram.
                Err(_) => continue,
            };
            match FlowPreamble::decode(&self.token, &bytes[..count]) {
                Some(caller) if !caller.is_welcome && self.awaited.contains(&caller.user) => _ = self.known.insert(caller.user, source),
                _ if self.others.len() < MAX_UNKNOWN => _ = self.others.insert(source),
                _ => {}
            }
        }
        self.known.len() == self.awaited.len()
    }

    fn strangers_count(&self) -> u64 {
        self.others.iter().filter(|other| !self.known.values().any(|known| known == *other)).count() as u64
    }

    /// Gives the port to the library, for those only that have called.
    fn hand_over(&self, spec: &TrialSpec, listener: UdtListener) -> Result<Socket, LoadError> {
        let UdtListener { transport, udp } = listener;
        let failed = |error| LoadError::host(format!("listening for {}", title(transport)), error, "");
        let domain = Domain::for_address(udp.local_addr().map_err(failed)?);
        admit(&udp, self.known.values().copied()).map_err(failed)?;
        // What came before it.
        while udp.recv_from(&mut [0]).is_ok() {}
        let socket = prepare(spec, transport, None, domain, MAX_MSS_BYTES)?;
        socket.bind(udp).map_err(failed)?;
        socket.listen(u32::try_from(UNDER_WAY).unwrap_or(u32::MAX)).map_err(failed)?;
        Ok(socket)
    }
}

/// The arrivals at the listening host.
struct Reception<'a> {
    token: Token,
    preamble_bytes: usize,
    awaited: BTreeSet<u32>,
    unknown: Pending<Unknown>,
    arrivals: &'a Arrivals,
    opened: UdtOpened,
}

/// One that has not said yet who it is.
struct Unknown {
    socket: Socket,
    since: Instant,
    opening_mono_ns: u64,
    have: usize,
    bytes: Vec<u8>,
}

/// The outcome of an arrival after a look at its bytes.
enum Heard {
    NotYet,
    Known(u32),
    Unauthenticated,
}

impl<'a> Reception<'a> {
    fn new(spec: &TrialSpec, transport: Transport, arrivals: &'a Arrivals) -> Result<Self, LoadError> {
        Ok(Self {
            token: token_of(spec)?,
            preamble_bytes: preamble::length(&spec.socket),
            awaited: numbers_over(spec, transport).into_iter().collect(),
            unknown: Pending::new(MAX_UNKNOWN, 0),
            arrivals,
            opened: UdtOpened::default(),
        })
    }

    fn take(&mut self, listener: &Socket) -> Result<(), LoadError> {
        for _ in 0..ARRIVALS_AT_A_TIME {
            let socket = match listener.accept() {
                Ok(socket) => socket,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(LoadError::host(format!("accepting a connection of {}", listener.library().title()), error, "")),
            };
            if socket.set_waiting(None).is_err() {
                self.arrivals.on_unauthenticated();
                continue;
            }
            let bytes = vec![0; self.preamble_bytes];
            let arrived = Unknown { socket, since: Instant::now(), opening_mono_ns: mono_ns(), have: 0, bytes };
            self.judge(arrived)?;
        }
        Ok(())
    }

    /// Welcomes those that said who they are, and drops those that are nobody, or say nothing.
    fn hear(&mut self) -> Result<(), LoadError> {
        self.unknown.drain().try_for_each(|unknown| self.judge(unknown))
    }

    /// The same for one of them: most have said who they are before they are taken from the queue.
    fn judge(&mut self, mut unknown: Unknown) -> Result<(), LoadError> {
        match unknown.hear(&self.token) {
            Heard::NotYet if unknown.since.elapsed() <= PREAMBLE_TIMEOUT => {
                let (_, evicted) = self.unknown.push(unknown);
                self.arrivals.add_unauthenticated(u64::from(evicted.is_some()));
            }
            Heard::Known(number) if self.awaited.contains(&number) => {
                // An empty send buffer takes it; one that has hung up is awaited again.
                if unknown.socket.send(&vec![WELCOME; self.preamble_bytes]).is_ok() {
                    self.awaited.remove(&number);
                    self.arrivals.on_known();
                    let times = Times { opening_mono_ns: unknown.opening_mono_ns, opened_mono_ns: mono_ns() };
                    self.opened.connections.push(opened(number, unknown.socket, times)?);
                }
            }
            Heard::NotYet | Heard::Known(_) | Heard::Unauthenticated => self.arrivals.on_unauthenticated(),
        }
        Ok(())
    }
}

impl Unknown {
    /// Reads all that is there, but nothing behind the preamble.
    fn hear(&mut self, token: &Token) -> Heard {
        while self.have < self.bytes.len() {
            match self.socket.receive(&mut self.bytes[self.have..]) {
                Ok(count) => self.have += count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Heard::NotYet,
                Err(_) => return Heard::Unauthenticated,
            }
        }
        preamble::decode(token, &self.bytes).map_or(Heard::Unauthenticated, Heard::Known)
    }
}

/// A connection that is known at both hosts: from now on its calls wait.
fn opened(number: u32, socket: Socket, times: Times) -> Result<UdtConnection, LoadError> {
    socket.set_waiting(Some(TICK)).map_err(|error| LoadError::host("a data socket", error, ""))?;
    Ok(UdtConnection { number, view: Arc::new(UdtView::new(socket)?), times })
}

/// The connecting host: opens all connections of the trial, of one library after the other.
pub(super) fn connect_all(spec: &TrialSpec, place: &ListenPlace, abort: &AtomicBool) -> Result<UdtOpened, LoadError> {
    let mut opened = UdtOpened::default();
    for transport in transports(spec) {
        let call_all = || Calling::new(spec, transport, place)?.call_all(abort);
        let (connections, threads) = on_named_thread(spec, library_of(transport), call_all)?;
        opened.add(UdtOpened { connections, threads });
    }
    Ok(opened)
}

/// Connections that are opening.
struct Calling<'a> {
    spec: &'a TrialSpec,
    transport: Transport,
    place: &'a ListenPlace,
    address: SocketAddr,
    token: Token,
    preamble_bytes: usize,
    mss_bytes: u32,
}

/// One of them.
struct OpeningCall {
    number: u32,
    socket: Socket,
    opening_mono_ns: u64,
    is_greeted: bool,
    /// True if the other host hung up on it before.
    was_dropped: bool,
    heard_bytes: usize,
}

impl<'a> Calling<'a> {
    fn new(spec: &'a TrialSpec, transport: Transport, place: &'a ListenPlace) -> Result<Self, LoadError> {
        let address = address_of_library(spec, place, transport)?;
        let mss_bytes = path_mtu(address).map_or(MAX_MSS_BYTES, |mtu| mtu.min(MAX_MSS_BYTES));
        Ok(Self { spec, transport, place, address, token: token_of(spec)?, preamble_bytes: preamble::length(&spec.socket), mss_bytes })
    }

    fn call_all(&self, abort: &AtomicBool) -> Result<Vec<UdtConnection>, LoadError> {
        let numbers = numbers_over(self.spec, self.transport);
        let mut udp_sockets =
            numbers.iter().map(|number| Ok((*number, self.udp_socket()?))).collect::<Result<BTreeMap<_, _>, LoadError>>()?;
        let end = Instant::now() + open_timeout(numbers.len());
        let (mut calls, mut connections) = (Vec::new(), Vec::new());
        let mut next = numbers.iter();
        for look in 0_u32.. {
            if look % ANNOUNCED_EACH == 0 {
                self.announce(&udp_sockets);
            }
            if is_aborted(abort) {
                return Err(LoadError::Peer(format!("aborted while opening {} connections", title(self.transport))));
            }
            while calls.len() < UNDER_WAY
                && let Some(number) = next.next()
            {
                calls.push(self.call(*number, &udp_sockets[number], mono_ns(), false)?);
            }
            for mut call in std::mem::take(&mut calls) {
                if self.look(&mut call)? {
                    udp_sockets.remove(&call.number);
                    connections.push(call.opened()?);
                } else {
                    calls.push(self.judge(call, &udp_sockets, end)?);
                }
            }
            if connections.len() == numbers.len() {
                break;
            }
            thread::sleep(LOOK);
        }
        connections.sort_by_key(|connection: &UdtConnection| connection.number);
        Ok(connections)
    }

    /// A UDP socket of a connection, which hears the listening host only.
    fn udp_socket(&self) -> Result<UdpSocket, LoadError> {
        let made = || {
            let udp = UdpSocket::bind((any_of(self.address), 0))?;
            admit(&udp, [self.address])?;
            Ok(udp)
        };
        made().map_err(|error| LoadError::host(format!("opening a UDP socket for {}", title(self.transport)), error, ""))
    }

    /// Presents the token of those that are not open yet. A datagram may be lost, and so may what the network says of it.
    fn announce(&self, udp_sockets: &BTreeMap<u32, UdpSocket>) {
        for (number, udp) in udp_sockets {
            let preamble = FlowPreamble { is_welcome: false, user: *number, number: 0 };
            let _ = udp.send_to(&preamble.encode(&self.token), self.address);
        }
    }

    fn call(&self, number: u32, udp_socket: &UdpSocket, opening_mono_ns: u64, was_dropped: bool) -> Result<OpeningCall, LoadError> {
        let socket = prepare(self.spec, self.transport, Some(self.spec.role_of(number)), self.place.domain(), self.mss_bytes)?;
        udp_socket.try_clone().and_then(|udp_socket| socket.bind(udp_socket)).map_err(|error| self.unreachable(error))?;
        socket.connect(self.address).map_err(|error| self.unreachable(error))?;
        Ok(OpeningCall { number, socket, opening_mono_ns, is_greeted: false, was_dropped, heard_bytes: 0 })
    }

    /// Presents the token as soon as the connection stands; whether the welcome is all there.
    fn look(&self, call: &mut OpeningCall) -> Result<bool, LoadError> {
        if call.socket.state() != SocketState::Connected {
            return Ok(false);
        }
        if !call.is_greeted {
            let sent = call.socket.send(&preamble::encode(&self.token, call.number, self.preamble_bytes));
            call.is_greeted = sent.map_err(|error| self.unreachable(error)).map(|_| true)?;
        }
        let mut piece = [0; preamble::MAX_BYTES];
        while call.heard_bytes < self.preamble_bytes {
            match call.socket.receive(&mut piece[..self.preamble_bytes - call.heard_bytes]) {
                Ok(count) if piece[..count].iter().any(|byte| *byte != WELCOME) => {
                    return Err(LoadError::Peer(format!("{} is not a whyperf agent of this trial", self.address)));
                }
                Ok(count) => call.heard_bytes += count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                // Whether it has broken is judged by its state.
                Err(_) => return Ok(false),
            }
        }
        Ok(true)
    }

    /// Goes on with one that is not open yet: the library gives up after 3 s, this only later. One that
    /// was dropped unheard, as a listening host does where unauthenticated peers crowd it, is called again.
    fn judge(&self, call: OpeningCall, udp_sockets: &BTreeMap<u32, UdpSocket>, end: Instant) -> Result<OpeningCall, LoadError> {
        let since = Duration::from_nanos(mono_ns().saturating_sub(call.opening_mono_ns));
        let is_late = since > CONNECT_TIMEOUT || Instant::now() > end;
        let late = || io::Error::new(ErrorKind::TimedOut, format!("no answer within {} s", since.as_secs()));
        let was_dropped = call.was_dropped || call.is_greeted;
        match call.socket.state() {
            SocketState::Broken if is_late && was_dropped => Err(self.unwelcome(&io::Error::from(ErrorKind::UnexpectedEof))),
            _ if is_late && was_dropped => Err(self.unwelcome(&late())),
            _ if is_late => Err(self.unreachable(late())),
            SocketState::Broken => self.call(call.number, &udp_sockets[&call.number], call.opening_mono_ns, was_dropped),
            SocketState::Connecting | SocketState::Connected => Ok(call),
        }
    }

    fn unwelcome(&self, error: &io::Error) -> LoadError {
        let name = title(self.transport);
        LoadError::Peer(format!("{} accepted a connection of {name} but did not welcome its token: {error}", self.address))
    }

    fn unreachable(&self, error: io::Error) -> LoadError {
        let doing = format!("connecting to {} by {}", self.address, title(self.transport));
        LoadError::host(doing, error, "; is the address right and no firewall in between?")
    }
}

impl OpeningCall {
    fn opened(self) -> Result<UdtConnection, LoadError> {
        let times = Times { opening_mono_ns: self.opening_mono_ns, opened_mono_ns: mono_ns() };
        opened(self.number, self.socket, times)
    }
}

/// All addresses of the same family.
fn any_of(address: SocketAddr) -> IpAddr {
    if address.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() }
}

/// Largest packet on the route to an address, as the kernel reports it, in bytes.
fn path_mtu(address: SocketAddr) -> Option<u32> {
    let socket = UdpSocket::bind((any_of(address), 0)).ok()?;
    socket.connect(address).ok()?;
    let option = if address.is_ipv4() { sockopt::PATH_MTU } else { sockopt::PATH_MTU_V6 };
    option.get(&socket).ok()?.try_into().ok()
}
