//! A connection of the UDT library, or of SRT's, carries a stream.
//!
//! Both are alike. They close both directions at once and throw away what is unsent, so the end of the payload
//! is announced over the conductor's connection: the sender reports how much it sent, the receiver reads until
//! it has that and answers with its own count, and the sender gives it leave to close.
//!
//! The library takes up to its whole send buffer of 12 MB whatever the path carries, and all of it
//! would still have to drain when the sender ends. Where the trial asks for no buffer, the send buffer
//! is held to twice what is in flight, as Linux holds TCP's (`tcp_sndbuf_expand`, `net/ipv4/tcp_input.c`).

use schema::trial::{Role, TrialSpec};
use schema::workload::Transport;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::sync::mpsc::{Receiver as Inbox, RecvTimeoutError, TryRecvError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use udt::{Library, SocketState};

use super::{Facts, StreamTransport, Watched};
use crate::LoadError;
use crate::control::Control;
use crate::datagrams::agreement::{CountsSender, FlowCounts};
use crate::options::Granted;

/// Time that a call of the library waits before it is looked whether the load is over. It hands data
/// out every 10 ms (`CUDT::m_iSYNInterval`).
pub(crate) const TICK: Duration = Duration::from_millis(20);
/// Time that the receiver's count may come behind the end of its connection.
const COUNT_GRACE: Duration = Duration::from_secs(1);
/// Time to wait where the send buffer holds enough.
const FULL: Duration = Duration::from_micros(500);
/// Payload that may be sent before the send buffer is looked at again.
const LOOK_BYTES: u64 = 64 << 10;
/// Amount that it may hold at least: a millisecond at 4 Gbit/s.
const MIN_HELD_BYTES: u64 = 512 << 10;

/// The connection and the way to agree about its end.
pub(crate) struct UdtTransport {
    number: u32,
    view: Arc<UdtView>,
    control: Arc<Control>,
    counts_sender: Arc<CountsSender>,
    inbox: Inbox<FlowCounts>,
    /// Payload of the other host, as soon as it was reported.
    total_bytes: Option<u64>,
    received_bytes: u64,
    /// Where the send buffer is held small: payload that may go before the next look.
    allowance_bytes: Option<u64>,
}

impl UdtTransport {
    /// Over this connection.
    pub fn new(
        number: u32,
        view: Arc<UdtView>,
        spec: &TrialSpec,
        control: Arc<Control>,
        counts_sender: Arc<CountsSender>,
        inbox: Inbox<FlowCounts>,
    ) -> Self {
        let is_asked = spec.socket.window_bytes.is_some() || spec.socket.send_buffer_bytes.is_some();
        Self {
            number,
            view,
            control,
            counts_sender,
            inbox,
            total_bytes: None,
            received_bytes: 0,
            allowance_bytes: (!is_asked).then_some(0),
        }
    }

    /// Waits a moment where the send buffer holds enough; says whether it has room now.
    fn has_room(&mut self) -> bool {
        if self.allowance_bytes != Some(0) {
            return true;
        }
        // One that is gone says so when it is written to.
        let is_full = self.view.socket.facts().is_ok_and(|facts| {
            let packet = u64::from(facts.payload_bytes);
            facts.unacknowledged_packets * packet > (2 * facts.flight_packets * packet).max(MIN_HELD_BYTES)
        });
        if is_full {
            std::thread::sleep(FULL);
        } else {
            self.allowance_bytes = Some(LOOK_BYTES);
        }
        !is_full
    }

    /// True if the other host is gone, as its control connection shows at once; the library takes
    /// seconds to notice.
    fn is_alone(&mut self) -> bool {
        self.hear().is_none()
    }

    /// One that waited in vain is to look around, unless nobody is there any more.
    fn interrupted(&mut self) -> io::Error {
        if self.is_alone() { io::Error::from_raw_os_error(libc::ECONNRESET) } else { ErrorKind::Interrupted.into() }
    }

    /// Checks whether the other host has reported how much it sent; none when it is gone.
    fn hear(&mut self) -> Option<()> {
        if self.total_bytes.is_none() {
            match self.inbox.try_recv() {
                Ok(counts) => self.total_bytes = Some(counts.payload_bytes),
                Err(TryRecvError::Empty) => {}
                Err(TryRecvError::Disconnected) => return None,
            }
        }
        Some(())
    }
}

impl StreamTransport for UdtTransport {
    fn start(&mut self, _role: Role, _source: &[u8]) -> io::Result<()> {
        Ok(())
    }

    #[inline]
    fn write(&mut self, payload: &[u8]) -> io::Result<usize> {
        if !self.has_room() {
            return Err(self.interrupted());
        }
        let taken = match self.view.socket.send(payload) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Err(self.interrupted()),
            sent => sent?,
        };
        if let Some(allowance_bytes) = &mut self.allowance_bytes {
            *allowance_bytes = allowance_bytes.saturating_sub(taken as u64);
        }
        Ok(taken)
    }

    #[inline]
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.total_bytes == Some(self.received_bytes) {
            return Ok(0);
        }
        match self.view.socket.receive(buffer) {
            Ok(moved) => {
                self.received_bytes += moved as u64;
                // One that is gone by now is noticed when nothing more comes.
                let _ = self.hear();
                Ok(moved)
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => match self.hear() {
                // Nothing more will come of it.
                None => Ok(0),
                Some(()) => Err(ErrorKind::Interrupted.into()),
            },
            Err(error) => Err(error),
        }
    }

    fn finish(&mut self, sent_bytes: u64) -> io::Result<u64> {
        self.counts_sender.send(self.number, FlowCounts { datagrams_count: 0, payload_bytes: sent_bytes })?;
        let mut closed_since = None;
        loop {
            match self.inbox.recv_timeout(TICK) {
                Ok(counts) => {
                    self.view.keep();
                    // One that is gone by now needs no leave.
                    let _ = self.counts_sender.send(self.number, FlowCounts { datagrams_count: 0, payload_bytes: sent_bytes });
                    return Ok(counts.payload_bytes);
                }
                Err(RecvTimeoutError::Timeout) if self.control.cut().is_some() => return Err(io::Error::other("cut")),
                // The count comes on another connection than the close, which may be faster.
                Err(RecvTimeoutError::Timeout)
                    if self.view.socket.state() == SocketState::Connected
                        || closed_since.get_or_insert_with(Instant::now).elapsed() < COUNT_GRACE => {}
                Err(_) => return Err(io::Error::other("the receiver closed without its count of the payload")),
            }
        }
    }

    fn report(&mut self, received_bytes: u64) -> io::Result<()> {
        self.view.keep();
        self.counts_sender.send(self.number, FlowCounts { datagrams_count: 0, payload_bytes: received_bytes })?;
        // Closing takes from the sender what its library knows of the connection.
        let _ = self.inbox.recv_timeout(COUNT_GRACE);
        Ok(())
    }

    fn abandon(&mut self) {
        self.view.socket.close();
    }

    fn other_calls_count(&self) -> u64 {
        0
    }
}

