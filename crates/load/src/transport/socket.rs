//! A socket of the kernel carries a stream.

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use schema::trial::{ReadWait, Role, TrialSpec};
use socket2::Socket;
use std::io::{self, ErrorKind, Read, Write};
use std::net::Shutdown;
use std::os::fd::AsFd;
use std::sync::Arc;

use super::StreamTransport;
use crate::asking::Asking;
use crate::outlet::Stream;
use crate::zero_copy::ZeroCopy;
use crate::{options, outlet};

/// Length of the receiver's closing report: its count of the payload, big-endian.
pub(super) const REPORT_BYTES: usize = 8;

/// A connected socket and the options that its calls have to do with.
pub(crate) struct SocketTransport {
    socket: Arc<Socket>,
    /// At the sender.
    outlet: Option<Stream>,
    spec: schema::trial::SocketSpec,
    /// Where it waits in poll(2) for what it reads.
    asking: Option<Asking>,
    reads_count: u64,
    other_calls_count: u64,
}

impl SocketTransport {
    /// Over this socket, as the trial asks.
    pub fn new(socket: Arc<Socket>, spec: &TrialSpec) -> Self {
        let asking = (spec.read_wait == ReadWait::Poll).then(|| Asking::new(spec.connections_count));
        Self { socket, outlet: None, spec: spec.socket.clone(), asking, reads_count: 0, other_calls_count: 0 }
    }

    /// The socket.
    pub(super) fn socket(&self) -> &Socket {
        &self.socket
    }

    /// Lets go what a write held back.
    pub(super) fn on_written(&mut self) -> io::Result<()> {
        if let Some(outlet) = &mut self.outlet {
            self.other_calls_count += outlet.on_written(&self.socket)?;
        }
        Ok(())
    }

    /// Waits in poll(2) before a receiver's read, where it is to.
    pub(super) fn await_payload(&mut self) -> io::Result<()> {
        if self.outlet.is_none() && self.asking.as_ref().is_some_and(Asking::is_due) {
            wait_readable(&self.socket)?;
            self.other_calls_count += 1;
        }
        Ok(())
    }

    /// A receiver's read has got something.
    pub(super) fn on_received(&mut self, is_full: bool, ask: usize) -> io::Result<()> {
        if self.outlet.is_some() {
            return Ok(());
        }
        if let Some(asking) = &mut self.asking
            && asking.on_read(is_full)
        {
            asking.on_look(outlet::waiting_bytes(&self.socket)?, ask);
            self.other_calls_count += 1;
        }
        self.on_read()
    }

    /// Puts back what the kernel would move away from what was asked for.
    fn on_read(&mut self) -> io::Result<()> {
        self.reads_count += 1;
        if self.spec.quick_ack {
            options::quick_ack(&*self.socket)?;
            self.other_calls_count += 1;
        }
        if let Some(window_bytes) = self.spec.window_bytes
            && is_clamp_due(self.reads_count)
        {
            options::keep_clamp(&*self.socket, window_bytes)?;
            self.other_calls_count += 1;
        }
        Ok(())
    }
}

impl StreamTransport for SocketTransport {
    fn start(&mut self, role: Role, source: &[u8]) -> io::Result<()> {
        if role == Role::Sender {
            self.outlet = Some(Stream::new(&self.spec, source)?);
        }
        Ok(())
    }

    #[inline]
    fn write(&mut self, payload: &[u8]) -> io::Result<usize> {
        let Some(outlet) = &mut self.outlet else {
            self.other_calls_count += 1;
            return (&*self.socket).write(payload);
        };
        let moved = outlet.send(&self.socket, payload)?;
        self.on_written()?;
        Ok(moved)
    }

    #[inline]
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let is_receiver = self.outlet.is_none();
        if !is_receiver {
            self.other_calls_count += 1;
            return (&*self.socket).read(buffer);
        }
        self.await_payload()?;
        let moved = if self.spec.truncate { outlet::receive_nothing(&self.socket, buffer.len()) } else { (&*self.socket).read(buffer) }?;
        if moved > 0 {
            self.on_received(moved == buffer.len(), buffer.len())?;
        }
        Ok(moved)
    }

    fn let_go(&mut self) -> io::Result<Option<ZeroCopy>> {
        match &mut self.outlet {
            Some(outlet) => outlet.finish(&self.socket),
            None => Ok(None),
        }
    }

    fn finish(&mut self, _sent_bytes: u64) -> io::Result<u64> {
        self.socket.shutdown(Shutdown::Write)?;
        let mut report = [0; REPORT_BYTES];
        (&*self.socket).read_exact(&mut report).map_err(|error| match error.kind() {
            ErrorKind::UnexpectedEof => io::Error::other("the receiver closed without its count of the payload"),
            _ => error,
        })?;
        Ok(u64::from_be_bytes(report))
    }

    fn report(&mut self, received_bytes: u64) -> io::Result<()> {
        (&*self.socket).write_all(&received_bytes.to_be_bytes())
    }

    fn abandon(&mut self) {
        let _ = self.socket.shutdown(Shutdown::Both);
    }

    fn other_calls_count(&self) -> u64 {
        self.other_calls_count
    }
}

/// Sleeps until there is something to read, be it the end of the stream.
fn wait_readable(socket: &Socket) -> io::Result<()> {
    let mut polled = [PollFd::new(socket.as_fd(), PollFlags::POLLIN)];
    match poll(&mut polled, PollTimeout::NONE) {
        Ok(_) | Err(Errno::EINTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// True if the window clamp is looked at after this read: after each of the first ones, when
/// segments grow to their full size, and now and then later.
fn is_clamp_due(reads_count: u64) -> bool {
    const FIRST_READS: u64 = 1024;
    const LATER_READS: u64 = 64;
    reads_count <= FIRST_READS || reads_count.is_multiple_of(LATER_READS)
}
