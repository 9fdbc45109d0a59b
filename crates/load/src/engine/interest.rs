//! The things that a thread waits for: events of its connections, and instants.
//!
//! Interest is level-triggered and stays registered while nothing unwanted is reported, so that a request
//! and its reply take no call to `epoll_ctl`.

use probe::clock::mono_ns;
use std::cmp::Reverse;
use std::io;
use std::os::fd::AsRawFd;
use workload::user::Direction;

use super::connections::NO_DESCRIPTOR;
use super::sys::{BROKEN, EXCLUSIVE, FAILED, IN, OUT};
use super::worker::Worker;

/// Which of an event's keys means what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Key {
    /// The thread has been woken.
    Waker,
    /// Somebody is at a port.
    Listener(usize),
    /// A connection without a token yet can be read.
    Pending(u64),
    /// A user's connection.
    Link(usize),
}

const LISTENER: u64 = 1 << 62;
const PENDING: u64 = 1 << 61;

impl Key {
    pub fn code(self) -> u64 {
        match self {
            Key::Waker => u64::MAX,
            Key::Listener(index) => LISTENER | index as u64,
            Key::Pending(number) => PENDING | number & u64::from(u32::MAX),
            Key::Link(index) => index as u64,
        }
    }

    #[inline]
    pub fn decode(code: u64) -> Self {
        let index = usize::try_from(code & u64::from(u32::MAX)).unwrap_or(usize::MAX);
        if code < PENDING {
            Key::Link(index)
        } else if code == u64::MAX {
            Key::Waker
        } else if code & LISTENER != 0 {
            Key::Listener(index)
        } else {
            Key::Pending(code & u64::from(u32::MAX))
        }
    }
}

impl Worker {
    /// Watches all connections that are open, before the load begins.
    ///
    /// # Errors
    /// The kernel watches no more.
    pub fn watch(&mut self) -> io::Result<()> {
        self.events.epoll.watch(self.shared.inbox.waker.descriptor(), IN, Key::Waker.code(), false)?;
        let openings = &self.shared.openings;
        let streams = openings.listeners.iter().map(AsRawFd::as_raw_fd).enumerate();
        let flows = openings.receivers.iter().map(AsRawFd::as_raw_fd).enumerate();
        for (index, descriptor) in streams.chain(flows) {
            self.events.epoll.watch(descriptor, IN | EXCLUSIVE, Key::Listener(index).code(), false)?;
        }
        for index in 0..self.links.len() {
            if self.links[index].descriptor != NO_DESCRIPTOR && self.events.ring.is_none() {
                self.arm(index, IN)?;
            }
        }
        Ok(())
    }

    /// Queues the users whose instant has come; returns the time to the next one.
    pub(super) fn fire_timers(&mut self) -> Option<u64> {
        if self.events.timers.is_empty() {
            return None;
        }
        self.now_ns = mono_ns();
        while let Some(Reverse((at_ns, slot))) = self.events.timers.peek().copied() {
            let is_stale = self.slots[slot as usize].wake_ns != at_ns;
            if !is_stale && at_ns > self.now_ns {
                return Some(at_ns - self.now_ns);
            }
            self.events.timers.pop();
            if !is_stale {
                self.slots[slot as usize].wake_ns = u64::MAX;
                self.look_again(slot as usize);
                self.enqueue(slot as usize);
            }
        }
        None
    }

    pub(super) fn on_event(&mut self, mut events: u32, index: usize) -> io::Result<()> {
        if events & FAILED != 0 && (self.sending.is_some() || self.wire.is_some()) && index < self.links.len() {
            events = self.hear_completions(index, events);
            events = self.hear_stamps(index, events);
            if events & !OUT == 0 && self.links[index].wanted & bits(OUT) == 0 {
                return Ok(());
            }
        }
        let Some(link) = self.links.get_mut(index) else { return Ok(()) };
        let broken = events & BROKEN != 0;
        let got = if broken { bits(IN | OUT) } else { bits(events) };
        if link.wanted & got == 0 {
            let is_queued = self.slots[link.slot as usize].is_queued;
            if !is_queued {
                return self.disarm(index, got, broken);
            }
            return Ok(());
        }
        link.is_readable |= got & bits(IN) != 0;
        link.wanted &= !got;
        let slot = link.slot as usize;
        // A session may have to receive before it can send.
        let ready = if self.is_secured(index) { directions(bits(IN | OUT)) } else { directions(got) };
        self.slots[slot].user.on_ready(ready);
        self.enqueue(slot);
        Ok(())
    }

    /// Lets epoll report these events too.
    pub(super) fn arm(&mut self, index: usize, events: u32) -> io::Result<()> {
        let link = &mut self.links[index];
        let armed = link.armed | bits(events);
        if armed != link.armed || !link.is_watched {
            self.events.epoll.watch(link.descriptor, u32::from(armed), Key::Link(index).code(), link.is_watched)?;
            link.armed = armed;
            link.is_watched = true;
            self.slots[link.slot as usize].other_calls_count += 1;
        }
        Ok(())
    }

    /// Nobody waits for these events now, and reporting them again and again would cost.
    fn disarm(&mut self, index: usize, events: u8, is_broken: bool) -> io::Result<()> {
        let link = &mut self.links[index];
        link.is_readable |= events & bits(IN) != 0;
        link.armed &= !events;
        if link.armed == 0 || is_broken {
            self.events.epoll.forget(link.descriptor);
            link.armed = 0;
            link.is_watched = false;
        } else {
            self.events.epoll.watch(link.descriptor, u32::from(link.armed), Key::Link(index).code(), true)?;
        }
        self.slots[link.slot as usize].other_calls_count += 1;
        Ok(())
    }

    /// The user waits until something arrives on a connection's error queue.
    pub(super) fn await_failure(&mut self, link: usize) -> io::Result<()> {
        self.links[link].wanted |= bits(OUT);
        self.arm(link, 0)
    }

    /// A call that moved nothing: the user waits until it may be tried again.
    pub(super) fn refused(&mut self, error: io::Error, index: usize, link: usize, direction: Direction) -> io::Result<()> {
        match error.kind() {
            io::ErrorKind::WouldBlock => {}
            io::ErrorKind::Interrupted => return Ok(()),
            _ => return Err(error),
        }
        let events = match direction {
            Direction::Send => OUT,
            Direction::Receive => IN,
        };
        self.slots[index].user.on_blocked(direction);
        self.links[link].is_readable &= direction == Direction::Send;
        self.links[link].wanted |= bits(events);
        self.arm(link, events)
    }
}

pub(super) fn bits(events: u32) -> u8 {
    (events & (IN | OUT)) as u8
}

fn directions(events: u8) -> u8 {
    let mut directions = 0;
    if events & bits(IN) != 0 {
        directions |= Direction::Receive.bit();
    }
    if events & bits(OUT) != 0 {
        directions |= Direction::Send.bit();
    }
    directions
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_come_out_as_they_went_in() {
        for key in [Key::Waker, Key::Listener(0), Key::Listener(7), Key::Pending(0), Key::Pending(1023), Key::Link(0), Key::Link(200_000)] {
            assert_eq!(Key::decode(key.code()), key);
        }
    }
}
