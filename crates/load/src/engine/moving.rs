//! Payload that moves: sends and receives of users, and their tally.
//!
//! Sends are tried first and waited for only when refused. A receive is tried at once only where data may
//! already be there: a reply never is when the request has just left.

use probe::clock::mono_ns;
use schema::workload::Transport;
use std::io;
use std::os::fd::AsRawFd;
use workload::user::{Direction, Execution};

use super::connections::NO_DESCRIPTOR;
use super::ledger::Kind;
use super::sys;
use super::worker::Worker;
use crate::stamps;

impl Worker {
    #[inline]
    pub(super) fn send(&mut self, index: usize, row: Option<usize>, connection: u32, bytes: u64) -> io::Result<()> {
        if self.plan.transport == Transport::Udp {
            return self.send_datagram(index, row, connection, bytes);
        }
        let link = self.link(index, connection)?;
        let ask = usize::try_from(bytes).unwrap_or(usize::MAX).min(self.buffers.source.len());
        self.on_first_call(index);
        if self.is_secured(link) {
            return self.send_secured(index, row, link, ask);
        }
        if self.sending.is_some() {
            return self.send_specially(index, row, link, (ask, bytes));
        }
        let sent = if self.links[link].must_greet {
            self.greet(index, row, link, ask)
        } else if self.events.ring.is_some() {
            return self.begin_by_ring(index, link, Direction::Send, bytes);
        } else {
            sys::send(self.links[link].descriptor, &self.buffers.source[..ask], self.waiting(index, link))
        };
        self.on_sent(index, row, link, ask, sent)
    }

