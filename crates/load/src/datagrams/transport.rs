//! Everything that carries datagrams: a socket of the kernel, or a QUIC connection (RFC 9221).
//!
//! QUIC's are held back by its congestion control: what it does not let go waits in a small buffer, and the
//! sender with it. The connection's own thread drives the engine whenever it waits for something.

use quic::QuicConnection;
use socket2::Socket;
use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::control::Control;
use crate::thread::sleep_until;

/// Time that the engine waits before it is looked whether the load is over.
pub(super) const TICK: Duration = Duration::from_millis(20);
/// Time that all unsent data may take to leave when the sender has ended.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(5);

/// The transport of a flow's datagrams.
pub(crate) enum DatagramTransport {
    /// A connected UDP socket.
    Socket(Arc<Socket>),
    /// A QUIC connection.
    Quic(Box<QuicConnection>),
}

impl DatagramTransport {
    /// Sends datagrams of `size` bytes, the last one perhaps shorter; returns how many bytes were taken.
    pub fn send(&mut self, datagrams: &[u8], size: usize) -> io::Result<usize> {
        let connection = match self {
            Self::Socket(socket) => return socket.send_with_flags(datagrams, libc::MSG_NOSIGNAL).map(|_| datagrams.len()),
            Self::Quic(connection) => connection,
        };
        let mut taken = 0;
        for datagram in datagrams.chunks(size) {
            match connection.write_datagram(datagram) {
                Ok(()) => taken += datagram.len(),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        if taken == 0 {
            connection.drive(TICK)?;
            return Err(ErrorKind::Interrupted.into());
        }
        connection.flush()?;
        // What has come meanwhile makes room; it would wait for as long as the buffer takes more.
        connection.drive(Duration::ZERO)?;
        Ok(taken)
    }

    /// Waits until an instant of `CLOCK_MONOTONIC`.
    pub fn pause_until(&mut self, mono_ns: u64) {
        match self {
            Self::Socket(_) => sleep_until(mono_ns),
            Self::Quic(connection) => loop {
                let left = mono_ns.saturating_sub(probe::clock::mono_ns());
                if left == 0 || connection.drive(Duration::from_nanos(left)).is_err() {
                    return;
                }
            },
        }
    }

    /// Waits until everything that was taken has left, but not for ever.
    pub fn drain(&mut self, control: &Control) -> io::Result<()> {
        let Self::Quic(connection) = self else { return Ok(()) };
        let end = Instant::now() + DRAIN_TIMEOUT;
        while !connection.has_sent_datagrams() && control.cut().is_none() && Instant::now() < end {
            connection.drive(TICK)?;
        }
        Ok(())
    }

    /// Waits at most this long for another event; the engine keeps running.
    pub fn attend(&mut self, longest: Duration) -> io::Result<()> {
        match self {
            Self::Socket(_) => {
                std::thread::sleep(longest);
                Ok(())
            }
            Self::Quic(connection) => connection.drive(longest),
        }
    }

    /// Says that nothing more comes.
    pub fn close(&mut self) {
        if let Self::Quic(connection) = self {
            connection.show(true);
            connection.close();
        }
    }
}
