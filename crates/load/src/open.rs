//! Makes the data connections of a trial. A connection counts only when it has presented the
//! trial's token; a stranger is dropped and counted, and cannot hold anybody up.

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use schema::trial::{Opening, TrialSpec};
use socket2::{SockAddr, Socket};
use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::LoadError;
use crate::options;
use crate::preamble::{self, Token, WELCOME};
use crate::running::pin_this_thread;

/// How long opening all connections may take.
const OPEN_TIMEOUT: Duration = Duration::from_secs(20);
/// How long one connection may take to open.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a connection may take to present its token.
const PREAMBLE_TIMEOUT: Duration = Duration::from_secs(5);
/// How often waiting looks whether the trial was aborted.
const ABORT_CHECK: Duration = Duration::from_millis(100);
/// What to do when many connections are too many.
pub(crate) const MANY_FILES: &str = "; with many connections raise the host's limit of open files (ulimit -Hn)";
/// Largest size of a call, a window or a buffer.
const LARGEST_SIZE_BYTES: u64 = 1 << 30;
/// Connections without a token yet that are kept waiting at most; more are strangers.
const MAX_UNKNOWN: usize = 1024;

/// One open data connection.
#[derive(Debug)]
pub struct Connection {
    /// Number, from 0, the same at both ends.
    pub number: u32,
    /// The socket, blocking.
    pub socket: Socket,
}

/// All connections of a trial, in the order of their numbers.
#[derive(Debug)]
pub struct Opened {
    /// The connections.
    pub connections: Vec<Connection>,
    /// Connections dropped because they did not present the token.
    pub strangers_count: u64,
    /// With a workload: the connection over which both ends agree about it.
    pub conductor: Option<Socket>,
    /// With a workload, at the listening end: accepts what connects during the trial. Non-blocking.
    pub listener: Option<Socket>,
    /// With a workload, at the connecting end: where the other end listens.
    pub address: Option<SocketAddr>,
}

/// Number of the connection over which both ends agree about a workload; no strand has it.
pub const CONDUCTOR: u32 = u32::MAX;

/// Numbers of the connections that are open before the start, ascending: all, or with a workload those
/// of the strands that begin connected, and the conductor's.
fn numbers(spec: &TrialSpec) -> Vec<u32> {
    let Some(workload) = &spec.workload else { return (0..spec.connections_count).collect() };
    let mut first = 0u32;
    let mut numbers = Vec::new();
    for group in &workload.groups {
        let next = first.saturating_add(group.strands_count);
        if group.is_connected {
            numbers.extend(first..next);
        }
        first = next;
    }
    numbers.push(CONDUCTOR);
    numbers
}

/// Takes the conductor's connection, the last by number, from those of the payload.
fn split_conductor(spec: &TrialSpec, connections: &mut Vec<Connection>) -> Option<Socket> {
    spec.workload.as_ref().and_then(|_| connections.pop_if(|last| last.number == CONDUCTOR)).map(|last| last.socket)
}

/// A listening end, before its connections are there.
pub struct Listening {
    socket: Socket,
    port: u16,
    token: Token,
    expected: Vec<u32>,
    spec: TrialSpec,
}

/// Reads the token of a trial.
fn token_of(spec: &TrialSpec) -> Result<Token, LoadError> {
    Token::parse(&spec.token).ok_or_else(|| LoadError::Usage("the trial's token is not 64 hexadecimal digits".to_owned()))
}

