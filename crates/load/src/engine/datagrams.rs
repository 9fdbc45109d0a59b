//! Workloads over UDP: a write is one datagram, and so is a read.
//!
//! A loss fails its execution ([`workload::user`]). The end that begins executions stops waiting after the read's
//! timeout. The other one goes on when a datagram comes whose number is ahead ([`workload::datagram_order`]), or a
//! connection: on the connection that it waits for at once, on others after [`PATIENCE_NS`], because different flows
//! overtake each other. What comes later than that is counted where it is not behind on its own connection.

use probe::clock::mono_ns;
use std::cmp::Reverse;
use std::io;
use std::time::Duration;
use workload::datagram_order::write_number;
use workload::script::{Act, Script};
use workload::sizes;
use workload::user::{Datagram, Direction, LOST_AFTER_NS};

use super::connections::NO_DESCRIPTOR;
use super::sys::{self, IN};
use super::worker::Worker;
use crate::LoadError;
use crate::open::MAX_DATAGRAM_BYTES;
use crate::preamble::FLOW_BYTES;

/// Time that a datagram is waited for when another connection shows that it may be lost, in ns.
const PATIENCE_NS: u64 = 1_000_000;

/// The state that a thread keeps of its users and their connections over UDP; nothing over other transports.
#[derive(Default)]
pub(crate) struct Flows {
    pub(super) users: Vec<UserFlows>,
    /// By the number of the link.
    pub(super) flows: Vec<Flow>,
}

/// Of a user.
#[derive(Debug, Clone, Copy)]
pub(crate) struct UserFlows {
    /// Connections of the user.
    pub(super) links_count: u32,
    /// Until when others are waited for than those that have come; 0: none has.
    pub(super) patience_until_ns: u64,
    /// True if nothing is waited for that is not here: the other host has ended the transaction.
    pub(super) is_ending: bool,
}

/// Of a connection.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Flow {
    /// Number of the operation that opens it.
    pub(super) number: u64,
    /// When it was last asked to open, in ns.
    pub(super) asked_ns: u64,
    /// The least number that a datagram can have that is not behind another one.
    next_number: u64,
    /// Number and bytes of a datagram that has been read before its turn.
    early: Option<(u64, u32)>,
}

impl Flow {
    /// One that the operation of this number opens.
    pub(super) fn opened_by(number: u64) -> Self {
        Self { number, ..Self::default() }
    }
}

impl Flows {
    /// One user more, with so many connections.
    pub(super) fn add_user(&mut self, links_count: u32) {
        self.users.push(UserFlows { links_count, patience_until_ns: 0, is_ending: false });
        self.flows.resize(self.flows.len() + links_count as usize, Flow::default());
    }
}

/// The workload as it is executed over UDP.
///
/// # Errors
/// It asks for what datagrams cannot do; the reason.
pub(super) fn over_udp(mut script: Script) -> Result<Script, LoadError> {
    let refused = |text: String| Err(LoadError::Usage(text));
    if script.steps().any(|step| matches!(step.act, Act::SendFile(..) | Act::ReadFile(..))) {
        return refused("over udp no files are sent; use a write".to_owned());
    }
    for transaction in script.groups.iter_mut().flat_map(|group| &mut group.transactions) {
        if transaction.outstanding_count > 1 {
            return refused(format!("over udp one execution of \"{}\" can be outstanding, not several", transaction.name));
        }
        for step in &mut transaction.steps {
            let (Act::Write(transfer) | Act::Read(transfer)) = &mut step.act else { continue };
            let largest = sizes::largest(&transfer.size);
            if largest > MAX_DATAGRAM_BYTES {
                return refused(format!("a datagram of {largest} bytes; it has at most {MAX_DATAGRAM_BYTES}"));
            }
            transfer.call_bytes = u64::MAX;
            // The end that follows waits for whatever comes next, however long that takes.
            transfer.timeout_ns = transaction.leads.then(|| transfer.timeout_ns.unwrap_or(LOST_AFTER_NS));
        }
    }
    Ok(script)
}

/// The shortest time that a datagram is waited for.
pub(super) fn least_timeout(script: &Script) -> Option<Duration> {
    let timeouts = script.steps().filter_map(|step| match &step.act {
        Act::Read(transfer) => transfer.timeout_ns,
        _ => None,
    });
    timeouts.min().map(|ns| Duration::from_nanos(ns.max(1000)))
}

/// True if a call reports that a datagram before found no socket at the other host: that one is lost, and no other.
pub(super) fn is_of_another(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::ConnectionRefused
}

