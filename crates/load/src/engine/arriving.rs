//! Connections that the other host opens while a workload runs.
//!
//! Any thread takes the connection from the port's queue and hands it to the thread of the user. Who
//! does not present the token is dropped and counted.

use schema::workload::Transport;
use std::io;
use std::os::fd::AsRawFd;
use std::sync::atomic::Ordering;
use std::time::Duration;
use workload::user::Direction;

use super::connections::PendingConnection;
use super::interest::Key;
use super::orders::Arrival;
use super::sys::{self, IN};
use super::worker::Worker;
use crate::limits;
use crate::options;
use crate::preamble::{self, LATER_BYTES};

/// Time that a connection may take to present its token.
const PREAMBLE_TIMEOUT: Duration = Duration::from_secs(5);
/// For so long no other takes a connection's place. Its preamble follows as soon as its host has a CPU: a reset that
/// crosses it would fail the call that waits for the answer.
const MIN_SILENCE_NS: u64 = 100_000_000;
/// Payload read together with a preamble at most, in bytes.
const MAX_CREDIT_BYTES: usize = 4096;
/// Connections taken from a port's queue before other users get their turn.
pub(super) const ACCEPTS_AT_ONCE: usize = 64;

impl Worker {
    /// Takes who is at a port.
    pub(super) fn on_listener(&mut self, index: usize) {
        for _ in 0..ACCEPTS_AT_ONCE {
            if self.opening.pending.is_full() && !self.is_place_free() {
                return;
            }
            let Some(listener) = self.shared.openings.listeners.get(index) else { return };
            match sys::accept(listener.as_raw_fd()) {
                Ok(socket) => {
                    let pending =
                        PendingConnection { socket, since_ns: self.now_ns, have: 0, bytes: [0; LATER_BYTES], is_watched: false, tls: None };
                    self.hear_pending(pending, None);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                // The file of whoever has been silent longest is wanted for the next.
                Err(error) if limits::of_open_files(&error).is_some() => {
                    if !self.is_place_free() {
                        return;
                    }
                    if let Some(evicted) = self.opening.pending.evict() {
                        self.hear_once_more(evicted);
                    }
                }
                // One that was gone before it was taken.
                Err(_) => {}
            }
        }
    }

    /// True if another may take the place of the connection that has been silent longest. Until then others wait in the
    /// port's queue.
    fn is_place_free(&self) -> bool {
        self.opening.pending.oldest().is_some_and(|oldest| self.now_ns.saturating_sub(oldest.since_ns) >= MIN_SILENCE_NS)
    }

    /// A pending connection can be read.
    pub(super) fn on_pending(&mut self, number: u64) {
        if let Some(pending) = self.opening.pending.take(number) {
            self.hear_pending(pending, Some(number));
        }
    }

    /// Drops who has been silent for too long.
    pub(super) fn drop_silent(&mut self) {
        let limit_ns = u64::try_from(PREAMBLE_TIMEOUT.as_nanos()).unwrap_or(u64::MAX);
        while let Some(silent) = self.opening.pending.evict_if(|oldest| self.now_ns.saturating_sub(oldest.since_ns) > limit_ns) {
            self.drop_by_reset(&silent);
        }
    }

    /// Lets those go that are silent when the load ends.
    pub(super) fn release_silent(&mut self) {
        for silent in self.opening.pending.drain() {
            reset(&silent);
        }
    }

    fn hear_pending(&mut self, pending: PendingConnection, number: Option<u64>) {
        let Some(pending) = self.read_preamble(pending) else { return };
        let Some(number) = number else { return self.keep(pending) };
        self.opening.pending.put_back(number, pending);
    }

    /// Drops a connection whose place another takes, unless its preamble has come in the meantime.
    fn hear_once_more(&mut self, evicted: PendingConnection) {
        if let Some(silent) = self.read_preamble(evicted) {
            self.drop_by_reset(&silent);
        }
    }

    fn drop_by_reset(&self, silent: &PendingConnection) {
        reset(silent);
        self.on_unauthenticated();
    }

    /// Reads what a connection has sent of its preamble. Returns it if more is missing; otherwise it has been taken or
    /// dropped.
    fn read_preamble(&mut self, mut pending: PendingConnection) -> Option<PendingConnection> {
        if self.plan.transport == Transport::Tls {
            return self.read_secured_preamble(pending);
        }
        let missing = LATER_BYTES - pending.have;
        let most = (missing + MAX_CREDIT_BYTES).min(self.buffers.sink.len());
        let descriptor = pending.socket.as_raw_fd();
        match sys::receive(descriptor, &mut self.buffers.sink[..most], libc::MSG_DONTWAIT) {
            Ok(count) if count >= missing => {
                pending.bytes[pending.have..].copy_from_slice(&self.buffers.sink[..missing]);
                self.welcome(pending, count - missing);
                return None;
            }
            Ok(count) if count > 0 => {
                pending.bytes[pending.have..pending.have + count].copy_from_slice(&self.buffers.sink[..count]);
                pending.have += count;
                return Some(pending);
            }
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => return Some(pending),
            _ => {}
        }
        self.on_unauthenticated();
        None
    }

    /// Keeps a connection until its preamble has come, in the place of the one that has been silent longest where
    /// there is no other.
    fn keep(&mut self, pending: PendingConnection) {
        let (number, evicted) = self.opening.pending.push(pending);
        if let Some(evicted) = evicted {
            self.hear_once_more(evicted);
        }
        let Some(mut pending) = self.opening.pending.take(number) else { return };
        match self.events.epoll.watch(pending.socket.as_raw_fd(), IN, Key::Pending(number).code(), false) {
            Ok(()) => {
                pending.is_watched = true;
                self.opening.pending.put_back(number, pending);
            }
            Err(_) => self.on_unauthenticated(),
        }
    }

    pub(super) fn on_unauthenticated(&self) {
        self.shared.openings.unauthenticated.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn welcome(&mut self, pending: PendingConnection, credit: usize) {
        let Some((user, ordinal)) = preamble::decode_later(&self.shared.openings.token, &pending.bytes) else {
            return self.on_unauthenticated();
        };
        let is_watched = pending.is_watched;
        let ordinal = u64::from(ordinal);
        let arrival =
            Arrival { user, ordinal, descriptor: pending.socket, credit_bytes: u32::try_from(credit).unwrap_or(0), tls: pending.tls };
        // Where it was watched while it was pending it will be watched anew, by its user's thread.
        if is_watched {
            self.events.epoll.forget(arrival.descriptor.as_raw_fd());
        }
        self.hand_over(arrival);
    }

    /// A connection has come for one of the thread's users.
    pub(super) fn adopt(&mut self, arrival: Arrival) {
        let Some(index) = self.slot_of(arrival.user) else { return self.on_unauthenticated() };
        let fits = options::settle(&sys::socket_of(&arrival.descriptor), self.plan.transport, &self.plan.socket_spec, self.plan.role);
        if fits.is_err() || self.cork(&arrival.descriptor).is_err() {
            return self.on_unauthenticated();
        }
        if self.plan.transport == Transport::Udp {
            if self.is_known_flow(index, arrival.ordinal) {
                return;
            }
            self.welcome_flow(index, &arrival);
        }
        let slot = &mut self.slots[index];
        if self.events.ring.is_some() {
            // A ring waits only for sockets whose calls may. The descriptor is a socket, so it takes it.
            let _ = sys::set_nonblocking(arrival.descriptor.as_raw_fd(), false);
            slot.other_calls_count += 1;
        }
        slot.arrivals.push(arrival);
        slot.user.on_ready(Direction::Receive.bit());
        self.enqueue(index);
    }
}

/// Makes the close of a connection that has been silent a reset: without one the preamble that comes too late would be
/// sent and lost, and whoever sends it could not connect again (RFC 9293, section 3.6).
fn reset(silent: &PendingConnection) {
    // A Unix socket needs no reset: what is sent to one that is closed fails.
    let _ = sys::socket_of(&silent.socket).set_linger(Some(Duration::ZERO));
}
