//! The connecting host's own listener, where a workload lets the listening host connect while it runs.
//!
//! Both hosts agree on it over the conductor's connection, before anything else is sent there. The
//! connecting host sends the first port it listens at (be16; 0 where it is a file). The listening host
//! connects to the address that the conductor's connection comes from, presents a preamble with the
//! conductor's number, is welcomed there and hangs up. Then it sends `+` on the conductor's connection,
//! or `-`, a length (be16) and a sentence. So address translation, a firewall or a wrong destination is
//! reported before the load starts.

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use schema::trial::TrialSpec;
use schema::workload::{Operation, Transport};
use socket2::Socket;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, UdpSocket};
use std::os::fd::AsFd;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, Instant};

use super::Folder;
use super::bind::{bind, bind_in_a_row};
use super::handshake::{Heard, Unknown, is_hang_up};
use super::{ABORT_CHECK, CONDUCTOR, ListenPlace, is_aborted, stream_transport, token_of, tokens_of};
use crate::LoadError;
use crate::limits;
use crate::options;
use crate::pending::Pending;
use crate::preamble::{self, Tokens, WELCOME};

/// Time that the reachability check may take.
const CHECK_TIMEOUT: Duration = Duration::from_secs(5);
/// Time that the connecting host waits for its result.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);
/// Time after which the connecting host accepts waiting peers again, in ms.
const TICK_MS: u16 = 10;
/// Peers accepted before the conductor's connection is read.
const ACCEPTS_AT_A_TIME: usize = 256;
/// Time to wait before a check that was dropped is tried again.
const RETRY_PAUSE: Duration = Duration::from_millis(50);
const REFUSED: u8 = b'-';
/// The advice where the listening host cannot connect back.
const ADVICE: &str = "is the near host behind address translation or a firewall? Then use a workload that connects from the near host only";

/// True if the listening host connects while the workload runs.
pub(super) fn is_needed(spec: &TrialSpec) -> bool {
    let Some(workload) = &spec.workload else { return false };
    let mut steps = workload.groups.iter().flat_map(|group| &group.transactions).flat_map(|transaction| &transaction.steps);
    steps.any(|step| matches!(step.operation, Operation::Accept { .. }))
}

/// Where the connecting host listens, and how many peers came there without the token.
pub(super) struct ReverseListener {
    pub listeners: Vec<Socket>,
    /// Over UDP.
    pub receivers: Vec<UdpSocket>,
    pub strangers_count: u64,
}

/// The connecting host: listens, sends its port, and waits until the listening host has checked it.
///
/// # Errors
/// There is no port, or it cannot be reached; the sentence is the other host's.
pub(super) fn open(spec: &TrialSpec, place: &ListenPlace, conductor: &Socket, abort: &AtomicBool) -> Result<ReverseListener, LoadError> {
    let host = |error| LoadError::host("listening for the other host's connections", error, "");
    let local = conductor.local_addr().map_err(host)?;
    let (listeners, receivers, port, _folder) = match (spec.transport, local.as_socket()) {
        (Transport::Unix, _) | (_, None) => {
            let back = ListenPlace::back_of(spec);
            let folder = back.file().map(Folder::make).transpose()?;
            (bind(spec, &back)?.0, Vec::new(), 0, folder)
        }
        (_, Some(local)) => {
            let (listeners, receivers, bound) = bind_in_a_row(spec, local.ip(), place.ports_count())?;
            (listeners, receivers, bound.first_port(), None)
        }
    };
    let mut listener = ReverseListener { listeners, receivers, strangers_count: 0 };
    let gone = |error: io::Error| LoadError::Peer(format!("the other host closed the connection during the reachability check: {error}"));
    write_all(conductor, &port.to_be_bytes()).map_err(gone)?;
    conductor.set_nonblocking(true).map_err(host)?;
    let answered = listener.await_check(spec, conductor, abort);
    conductor.set_nonblocking(false).map_err(host)?;
    answered.map(|()| listener)
}