impl Worker {
    pub(super) fn send_datagram(&mut self, index: usize, row: Option<usize>, connection: u32, bytes: u64) -> io::Result<()> {
        let link = self.link(index, connection)?;
        let ask = usize::try_from(bytes).unwrap_or(usize::MAX).min(self.buffers.datagram.len());
        write_number(&mut self.buffers.datagram[..ask], self.slots[index].user.datagram_number(&self.plan.script));
        self.on_first_call(index);
        match sys::send(self.links[link].descriptor, &self.buffers.datagram[..ask], self.waiting(index, link)) {
            Err(error) if is_of_another(&error) => {
                self.count_call(index, row);
                Ok(())
            }
            sent => self.on_sent(index, row, link, ask, sent),
        }
    }

    pub(super) fn receive_datagram(&mut self, index: usize, row: Option<usize>, connection: u32) -> io::Result<()> {
        let link = self.link(index, connection)?;
        if let Some((number, bytes)) = self.flows.flows[link].early {
            match self.slots[index].user.judge_number(&self.plan.script, number) {
                Datagram::Early(_) => {
                    self.skip_to_first(index, row, link);
                    return Ok(());
                }
                Datagram::Awaited => {
                    self.flows.flows[link].early = None;
                    self.on_awaited(index, row, u64::from(bytes));
                    return Ok(());
                }
                Datagram::Late(_) | Datagram::Unknown => {
                    self.flows.flows[link].early = None;
                    self.count_late(index, row, u64::from(bytes));
                }
            }
        }
        if !self.links[link].is_readable && !self.links[link].is_blocking {
            return self.await_datagram(index, row, Some(link));
        }
        let flags = self.waiting(index, link);
        let received = self.take_in(index, link, self.buffers.sink.len(), flags);
        self.count_call(index, row);
        let moved = match received {
            Ok(moved) => moved,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return self.await_datagram(index, row, Some(link)),
            Err(error) if is_of_another(&error) => return Ok(()),
            Err(error) => return self.refused(error, index, link, Direction::Receive),
        };
        self.now_ns = mono_ns();
        self.links[link].is_readable = true;
        if self.on_datagram(index, row, link, moved) {
            self.on_awaited(index, row, moved as u64);
        } else if self.flows.flows[link].early.is_some() {
            self.skip_to_first(index, row, link);
        }
        Ok(())
    }

    fn on_awaited(&mut self, index: usize, row: Option<usize>, bytes: u64) {
        self.flows.users[index].patience_until_ns = 0;
        // Whatever came is the operation.
        self.count_moved(index, row, Direction::Receive, bytes);
    }

    /// Finds out what a datagram in the sink is, and keeps it or counts it; says whether it is the one that is awaited.
    fn on_datagram(&mut self, index: usize, row: Option<usize>, link: usize, moved: usize) -> bool {
        let slot = &mut self.slots[index];
        let connection = u32::try_from(link).unwrap_or(u32::MAX).wrapping_sub(slot.first_link);
        let datagram = &self.buffers.sink[..moved];
        let judged = slot.user.judge(&self.plan.script, connection, datagram);
        let flow = &mut self.flows.flows[link];
        match judged {
            Datagram::Awaited => {
                flow.next_number = slot.user.datagram_number(&self.plan.script) + 1;
                return true;
            }
            Datagram::Early(number) => {
                flow.next_number = number + 1;
                flow.early = Some((number, u32::try_from(moved).unwrap_or(u32::MAX)));
            }
            Datagram::Late(number) if number >= flow.next_number => {
                flow.next_number = number + 1;
                self.count_late(index, row, moved as u64);
            }
            Datagram::Late(_) | Datagram::Unknown => {
                slot.other_calls_count += 1;
                if moved == FLOW_BYTES {
                    self.welcome_again(link, moved);
                }
            }
        }
        false
    }

    /// Counts payload of an operation that was given up: it has arrived, and its execution has failed all the same.
    fn count_late(&mut self, index: usize, row: Option<usize>, bytes: u64) {
        self.slots[index].user.on_late(bytes);
        self.tally.ledger.users[index].payload_bytes.add(bytes);
        if let Some(row) = row {
            self.tally.ledger.rows[row].received_bytes.add(bytes);
            self.tally.ledger.rows[row].operations.add(1);
        }
    }

