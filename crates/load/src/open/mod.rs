//! Makes the data connections of a trial. A connection counts only when it has presented the
//! trial's token; an unauthenticated peer is dropped and counted, and cannot hold anybody up.
//!
//! Both hosts wait for all their connections at once ([`listen`], [`connect`]), so that opening
//! 100 000 takes seconds. Where they go is [`place`]; what a host must allow for it, [`crate::limits`]. Where
//! a workload lets the listening host connect, the connecting one has a [`reverse`] listener.

mod admitted;
mod bind;
mod connect;
mod folder;
mod handshake;
mod listen;
mod place;
mod quic;
mod reverse;
mod udp;
mod udt;

use ::udt::Library;
use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollEvent, EpollFlags, EpollTimeout};
use schema::trial::TrialSpec;
use schema::workload::Transport;
use socket2::Socket;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;
use tls::Session;
use workload::datagrams::HEADER_BYTES;

pub use connect::connect_all;
pub(crate) use connect::start;
pub use folder::{Folder, Removed, clean};
pub use listen::Listening;
pub(crate) use listen::listen_address;
pub use place::ListenPlace;
pub use quic::OpenedQuic;
pub use udt::UdtConnection;

use crate::LoadError;
use crate::limits::{self, is_a_thread_each};
use crate::options;
use crate::preamble::{Token, Tokens};
use crate::sctp;
use crate::secure::{self, TlsFacts};
use crate::thread::pin_this_thread;

/// Time that opening all connections may take.
const OPEN_TIMEOUT: Duration = Duration::from_secs(20);
/// Additional time for each connection: a thousandth of what they are opened at on any host.
const OPEN_TIMEOUT_EACH: Duration = Duration::from_millis(1);
/// Time after which waiting looks again whether the trial was aborted.
const ABORT_CHECK: Duration = Duration::from_millis(100);
/// Largest size of a call, a window or a buffer.
const LARGEST_SIZE_BYTES: u64 = 1 << 30;
/// Most connections of a trial.
const MAX_CONNECTIONS: u64 = 200_000;
/// Most payload of a UDP datagram over IPv4 (RFC 768, RFC 791).
pub(crate) const MAX_DATAGRAM_BYTES: u64 = 65_507;
/// Most datagrams that the kernel takes in one call (`UDP_MAX_SEGMENTS`, since Linux 6.10).
const MAX_BATCH: u64 = 128;
/// Most flows of datagrams: each has a thread.
const MAX_DATAGRAM_FLOWS: u64 = 10_000;
/// Most connections over a library.
const MAX_LIBRARY_CONNECTIONS: u64 = 256;
/// The transports that libraries carry over UDP, in the order of their ports.
const LIBRARIES: [Transport; 3] = [Transport::Udt, Transport::Quic, Transport::Srt];
/// Those of them that are the libraries UDT and SRT, which are alike.
const UDT_LIKE: [(Transport, Library); 2] = [(Transport::Udt, Library::Udt), (Transport::Srt, Library::Srt)];
/// Events taken from the kernel at a time.
const EVENTS: usize = 512;

/// One open data connection.
#[derive(Debug)]
pub struct Connection {
    /// Number, from 0, the same at both hosts.
    pub number: u32,
    /// The socket; blocking where a thread waits in its calls, else not.
    pub socket: Socket,
    /// When it opened.
    pub times: Times,
    /// Its TLS, where this process encrypts.
    pub tls: Option<Box<Session>>,
    /// The facts that were negotiated.
    pub tls_facts: Option<TlsFacts>,
}

impl Connection {
    fn new(number: u32, socket: Socket, times: Times) -> Self {
        Self { number, socket, times, tls: None, tls_facts: None }
    }
}

/// When a connection opened, on `CLOCK_MONOTONIC` in ns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Times {
    /// Connecting host: before the connect call. Listening host: taken from the kernel's queue.
    pub opening_mono_ns: u64,
    /// The token was welcomed.
    pub opened_mono_ns: u64,
}

/// All connections of a trial, in the order of their numbers.
#[derive(Debug)]
pub struct Opened {
    /// The connections over sockets of the kernel.
    pub connections: Vec<Connection>,
    /// Those over the libraries UDT and SRT.
    pub over_udt: Vec<UdtConnection>,
    /// Those over QUIC.
    pub over_quic: Vec<OpenedQuic>,
    /// Threads that a library made for them.
    pub library_threads: Vec<u32>,
    /// Connections dropped because they did not present the token.
    pub strangers_count: u64,
    /// With a workload, datagrams, UDT or SRT: the connection over which both hosts agree about them.
    pub conductor: Option<Socket>,
    /// With a workload: the sockets, in the order of their ports, that take what the other host connects
    /// during the trial. They do not block.
    pub listeners: Vec<Socket>,
    /// The same over UDP: they take the first datagrams of flows.
    pub receivers: Vec<UdpSocket>,
    /// Where this host connects to during the trial, where it does.
    pub place: ListenPlace,
}

