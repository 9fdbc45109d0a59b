//! The round-trip probe: small packets that the far host sends back, during the load and through the
//! same path. It shows the queue that the load's packets wait in. They are datagrams of UDP that an
//! [`Echo`] of ours answers, or ICMP's echoes, which the far host's kernel does.
//!
//! A request is the preamble of a connection ([`crate::preamble`]) whose number is the request's; the
//! answer is the same bytes. What does not present the trial's token is not answered. Times are taken
//! in user space, so that a busy CPU counts as well.

mod wire;

use probe::clock::mono_ns;
use schema::trial::{Opening, ProbeTransport, TrialSpec};
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use self::wire::Wire;
pub use self::wire::icmp_ability;
use crate::LoadError;
use crate::open::{listen_address, token_of};
use crate::options;
use crate::preamble::{self, MIN_BYTES, Token};
use crate::urgency::Urgent;

/// Time that an end takes at most to notice that it should end.
const NOTICE: Duration = Duration::from_millis(50);
/// A faster probe would be a load of its own.
const PERIOD_NS_MIN: u64 = 1_000_000;
/// Time for which answers are awaited after the load.
const LAST_ANSWERS_NS: u64 = 500_000_000;

/// Sends back what presents the token, until it is dropped.
pub struct Echo {
    port: u16,
    ending: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Echo {
    /// The far side of a trial's probe, at the address where the trial listens; none where none is asked for,
    /// or the kernel answers.
    ///
    /// # Errors
    /// The period is too short, or the kernel refuses the socket.
    pub fn for_trial(spec: &TrialSpec) -> Result<Option<Self>, LoadError> {
        if period_of(spec)?.is_none() || spec.round_trip_probe_by == ProbeTransport::Icmp {
            return Ok(None);
        }
        Self::open(listen_address(spec)?, token_of(spec)?).map(Some)
    }

    /// Answers at a port of the kernel's choice of this address.
    ///
    /// # Errors
    /// The kernel refuses the socket.
    pub fn open(address: IpAddr, token: Token) -> Result<Self, LoadError> {
        let refused = |error| LoadError::host("a socket for the round-trip probe", error, "");
        let socket = UdpSocket::bind((address, 0)).map_err(refused)?;
        socket.set_read_timeout(Some(NOTICE)).map_err(refused)?;
        let port = socket.local_addr().map_err(refused)?.port();
        let ending = Arc::new(AtomicBool::new(false));
        let noticed = Arc::clone(&ending);
        let thread = thread::spawn(move || {
            let _urgent = Urgent::this_thread();
            while !noticed.load(Ordering::Relaxed) {
                answer(&socket, &token);
            }
        });
        Ok(Self { port, ending, thread: Some(thread) })
    }

    /// Where it answers.
    pub fn port(&self) -> u16 {
        self.port
    }
}

impl Drop for Echo {
    fn drop(&mut self) {
        self.ending.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Waits for one request, a little, and answers it.
fn answer(socket: &UdpSocket, token: &Token) {
    let mut request = [0; MIN_BYTES + 1];
    if let Ok((bytes, from)) = socket.recv_from(&mut request)
        && bytes == MIN_BYTES
        && preamble::decode(token, &request[..bytes]).is_some()
    {
        // A full buffer loses an answer as a path does.
        let _ = socket.send_to(&request[..bytes], from);
    }
}

/// A request and what became of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RoundTrip {
    /// When it was handed to the kernel.
    pub sent_mono_ns: u64,
    /// Time until its answer was read; absent where none came.
    pub rtt_ns: Option<u64>,
}

/// Sends requests at a steady pace, until the load is over.
pub struct Probe {
    ending: Arc<AtomicBool>,
    thread: Option<JoinHandle<Vec<RoundTrip>>>,
}

impl Probe {
    /// The near side of a trial's probe, from the start of the load on; none where none is asked for.
    /// `echo` is where the far host answers; with ICMP its address alone counts.
    ///
    /// # Errors
    /// The period is too short, or the kernel refuses the socket.
    pub fn for_trial(spec: &TrialSpec, echo: Option<SocketAddr>, start_mono_ns: u64) -> Result<Option<Self>, LoadError> {
        let (Some(period_ns), Some(echo)) = (period_of(spec)?, echo) else { return Ok(None) };
        let wire = match spec.round_trip_probe_by {
            ProbeTransport::Udp => Wire::udp(echo, options::source(&spec.socket))?,
            ProbeTransport::Icmp => Wire::icmp(echo.ip(), options::source(&spec.socket))?,
        };
        Ok(Some(Self::over(wire, token_of(spec)?, start_mono_ns, period_ns)))
    }

