//! The listening host: takes what arrives, hears its token, welcomes it.

use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags};
use probe::clock::mono_ns;
use schema::trial::{Opening, TrialSpec};
use schema::workload::Transport;
use socket2::Socket;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};
use tls::Hosts;

use super::Folder;
use super::bind::{PORT_ATTEMPTS, bind, bind_in_a_row};
use super::handshake::{Heard, Unknown};
use super::udt::{UdtListener, UdtOpened};
use super::{
    ABORT_CHECK, Arrivals, CONDUCTOR, Connection, EVENTS, ListenPlace, Opened, Times, begins_with_tls, has_conductor, is_aborted, is_over,
    is_over_quic, numbers_of_streams, open_timeout, quic, reverse, settle, split_conductor, tokens_of, udp, udt, wait, watch,
};
use crate::LoadError;
use crate::limits;
use crate::pending::Pending;
use crate::preamble::{self, Tokens};
use crate::secure;

/// Time that a connection may take to present its token.
const PREAMBLE_TIMEOUT: Duration = Duration::from_secs(5);
/// Arrivals taken before the others get their turn.
const ARRIVALS_AT_A_TIME: usize = 1024;

/// A listening host, before its connections are there.
pub struct Listening {
    sockets: Vec<Socket>,
    /// Take the first datagrams of flows.
    receivers: Vec<UdpSocket>,
    /// Take connections of UDT and SRT.
    over_udt: Vec<UdtListener>,
    /// Takes connections of QUIC.
    over_quic: Option<::quic::Listener>,
    place: ListenPlace,
    arrivals: Arc<Arrivals>,
    _folder: Option<Folder>,
    tokens: Tokens,
    /// Both sides of TLS, where the trial has it.
    hosts: Option<Arc<Hosts>>,
    spec: TrialSpec,
}

impl Listening {
    /// Listens as the trial asks.
    ///
    /// # Errors
    /// The address or port cannot be bound, or an option is refused.
    pub fn open(spec: &TrialSpec) -> Result<Self, LoadError> {
        debug_assert_eq!(spec.opening, Opening::Listen);
        let place = ListenPlace::of(spec, SocketAddr::new(listen_address(spec)?, spec.listen_port));
        let folder = place.file().map(Folder::make).transpose()?;
        let Bound { sockets, receivers, place, over_udt, over_quic } = bind_all(spec, &place)?;
        Ok(Self {
            sockets,
            receivers,
            over_udt,
            over_quic,
            place,
            arrivals: Arc::default(),
            _folder: folder,
            tokens: tokens_of(spec)?,
            hosts: secure::hosts_of(spec)?,
            spec: spec.clone(),
        })
    }

    /// The first port that connections come to; 0 where there are no ports.
    pub fn port(&self) -> u16 {
        self.place.first_port()
    }

    /// The arrivals so far, and those that come while [`Listening::accept_all`] waits.
    pub fn arrivals(&self) -> Arc<Arrivals> {
        Arc::clone(&self.arrivals)
    }

    /// Waits for all connections of the trial.
    ///
    /// # Errors
    /// They did not come in time, or `abort` was set.
    pub fn accept_all(mut self, abort: &AtomicBool) -> Result<Opened, LoadError> {
        let mut reception = Reception::new(&self)?;
        let timeout = open_timeout(reception.awaited_count);
        let end = Instant::now() + timeout;
        let mut events = [EpollEvent::empty(); EVENTS];
        while reception.known_count < reception.awaited_count {
            if is_aborted(abort) {
                return Err(LoadError::Peer("aborted while waiting for connections".to_owned()));
            }
            if Instant::now() > end {
                let (have, want) = (reception.known_count, reception.awaited_count);
                return Err(LoadError::Peer(format!(
                    "{have} of {want} connections arrived at {} within {} s; is a firewall in between?",
                    self.place,
                    timeout.as_secs()
                )));
            }
            for event in wait(&reception.epoll, &mut events, ABORT_CHECK)? {
                match usize::try_from(event.data()).ok().and_then(|number| self.sockets.get(number)) {
                    Some(listener) => reception.accept(listener)?,
                    None => reception.on_bytes(event.data()),
                }
            }
            reception.drop_silent();
        }
        for silent in reception.unknown.drain() {
            reception.drop_by_reset(&silent);
        }
        let slots = reception.slots.into_iter().chain([reception.conductor]);
        let mut connections: Vec<Connection> = slots.filter_map(Slot::into_connection).collect();
        let conductor = split_conductor(&mut connections)?;
        let mut place = self.place;
        if let (true, Some(conductor)) = (reverse::is_needed(&self.spec), &conductor) {
            place = reverse::check_reachability(&self.spec, &place, conductor, abort)?;
        }
        if let (Transport::Udp, Some(conductor)) = (self.spec.transport, &conductor) {
            let unblocked = |error| LoadError::host("the conductor's socket", error, "");
            conductor.set_nonblocking(true).map_err(unblocked)?;
            connections = udp::accept(&self.spec, &self.receivers, conductor, &self.arrivals, abort)?;
            conductor.set_nonblocking(false).map_err(unblocked)?;
        }
        let UdtOpened { connections: over_udt, threads: library_threads } =
            udt::accept_all(&self.spec, self.over_udt, &self.arrivals, abort)?;
        let over_quic = match &mut self.over_quic {
            Some(listener) => quic::accept(&self.spec, listener, &place, &self.arrivals, abort)?,
            None => Vec::new(),
        };
        settle(&mut connections, &self.spec)?;
        let (listeners, receivers) = match self.spec.workload {
            Some(_) => (self.sockets, self.receivers),
            None => (Vec::new(), Vec::new()),
        };
        let strangers_count = self.arrivals.strangers_count();
        Ok(Opened { connections, over_udt, over_quic, library_threads, strangers_count, conductor, listeners, receivers, place })
    }
}

