//! QUIC connections: a connected UDP socket each, at both hosts. One thread drives all of them until
//! they are open; then each goes to its own.

use probe::clock::mono_ns;
use quic::{Identity, Listener, QuicConnection, Settings};
use schema::trial::TrialSpec;
use schema::workload::Transport;
use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, Instant};

use super::{Arrivals, ListenPlace, Times, address_of_library, controller_of, is_aborted, numbers_over, open_timeout, tokens_of};
use crate::LoadError;
use crate::pending::Pending;
use crate::preamble::{self, WELCOME};

/// Time between two looks of both hosts at what has come.
const LOOK: Duration = Duration::from_millis(1);

/// Connections without a token yet that are kept waiting at most, in addition to as many as the trial has: as few as of
/// streams on a host that allows few files (`MIN_PENDING` of `limits`).
const SPARE_OPENS: usize = 16;

/// One open connection.
pub struct OpenedQuic {
    /// Number, the same at both hosts.
    pub number: u32,
    /// The connection.
    pub connection: QuicConnection,
    /// When it opened.
    pub times: Times,
}

impl std::fmt::Debug for OpenedQuic {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("QuicConnection").field("number", &self.number).finish_non_exhaustive()
    }
}

fn settings(spec: &TrialSpec, controller: Option<String>) -> Settings {
    let socket = &spec.socket;
    Settings {
        controller,
        receive_window_bytes: socket.receive_buffer_bytes.or(socket.window_bytes),
        send_window_bytes: socket.send_buffer_bytes.or(socket.window_bytes),
        takes_datagrams: spec.datagrams.is_some(),
    }
}

fn identity(spec: &TrialSpec) -> Result<Identity, LoadError> {
    Identity::of(spec.token.as_bytes()).map_err(|error| LoadError::host("making a certificate", error, ""))
}

fn address_of(spec: &TrialSpec, place: &ListenPlace) -> Result<SocketAddr, LoadError> {
    address_of_library(spec, place, Transport::Quic)
}

/// Listens at its UDP port.
pub(super) fn listen(spec: &TrialSpec, place: &ListenPlace) -> Result<Listener, LoadError> {
    // Who comes has not said yet which it is: all have the first's.
    let controller = numbers_over(spec, Transport::Quic).first().and_then(|number| controller_of(spec, *number));
    let address = address_of(spec, place)?;
    let bound = Listener::bind(address, identity(spec)?, settings(spec, controller));
    bound.map_err(|error| {
        LoadError::host(format!("listening on {address} for QUIC"), error, "; choose another port, or 0 to let the kernel choose")
    })
}

/// A connection that is opening, and the bytes of a preamble or a welcome that have come.
struct Open {
    connection: QuicConnection,
    opening_mono_ns: u64,
    heard: Vec<u8>,
    is_greeted: bool,
}

impl Open {
    fn new(connection: QuicConnection) -> Self {
        Self { connection, opening_mono_ns: mono_ns(), heard: Vec::new(), is_greeted: false }
    }