impl ReverseListener {
    fn await_check(&mut self, spec: &TrialSpec, conductor: &Socket, abort: &AtomicBool) -> Result<(), LoadError> {
        let tokens = tokens_of(spec)?;
        let end = Instant::now() + ANSWER_TIMEOUT;
        let mut unknown = Pending::new(limits::pending_room(spec), 0);
        let mut answer = Vec::new();
        while Instant::now() < end {
            if is_aborted(abort) {
                return Err(LoadError::Peer("aborted during the reachability check".to_owned()));
            }
            self.hear_peers(&tokens, preamble::length(&spec.socket), &mut unknown);
            let mut piece = [0; 1024];
            match (&*conductor).read(&mut piece) {
                Ok(0) => return Err(LoadError::Peer("the other host closed the connection during the reachability check".to_owned())),
                Ok(count) => answer.extend_from_slice(&piece[..count]),
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
                Err(error) => {
                    return Err(LoadError::Peer(format!("the other host closed the connection during the reachability check: {error}")));
                }
            }
            match Answer::of(&answer) {
                Answer::NotYet => self.sleep(conductor),
                Answer::Open => {
                    self.strangers_count += unknown.len() as u64;
                    return Ok(());
                }
                Answer::Refused(reason) => return Err(LoadError::Peer(reason)),
            }
        }
        Err(LoadError::Peer(format!(
            "the other host did not finish the reachability check within {} s; {ADVICE}",
            ANSWER_TIMEOUT.as_secs()
        )))
    }