/// Where a trial listens.
///
/// # Errors
/// It is no address.
pub(crate) fn listen_address(spec: &TrialSpec) -> Result<IpAddr, LoadError> {
    let Some(text) = &spec.listen_address else { return Ok(IpAddr::V4(Ipv4Addr::UNSPECIFIED)) };
    let named = text.parse().map_err(|_| LoadError::Usage(format!("listen address \"{text}\" is not a numeric address")))?;
    Ok(own_or_any(named, is_over(spec, Transport::Mptcp)))
}

/// An address, if this host has it. Behind address translation it has another one, and listens at any of the family. So
/// does MPTCP, because it joins connections between other addresses, which a loopback has not.
fn own_or_any(named: IpAddr, is_joined: bool) -> IpAddr {
    let is_foreign = || UdpSocket::bind((named, 0)).is_err_and(|error| error.kind() == io::ErrorKind::AddrNotAvailable);
    match named {
        _ if named.is_loopback() || !(is_joined || is_foreign()) => named,
        IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
    }
}

/// Everything that takes connections, and where.
struct Bound {
    sockets: Vec<Socket>,
    receivers: Vec<UdpSocket>,
    over_udt: Vec<UdtListener>,
    over_quic: Option<::quic::Listener>,
    place: ListenPlace,
}

/// Listens as the trial asks; where the kernel chooses the port, at one that suits the libraries, too.
fn bind_all(spec: &TrialSpec, asked: &ListenPlace) -> Result<Bound, LoadError> {
    let mut attempts = 0;
    loop {
        attempts += 1;
        let (is_free, (sockets, receivers, place)) = match asked {
            ListenPlace::Ports { ip, first: 0, count } => (true, bind_in_a_row(spec, *ip, *count)?),
            place => {
                let (sockets, receivers) = bind(spec, place)?;
                (false, (sockets, receivers, place.clone()))
            }
        };
        let over_udt = udt::listen_all(spec, &place);
        let over_quic = is_over_quic(spec).then(|| quic::listen(spec, &place)).transpose();
        match over_udt.and_then(|over_udt| Ok((over_udt, over_quic?))) {
            Ok((over_udt, over_quic)) => return Ok(Bound { sockets, receivers, over_udt, over_quic, place }),
            Err(error) if !is_free || attempts >= PORT_ATTEMPTS => return Err(error),
            Err(_) => {}
        }
    }
}

/// Arrivals at the listening host: those that presented the token and those that did not yet.
struct Reception<'a> {
    tokens: &'a Tokens,
    hosts: Option<&'a Hosts>,
    spec: &'a TrialSpec,
    epoll: Epoll,
    preamble_bytes: usize,
    slots: Vec<Slot>,
    conductor: Slot,
    awaited_count: usize,
    known_count: usize,
    /// By the number that the kernel reports with their events.
    unknown: Pending<Unknown>,
    arrivals: &'a Arrivals,
}

/// The place of a connection.
enum Slot {
    /// Nobody is awaited here.
    Closed,
    Awaited,
    Taken(Connection),
}

impl Slot {
    fn into_connection(self) -> Option<Connection> {
        match self {
            Slot::Taken(connection) => Some(connection),
            Slot::Closed | Slot::Awaited => None,
        }
    }
}