/// The connection as everybody sees it; it is open as long as anybody does.
#[derive(Debug)]
pub struct UdtView {
    socket: udt::Socket,
    addresses: [Option<SocketAddr>; 2],
    granted: Granted,
    /// The facts that were last known: a closed connection reports nothing.
    last: Mutex<Option<Facts>>,
}

impl UdtView {
    /// Of an open connection.
    ///
    /// # Errors
    /// It is not open any more.
    pub(crate) fn new(socket: udt::Socket) -> Result<Self, LoadError> {
        let read = || -> io::Result<Granted> {
            Ok(Granted {
                transport: match socket.library() {
                    Library::Udt => Transport::Udt,
                    Library::Srt => Transport::Srt,
                },
                send_buffer_bytes: socket.send_buffer()?,
                receive_buffer_bytes: socket.receive_buffer()?,
                mss_bytes: Some(socket.mss()?),
                ..Granted::default()
            })
        };
        let granted = read().map_err(|error| LoadError::host("reading back the options of a library's socket", error, ""))?;
        let addresses = [socket.local_address(), socket.remote_address()];
        Ok(Self { addresses, granted, last: Mutex::new(None), socket })
    }

    /// Notes what is known before the connection closes.
    fn keep(&self) {
        let _ = self.facts();
    }
}

impl Watched for UdtView {
    fn addresses(&self) -> [Option<SocketAddr>; 2] {
        self.addresses
    }

    fn granted(&self) -> Granted {
        self.granted.clone()
    }

    fn facts(&self) -> Option<Facts> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Ok(facts) = self.socket.facts() {
            *last = Some(counts(&facts));
        }
        *last
    }
}

fn counts(facts: &udt::Facts) -> Facts {
    let bytes = |packets: u64| Some(packets * u64::from(facts.payload_bytes));
    Facts {
        rtt_ns: facts.rtt_ns,
        packet_payload_bytes: facts.payload_bytes,
        cwnd_bytes: bytes(facts.cwnd_packets),
        peer_window_bytes: bytes(facts.window_packets),
        flight_bytes: bytes(facts.flight_packets),
        sending_period_ns: Some(facts.sending_period_ns),
        capacity_bytes_per_second: Some(facts.capacity_bytes_per_second),
        sent_packets: facts.sent_packets,
        received_packets: facts.received_packets,
        lost_packets: facts.lost_packets,
        missed_packets: Some(facts.missed_packets),
        retransmitted_packets: Some(facts.retransmitted_packets),
        acks_sent_count: Some(facts.acks_sent_count),
        acks_received_count: Some(facts.acks_received_count),
        ..Facts::default()
    }
}