/// The arrivals at a listening host so far, for those who ask meanwhile.
#[derive(Debug, Default)]
pub struct Arrivals {
    known: AtomicU64,
    unauthenticated: AtomicU64,
}

impl Arrivals {
    /// Connections that were dropped because they did not present the token.
    pub fn strangers_count(&self) -> u64 {
        self.unauthenticated.load(Ordering::Relaxed)
    }

    /// Connections so far: of the trial, and of others.
    pub fn counts(&self) -> (u64, u64) {
        (self.known.load(Ordering::Relaxed), self.strangers_count())
    }

    fn on_known(&self) {
        self.known.fetch_add(1, Ordering::Relaxed);
    }

    fn add_unauthenticated(&self, count: u64) {
        self.unauthenticated.fetch_add(count, Ordering::Relaxed);
    }

    fn on_unauthenticated(&self) {
        self.add_unauthenticated(1);
    }
}

/// Number of the connection over which both hosts agree about a workload, datagrams or the end of UDT's
/// and SRT's streams; no user has it.
pub const CONDUCTOR: u32 = u32::MAX;

/// Reads the tokens of a trial.
pub(crate) fn tokens_of(spec: &TrialSpec) -> Result<Tokens, LoadError> {
    Tokens::parse(&spec.token).ok_or_else(|| LoadError::Usage("the trial's token is not 64 hexadecimal digits".to_owned()))
}

/// The token of what is never encrypted.
pub(crate) fn token_of(spec: &TrialSpec) -> Result<Token, LoadError> {
    Ok(tokens_of(spec)?.plain)
}

/// Numbers of the connections that are open before the start, ascending: all, or with a workload
/// those of the users that begin connected.
pub fn numbers(spec: &TrialSpec) -> Vec<u32> {
    let Some(workload) = &spec.workload else { return (0..spec.connections_count).collect() };
    let mut first = 0u32;
    let mut numbers = Vec::new();
    for group in &workload.groups {
        let next = first.saturating_add(group.strands_count).min(spec.connections_count);
        if group.is_connected {
            numbers.extend(first..next);
        }
        first = next;
    }
    numbers
}

/// The transport that carries a connection.
fn transport_of(spec: &TrialSpec, number: u32) -> Transport {
    spec.flow_of(number).and_then(|flow| spec.schedule[flow].transport).unwrap_or(spec.transport)
}

/// Numbers of the connections that this carries, ascending.
fn numbers_over(spec: &TrialSpec, transport: Transport) -> Vec<u32> {
    numbers(spec).into_iter().filter(|number| transport_of(spec, *number) == transport).collect()
}

/// True if both hosts have a connection to agree over.
fn has_conductor(spec: &TrialSpec) -> bool {
    spec.workload.is_some() || spec.datagrams.is_some() || is_over_udt(spec) || spec.transport == Transport::Sctp
}

/// True if this carries any connection.
pub(crate) fn is_over(spec: &TrialSpec, transport: Transport) -> bool {
    spec.transport == transport || spec.schedule.iter().any(|flow| flow.transport == Some(transport))
}

/// True if UDT or SRT carries any connection.
fn is_over_udt(spec: &TrialSpec) -> bool {
    UDT_LIKE.iter().any(|(transport, _)| is_over(spec, *transport))
}

/// Congestion control of a QUIC connection, if one is asked for: that of its flow, or of a trial over
/// QUIC; those of TCP are others.
pub(crate) fn controller_of(spec: &TrialSpec, number: u32) -> Option<String> {
    let own = spec.flow_of(number).and_then(|flow| spec.schedule[flow].congestion_control.clone());
    own.or_else(|| spec.socket.congestion_control.clone().filter(|_| spec.transport == Transport::Quic))
}

/// True if QUIC carries any connection.
fn is_over_quic(spec: &TrialSpec) -> bool {
    is_over(spec, Transport::Quic)
}

/// Where the connections of a library go: each library of the trial has a UDP port of its own, the first
/// at the number of the place's first port.
fn address_of_library(spec: &TrialSpec, place: &ListenPlace, library: Transport) -> Result<SocketAddr, LoadError> {
    let before = LIBRARIES.iter().take_while(|other| **other != library).filter(|other| is_over(spec, **other)).count();
    place.udp_neighbor(u16::try_from(before).unwrap_or(u16::MAX)).ok_or_else(|| {
        let name = library.name();
        LoadError::Usage(format!("{name} goes over UDP, and has no port at {place}; choose another port, or 0 to let the kernel choose"))
    })
}

