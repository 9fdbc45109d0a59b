//! Connections that the other end opens while a workload runs.
//!
//! Any thread takes the connection from the port's queue and hands it to the thread of the strand. Who
//! does not present the token is dropped and counted.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use workload::strand::Direction;

use super::key::Key;
use super::orders::{Arrival, Order};
use super::sys::{self, IN};
use super::worker::Worker;
use crate::open::limits;
use crate::options;
use crate::preamble::{self, LATER_BYTES};

/// How long a connection may take to present its token.
const PREAMBLE_TIMEOUT: Duration = Duration::from_secs(5);
/// Payload read together with a preamble at most, in bytes.
const MOST_CREDIT_BYTES: usize = 4096;
/// Connections taken from a port's queue before other strands get their turn.
const ACCEPTS_AT_ONCE: usize = 64;

/// A connection that has not presented the token yet.
pub(crate) struct Newcomer {
    socket: OwnedFd,
    since_ns: u64,
    have: usize,
    bytes: [u8; LATER_BYTES],
    is_watched: bool,
}

impl Worker {
    /// Takes who is at a port.
    pub(super) fn on_listener(&mut self, index: usize) {
        for _ in 0..ACCEPTS_AT_ONCE {
            let Some(listener) = self.openings.listeners.get(index) else { return };
            match sys::accept(listener.as_raw_fd()) {
                Ok(socket) => {
                    let newcomer = Newcomer { socket, since_ns: self.now_ns, have: 0, bytes: [0; LATER_BYTES], is_watched: false };
                    self.hear_newcomer(newcomer, None);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                // The file of whoever has been silent longest is wanted for the next.
                Err(error) if limits::of_open_files(&error).is_some() => match self.newcomers.evict() {
                    Some(_) => self.on_stranger(),
                    None => return,
                },
                // One that was gone before it was taken.
                Err(_) => {}
            }
        }
    }

    /// A newcomer has said something.
    pub(super) fn on_newcomer(&mut self, number: u64) {
        if let Some(newcomer) = self.newcomers.take(number) {
            self.hear_newcomer(newcomer, Some(number));
        }
    }

    /// Drops who has been silent for too long.
    pub(super) fn drop_silent(&mut self) {
        let limit_ns = u64::try_from(PREAMBLE_TIMEOUT.as_nanos()).unwrap_or(u64::MAX);
        while self.newcomers.evict_if(|oldest| self.now_ns.saturating_sub(oldest.since_ns) > limit_ns).is_some() {
            self.on_stranger();
        }
    }

    fn hear_newcomer(&mut self, mut newcomer: Newcomer, number: Option<u64>) {
        let missing = LATER_BYTES - newcomer.have;
        let most = (missing + MOST_CREDIT_BYTES).min(self.sink.len());
        let descriptor = newcomer.socket.as_raw_fd();
        match sys::receive(descriptor, &mut self.sink[..most], libc::MSG_DONTWAIT) {
            Ok(0) => return self.on_stranger(),
            Ok(count) if count < missing => {
                newcomer.bytes[newcomer.have..newcomer.have + count].copy_from_slice(&self.sink[..count]);
                newcomer.have += count;
            }
            Ok(count) => {
                newcomer.bytes[newcomer.have..].copy_from_slice(&self.sink[..missing]);
                return self.welcome(newcomer, count - missing);
            }
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
            Err(_) => return self.on_stranger(),
        }
        let Some(number) = number else { return self.keep(newcomer) };
        self.newcomers.put_back(number, newcomer);
    }

    /// Keeps a newcomer until it says who it is, in the place of the one that has been silent longest where
    /// there is no other.
    fn keep(&mut self, newcomer: Newcomer) {
        let (number, evicted) = self.newcomers.push(newcomer);
        if evicted.is_some() {
            self.on_stranger();
        }
        let Some(mut newcomer) = self.newcomers.take(number) else { return };
        match self.epoll.watch(newcomer.socket.as_raw_fd(), IN, Key::Newcomer(number).code(), false) {
            Ok(()) => {
                newcomer.is_watched = true;
                self.newcomers.put_back(number, newcomer);
            }
            Err(_) => self.on_stranger(),
        }
    }

    fn on_stranger(&self) {
        self.openings.strangers.fetch_add(1, Ordering::Relaxed);
    }

    fn welcome(&mut self, newcomer: Newcomer, credit: usize) {
        let Some((strand, ordinal)) = preamble::decode_later(&self.openings.token, &newcomer.bytes) else { return self.on_stranger() };
        let is_watched = newcomer.is_watched;
        let arrival = Arrival { strand, ordinal, descriptor: newcomer.socket, credit_bytes: u32::try_from(credit).unwrap_or(0) };
        // Where it was watched as a newcomer it will be watched anew, by its strand's thread.
        if is_watched {
            self.epoll.forget(arrival.descriptor.as_raw_fd());
        }
        match self.inboxes.get(strand as usize % self.inboxes.len().max(1)) {
            Some(inbox) if !Arc::ptr_eq(inbox, &self.inbox) => inbox.push(Order::Adopt(arrival)),
            _ => self.adopt(arrival),
        }
    }

    /// A connection has come for one of the thread's strands.
    pub(super) fn adopt(&mut self, arrival: Arrival) {
        let Some(index) = self.slot_of(arrival.strand) else { return self.on_stranger() };
        let fits = options::settle(&sys::socket_of(&arrival.descriptor), self.transport, &self.socket_spec, self.role);
        if fits.is_err() || self.cork(&arrival.descriptor).is_err() {
            return self.on_stranger();
        }
        let slot = &mut self.slots[index];
        if self.ring.is_some() {
            // A ring waits only for sockets whose calls may. The descriptor is a socket, so it takes it.
            let _ = sys::set_nonblocking(arrival.descriptor.as_raw_fd(), false);
            slot.other_calls_count += 1;
        }
        slot.arrivals.push(arrival);
        slot.strand.on_ready(Direction::Receive.bit());
        self.enqueue(index);
    }
}