    pub(super) fn send_file(
        &mut self,
        index: usize,
        row: Option<usize>,
        connection: u32,
        (file, step, offset): (u32, u32, u64),
        bytes: u64,
    ) -> io::Result<()> {
        let link = self.link(index, connection)?;
        if self.links[link].must_greet {
            match self.greet(index, row, link, 0) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return self.refused(error, index, link, Direction::Send),
                outcome => drop(outcome?),
            }
        }
        let path = self.slots[index].user.file_path(&self.plan.script, step, file);
        let file = path.and_then(|path| self.plan.files.get(path)).ok_or_else(|| io::Error::other("a file that was not opened"))?;
        // What one call of sendfile(2) takes at most.
        let ask = usize::try_from(bytes).unwrap_or(usize::MAX).min(0x7fff_f000);
        let descriptor = self.links[link].descriptor;
        // sendfile(2) has no flag for it, and a ring waits only for sockets whose calls may.
        let must_switch = self.events.ring.is_some();
        if must_switch {
            sys::set_nonblocking(descriptor, true)?;
            self.slots[index].other_calls_count += 2;
        }
        let sent = sys::send_file(descriptor, file.as_raw_fd(), offset, ask);
        if must_switch {
            sys::set_nonblocking(descriptor, false)?;
        }
        let sent = match sent {
            Ok(0) => Err(io::Error::other("the file has become shorter")),
            sent => sent,
        };
        self.on_first_call(index);
        self.on_sent(index, row, link, ask, sent)
    }

    /// The flag that keeps a call from waiting, where it must not: a user whose sends and receives go
    /// on side by side waits for both at once.
    #[inline]
    pub(super) fn waiting(&self, index: usize, link: usize) -> i32 {
        if self.links[link].is_blocking && !self.slots[index].user.is_pipelined() { 0 } else { libc::MSG_DONTWAIT }
    }

    pub(super) fn on_first_call(&mut self, index: usize) {
        let slot = &mut self.slots[index];
        if slot.first_call_ns == u64::MAX {
            slot.first_call_ns = self.now_ns;
        }
    }

    #[inline]
    pub(super) fn on_sent(&mut self, index: usize, row: Option<usize>, link: usize, ask: usize, sent: io::Result<usize>) -> io::Result<()> {
        self.count_call(index, row);
        match sent {
            Ok(moved) => {
                self.now_ns = mono_ns();
                if let Some(wire) = &mut self.wire {
                    wire.on_sent(index, link, self.links[link].descriptor, moved);
                }
                self.slots[index].short_calls_count += u64::from(moved < ask);
                let is_over = self.count_moved(index, row, Direction::Send, moved as u64);
                // What answers a request that has just left is not there yet.
                self.links[link].is_readable &= self.slots[index].user.is_pipelined();
                if self.sending.is_some() && is_over { self.uncork(index, self.links[link].descriptor) } else { Ok(()) }
            }
            Err(error) => self.refused(error, index, link, Direction::Send),
        }
    }

    /// Counts a call, whatever came of it.
    #[inline]
    pub(super) fn count_call(&self, index: usize, row: Option<usize>) {
        self.tally.ledger.users[index].calls_count.add(1);
        if let Some(row) = row {
            self.tally.ledger.rows[row].calls.add(1);
        }
    }

    /// Counts payload that has moved, and reports it to the user; returns whether its operation has ended.
    #[inline]
    pub(super) fn count_moved(&mut self, index: usize, row: Option<usize>, direction: Direction, moved: u64) -> bool {
        let slot = &mut self.slots[index];
        slot.last_call_ns = self.now_ns;
        if slot.first_call_ns == u64::MAX {
            slot.first_call_ns = self.now_ns;
        }
        let is_over = slot.user.on_moved(direction, moved, self.now_ns);
        self.tally.ledger.users[index].payload_bytes.add(moved);
        if let Some(row) = row {
            let counter = &self.tally.ledger.rows[row];
            let bytes = match direction {
                Direction::Send => &counter.sent_bytes,
                Direction::Receive => &counter.received_bytes,
            };
            bytes.add(moved);
            counter.operations.add(u64::from(is_over));
        }
        is_over
    }

    #[inline]
    pub(super) fn receive(&mut self, index: usize, row: Option<usize>, connection: u32, bytes: u64) -> io::Result<()> {
        if self.plan.transport == Transport::Udp {
            return self.receive_datagram(index, row, connection);
        }
        let link_index = self.link(index, connection)?;
        if self.links[link_index].must_greet {
            match self.greet(index, row, link_index, 0) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return self.refused(error, index, link_index, Direction::Send),
                outcome => drop(outcome?),
            }
        }
        if self.is_secured(link_index) {
            return self.receive_secured(index, row, link_index, bytes);
        }
        let link = &mut self.links[link_index];
        if link.credit_bytes > 0 {
            self.take_credit(index, row, link_index, bytes);
            return Ok(());
        }
        if self.events.ring.is_some() {
            return self.begin_by_ring(index, link_index, Direction::Receive, bytes);
        }
        if !link.is_readable && !link.is_blocking {
            return self.refused(io::ErrorKind::WouldBlock.into(), index, link_index, Direction::Receive);
        }
        let flags = self.waiting(index, link_index) | self.plan.receive_flags;
        let ask = usize::try_from(bytes).unwrap_or(usize::MAX).min(self.buffers.sink.len());
        let received = self.take_in(index, link_index, ask, flags);
        self.on_received(index, row, link_index, ask, received)
    }

    #[inline]
    pub(super) fn on_received(
        &mut self,
        index: usize,
        row: Option<usize>,
        link: usize,
        ask: usize,
        received: io::Result<usize>,
    ) -> io::Result<()> {
        self.count_call(index, row);
        match received {
            Ok(0) => Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the other host closed the connection")),
            Ok(moved) => {
                self.now_ns = mono_ns();
                let slot = &mut self.slots[index];
                slot.short_calls_count += u64::from(moved < ask);
                slot.other_calls_count += u64::from(self.plan.quick_ack);
                // A call that got less than it asked for has emptied the socket.
                self.links[link].is_readable = moved == ask;
                self.count_moved(index, row, Direction::Receive, moved as u64);
                if self.plan.quick_ack { sys::quick_ack(self.links[link].descriptor) } else { Ok(()) }
            }
            Err(error) => self.refused(error, index, link, Direction::Receive),
        }
    }

    /// Payload that came together with a preamble.
    fn take_credit(&mut self, index: usize, row: Option<usize>, link: usize, bytes: u64) {
        let link = &mut self.links[link];
        let moved = bytes.min(u64::from(link.credit_bytes));
        link.credit_bytes -= u32::try_from(moved).unwrap_or(0);
        self.count_call(index, row);
        self.count_moved(index, row, Direction::Receive, moved);
    }

    /// A connection of this thread is open, or opens: stamps are asked for, if they are wanted.
    pub(super) fn ask_for_stamps(&mut self, link: usize) {
        let descriptor = self.links[link].descriptor;
        if let Some(wire) = &mut self.wire
            && descriptor != NO_DESCRIPTOR
        {
            wire.on_open(link, descriptor);
        }
    }

    /// Receives, with the kernel's stamp where it is wanted.
    #[inline]
    pub(super) fn take_in(&mut self, index: usize, link: usize, ask: usize, flags: i32) -> io::Result<usize> {
        let descriptor = self.links[link].descriptor;
        let Some(wire) = &mut self.wire else { return sys::receive(descriptor, &mut self.buffers.sink[..ask], flags) };
        let (moved, stamp_ns) = stamps::receive(&sys::borrowed(descriptor), &mut self.buffers.sink[..ask], flags)?;
        wire.on_received(index, link, descriptor, stamp_ns);
        Ok(moved)
    }

    /// Takes stamps from a connection that epoll reports as failed; returns what remains of its events.
    pub(super) fn hear_stamps(&mut self, link: usize, events: u32) -> u32 {
        let Some(wire) = &mut self.wire else { return events };
        let mut has_heard = false;
        while wire.hear(self.links[link].slot as usize, link, self.links[link].descriptor) {
            has_heard = true;
        }
        // Any other failure is reported again.
        if has_heard { events & !sys::FAILED } else { events }
    }

    /// An execution has ended: counts what of it passed between the hosts, and what in this one.
    pub(super) fn record_wire(&mut self, index: usize, row: usize, execution: &Execution) {
        let Some(wire) = &mut self.wire else { return };
        let link = wire.link_of(index);
        let exchange_ns = wire.take_ns(index, self.links[link].descriptor);
        self.slots[index].other_calls_count += wire.take_calls_count();
        if let Some(wire_ns) = exchange_ns.filter(|_| !execution.is_failed) {
            let service_ns = execution.end_ns - execution.begin_ns;
            let mut latencies = self.tally.latencies.lock();
            latencies.record_length(row, Kind::Wire, wire_ns, execution.end_ns);
            latencies.record_length(row, Kind::Host, service_ns.saturating_sub(wire_ns), execution.end_ns);
        }
    }
}
