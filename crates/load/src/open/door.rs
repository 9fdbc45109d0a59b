//! The connecting end's own port, where a workload lets the listening end connect while it runs.
//!
//! Both ends agree about it over the conductor's connection, before anything else is said there: the
//! connecting end tells the first port it listens at (be16; 0 where it is a file), the listening end
//! connects to the address that it sees the conductor come from and presents a preamble of the
//! conductor's number, is welcomed there, and hangs up. Then it says `+` on the conductor's
//! connection, or `-`, a length (be16) and a sentence. So a way that address translation or a
//! firewall closes is named before the load begins, and a way that leads to somebody else is too.

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use schema::trial::TrialSpec;
use schema::workload::{Operation, Transport};
use socket2::Socket;
use std::io::{self, ErrorKind, Read, Write};
use std::net::IpAddr;
use std::os::fd::AsFd;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, Instant};

use super::connect::is_hang_up;
use super::listen::{Folder, Heard, Unknown, bind, bind_in_a_row};
use super::{ABORT_CHECK, CONDUCTOR, Place, is_aborted, limits, stream_transport, token_of};
use crate::LoadError;
use crate::options;
use crate::pending::Pending;
use crate::preamble::{self, Token, WELCOME};

/// How long the way back may take to be tried.
const KNOCK_TIMEOUT: Duration = Duration::from_secs(5);
/// How long the connecting end waits for what came of it.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);
/// How often is looked who is at the door.
const TICK: u16 = 10;
/// Visitors taken before the other end is heard.
const VISITORS_AT_A_TIME: usize = 256;
/// How long to wait before a knock that was dropped is tried again.
const KNOCK_AGAIN: Duration = Duration::from_millis(50);
const REFUSED: u8 = b'-';
/// The way out where there is no way back.
const ADVICE: &str = "is the near end behind address translation or a firewall? Only a connect gets through there, no accept";

/// Whether the listening end connects while the workload runs.
pub(super) fn is_needed(spec: &TrialSpec) -> bool {
    let Some(workload) = &spec.workload else { return false };
    let mut steps = workload.groups.iter().flat_map(|group| &group.transactions).flat_map(|transaction| &transaction.steps);
    steps.any(|step| matches!(step.operation, Operation::Accept { .. }))
}

/// Where the connecting end listens, and who came there without the token.
pub(super) struct Door {
    pub listeners: Vec<Socket>,
    pub strangers_count: u64,
}

/// The connecting end: listens, tells where, and waits until the other end has tried the way.
///
/// # Errors
/// There is no port, or no way back to it; the sentence is the other end's.
pub(super) fn open(spec: &TrialSpec, place: &Place, conductor: &Socket, abort: &AtomicBool) -> Result<Door, LoadError> {
    let host = |error| LoadError::host("listening for the other end's connections", error, "");
    let local = conductor.local_addr().map_err(host)?;
    let (listeners, port, _folder) = match (spec.transport, local.as_socket()) {
        (Transport::Unix, _) | (_, None) => {
            let back = Place::back_of(spec);
            let folder = back.file().map(Folder::make).transpose()?;
            (bind(spec, &back)?.0, 0, folder)
        }
        (_, Some(local)) => {
            let (listeners, _, bound) = bind_in_a_row(spec, local.ip(), place.ports_count())?;
            (listeners, bound.first_port(), None)
        }
    };
    let mut door = Door { listeners, strangers_count: 0 };
    let gone = |error: io::Error| LoadError::Peer(format!("the other end is gone while it tries the way back: {error}"));
    write_all(conductor, &port.to_be_bytes()).map_err(gone)?;
    conductor.set_nonblocking(true).map_err(host)?;
    let answered = door.await_knock(spec, conductor, abort);
    conductor.set_nonblocking(false).map_err(host)?;
    answered.map(|()| door)
}