impl<'a> Reception<'a> {
    fn new(listening: &'a Listening) -> Result<Self, LoadError> {
        let failed = |error: nix::errno::Errno| LoadError::host("waiting for connections", error.into(), "");
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).map_err(failed)?;
        for (number, socket) in (0u64..).zip(&listening.sockets) {
            watch(&epoll, socket, EpollFlags::EPOLLIN, number)?;
        }
        let awaited: Vec<u32> = numbers_of_streams(&listening.spec).into_iter().filter(|number| *number != CONDUCTOR).collect();
        let has_conductor = has_conductor(&listening.spec);
        let mut slots: Vec<Slot> = (0..awaited.last().map_or(0, |last| *last as usize + 1)).map(|_| Slot::Closed).collect();
        for number in &awaited {
            slots[*number as usize] = Slot::Awaited;
        }
        Ok(Self {
            tokens: &listening.tokens,
            hosts: listening.hosts.as_deref(),
            spec: &listening.spec,
            epoll,
            preamble_bytes: preamble::length(&listening.spec.socket),
            slots,
            conductor: if has_conductor { Slot::Awaited } else { Slot::Closed },
            awaited_count: awaited.len() + usize::from(has_conductor),
            known_count: 0,
            unknown: Pending::new(limits::pending_room(&listening.spec), listening.sockets.len() as u64),
            arrivals: &listening.arrivals,
        })
    }

    fn accept(&mut self, listener: &Socket) -> Result<(), LoadError> {
        for _ in 0..ARRIVALS_AT_A_TIME {
            let socket = match listener.accept() {
                Ok((socket, _)) => socket,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => match limits::of_open_files(&error) {
                    // The file of whoever has been silent longest is wanted for the next.
                    Some(limit) => match self.unknown.evict() {
                        Some(silent) => {
                            self.drop_by_reset(&silent);
                            continue;
                        }
                        None => return Err(limit),
                    },
                    // One that was gone before it was accepted, or an interruption (accept(2), "Error handling").
                    None => continue,
                },
            };
            if socket.set_nonblocking(true).is_err() {
                self.arrivals.on_unauthenticated();
                continue;
            }
            let mut unknown = Unknown::new(socket, self.preamble_bytes);
            // Most have said who they are before they are taken from the queue.
            match unknown.hear(self.tokens, self.hosts) {
                Heard::NotYet => self.keep(unknown),
                heard => self.judge(&heard, unknown),
            }
        }
        Ok(())
    }

    fn keep(&mut self, unknown: Unknown) {
        let (arrival, evicted) = self.unknown.push(unknown);
        if let Some(silent) = evicted {
            self.drop_by_reset(&silent);
        }
        let Some(unknown) = self.unknown.take(arrival) else { return };
        // What cannot be watched is never heard.
        match watch(&self.epoll, &unknown.socket, EpollFlags::EPOLLIN | EpollFlags::EPOLLET, arrival) {
            Ok(()) => self.unknown.put_back(arrival, unknown),
            Err(_) => self.arrivals.on_unauthenticated(),
        }
    }

    fn on_bytes(&mut self, arrival: u64) {
        let Some(mut unknown) = self.unknown.take(arrival) else { return };
        match unknown.hear(self.tokens, self.hosts) {
            Heard::NotYet => self.unknown.put_back(arrival, unknown),
            heard => self.judge(&heard, unknown),
        }
    }

    /// Welcomes an arrival that said who it is, or drops it.
    fn judge(&mut self, heard: &Heard, mut unknown: Unknown) {
        if let Heard::Known(number) = heard
            && begins_with_tls(self.spec, *number) == unknown.tls.is_some()
            && let Some(slot @ Slot::Awaited) = self.slot(*number)
        {
            // One that has hung up is awaited again.
            if unknown.welcome() {
                let times = Times { opening_mono_ns: unknown.opening_mono_ns, opened_mono_ns: mono_ns() };
                *slot = Slot::Taken(Connection { tls: unknown.tls, ..Connection::new(*number, unknown.socket, times) });
                self.known_count += 1;
                self.arrivals.on_known();
            }
            return;
        }
        self.arrivals.on_unauthenticated();
    }

    fn slot(&mut self, number: u32) -> Option<&mut Slot> {
        if number == CONDUCTOR { Some(&mut self.conductor) } else { self.slots.get_mut(number as usize) }
    }

    /// Drops those that have not said in time who they are.
    fn drop_silent(&mut self) {
        while let Some(silent) = self.unknown.evict_if(|oldest| oldest.since.elapsed() > PREAMBLE_TIMEOUT) {
            self.drop_by_reset(&silent);
        }
    }

    fn drop_by_reset(&self, silent: &Unknown) {
        silent.reset();
        self.arrivals.on_unauthenticated();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_listens_at_the_named_address_if_it_has_it() {
        // 192.0.2.1 and 2001:db8::1 are for documents only (RFC 5737, RFC 3849).
        let cases = [("127.0.0.2", "127.0.0.2"), ("::1", "::1"), ("192.0.2.1", "0.0.0.0"), ("2001:db8::1", "::"), ("::", "::")];
        for (named, expected) in cases {
            for is_joined in [false, true] {
                assert_eq!(own_or_any(named.parse().expect("an address"), is_joined).to_string(), expected);
            }
        }
        // A host on a network has an address of its own in a route to another one.
        let routed = UdpSocket::bind("0.0.0.0:0").expect("a socket");
        if routed.connect("192.0.2.1:9").is_ok() {
            let own = routed.local_addr().expect("bound").ip();
            assert_eq!((own_or_any(own, false), own_or_any(own, true)), (own, IpAddr::V4(Ipv4Addr::UNSPECIFIED)));
        }
    }
}