    /// Sends to an [`Echo`] every `period_ns` from `start_mono_ns` on.
    ///
    /// # Errors
    /// The kernel refuses the socket.
    pub fn start(echo: SocketAddr, token: Token, start_mono_ns: u64, period_ns: u64) -> Result<Self, LoadError> {
        Ok(Self::over(Wire::udp(echo, None)?, token, start_mono_ns, period_ns))
    }

    fn over(wire: Wire, token: Token, start_mono_ns: u64, period_ns: u64) -> Self {
        let ending = Arc::new(AtomicBool::new(false));
        let noticed = Arc::clone(&ending);
        let thread = thread::spawn(move || {
            let _urgent = Urgent::this_thread();
            run(&wire, &token, start_mono_ns, period_ns, &noticed)
        });
        Self { ending, thread: Some(thread) }
    }

    /// Ends it, when the last answers have come or half a second is over. Requests in their order.
    pub fn finish(mut self) -> Vec<RoundTrip> {
        self.ending.store(true, Ordering::Relaxed);
        self.thread.take().and_then(|thread| thread.join().ok()).unwrap_or_default()
    }
}

impl Drop for Probe {
    /// A trial that failed asks for nothing; the thread ends by itself.
    fn drop(&mut self) {
        self.ending.store(true, Ordering::Relaxed);
    }
}

/// Refuses before anything is opened what [`Probe::beside`] and [`Echo::beside`] could not do.
///
/// # Errors
/// The period is too short, or this host gives no ICMP socket to the end that needs one.
pub fn check(spec: &TrialSpec) -> Result<(), LoadError> {
    let is_icmp = period_of(spec)?.is_some() && spec.round_trip_probe_by == ProbeTransport::Icmp;
    if is_icmp && spec.opening == Opening::Connect { icmp_ability().map(drop).map_err(LoadError::Limit) } else { Ok(()) }
}

fn period_of(spec: &TrialSpec) -> Result<Option<u64>, LoadError> {
    match spec.round_trip_probe_ns {
        Some(period_ns) if period_ns < PERIOD_NS_MIN => {
            Err(LoadError::Usage(format!("round_trip_probe_ns is {period_ns}; it must be {PERIOD_NS_MIN} at least")))
        }
        period_ns => Ok(period_ns),
    }
}

fn run(wire: &Wire, token: &Token, start_mono_ns: u64, period_ns: u64, ending: &AtomicBool) -> Vec<RoundTrip> {
    let mut sent: Vec<RoundTrip> = Vec::new();
    let (mut answered_count, mut due_mono_ns, mut end_mono_ns) = (0, start_mono_ns, None);
    loop {
        let now = mono_ns();
        if end_mono_ns.is_none() && ending.load(Ordering::Relaxed) {
            end_mono_ns = Some(now + LAST_ANSWERS_NS);
        }
        match end_mono_ns {
            Some(end) if now >= end || answered_count == sent.len() => return sent,
            None if now >= due_mono_ns => {
                send(wire, token, &mut sent);
                // A probe that comes late keeps its grid and sends nothing twice.
                due_mono_ns += (now - due_mono_ns) / period_ns * period_ns + period_ns;
            }
            _ => {}
        }
        let wait_ns = if end_mono_ns.is_some() { u64::MAX } else { due_mono_ns.saturating_sub(mono_ns()) };
        wire.wait(Duration::from_nanos(wait_ns).min(NOTICE));
        answered_count += receive(wire, token, &mut sent);
    }
}

fn send(wire: &Wire, token: &Token, sent: &mut Vec<RoundTrip>) {
    let Ok(number) = u32::try_from(sent.len()) else { return };
    let request = preamble::encode(token, number, MIN_BYTES);
    sent.push(RoundTrip { sent_mono_ns: mono_ns(), rtt_ns: None });
    // What the kernel does not take is lost like anything that the path drops.
    let _ = wire.send(u16::try_from(number % (1 << 16)).unwrap_or(0), &request);
}

/// Takes in all answers that are there; says how many were new.
fn receive(wire: &Wire, token: &Token, sent: &mut [RoundTrip]) -> usize {
    let mut answers_count = 0;
    let mut buffer = [0; MIN_BYTES + 1];
    loop {
        let answer = match wire.receive(&mut buffer) {
            Ok(answer) => answer,
            // The far host may be gone already.
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => continue,
            Err(_) => return answers_count,
        };
        let now = mono_ns();
        let number = preamble::decode(token, answer).and_then(|number| usize::try_from(number).ok());
        if let Some(request) = number.and_then(|number| sent.get_mut(number))
            && request.rtt_ns.is_none()
        {
            request.rtt_ns = Some(now - request.sent_mono_ns);
            answers_count += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Ipv4Addr, Ipv6Addr};

    const PERIOD_NS: u64 = 2_000_000;
    /// Of these a busy host may leave out all but two.
    const PERIODS: u64 = 100;

    fn token(byte: &str) -> Token {
        Token::parse(&byte.repeat(32)).expect("64 digits")
    }

    fn probed(echo: SocketAddr, token: Token) -> Vec<RoundTrip> {
        let start = mono_ns();
        let probe = Probe::start(echo, token, start, PERIOD_NS).expect("a socket");
        while mono_ns() < start + PERIODS * PERIOD_NS {
            thread::sleep(Duration::from_millis(1));
        }
        probe.finish()
    }

    #[test]
    fn every_request_is_answered_on_both_families() {
        for address in [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)] {
            let echo = Echo::open(address, token("5a")).expect("a socket");
            let trips = probed(SocketAddr::new(address, echo.port()), token("5a"));
            assert!(trips.len() >= 2, "{trips:?}");
            assert!(trips.iter().all(|trip| trip.rtt_ns.is_some_and(|rtt| rtt > 0)), "{trips:?}");
            assert!(trips.windows(2).all(|pair| pair[1].sent_mono_ns > pair[0].sent_mono_ns), "{trips:?}");
        }
    }

    #[test]
    fn the_kernel_answers_echoes_of_icmp() {
        if let Err(reason) = icmp_ability() {
            eprintln!("skipped: {reason}");
            return;
        }
        for address in [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)] {
            let start = mono_ns();
            let probe = Probe::over(Wire::icmp(address, None).expect("a socket"), token("5a"), start, PERIOD_NS);
            thread::sleep(Duration::from_nanos(PERIODS * PERIOD_NS));
            let trips = probe.finish();
            assert!(trips.len() >= 2, "{trips:?}");
            assert!(trips.iter().all(|trip| trip.rtt_ns.is_some_and(|rtt| rtt > 0)), "{trips:?}");
        }
    }

    #[test]
    fn an_unauthenticated_peer_gets_no_answer() {
        let echo = Echo::open(IpAddr::V4(Ipv4Addr::LOCALHOST), token("5a")).expect("a socket");
        let trips = probed(SocketAddr::new(Ipv4Addr::LOCALHOST.into(), echo.port()), token("a5"));
        assert!(trips.len() >= 2 && trips.iter().all(|trip| trip.rtt_ns.is_none()), "{trips:?}");
    }
}