/// Checks what makes no sense in a trial before anything is opened.
///
/// # Errors
/// [`LoadError::Usage`] naming the value.
pub fn check(spec: &TrialSpec) -> Result<(), LoadError> {
    token_of(spec)?;
    let socket = |value: Option<u32>| u64::from(value.unwrap_or(1));
    // The bounds of the plan's factors, and none where the kernel's own answer says more.
    let bounded = [
        ("connections_count", u64::from(spec.connections_count), 1, 10_000),
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
    check_pinning(&spec.pin_cpus)
}

/// Lets a thread of its own try the CPUs: whether they may be used only the kernel knows.
fn check_pinning(pin_cpus: &[u32]) -> Result<(), LoadError> {
    let cpus = pin_cpus.to_vec();
    let tried = thread::spawn(move || pin_this_thread(&cpus)).join();
    match tried {
        Ok(Err(error)) => Err(LoadError::Usage(error.to_string())),
        _ => Ok(()),
    }
}

impl Listening {
    /// Listens as the trial asks.
    ///
    /// # Errors
    /// The address or port cannot be bound, or an option is refused.
    pub fn open(spec: &TrialSpec) -> Result<Self, LoadError> {
        debug_assert_eq!(spec.opening, Opening::Listen);
        let ip = match &spec.listen_address {
            Some(text) => text.parse().map_err(|_| LoadError::Usage(format!("listen address \"{text}\" is not a numeric address")))?,
            None => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        };
        let address = SocketAddr::new(ip, spec.listen_port);
        let socket = options::prepare(&address, &spec.socket, spec.role)?;
        let advice = match spec.listen_port {
            0 => "",
            _ => "; choose another port, or 0 to let the kernel choose",
        };
        let bound = |error| LoadError::host(format!("listening on {address}"), error, advice);
        socket.set_reuse_address(true).map_err(bound)?;
        socket.bind(&address.into()).map_err(bound)?;
        let backlog = i32::try_from(spec.connections_count).unwrap_or(i32::MAX).clamp(128, 4096);
        socket.listen(backlog).map_err(bound)?;
        socket.set_nonblocking(true).map_err(bound)?;
        let port = socket.local_addr().ok().and_then(|address| address.as_socket()).map_or(0, |address| address.port());
        Ok(Self { socket, port, token: token_of(spec)?, expected: numbers(spec), spec: spec.clone() })
    }

    /// The port connections come to.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Waits for all connections of the trial.
    ///
    /// # Errors
    /// They did not come in time, or `abort` was set.
    pub fn accept_all(self, abort: &AtomicBool) -> Result<Opened, LoadError> {
        let preamble_bytes = preamble::length(&self.spec.socket);
        let mut reception = Reception { preamble_bytes, known: Vec::new(), unknown: Vec::new(), strangers_count: 0 };
        let end = Instant::now() + OPEN_TIMEOUT;
        while reception.known.len() < self.expected.len() {
            if abort.load(Ordering::Relaxed) {
                return Err(LoadError::Peer("aborted while waiting for connections".to_owned()));
            }
            if Instant::now() > end {
                let (have, want) = (reception.known.len(), self.expected.len());
                return Err(LoadError::Peer(format!(
                    "{have} of {want} connections arrived at port {} within {} s; is a firewall in between?",
                    self.port,
                    OPEN_TIMEOUT.as_secs()
                )));
            }
            reception.wait(&self.socket)?;
            reception.accept(&self.socket)?;
            reception.hear(&self.token, &self.expected);
        }
        let mut connections = reception.known;
        connections.sort_by_key(|connection| connection.number);
        for connection in &connections {
            connection.socket.set_nonblocking(false).map_err(|error| LoadError::host("a data socket", error, ""))?;
            options::settle(&connection.socket, &self.spec.socket, self.spec.role)?;
        }
        let strangers_count = reception.strangers_count + reception.unknown.len() as u64;
        let conductor = split_conductor(&self.spec, &mut connections);
        let listener = self.spec.workload.is_some().then_some(self.socket);
        Ok(Opened { connections, strangers_count, conductor, listener, address: None })
    }
}

/// Arrivals at the listening end: those that presented the token and those that did not yet.
struct Reception {
    preamble_bytes: usize,
    known: Vec<Connection>,
    unknown: Vec<Unknown>,
    strangers_count: u64,
}

struct Unknown {
    socket: Socket,
    since: Instant,
    have: usize,
    bytes: Vec<u8>,
}

/// What became of an arrival after a look at its bytes.
enum Heard {
    NotYet,
    Known(u32),
    Stranger,
}

impl Reception {
    /// Sleeps until something arrives or it is time to look for an abort.
    fn wait(&self, listener: &Socket) -> Result<(), LoadError> {
        let sockets = std::iter::once(listener).chain(self.unknown.iter().map(|unknown| &unknown.socket));
        let mut polled: Vec<PollFd<'_>> = sockets.map(|socket| PollFd::new(socket.as_fd(), PollFlags::POLLIN)).collect();
        let timeout = PollTimeout::try_from(ABORT_CHECK).unwrap_or(PollTimeout::ZERO);
        match poll(&mut polled, timeout) {
            Ok(_) | Err(nix::errno::Errno::EINTR) => Ok(()),
            Err(error) => Err(LoadError::host("waiting for connections", error.into(), "")),
        }
    }

    fn accept(&mut self, listener: &Socket) -> Result<(), LoadError> {
        loop {
            let socket = match listener.accept() {
                Ok((socket, _)) => socket,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                // One that was gone before it was accepted, or an interruption: the next, please.
                Err(error) if matches!(error.kind(), io::ErrorKind::Interrupted | io::ErrorKind::ConnectionAborted) => continue,
                Err(error) => return Err(LoadError::host("accepting a connection", error, MANY_FILES)),
            };
            if self.unknown.len() >= MAX_UNKNOWN || socket.set_nonblocking(true).is_err() {
                self.strangers_count += 1;
                continue;
            }
            self.unknown.push(Unknown { socket, since: Instant::now(), have: 0, bytes: vec![0; self.preamble_bytes] });
        }
    }

    fn hear(&mut self, token: &Token, expected: &[u32]) {
        for mut unknown in std::mem::take(&mut self.unknown) {
            match unknown.hear(token) {
                Heard::NotYet => self.unknown.push(unknown),
                Heard::Known(number)
                    if expected.binary_search(&number).is_ok() && self.known.iter().all(|known| known.number != number) =>
                {
                    // A welcome is less than any empty send buffer, so it does not block.
                    if unknown.socket.send(&vec![WELCOME; self.preamble_bytes]).is_ok() {
                        self.known.push(Connection { number, socket: unknown.socket });
                    }
                }
                Heard::Known(_) | Heard::Stranger => self.strangers_count += 1,
            }
        }
    }
}

impl Unknown {
    fn hear(&mut self, token: &Token) -> Heard {
        match (&self.socket).read(&mut self.bytes[self.have..]) {
            Ok(0) => return Heard::Stranger,
            Ok(count) => self.have += count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock || error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return Heard::Stranger,
        }
        if self.have == self.bytes.len() {
            return preamble::decode(token, &self.bytes).map_or(Heard::Stranger, Heard::Known);
        }
        if self.since.elapsed() > PREAMBLE_TIMEOUT { Heard::Stranger } else { Heard::NotYet }
    }
}

/// Opens all connections of the trial to a listening end.
///
/// # Errors
/// An option is refused, the address cannot be reached, the other end does not know the token, or
/// `abort` was set.
pub fn connect_all(spec: &TrialSpec, address: SocketAddr, abort: &AtomicBool) -> Result<Opened, LoadError> {
    let token = token_of(spec)?;
    let preamble_bytes = preamble::length(&spec.socket);
    let numbers = numbers(spec);
    let mut connections = Vec::with_capacity(numbers.len());
    for number in numbers {
        let socket = options::prepare(&address, &spec.socket, spec.role)?;
        let unreachable =
            |error| LoadError::host(format!("connecting to {address}"), error, "; is the address right and no firewall in between?");
        connect(&socket, address, abort).map_err(unreachable)?;
        (&socket).write_all(&preamble::encode(&token, number, preamble_bytes)).map_err(unreachable)?;
        connections.push(Connection { number, socket });
    }
    for connection in &connections {
        let socket = &connection.socket;
        let no_welcome =
            |error: io::Error| LoadError::Peer(format!("{address} accepted a connection but did not welcome its token: {error}"));
        let answer = read_welcome(socket, preamble_bytes, abort).map_err(no_welcome)?;
        if answer.iter().any(|byte| *byte != WELCOME) {
            return Err(LoadError::Peer(format!("{address} is not a whyperf agent of this trial")));
        }
        options::settle(socket, &spec.socket, spec.role)?;
    }
    let conductor = split_conductor(spec, &mut connections);
    let address = spec.workload.is_some().then_some(address);
    Ok(Opened { connections, strangers_count: 0, conductor, listener: None, address })
}

/// Connects a blocking socket, looking for an abort all the while.
fn connect(socket: &Socket, address: SocketAddr, abort: &AtomicBool) -> io::Result<()> {
    socket.set_nonblocking(true)?;
    match socket.connect(&SockAddr::from(address)) {
        Err(error) if error.raw_os_error() == Some(libc::EINPROGRESS) => {
            await_ready(socket, PollFlags::POLLOUT, CONNECT_TIMEOUT, abort)?;
            if let Some(error) = socket.take_error()? {
                return Err(error);
            }
        }
        outcome => outcome?,
    }
    socket.set_nonblocking(false)
}

fn read_welcome(socket: &Socket, length: usize, abort: &AtomicBool) -> io::Result<Vec<u8>> {
    let mut answer = vec![0; length];
    let mut have = 0;
    while have < length {
        await_ready(socket, PollFlags::POLLIN, OPEN_TIMEOUT, abort)?;
        let mut reader = socket;
        match reader.read(&mut answer[have..])? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            count => have += count,
        }
    }
    Ok(answer)
}

/// Waits until the socket is ready or broken.
fn await_ready(socket: &Socket, events: PollFlags, timeout: Duration, abort: &AtomicBool) -> io::Result<()> {
    let end = Instant::now() + timeout;
    while Instant::now() < end {
        if abort.load(Ordering::Relaxed) {
            return Err(io::Error::other("aborted"));
        }
        match poll(&mut [PollFd::new(socket.as_fd(), events)], PollTimeout::try_from(ABORT_CHECK).unwrap_or(PollTimeout::ZERO)) {
            Ok(0) | Err(nix::errno::Errno::EINTR) => {}
            Ok(_) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
    }
    Err(io::Error::new(io::ErrorKind::TimedOut, format!("no answer within {} s", timeout.as_secs())))
}