    fn hear_peers(&mut self, tokens: &Tokens, preamble_bytes: usize, unknown: &mut Pending<Unknown>) {
        let mut strangers_count = 0;
        let mut is_silent = |peer: &mut Unknown| match peer.hear(tokens, None) {
            Heard::NotYet => true,
            Heard::Known(CONDUCTOR) => {
                // A peer that hung up fails on its own side.
                peer.welcome();
                false
            }
            Heard::Known(_) | Heard::Unauthenticated => {
                strangers_count += 1;
                false
            }
        };
        let mut evicted_count = 0;
        for _ in 0..ACCEPTS_AT_A_TIME {
            let Some(accepted) = self.listeners.first().map(Socket::accept) else { break };
            let evicted = match accepted.and_then(|(socket, _)| socket.set_nonblocking(true).map(|()| socket)) {
                Ok(socket) => {
                    let mut peer = Unknown::new(socket, preamble_bytes);
                    if is_silent(&mut peer) { unknown.push(peer).1 } else { None }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if limits::of_open_files(&error).is_some() => unknown.evict(),
                Err(_) => None,
            };
            evicted_count += u64::from(evicted.is_some());
        }
        unknown.retain(is_silent);
        self.strangers_count += strangers_count + evicted_count;
    }

    fn sleep(&self, conductor: &Socket) {
        let mut polled = vec![PollFd::new(conductor.as_fd(), PollFlags::POLLIN)];
        polled.extend(self.listeners.first().map(|listener| PollFd::new(listener.as_fd(), PollFlags::POLLIN)));
        // Whatever is wrong shows at the next look.
        let _ = poll(&mut polled, PollTimeout::from(TICK_MS));
    }
}

/// The result of the reachability check, as the other host sends it.
enum Answer {
    NotYet,
    Open,
    Refused(String),
}

impl Answer {
    fn of(bytes: &[u8]) -> Self {
        match bytes {
            [WELCOME, ..] => Answer::Open,
            [REFUSED, high, low, sentence @ ..] => {
                let length = usize::from(u16::from_be_bytes([*high, *low]));
                sentence.get(..length).map_or(Answer::NotYet, |text| Answer::Refused(String::from_utf8_lossy(text).into_owned()))
            }
            [] | [REFUSED, ..] => Answer::NotYet,
            _ => Answer::Refused("the other host violated the protocol during the reachability check".to_owned()),
        }
    }
}

/// The listening host: checks that it can connect back, and returns the destination.
///
/// # Errors
/// It cannot; the reason was sent to the other host.
pub(super) fn check_reachability(
    spec: &TrialSpec,
    place: &ListenPlace,
    conductor: &Socket,
    abort: &AtomicBool,
) -> Result<ListenPlace, LoadError> {
    let mut port = [0; 2];
    read_exact(conductor, &mut port, ANSWER_TIMEOUT, abort)
        .map_err(|error| LoadError::Peer(format!("the other host did not send the port at which it listens: {error}")))?;
    let tried = place_back(spec, place, conductor, u16::from_be_bytes(port)).and_then(|back| {
        connect_back(spec, &back, abort)
            .map_err(|error| LoadError::Peer(format!("the far host cannot connect to {back}: {error}; {ADVICE}")))?;
        Ok(back)
    });
    let answer = match &tried {
        Ok(_) => vec![WELCOME],
        Err(error) => {
            let text = error.to_string();
            let length = u16::try_from(text.len()).unwrap_or(u16::MAX);
            [&[REFUSED][..], &length.to_be_bytes(), &text.as_bytes()[..usize::from(length)]].concat()
        }
    };
    let sent = write_all(conductor, &answer);
    let back = tried?;
    sent.map_err(|error| LoadError::Peer(format!("the other host closed the connection during the reachability check: {error}")))?;
    Ok(back)
}

fn place_back(spec: &TrialSpec, place: &ListenPlace, conductor: &Socket, port: u16) -> Result<ListenPlace, LoadError> {
    if port == 0 {
        return ListenPlace::back_of(spec).held().map_err(|error| LoadError::host("finding the other host's socket", error, ""));
    }
    let peer = conductor.peer_addr().ok().and_then(|address| address.as_socket());
    let peer = peer.ok_or_else(|| LoadError::Peer("the other host's address is not known".to_owned()))?;
    let ip: IpAddr = peer.ip();
    Ok(ListenPlace::Ports { ip, first: port, count: place.ports_count() })
}

/// Connects, and waits for the welcome of the peer that has the token. A connection that is dropped
/// before it was read is tried again: unauthenticated peers may crowd that port, too.
fn connect_back(spec: &TrialSpec, back: &ListenPlace, abort: &AtomicBool) -> io::Result<()> {
    let end = Instant::now() + CHECK_TIMEOUT;
    loop {
        match connect_once(spec, back, abort) {
            Err(error) if is_hang_up(&error) && Instant::now() < end && !is_aborted(abort) => thread::sleep(RETRY_PAUSE),
            tried => return tried,
        }
    }
}

fn connect_once(spec: &TrialSpec, back: &ListenPlace, abort: &AtomicBool) -> io::Result<()> {
    let token = token_of(spec).map_err(io::Error::other)?;
    let socket = options::prepare(back.domain(), stream_transport(spec), &spec.socket, spec.role).map_err(io::Error::other)?;
    socket.connect_timeout(&back.address_of(CONDUCTOR)?, CHECK_TIMEOUT)?;
    let length = preamble::length(&spec.socket);
    write_all(&socket, &preamble::encode(&token, CONDUCTOR, length))?;
    let mut welcome = vec![0; length];
    socket.set_nonblocking(true)?;
    read_exact(&socket, &mut welcome, CHECK_TIMEOUT, abort)?;
    if welcome.iter().all(|byte| *byte == WELCOME) { Ok(()) } else { Err(io::Error::other("another program than whyperf answers there")) }
}

fn write_all(mut socket: &Socket, bytes: &[u8]) -> io::Result<()> {
    socket.write_all(bytes)
}

/// Reads all of it within a time.
fn read_exact(mut socket: &Socket, bytes: &mut [u8], within: Duration, abort: &AtomicBool) -> io::Result<()> {
    let end = Instant::now() + within;
    let tick = PollTimeout::try_from(ABORT_CHECK).unwrap_or(PollTimeout::ZERO);
    let mut have = 0;
    while have < bytes.len() {
        if is_aborted(abort) || Instant::now() > end {
            return Err(io::Error::new(ErrorKind::TimedOut, format!("no answer within {} s", within.as_secs())));
        }
        match poll(&mut [PollFd::new(socket.as_fd(), PollFlags::POLLIN)], tick) {
            Ok(0) | Err(Errno::EINTR) => continue,
            Ok(_) => {}
            Err(error) => return Err(error.into()),
        }
        match socket.read(&mut bytes[have..]) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(count) => have += count,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_heard_when_it_is_whole() {
        assert!(matches!(Answer::of(b""), Answer::NotYet));
        assert!(matches!(Answer::of(b"+"), Answer::Open));
        assert!(matches!(Answer::of(b"-\0\x03no"), Answer::NotYet));
        assert!(matches!(Answer::of(b"-\0\x02no"), Answer::Refused(text) if text == "no"));
        assert!(matches!(Answer::of(b"HTTP"), Answer::Refused(_)));
    }
}