impl Door {
    fn await_knock(&mut self, spec: &TrialSpec, conductor: &Socket, abort: &AtomicBool) -> Result<(), LoadError> {
        let token = token_of(spec)?;
        let end = Instant::now() + ANSWER_TIMEOUT;
        let mut unknown = Pending::new(limits::pending_room(spec), 0);
        let mut answer = Vec::new();
        while Instant::now() < end {
            if is_aborted(abort) {
                return Err(LoadError::Peer("aborted while the way back was tried".to_owned()));
            }
            self.hear_visitors(&token, preamble::length(&spec.socket), &mut unknown);
            let mut piece = [0; 1024];
            match (&*conductor).read(&mut piece) {
                Ok(0) => return Err(LoadError::Peer("the other end closed while it tried the way back".to_owned())),
                Ok(count) => answer.extend_from_slice(&piece[..count]),
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
                Err(error) => return Err(LoadError::Peer(format!("the other end is gone while it tries the way back: {error}"))),
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
        Err(LoadError::Peer(format!("the other end did not try the way back within {} s; {ADVICE}", ANSWER_TIMEOUT.as_secs())))
    }

    fn hear_visitors(&mut self, token: &Token, preamble_bytes: usize, unknown: &mut Pending<Unknown>) {
        let mut strangers_count = 0;
        let mut is_silent = |visitor: &mut Unknown| match visitor.hear(token) {
            Heard::NotYet => true,
            Heard::Known(CONDUCTOR) => {
                // Less than any empty send buffer, so it does not block; who has hung up says so itself.
                let _ = visitor.socket.send_with_flags(&vec![WELCOME; preamble_bytes], libc::MSG_NOSIGNAL);
                false
            }
            Heard::Known(_) | Heard::Stranger => {
                strangers_count += 1;
                false
            }
        };
        let mut evicted_count = 0;
        for _ in 0..VISITORS_AT_A_TIME {
            let Some(accepted) = self.listeners.first().map(Socket::accept) else { break };
            let evicted = match accepted.and_then(|(socket, _)| socket.set_nonblocking(true).map(|()| socket)) {
                Ok(socket) => {
                    let mut visitor = Unknown::new(socket, preamble_bytes);
                    if is_silent(&mut visitor) { unknown.push(visitor).1 } else { None }
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
        let _ = poll(&mut polled, PollTimeout::from(TICK));
    }
}

/// What the other end has said of the way back.
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
            _ => Answer::Refused("the other end does not keep to the protocol where the way back is tried".to_owned()),
        }
    }
}

/// The listening end: tries the way back, and returns where it leads.
///
/// # Errors
/// There is none; the other end has been told why.
pub(super) fn knock(spec: &TrialSpec, place: &Place, conductor: &Socket, abort: &AtomicBool) -> Result<Place, LoadError> {
    let mut port = [0; 2];
    read_exact(conductor, &mut port, ANSWER_TIMEOUT, abort)
        .map_err(|error| LoadError::Peer(format!("the other end did not say where it listens: {error}")))?;
    let tried = place_back(spec, place, conductor, u16::from_be_bytes(port)).and_then(|back| {
        try_way(spec, &back, abort).map_err(|error| LoadError::Peer(format!("the far end cannot connect to {back}: {error}; {ADVICE}")))?;
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
    let told = write_all(conductor, &answer);
    let back = tried?;
    told.map_err(|error| LoadError::Peer(format!("the other end is gone while the way back is tried: {error}")))?;
    Ok(back)
}

fn place_back(spec: &TrialSpec, place: &Place, conductor: &Socket, port: u16) -> Result<Place, LoadError> {
    if port == 0 {
        return Place::back_of(spec).held().map_err(|error| LoadError::host("finding the other end's socket", error, ""));
    }
    let peer = conductor.peer_addr().ok().and_then(|address| address.as_socket());
    let peer = peer.ok_or_else(|| LoadError::Peer("the other end's address is not known".to_owned()))?;
    let ip: IpAddr = peer.ip();
    Ok(Place::Ports { ip, first: port, count: place.ports_count() })
}

/// Connects and is welcomed by who knows the token. One that is dropped unheard tries again: strangers
/// may crowd that port, too.
fn try_way(spec: &TrialSpec, back: &Place, abort: &AtomicBool) -> io::Result<()> {
    let end = Instant::now() + KNOCK_TIMEOUT;
    loop {
        match try_once(spec, back, abort) {
            Err(error) if is_hang_up(&error) && Instant::now() < end && !is_aborted(abort) => thread::sleep(KNOCK_AGAIN),
            tried => return tried,
        }
    }
}

fn try_once(spec: &TrialSpec, back: &Place, abort: &AtomicBool) -> io::Result<()> {
    let token = token_of(spec).map_err(io::Error::other)?;
    let socket = options::prepare(back.domain(), stream_transport(spec), &spec.socket, spec.role).map_err(io::Error::other)?;
    socket.connect_timeout(&back.address_of(CONDUCTOR)?, KNOCK_TIMEOUT)?;
    let length = preamble::length(&spec.socket);
    write_all(&socket, &preamble::encode(&token, CONDUCTOR, length))?;
    let mut welcome = vec![0; length];
    socket.set_nonblocking(true)?;
    read_exact(&socket, &mut welcome, KNOCK_TIMEOUT, abort)?;
    if welcome.iter().all(|byte| *byte == WELCOME) { Ok(()) } else { Err(io::Error::other("something else than whyperf answers there")) }
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
