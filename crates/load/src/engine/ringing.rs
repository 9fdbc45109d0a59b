//! The way that a thread with an `io_uring` sends and receives: what a user asks for is begun, and the user
//! is notified when it has ended. Everything else, from listening to files, stays with epoll, whose own
//! descriptor the ring watches.

use std::io;
use workload::user::Direction;

use super::ring::Completion;
use super::worker::Worker;

impl Worker {
    /// Begins a send or a receive; the user does not ask again before it has ended.
    pub(super) fn begin_by_ring(&mut self, index: usize, link: usize, direction: Direction, bytes: u64) -> io::Result<()> {
        let descriptor = self.links[link].descriptor;
        let flags = match direction {
            Direction::Receive => self.plan.receive_flags,
            Direction::Send => self.sending.as_ref().and_then(|sending| sending.ring_flags()).unwrap_or(0),
        };
        self.slots[index].user.on_blocked(direction);
        match &mut self.events.ring {
            Some(ring) if !ring.is_up(index, direction) => ring.start((index, direction), (descriptor, link), bytes, flags),
            _ => Ok(()),
        }
    }

    /// True if nothing of a user is under way any more; if not, it is called back, and the user's
    /// turn comes when that has ended. A receive for an execution that never begins would otherwise
    /// take the first bytes of the next transaction.
    pub(super) fn is_settled(&mut self, index: usize) -> bool {
        match self.events.ring.as_mut().map(|ring| ring.cancel(index)) {
            None | Some(Ok(false)) => true,
            Some(Ok(true)) => false,
            Some(Err(error)) => {
                self.fail(index, &error);
                true
            }
        }
    }

    /// Waits for events at most this long, and says how many there are for epoll's own links.
    pub(super) fn wait(&mut self, timeout_ns: Option<u64>) -> io::Result<usize> {
        let Some(ring) = &mut self.events.ring else {
            let count = self.events.epoll.wait(timeout_ns)?;
            self.tally.ledger.waits.add(1);
            return Ok(count);
        };
        ring.wait(self.events.epoll.descriptor(), timeout_ns)?;
        self.tally.ledger.waits.add(ring.take_enters());
        let completions = ring.take_completions();
        self.on_completions(&completions);
        if let Some(ring) = &mut self.events.ring {
            let has_events = completions.iter().any(|completion| matches!(completion, Completion::Events));
            ring.give_back(completions);
            if has_events {
                self.tally.ledger.waits.add(1);
                return self.events.epoll.wait(Some(0));
            }
        }
        Ok(0)
    }

    /// Calls back what is under way when all is over, and counts what has moved until then.
    pub(super) fn settle_ring(&mut self) {
        if let Some(ring) = &mut self.events.ring {
            let completions = ring.settle(self.events.epoll.descriptor());
            self.on_completions(&completions);
        }
    }

    fn on_completions(&mut self, completions: &[Completion]) {
        for completion in completions {
            if let Completion::Landed { slot, direction, result } = *completion {
                self.on_landed(slot, direction, result);
            }
        }
    }

    fn on_landed(&mut self, index: usize, direction: Direction, result: i32) {
        let Some(ring) = &mut self.events.ring else { return };
        let flight = ring.land(index, direction);
        let result = usize::try_from(result).map_err(|_| io::Error::from_raw_os_error(-result));
        let link = flight.link as usize;
        let slot = &mut self.slots[index];
        slot.user.on_ready(direction.bit());
        let row = slot.user.row(&self.plan.script).map(|row| row as usize);
        let outcome = match (direction, result) {
            (_, Err(error)) if error.raw_os_error() == Some(libc::ECANCELED) => Ok(()),
            (_, Err(_) | Ok(0)) if flight.is_cancelled => Ok(()),
            (Direction::Send, result) if self.sending.is_some() => self.on_sent_specially(index, row, link, flight.ask, result),
            (Direction::Send, result) => self.on_sent(index, row, link, flight.ask, result),
            (Direction::Receive, result) => self.on_received(index, row, link, flight.ask, result),
        };
        if let Err(error) = outcome
            && !self.slots[index].user.has_failed()
        {
            self.fail(index, &error);
        }
        self.enqueue(index);
    }
}
