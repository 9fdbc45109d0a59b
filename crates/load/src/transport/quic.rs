//! A QUIC connection carries a stream: the connection's own thread drives the engine.

use quic::QuicConnection;
use schema::trial::Role;
use schema::workload::Transport;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::{Facts, StreamTransport, Watched};
use crate::control::Control;
use crate::options::Granted;

/// Time that the engine waits before it is looked whether the load is over.
pub(crate) const TICK: Duration = Duration::from_millis(20);
/// Time that the other host may take to acknowledge the last bytes.
const LAST_GRACE: Duration = Duration::from_secs(1);
/// Length of the receiver's closing report: its count of the payload, big-endian.
const REPORT_BYTES: usize = 8;

/// The connection, and the control that ends the load.
pub(crate) struct QuicTransport {
    connection: QuicConnection,
    control: Arc<Control>,
}

impl QuicTransport {
    /// Over this connection.
    pub fn new(connection: QuicConnection, control: Arc<Control>) -> Self {
        Self { connection, control }
    }

    /// Lets the engine work until something has come, but not long.
    fn drive(&mut self) -> io::Error {
        self.connection.drive(TICK).err().unwrap_or_else(|| ErrorKind::Interrupted.into())
    }

    fn read_whole(&mut self, mut buffer: &mut [u8]) -> io::Result<()> {
        while !buffer.is_empty() {
            match self.read(buffer) {
                Ok(0) => return Err(io::Error::other("the receiver closed without its count of the payload")),
                Ok(count) => buffer = &mut buffer[count..],
                Err(error) if error.kind() == ErrorKind::Interrupted && self.control.cut().is_none() => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

impl StreamTransport for QuicTransport {
    fn start(&mut self, _role: Role, _source: &[u8]) -> io::Result<()> {
        Ok(())
    }

    fn write(&mut self, payload: &[u8]) -> io::Result<usize> {
        match self.connection.write(payload) {
            Ok(count) => self.connection.flush().map(|()| count),
            Err(error) if error.kind() == ErrorKind::WouldBlock => Err(self.drive()),
            Err(error) => Err(error),
        }
    }

    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.connection.read(buffer) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => Err(self.drive()),
            read => read,
        }
    }

    fn pause_until(&mut self, mono_ns: u64) {
        loop {
            let left = mono_ns.saturating_sub(probe::clock::mono_ns());
            if left == 0 || self.connection.drive(Duration::from_nanos(left)).is_err() {
                return;
            }
        }
    }

    fn finish(&mut self, _sent_bytes: u64) -> io::Result<u64> {
        self.connection.finish();
        let mut report = [0; REPORT_BYTES];
        self.read_whole(&mut report)?;
        self.connection.show(true);
        self.connection.close();
        Ok(u64::from_be_bytes(report))
    }

    fn report(&mut self, received_bytes: u64) -> io::Result<()> {
        let report = received_bytes.to_be_bytes();
        let mut sent = 0;
        while sent < report.len() {
            match self.write(&report[sent..]) {
                Ok(count) => sent += count,
                Err(error) if error.kind() == ErrorKind::Interrupted && self.control.cut().is_none() => {}
                Err(error) => return Err(error),
            }
        }
        self.connection.finish();
        let end = Instant::now() + LAST_GRACE;
        while !self.connection.is_delivered() && Instant::now() < end && self.control.cut().is_none() {
            self.connection.drive(TICK)?;
        }
        self.connection.show(true);
        Ok(())
    }

    fn abandon(&mut self) {
        self.connection.close();
    }

    fn other_calls_count(&self) -> u64 {
        0
    }
}

/// The connection as the sampler sees it.
#[derive(Debug)]
pub struct QuicView {
    addresses: [Option<SocketAddr>; 2],
    granted: Granted,
    facts: Arc<Mutex<quic::Facts>>,
}

impl QuicView {
    /// Of an open connection, with the congestion control that was asked for.
    pub(crate) fn new(connection: &QuicConnection, congestion_control: Option<&str>) -> Self {
        let granted = Granted {
            transport: Transport::Quic,
            congestion_control: Some(congestion_control.unwrap_or("cubic").to_owned()),
            ..Granted::default()
        };
        Self { addresses: connection.addresses(), granted, facts: connection.facts() }
    }
}

impl Watched for QuicView {
    fn addresses(&self) -> [Option<SocketAddr>; 2] {
        self.addresses
    }

    fn granted(&self) -> Granted {
        self.granted.clone()
    }

    fn facts(&self) -> Option<Facts> {
        let facts = *self.facts.lock().unwrap_or_else(PoisonError::into_inner);
        Some(Facts {
            rtt_ns: u64::try_from(facts.rtt.as_nanos()).unwrap_or(u64::MAX),
            packet_payload_bytes: facts.packet_bytes,
            cwnd_bytes: Some(facts.cwnd_bytes),
            sent_packets: facts.sent_packets,
            received_packets: facts.received_packets,
            lost_packets: facts.lost_packets,
            lost_bytes: Some(facts.lost_bytes),
            acks_sent_count: Some(facts.acks_sent_count),
            acks_received_count: Some(facts.acks_received_count),
            congestion_events_count: Some(facts.congestion_events_count),
            send_calls_count: Some(facts.send_calls_count),
            receive_calls_count: Some(facts.receive_calls_count),
            ..Facts::default()
        })
    }
}