    /// Reads up to so many bytes in all; whether they are there. None when the connection is gone.
    fn hear(&mut self, length: usize) -> Option<bool> {
        let mut piece = [0; preamble::MAX_BYTES];
        while self.heard.len() < length {
            match self.connection.read(&mut piece[..length - self.heard.len()]) {
                Ok(0) => return None,
                Ok(count) => self.heard.extend_from_slice(&piece[..count]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Some(false),
                Err(_) => return None,
            }
        }
        Some(true)
    }

    /// Says something short, which an empty send buffer takes.
    fn say(&mut self, bytes: &[u8]) -> bool {
        self.connection.write(bytes).is_ok() && self.connection.drive(Duration::ZERO).is_ok()
    }

    fn opened(self, number: u32) -> OpenedQuic {
        let times = Times { opening_mono_ns: self.opening_mono_ns, opened_mono_ns: mono_ns() };
        OpenedQuic { number, connection: self.connection, times }
    }
}

/// Waits for all connections of the trial.
pub(super) fn accept(
    spec: &TrialSpec,
    listener: &mut Listener,
    place: &ListenPlace,
    arrivals: &Arrivals,
    abort: &AtomicBool,
) -> Result<Vec<OpenedQuic>, LoadError> {
    let failed = |error| LoadError::host("accepting QUIC connections", error, "");
    let (token, length, local) = (tokens_of(spec)?.inside, preamble::length(&spec.socket), address_of(spec, place)?);
    let mut awaited: BTreeSet<u32> = numbers_over(spec, Transport::Quic).into_iter().collect();
    let want = awaited.len();
    let end = Instant::now() + open_timeout(want);
    let (mut opens, mut connections, mut dropped_count) = (Pending::<Open>::new(want + SPARE_OPENS, 0), Vec::new(), 0);
    while !awaited.is_empty() {
        if is_aborted(abort) {
            return Err(LoadError::Peer("aborted while waiting for QUIC connections".to_owned()));
        }
        if Instant::now() > end {
            let (have, seconds) = (connections.len(), open_timeout(want).as_secs());
            let why = listener.failure().map_or_else(
                || "is a firewall in between?".to_owned(),
                |failure| format!("this host could not begin another one: {failure}"),
            );
            return Err(LoadError::Peer(format!("{have} of {want} QUIC connections arrived within {seconds} s; {why}")));
        }
        // What still comes to the common port belongs to connections that are opening.
        let mut opening: Vec<QuicConnection> = Vec::new();
        let mut rest = Vec::new();
        for open in opens.drain() {
            opening.push(open.connection);
            rest.push((open.opening_mono_ns, open.heard, open.is_greeted));
        }
        listener.take(local, &mut opening);
        arrivals.add_unauthenticated(listener.strangers_count() - dropped_count);
        dropped_count = listener.strangers_count();
        let mut rest = rest.into_iter();
        let arrived = opening.into_iter().map(|connection| match rest.next() {
            Some((opening_mono_ns, heard, is_greeted)) => Open { connection, opening_mono_ns, heard, is_greeted },
            None => Open::new(connection),
        });
        for mut open in arrived {
            open.connection.drive(Duration::ZERO).map_err(failed)?;
            match open.hear(length) {
                Some(false) if !open.connection.is_delivered() => {
                    let (_, evicted) = opens.push(open);
                    arrivals.add_unauthenticated(u64::from(evicted.is_some()));
                }
                Some(true) => match preamble::decode(&token, &open.heard).filter(|number| awaited.contains(number)) {
                    Some(number) if open.say(&vec![WELCOME; length]) => {
                        awaited.remove(&number);
                        arrivals.on_known();
                        connections.push(open.opened(number));
                    }
                    _ => {
                        open.connection.close();
                        arrivals.on_unauthenticated();
                    }
                },
                _ => arrivals.on_unauthenticated(),
            }
        }
        // Those that are open still have packets to send again until their load begins.
        for connection in &mut connections {
            connection.connection.drive(Duration::ZERO).map_err(failed)?;
        }
        thread::sleep(LOOK);
    }
    connections.sort_by_key(|connection| connection.number);
    arrivals.add_unauthenticated(opens.len() as u64);
    Ok(connections)
}

/// The connecting host: opens all connections of the trial.
pub(super) fn connect(spec: &TrialSpec, place: &ListenPlace, abort: &AtomicBool) -> Result<Vec<OpenedQuic>, LoadError> {
    let address = address_of(spec, place)?;
    let unreachable =
        |error| LoadError::host(format!("connecting to {address} by QUIC"), error, "; is the address right and no firewall in between?");
    let unwelcome = || LoadError::Peer(format!("{address} accepted a QUIC connection but did not welcome its token"));
    let (token, length, identity) = (tokens_of(spec)?.inside, preamble::length(&spec.socket), identity(spec)?);
    let numbers = numbers_over(spec, Transport::Quic);
    let end = Instant::now() + open_timeout(numbers.len());
    let mut connections = Vec::new();
    for number in numbers {
        let settings = settings(spec, controller_of(spec, number));
        let mut open = Open::new(QuicConnection::connect(address, &identity, &settings).map_err(unreachable)?);
        while !open.hear(length).ok_or_else(unwelcome)? {
            if is_aborted(abort) {
                return Err(LoadError::Peer("aborted while opening QUIC connections".to_owned()));
            }
            if Instant::now() > end {
                return Err(unreachable(std::io::Error::new(ErrorKind::TimedOut, "no answer in time")));
            }
            open.connection.drive(LOOK).map_err(unreachable)?;
            if open.connection.is_connected() && !open.is_greeted {
                open.is_greeted = open.say(&preamble::encode(&token, number, length));
            }
        }
        if open.heard.iter().any(|byte| *byte != WELCOME) {
            return Err(LoadError::Peer(format!("{address} is not a whyperf agent of this trial")));
        }
        connections.push(open.opened(number));
    }
    Ok(connections)
}