/// True if the kernel's stream sockets carry it.
fn has_streams(transport: Transport) -> bool {
    transport != Transport::Udp && !LIBRARIES.contains(&transport)
}

/// The transport that carries streams over the kernel's sockets: where there are none, the conductor's alone.
fn stream_transport(spec: &TrialSpec) -> Transport {
    if has_streams(spec.transport) { spec.transport } else { Transport::Tcp }
}

/// Numbers of the connections that are streams of the kernel, and behind them the conductor's.
fn numbers_of_streams(spec: &TrialSpec) -> Vec<u32> {
    let mut numbers: Vec<u32> = numbers(spec).into_iter().filter(|number| has_streams(transport_of(spec, *number))).collect();
    if has_conductor(spec) {
        numbers.push(CONDUCTOR);
    }
    numbers
}

/// Takes the conductor's connection, the last by number, from those of the payload. It blocks.
fn split_conductor(connections: &mut Vec<Connection>) -> Result<Option<Socket>, LoadError> {
    let conductor = connections.pop_if(|last| last.number == CONDUCTOR).map(|last| last.socket);
    if let Some(socket) = &conductor {
        socket.set_nonblocking(false).map_err(|error| LoadError::host("the conductor's socket", error, ""))?;
        // A frame that waited for the other host's delayed ACK would begin a transaction there 40 ms late. Sockets that
        // are none of TCP refuse it, and hold nothing back.
        let _ = socket.set_tcp_nodelay(true);
    }
    Ok(conductor)
}

/// Checks what makes no sense in a trial before anything is opened.
///
/// # Errors
/// [`LoadError::Usage`] naming the value, [`LoadError::Limit`] naming what the host does not allow.
pub fn check(spec: &TrialSpec) -> Result<(), LoadError> {
    tokens_of(spec)?;
    let socket = |value: Option<u32>| u64::from(value.unwrap_or(1));
    // The bounds of the plan's factors, and none where the kernel's own answer says more.
    let bounded = [
        ("connections_count", u64::from(spec.connections_count), 1, MAX_CONNECTIONS),
        ("write_size_bytes", u64::from(spec.write_size_bytes), 1, LARGEST_SIZE_BYTES),
        ("read_size_bytes", u64::from(spec.read_size_bytes), 1, LARGEST_SIZE_BYTES),
        ("reply_size_bytes", u64::from(spec.reply_size_bytes), 0, LARGEST_SIZE_BYTES),
        ("window_bytes", socket(spec.socket.window_bytes), 1, LARGEST_SIZE_BYTES),
        ("send_buffer_bytes", socket(spec.socket.send_buffer_bytes), 1, LARGEST_SIZE_BYTES),
        ("receive_buffer_bytes", socket(spec.socket.receive_buffer_bytes), 1, LARGEST_SIZE_BYTES),
        ("mss_bytes", socket(spec.socket.mss_bytes), 1, LARGEST_SIZE_BYTES),
        ("interval_ns", spec.interval_ns, 1_000_000, u64::MAX),
        ("deadline_ns", spec.deadline_ns, 1, u64::MAX),
    ];
    if let Some((name, value, low, high)) = bounded.iter().find(|(_, value, low, high)| value < low || value > high) {
        let bounds = if *high == u64::MAX { format!("at least {low}") } else { format!("from {low} to {high}") };
        return Err(LoadError::Usage(format!("{name} is {value}; it must be {bounds}")));
    }
    let marks = spec.schedule.iter().map(|flow| flow.dscp).chain([spec.socket.dscp]);
    if let Some(dscp) = marks.flatten().find(|dscp| *dscp > 63) {
        return Err(LoadError::Usage(format!("dscp is {dscp}; it must be from 0 to 63")));
    }
    if let Some(source) = spec.socket.source_address.as_ref().filter(|source| source.parse::<IpAddr>().is_err()) {
        return Err(LoadError::Usage(format!("source_address is {source}; it must be a numeric address")));
    }
    schema::options::check(spec).map_err(|error| LoadError::Usage(error.to_string()))?;
    workload::schedule::check(spec).map_err(|error| LoadError::Usage(error.to_string()))?;
    check_transport(spec)?;
    secure::check(spec)?;
    sctp::check(spec)?;
    check_pinning(&spec.pin_cpus)?;
    limits::allow_open_files(spec)
}