    /// The user waits for a datagram, or for a connection where there is no link: nothing is there. The end that
    /// follows goes on where others show that the other host has.
    pub(super) fn await_datagram(&mut self, index: usize, row: Option<usize>, link: Option<usize>) -> io::Result<()> {
        if !self.slots[index].user.leads() {
            if let Some(number) = self.first_early(index, row, link) {
                let now_ns = mono_ns();
                let of_user = &mut self.flows.users[index];
                if of_user.patience_until_ns == 0 {
                    of_user.patience_until_ns = now_ns + PATIENCE_NS;
                }
                if of_user.is_ending || now_ns >= of_user.patience_until_ns {
                    of_user.patience_until_ns = 0;
                    self.slots[index].user.skip_to(number);
                    // It has waited while the other host went on.
                    self.slots[index].user.hurry(true);
                    return Ok(());
                }
                let until_ns = of_user.patience_until_ns;
                self.look_again_at(index, until_ns);
            } else if !self.flows.users[index].is_ending {
                self.slots[index].user.hurry(false);
            }
            self.arm_all(index)?;
        }
        if let Some(link) = link {
            return self.refused(io::ErrorKind::WouldBlock.into(), index, link, Direction::Receive);
        }
        self.slots[index].user.on_blocked(Direction::Receive);
        Ok(())
    }

    /// A datagram has come on the connection that is waited for, and it is of a later operation: those before are lost.
    fn skip_to_first(&mut self, index: usize, row: Option<usize>, link: usize) {
        if let Some(number) = self.first_early(index, row, Some(link)) {
            self.flows.users[index].patience_until_ns = 0;
            self.slots[index].user.skip_to(number);
        }
    }

    /// The least number of what has come that is of a later operation: datagrams, the next of each connection, and
    /// connections.
    fn first_early(&mut self, index: usize, row: Option<usize>, current: Option<usize>) -> Option<u64> {
        let here = self.slots[index].user.datagram_number(&self.plan.script);
        let of_arrivals = self.slots[index].arrivals.iter().map(|arrival| arrival.ordinal).filter(|number| *number > here).min();
        let mut first = of_arrivals;
        for link in self.links_of(index) {
            if Some(link) != current {
                self.read_ahead(index, row, link);
            }
            let early = self.flows.flows[link].early.map(|(number, _)| number).filter(|number| *number > here);
            first = first.into_iter().chain(early).min();
        }
        first
    }

    /// Reads the next datagram of a connection that is not waited for.
    fn read_ahead(&mut self, index: usize, row: Option<usize>, link: usize) {
        while self.links[link].descriptor != NO_DESCRIPTOR && self.links[link].is_readable && self.flows.flows[link].early.is_none() {
            let received = self.take_in(index, link, self.buffers.sink.len(), libc::MSG_DONTWAIT);
            self.count_call(index, row);
            match received {
                Ok(moved) => drop(self.on_datagram(index, row, link, moved)),
                Err(error) if is_of_another(&error) => {}
                // Any other failure shows when it is waited for.
                Err(_) => self.links[link].is_readable = false,
            }
        }
    }

    /// The user's links.
    pub(super) fn links_of(&self, index: usize) -> std::ops::Range<usize> {
        let first = self.slots[index].first_link as usize;
        first..first + self.flows.users[index].links_count as usize
    }

    /// Lets whatever comes on any of the user's connections wake it, but for those that have a datagram already.
    fn arm_all(&mut self, index: usize) -> io::Result<()> {
        for link in self.links_of(index) {
            if self.links[link].descriptor != NO_DESCRIPTOR && self.flows.flows[link].early.is_none() {
                self.links[link].wanted |= super::interest::bits(IN);
                self.arm(link, IN)?;
            }
        }
        Ok(())
    }

    /// The user tries again at this instant, even if nothing comes.
    pub(super) fn look_again_at(&mut self, index: usize, at_ns: u64) {
        let slot = &mut self.slots[index];
        if slot.wake_ns != at_ns {
            slot.wake_ns = at_ns;
            self.events.timers.push(Reverse((at_ns, u32::try_from(index).unwrap_or(u32::MAX))));
        }
    }

    /// The instant has come.
    pub(super) fn look_again(&mut self, index: usize) {
        if self.flows.users.is_empty() {
            return;
        }
        for link in self.links_of(index) {
            self.links[link].is_readable = true;
        }
        self.slots[index].user.on_ready(Direction::Receive.bit());
    }

    /// Takes what has come before the other host said that it had ended: that way was the shorter one.
    pub(super) fn hear_the_rest(&mut self, index: usize) {
        let links = self.links_of(index);
        let before: Vec<_> =
            links.clone().map(|link| (self.links[link].descriptor, std::mem::replace(&mut self.links[link].is_blocking, false))).collect();
        self.flows.users[index].is_ending = true;
        self.slots[index].user.hurry(true);
        loop {
            self.look_again(index);
            self.run_slice(index);
            if !self.slots[index].is_queued {
                break;
            }
        }
        self.flows.users[index].is_ending = false;
        self.slots[index].user.hurry(false);
        for (link, (descriptor, was_blocking)) in links.zip(before) {
            self.links[link].is_blocking = was_blocking && self.links[link].descriptor == descriptor;
        }
    }
}
