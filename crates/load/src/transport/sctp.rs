//! An SCTP association carries a stream: a one-to-one socket (RFC 6458 section 4), each write a message.
//!
//! SCTP has no half-close (RFC 9260 section 9.2): once the sender shuts down, the receiver can send nothing more. So the
//! receiver reports its count over the conductor's connection, as with UDT.

use schema::trial::{Role, TrialSpec};
use schema::workload::Transport;
use socket2::Socket;
use std::io::{self, ErrorKind};
use std::net::{Shutdown, SocketAddr};
use std::sync::mpsc::{Receiver as Inbox, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::socket::SocketTransport;
use super::{Facts, StreamTransport, Watched};
use crate::LoadError;
use crate::control::Control;
use crate::datagrams::agreement::{CountsSender, FlowCounts};
use crate::options::Granted;
use crate::sctp;

/// Time that a call waits before it is looked whether the load is over.
const TICK: Duration = Duration::from_millis(20);
/// Time between two looks whether all is acknowledged.
const LOOK: Duration = Duration::from_millis(1);
/// Time that the last messages may take until then.
const LAST_GRACE: Duration = Duration::from_secs(5);

/// An association, and the way to agree about its end.
pub(crate) struct SctpTransport {
    number: u32,
    socket: Arc<Socket>,
    beneath: SocketTransport,
    view: Arc<SctpView>,
    control: Arc<Control>,
    counts_sender: Arc<CountsSender>,
    inbox: Inbox<FlowCounts>,
}

impl SctpTransport {
    /// Over this socket.
    ///
    /// # Errors
    /// Its calls cannot be bounded.
    pub fn new(
        number: u32,
        socket: Arc<Socket>,
        view: Arc<SctpView>,
        spec: &TrialSpec,
        control: Arc<Control>,
        (counts_sender, inbox): (Arc<CountsSender>, Inbox<FlowCounts>),
    ) -> Result<Self, LoadError> {
        let bounded = socket.set_read_timeout(Some(TICK)).and_then(|()| socket.set_write_timeout(Some(TICK)));
        bounded.map_err(|error| LoadError::host("bounding the calls of an SCTP socket", error, ""))?;
        let beneath = SocketTransport::new(Arc::clone(&socket), spec);
        Ok(Self { number, socket, beneath, view, control, counts_sender, inbox })
    }
}

/// A call that waited in vain is tried again.
fn interrupted(outcome: io::Result<usize>) -> io::Result<usize> {
    outcome.map_err(|error| if error.kind() == ErrorKind::WouldBlock { ErrorKind::Interrupted.into() } else { error })
}

impl StreamTransport for SctpTransport {
    fn start(&mut self, role: Role, source: &[u8]) -> io::Result<()> {
        self.beneath.start(role, source)
    }

    #[inline]
    fn write(&mut self, payload: &[u8]) -> io::Result<usize> {
        interrupted(self.beneath.write(payload))
    }

    #[inline]
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        interrupted(self.beneath.read(buffer))
    }

    fn finish(&mut self, _sent_bytes: u64) -> io::Result<u64> {
        // With the association go its counters.
        let end = Instant::now() + LAST_GRACE;
        while sctp::status(&*self.socket).is_ok_and(|status| status.is_pending()) && Instant::now() < end && self.control.cut().is_none() {
            thread::sleep(LOOK);
        }
        self.view.keep();
        self.socket.shutdown(Shutdown::Write)?;
        loop {
            match self.inbox.recv_timeout(TICK) {
                Ok(counts) => return Ok(counts.payload_bytes),
                Err(RecvTimeoutError::Timeout) if self.control.cut().is_some() => return Err(io::Error::other("cut")),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(io::Error::other("the receiver closed without its count of the payload"));
                }
            }
        }
    }

    fn report(&mut self, received_bytes: u64) -> io::Result<()> {
        self.counts_sender.send(self.number, FlowCounts { datagrams_count: 0, payload_bytes: received_bytes })
    }

    fn abandon(&mut self) {
        self.beneath.abandon();
    }

    fn other_calls_count(&self) -> u64 {
        self.beneath.other_calls_count()
    }
}

/// An association as the sampler sees it.
#[derive(Debug)]
pub struct SctpView {
    socket: Arc<Socket>,
    addresses: [Option<SocketAddr>; 2],
    granted: Granted,
    /// The facts that were last known: one that is over reports nothing.
    last: Mutex<Option<Facts>>,
}

impl SctpView {
    /// Of an open association.
    ///
    /// # Errors
    /// It is not open any more.
    pub(crate) fn new(socket: Arc<Socket>) -> Result<Self, LoadError> {
        let granted = crate::options::granted(&socket, Transport::Sctp)?;
        let addresses = [socket.local_addr(), socket.peer_addr()].map(|address| address.ok().and_then(|address| address.as_socket()));
        Ok(Self { socket, addresses, granted, last: Mutex::new(None) })
    }

    /// Notes what is known before the association is over.
    fn keep(&self) {
        let _ = self.facts();
    }
}

impl Watched for SctpView {
    fn addresses(&self) -> [Option<SocketAddr>; 2] {
        self.addresses
    }

    fn granted(&self) -> Granted {
        self.granted.clone()
    }

    fn facts(&self) -> Option<Facts> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let (Ok(status), Ok(counts)) = (sctp::status(&*self.socket), sctp::counts(&*self.socket)) {
            *last = Some(Facts {
                rtt_ns: u64::from(status.primary.rtt_ms) * 1_000_000,
                packet_payload_bytes: status.fragmentation_point_bytes,
                cwnd_bytes: Some(u64::from(status.primary.cwnd_bytes)),
                peer_window_bytes: Some(u64::from(status.peer_window_bytes)),
                sent_packets: counts.sent_packets,
                received_packets: counts.received_packets,
                // Chunks, each a packet or a part of one.
                lost_packets: counts.retransmitted_chunks,
                retransmitted_packets: Some(counts.retransmitted_chunks),
                missed_packets: Some(counts.out_of_sequence_chunks),
                acks_sent_count: Some(counts.sent_sacks),
                acks_received_count: Some(counts.received_sacks),
                ..Facts::default()
            });
        }
        *last
    }
}
