//! The transport of the payload of a stream's connection: a socket of the kernel, or a library.
//!
//! [`StreamTransport`] is what the connection's own thread does with it, [`Watched`] what the sampler may ask
//! at any time. [`socket`] is a kernel's socket, [`udt`] a connection of the UDT library or SRT's,
//! [`quic`] one of quinn's engine, [`sctp`] an association, [`tls`] a socket and what encrypts in front of it.

pub(crate) mod quic;
pub(crate) mod sctp;
pub(crate) mod socket;
pub(crate) mod tls;
pub(crate) mod udt;
mod watched;

pub use watched::{Facts, Watched};

use schema::trial::Role;
use std::io;

use crate::thread::sleep_until;
use crate::zero_copy::ZeroCopy;

/// The abilities of a stream's connection. All of them wait; a call that waited in vain for its time limit returns
/// [`io::ErrorKind::Interrupted`], so that its thread can look whether the load is over.
pub(crate) trait StreamTransport {
    /// Gets ready to carry; the sender's payload is always the front of `source`.
    fn start(&mut self, role: Role, source: &[u8]) -> io::Result<()>;

    /// Sends up to all of `payload`; returns how much was taken.
    fn write(&mut self, payload: &[u8]) -> io::Result<usize>;

    /// Receives up to as much as the buffer holds; returns how much, 0 at the end of the payload.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize>;

    /// Waits until an instant of `CLOCK_MONOTONIC`; what a library has to do goes on meanwhile.
    fn pause_until(&mut self, mono_ns: u64) {
        sleep_until(mono_ns);
    }

    /// Waits until nothing holds the source's memory any more.
    fn let_go(&mut self) -> io::Result<Option<ZeroCopy>> {
        Ok(None)
    }

    /// Ends the sender's direction behind so much payload; returns how much the receiver counts.
    fn finish(&mut self, sent_bytes: u64) -> io::Result<u64>;

    /// Reports to the sender how much payload has arrived.
    fn report(&mut self, received_bytes: u64) -> io::Result<()>;

    /// Signals to the other host that nothing more comes.
    fn abandon(&mut self);

    /// System calls of the data path, as far as they are known, that neither sent nor received.
    fn other_calls_count(&self) -> u64;
}