/// Libraries carry streams with a thread each, where they are there.
fn check_libraries(spec: &TrialSpec) -> Result<(), LoadError> {
    let lacking = UDT_LIKE.iter().find(|(transport, library)| is_over(spec, *transport) && !library.is_present());
    if let Some((_, library)) = lacking {
        return Err(LoadError::Limit(library.missing()));
    }
    for number in numbers_over(spec, Transport::Quic) {
        if let Some(name) = controller_of(spec, number).filter(|name| !::quic::CONTROLLERS.contains(&name.as_str())) {
            let known = ::quic::CONTROLLERS.join(", ");
            return Err(LoadError::Usage(format!("quic has no congestion control \"{name}\"; it has {known}")));
        }
    }
    let name = LIBRARIES.iter().find(|library| is_over(spec, **library)).map_or("", |library| library.name());
    if spec.workload.is_some() {
        return Err(LoadError::Usage(format!("{name} executes no operations; leave the workload out, or choose tcp")));
    }
    if u64::from(spec.connections_count) > MAX_LIBRARY_CONNECTIONS {
        let asked = spec.connections_count;
        let text = format!(
            "connections_count is {asked}; over {name}, where each has threads of its own, it must be from 1 to {MAX_LIBRARY_CONNECTIONS}"
        );
        return Err(LoadError::Usage(text));
    }
    Ok(())
}

/// Checks the values that a transport bounds.
fn check_transport(spec: &TrialSpec) -> Result<(), LoadError> {
    if is_over_udt(spec) || is_over_quic(spec) {
        check_libraries(spec)?;
    }
    let Some(datagrams) = &spec.datagrams else { return Ok(()) };
    let (low, high) = (HEADER_BYTES as u64, MAX_DATAGRAM_BYTES);
    let bounded = [
        ("datagram_bytes", u64::from(datagrams.datagram_bytes), low, high),
        ("batch_count", u64::from(datagrams.batch_count), 1, MAX_BATCH),
        ("connections_count", u64::from(spec.connections_count), 1, MAX_DATAGRAM_FLOWS),
    ];
    match bounded.iter().find(|(_, value, low, high)| value < low || value > high) {
        Some((name, value, low, high)) => {
            Err(LoadError::Usage(format!("{name} is {value}; with datagrams it must be from {low} to {high}")))
        }
        None => Ok(()),
    }
}

/// Lets a thread of its own try the CPUs: only a try shows whether they may be used.
fn check_pinning(pin_cpus: &[u32]) -> Result<(), LoadError> {
    let cpus = pin_cpus.to_vec();
    let tried = thread::spawn(move || pin_this_thread(&cpus)).join();
    match tried {
        Ok(Err(error)) => Err(LoadError::Usage(error.to_string())),
        _ => Ok(()),
    }
}

/// Time that opening that many connections may take.
fn open_timeout(connections: usize) -> Duration {
    OPEN_TIMEOUT + OPEN_TIMEOUT_EACH * u32::try_from(connections).unwrap_or(u32::MAX)
}

/// True if a connection begins with TLS; the conductor's never does.
fn begins_with_tls(spec: &TrialSpec, number: u32) -> bool {
    number != CONDUCTOR && transport_of(spec, number) == Transport::Tls
}

/// Makes open connections ready for their load.
fn settle(connections: &mut [Connection], spec: &TrialSpec) -> Result<(), LoadError> {
    let is_blocking = is_a_thread_each(spec);
    for connection in &*connections {
        let waiting = connection.socket.set_nonblocking(!is_blocking);
        waiting.map_err(|error| LoadError::host("a data socket", error, ""))?;
        let own = spec.of_connection(connection.number);
        options::settle(&connection.socket, own.transport, &own.socket, own.role)?;
    }
    secure::settle_all(connections, spec)
}

/// Sleeps until something happens, or it is time to look for an abort.
fn wait<'a>(epoll: &Epoll, events: &'a mut [EpollEvent; EVENTS], timeout: Duration) -> Result<&'a [EpollEvent], LoadError> {
    let timeout = EpollTimeout::try_from(timeout.min(ABORT_CHECK)).unwrap_or(EpollTimeout::ZERO);
    match epoll.wait(events, timeout) {
        Ok(count) => Ok(&events[..count]),
        Err(Errno::EINTR) => Ok(&[]),
        Err(error) => Err(LoadError::host("waiting for connections", error.into(), "")),
    }
}

fn watch(epoll: &Epoll, socket: &impl AsFd, events: EpollFlags, number: u64) -> Result<(), LoadError> {
    epoll
        .add(socket, EpollEvent::new(events, number))
        .map_err(|error| LoadError::host("watching a socket", error.into(), "; see fs.epoll.max_user_watches"))
}

fn is_aborted(abort: &AtomicBool) -> bool {
    abort.load(Ordering::Relaxed)
}
