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
use crate::options;
use crate::preamble::{self, LATER_BYTES};

/// How long a connection may take to present its token.
const PREAMBLE_TIMEOUT: Duration = Duration::from_secs(5);
/// Connections without a token that a thread keeps waiting at most; more are strangers.
const MOST_NEWCOMERS: usize = 1024;
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
}

impl Worker {
    /// Takes who is at a port.
    pub(super) fn on_listener(&mut self, index: usize) {
        for _ in 0..ACCEPTS_AT_ONCE {
            let Some(listener) = self.openings.listeners.get(index) else { return };
            match sys::accept(listener.as_raw_fd()) {
                Ok(socket) => {
                    let newcomer = Newcomer { socket, since_ns: self.now_ns, have: 0, bytes: [0; LATER_BYTES] };
                    self.hear_newcomer(newcomer, None);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                // One that was gone before it was taken. Without descriptors the next look may be better.
                Err(_) => return,
            }
        }
    }

    /// A newcomer has said something.
    pub(super) fn on_newcomer(&mut self, index: usize) {
        if let Some(newcomer) = self.newcomers.get_mut(index).and_then(Option::take) {
            self.hear_newcomer(newcomer, Some(index));
        }
    }

    /// Drops who has been silent for too long.
    pub(super) fn drop_silent(&mut self) {
        let limit_ns = u64::try_from(PREAMBLE_TIMEOUT.as_nanos()).unwrap_or(u64::MAX);
        for place in &mut self.newcomers {
            if place.as_ref().is_some_and(|newcomer| self.now_ns.saturating_sub(newcomer.since_ns) > limit_ns) {
                *place = None;
                self.openings.strangers.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    fn hear_newcomer(&mut self, mut newcomer: Newcomer, place: Option<usize>) {
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
                return self.welcome(newcomer, count - missing, place.is_some());
            }
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
            Err(_) => return self.on_stranger(),
        }
        let free = place.or_else(|| self.newcomers.iter().position(Option::is_none));
        let index = match free {
            Some(index) => index,
            None if self.newcomers.len() < MOST_NEWCOMERS => {
                self.newcomers.push(None);
                self.newcomers.len() - 1
            }
            None => return self.on_stranger(),
        };
        if place.is_none() && self.epoll.watch(descriptor, IN, Key::Newcomer(index).code(), false).is_err() {
            return self.on_stranger();
        }
        self.newcomers[index] = Some(newcomer);
    }

    fn on_stranger(&self) {
        self.openings.strangers.fetch_add(1, Ordering::Relaxed);
    }

    fn welcome(&mut self, newcomer: Newcomer, credit: usize, is_watched: bool) {
        let Some((strand, ordinal)) = preamble::decode_later(&self.openings.token, &newcomer.bytes) else { return self.on_stranger() };
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
