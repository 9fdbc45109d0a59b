//! Sends of users through the thread's [`super::sending::Sending`], and the completions of sends without
//! copying.

use std::io;
use std::os::fd::{AsFd, RawFd};
use std::time::{Duration, Instant};
use workload::user::Direction;

use super::connections::NO_DESCRIPTOR;
use super::sys::{self, FAILED, OUT};
use super::worker::Worker;
use crate::outlet::{self, LAST_COMPLETIONS, Outlet};
use crate::sockopt;

/// Time that a call that waits gives the kernel to be done with earlier sends, in ms.
const COMPLETIONS_MS: u8 = 10;
/// The same where other users wait meanwhile, and at the end.
const SHORT_MS: u8 = 1;

impl Worker {
    /// Sends what a user asks for.
    pub(super) fn send_specially(&mut self, index: usize, row: Option<usize>, link: usize, (ask, bytes): (usize, u64)) -> io::Result<()> {
        let Some(sending) = &self.sending else { return Ok(()) };
        let is_plain = matches!(sending.outlet, Outlet::Send);
        let through_ring = self.events.ring.is_some() && sending.ring_flags().is_some();
        if self.links[link].must_greet {
            if is_plain {
                let sent = self.greet(index, row, link, ask);
                return self.on_sent(index, row, link, ask, sent);
            }
            // The preamble waits for the payload that another call sends.
            match self.greet_with(index, row, link, 0, libc::MSG_MORE) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return self.refused(error, index, link, Direction::Send),
                outcome => drop(outcome?),
            }
        }
        if through_ring {
            return self.begin_by_ring(index, link, Direction::Send, bytes);
        }
        let (descriptor, flags) = (self.links[link].descriptor, self.waiting(index, link));
        let Some(sending) = &mut self.sending else { return Ok(()) };
        // Calls without flags wait where the socket does, which a ring's does, and a blocking user's.
        let must_switch = !sending.outlet.takes_flags() && (self.events.ring.is_some() || (self.links[link].is_blocking && flags != 0));
        if must_switch {
            sys::set_nonblocking(descriptor, true)?;
            self.slots[index].other_calls_count += 2;
        }
        let sent = sending.outlet.send(&sys::borrowed(descriptor), &self.buffers.source[..ask], flags);
        if must_switch {
            sys::set_nonblocking(descriptor, false)?;
        }
        if matches!(sending.outlet, Outlet::Splice { .. }) {
            self.slots[index].other_calls_count += 1;
        }
        self.on_sent_specially(index, row, link, ask, sent)
    }

    /// Handles what has come of a send, by a ring or not.
    pub(super) fn on_sent_specially(
        &mut self,
        index: usize,
        row: Option<usize>,
        link: usize,
        ask: usize,
        sent: io::Result<usize>,
    ) -> io::Result<()> {
        let descriptor = self.links[link].descriptor;
        if let Some(zero_copy) = self.sending.as_mut().and_then(|sending| sending.zero_copies.get_mut(index)) {
            match &sent {
                Ok(_) => zero_copy.on_sent(&sys::borrowed(descriptor))?,
                Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => return self.await_completions(index, row, link),
                Err(_) => {}
            }
        }
        self.on_sent(index, row, link, ask, sent)
    }

    /// The kernel holds as much as it may (`net.core.optmem_max`): the user goes on when that is less.
    fn await_completions(&mut self, index: usize, row: Option<usize>, link: usize) -> io::Result<()> {
        self.count_call(index, row);
        let Some(zero_copy) = self.sending.as_mut().and_then(|sending| sending.zero_copies.get_mut(index)) else { return Ok(()) };
        let socket = sys::borrowed(self.links[link].descriptor);
        if zero_copy.take(&socket)? {
            return Ok(());
        }
        if self.links[link].is_blocking {
            return zero_copy.await_some(&socket, COMPLETIONS_MS);
        }
        if self.events.ring.is_some() {
            return zero_copy.await_some(&socket, SHORT_MS);
        }
        // Failures are reported whether asked for or not.
        self.slots[index].user.on_blocked(Direction::Send);
        self.await_failure(link)
    }

    /// Takes what the kernel reports about sends without copying from a connection that epoll reports as failed;
    /// returns what remains of its events.
    pub(super) fn hear_completions(&mut self, link: usize, events: u32) -> u32 {
        let slot = self.links[link].slot as usize;
        let Some(zero_copy) = self.sending.as_mut().and_then(|sending| sending.zero_copies.get_mut(slot)) else { return events };
        match zero_copy.take(&sys::borrowed(self.links[link].descriptor)) {
            // Whoever waits for room may try again.
            Ok(true) => events & !FAILED | OUT,
            Ok(false) | Err(_) => events,
        }
    }

    /// A write operation has ended: lets go of what the cork holds back.
    pub(super) fn uncork(&mut self, index: usize, descriptor: RawFd) -> io::Result<()> {
        if !self.sending.as_ref().is_some_and(|sending| sending.is_corked) {
            return Ok(());
        }
        self.slots[index].other_calls_count += 2;
        outlet::let_go(&sys::borrowed(descriptor))
    }

    /// Corks a connection before its first payload.
    pub(super) fn cork(&self, socket: &impl AsFd) -> io::Result<()> {
        if self.sending.as_ref().is_some_and(|sending| sending.is_corked) { sockopt::CORK.set(socket, 1) } else { Ok(()) }
    }

    /// A connection closes: nothing will be reported about its sends.
    pub(super) fn give_up_completions(&mut self, link: usize) {
        let slot = self.links[link].slot as usize;
        if let Some(zero_copy) = self.sending.as_mut().and_then(|sending| sending.zero_copies.get_mut(slot)) {
            // A broken one reports nothing either.
            let _ = zero_copy.take(&sys::borrowed(self.links[link].descriptor));
            zero_copy.give_up();
        }
    }

    /// Waits, but not long, until the kernel is done with all that was sent without copying.
    pub(super) fn settle_completions(&mut self) {
        let patience = if self.shared.control.cut().is_some() { Duration::ZERO } else { LAST_COMPLETIONS };
        let end = Instant::now() + patience;
        let Some(sending) = &mut self.sending else { return };
        for link in &self.links {
            let Some(zero_copy) = sending.zero_copies.get_mut(link.slot as usize) else { return };
            if link.descriptor == NO_DESCRIPTOR {
                continue;
            }
            let socket = sys::borrowed(link.descriptor);
            while zero_copy.take(&socket).is_ok() && zero_copy.is_awaited() && Instant::now() < end {
                if zero_copy.await_some(&socket, SHORT_MS).is_err() {
                    break;
                }
            }
        }
    }
}
