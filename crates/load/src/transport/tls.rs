//! A connection of TCP carries a stream that this process encrypts and decrypts.

use schema::trial::Role;
use std::io::{self, ErrorKind};
use std::net::Shutdown;

use tls::Session;

use super::StreamTransport;
use super::socket::{REPORT_BYTES, SocketTransport};
use crate::secure::Calls;

/// A session, and the socket beneath it with the options that its calls have to do with.
pub(crate) struct TlsTransport {
    session: Box<Session>,
    beneath: SocketTransport,
}

impl TlsTransport {
    /// Over this connection.
    pub fn new(session: Box<Session>, beneath: SocketTransport) -> Self {
        Self { session, beneath }
    }
}

impl StreamTransport for TlsTransport {
    fn start(&mut self, role: Role, source: &[u8]) -> io::Result<()> {
        self.beneath.start(role, source)
    }

    #[inline]
    fn write(&mut self, payload: &[u8]) -> io::Result<usize> {
        let moved = self.session.write(&mut Calls::new(self.beneath.socket(), 0), payload)?;
        self.beneath.on_written()?;
        Ok(moved)
    }

    #[inline]
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if !self.session.may_have_more() {
            self.beneath.await_payload()?;
        }
        let moved = self.session.read(&mut Calls::new(self.beneath.socket(), 0), buffer)?;
        if moved > 0 {
            self.beneath.on_received(moved == buffer.len(), buffer.len())?;
        }
        Ok(moved)
    }

    fn finish(&mut self, _sent_bytes: u64) -> io::Result<u64> {
        let mut calls = Calls::new(self.beneath.socket(), 0);
        self.session.close(&mut calls)?;
        self.beneath.socket().shutdown(Shutdown::Write)?;
        let (mut report, mut have) = ([0; REPORT_BYTES], 0);
        while have < report.len() {
            match self.session.read(&mut calls, &mut report[have..]) {
                Ok(0) => return Err(io::Error::other("the receiver closed without its count of the payload")),
                Ok(count) => have += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(u64::from_be_bytes(report))
    }

    fn report(&mut self, received_bytes: u64) -> io::Result<()> {
        let mut calls = Calls::new(self.beneath.socket(), 0);
        // Less than the send buffer, whole or not at all.
        self.session.write(&mut calls, &received_bytes.to_be_bytes()).map(drop)
    }

    fn abandon(&mut self) {
        self.beneath.abandon();
    }

    fn other_calls_count(&self) -> u64 {
        self.beneath.other_calls_count()
    }
}
