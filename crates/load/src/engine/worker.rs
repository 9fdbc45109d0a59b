//! A thread of the engine: many strands, one epoll.
//!
//! Each strand goes on until it would have to wait or has had its turn. Sends are tried first and
//! waited for only when refused. A receive is tried at once only where data may already be there: a
//! reply never is when the request has just left. Interest is level-triggered and stays registered
//! while nothing unwanted is reported, so that a request and its reply take no call to `epoll_ctl`.

use probe::clock::mono_ns;
use schema::trial::{Role, SocketSpec};
use schema::workload::Transport;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::sync::Arc;
use std::sync::mpsc::Sender;
use workload::script::{Act, Script};
use workload::strand::{Action, Direction, Ending, Strand};

use super::ledger::{Kind, Latencies, Ledger};
use super::opening::{Key, Newcomer, Openings, Ports};
use super::orders::{Arrival, Inbox, Order, Report, Total};
use super::ring::Ring;
use super::sys::{self, BROKEN, EXCLUSIVE, Epoll, IN, OUT, Waker};
use crate::running::{Control, Cut, Ended, Life};

/// Calls of a strand in one turn.
const TURN_CALLS: u32 = 32;
/// Longest time a strand keeps the CPU busy before others get their turn, in ns.
const SPIN_NS: u64 = 100_000;
/// The descriptor of a link that is not open.
pub(super) const NO_DESCRIPTOR: RawFd = -1;
/// How often those are looked for who say nothing, in ns.
const SILENCE_CHECK_NS: u64 = 1_000_000_000;

/// A connection of a strand, as the thread sees it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Link {
    pub descriptor: RawFd,
    /// The thread's own number of the strand.
    pub slot: u32,
    /// Events that epoll reports.
    armed: u8,
    /// Events that the strand waits for.
    wanted: u8,
    is_watched: bool,
    /// Whether data may be there.
    pub(super) is_readable: bool,
    /// Whether its preamble has not been sent yet.
    pub(super) must_greet: bool,
    /// Whether calls wait in the kernel, though not for long.
    pub(super) is_blocking: bool,
    /// Whether nobody else holds the descriptor.
    pub(super) is_own: bool,
    /// Payload already read, in bytes.
    pub(super) credit_bytes: u32,
}

impl Link {
    /// A connection of this strand.
    pub fn new(descriptor: RawFd, slot: u32) -> Self {
        Self {
            descriptor,
            slot,
            armed: 0,
            wanted: 0,
            is_watched: false,
            is_readable: true,
            must_greet: false,
            is_blocking: false,
            is_own: false,
            credit_bytes: 0,
        }
    }
}

/// A strand and what the thread keeps of it.
pub(crate) struct Slot {
    pub strand: Strand,
    pub first_link: u32,
    /// Whether it is in the queue of those that can go on.
    pub(super) is_queued: bool,
    /// Whether it has not ended the transaction yet.
    is_running: bool,
    /// When it wants to be woken; the timer that is not for this instant is stale.
    wake_ns: u64,
    first_call_ns: u64,
    pub(super) last_call_ns: u64,
    short_calls_count: u64,
    pub(super) other_calls_count: u64,
    /// Executions that had begun after its last turn; wraps.
    begun_before: u32,
    /// Whether a sentence says why it goes on no more.
    has_failed: bool,
    /// When the connection was begun that is opening.
    pub(super) opening_ns: u64,
    /// Whether the preamble of that connection is still to be taken.
    pub(super) is_greeting: bool,
    /// Connections opened by the workload so far.
    pub(super) connects_count: u32,
    /// Those that came before the strand asked for them.
    pub(super) arrivals: Vec<Arrival>,
}

impl Slot {
    /// A strand that has not begun.
    pub fn new(strand: Strand, first_link: u32) -> Self {
        Self {
            strand,
            first_link,
            is_queued: false,
            is_running: false,
            wake_ns: u64::MAX,
            first_call_ns: u64::MAX,
            last_call_ns: 0,
            short_calls_count: 0,
            other_calls_count: 0,
            begun_before: 0,
            has_failed: false,
            opening_ns: 0,
            is_greeting: false,
            connects_count: 0,
            arrivals: Vec::new(),
        }
    }
}

/// What a thread is told when it is made.
pub(crate) struct Worker {
    pub script: Arc<Script>,
    pub ending: EndingSpec,
    pub control: Arc<Control>,
    pub inbox: Arc<Inbox>,
    pub reports: Sender<Report>,
    pub conductor: Arc<Waker>,
    pub ledger: Arc<Ledger>,
    pub latencies: Latencies,
    pub epoll: Epoll,
    /// Where sends and receives go through an `io_uring`.
    pub ring: Option<Ring>,
    pub slots: Vec<Slot>,
    pub links: Vec<Link>,
    pub source: Arc<[u8]>,
    /// A datagram to be numbered; empty where there are none.
    pub datagram: Vec<u8>,
    pub sink: Vec<u8>,
    pub quick_ack: bool,
    /// Flags of each receive.
    pub receive_flags: i32,
    pub ready: VecDeque<u32>,
    pub timers: BinaryHeap<Reverse<(u64, u32)>>,
    pub running_count: usize,
    pub round: u32,
    pub now_ns: u64,
    /// Whether it has one strand, whose calls block.
    pub is_alone: bool,
    pub openings: Arc<Openings>,
    pub inboxes: Vec<Arc<Inbox>>,
    /// Why strands failed, by their numbers.
    pub failures: HashMap<u32, String>,
    pub newcomers: Vec<Option<Newcomer>>,
    pub silence_check_ns: u64,
    pub transport: Transport,
    pub socket_spec: SocketSpec,
    pub role: Role,
    /// The ports that connections come from.
    pub ports: Ports,
    /// What is sent from files.
    pub files: Arc<HashMap<String, File>>,
}

/// As [`Ending`], but relative to the start.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EndingSpec {
    pub load_ns: Option<u64>,
    pub payload_bytes: Option<u64>,
    pub is_lossy: bool,
}

impl EndingSpec {
    fn from(self, start_ns: u64) -> Ending {
        Ending {
            until_ns: self.load_ns.map(|load_ns| start_ns.saturating_add(load_ns)),
            payload_bytes: self.payload_bytes,
            is_lossy: self.is_lossy,
        }
    }
}

impl Worker {
    /// Watches all connections that are open, before the load begins.
    ///
    /// # Errors
    /// The kernel watches no more.
    pub fn watch(&mut self) -> io::Result<()> {
        self.epoll.watch(self.inbox.waker.descriptor(), IN, Key::Waker.code(), false)?;
        for (index, listener) in self.openings.listeners.iter().enumerate() {
            self.epoll.watch(listener.as_raw_fd(), IN | EXCLUSIVE, Key::Listener(index).code(), false)?;
        }
        for index in 0..self.links.len() {
            if self.links[index].descriptor != NO_DESCRIPTOR && self.ring.is_none() {
                self.arm(index, IN)?;
            }
        }
        Ok(())
    }

    /// Runs the strands from `start_ns` on until all is over, and says how each ended.
    pub fn run(&mut self, start_ns: u64) -> Vec<Life> {
        sys::sharpen_timers();
        let ending = self.ending.from(start_ns);
        self.latencies.on_start(start_ns);
        self.now_ns = mono_ns();
        self.begin(0, start_ns, &ending);
        let enabled = self.ring.as_ref().map_or(Ok(()), Ring::enable);
        let ended = enabled.and_then(|()| self.work(&ending));
        let cut = self.control.cut();
        self.settle_ring();
        self.close_own();
        self.lives(cut, ended.err())
    }

    fn work(&mut self, ending: &Ending) -> io::Result<()> {
        loop {
            // Orders first: why the other end is gone is known before it shows at its connections.
            if self.follow_orders(ending) || self.control.cut().is_some() {
                return Ok(());
            }
            for _ in 0..self.ready.len() {
                if let Some(slot) = self.ready.pop_front() {
                    self.turn(slot as usize);
                }
            }
            let timeout_ns = self.fire_timers();
            let timeout_ns = if self.ready.is_empty() { timeout_ns } else { Some(0) };
            if self.is_alone && timeout_ns == Some(0) {
                // Calls wait by themselves, and orders are looked at between them.
                continue;
            }
            let count = self.wait(timeout_ns)?;
            self.now_ns = mono_ns();
            for index in 0..count {
                let (events, key) = self.epoll.event(index);
                match Key::decode(key) {
                    Key::Link(link) => self.on_event(events, link)?,
                    Key::Waker => self.inbox.waker.clear(),
                    Key::Listener(listener) => self.on_listener(listener),
                    Key::Newcomer(newcomer) => self.on_newcomer(newcomer),
                }
            }
            if !self.newcomers.is_empty() && self.now_ns >= self.silence_check_ns {
                self.silence_check_ns = self.now_ns + SILENCE_CHECK_NS;
                self.drop_silent();
            }
        }
    }

    fn begin(&mut self, round: u32, at_ns: u64, ending: &Ending) {
        self.round = round;
        let rows = self.script.groups.iter().filter_map(|group| group.transactions.get(round as usize));
        for transaction in rows {
            let is_open = !matches!(transaction.arrivals, schema::workload::Arrivals::Closed);
            let connects = transaction.steps.iter().any(|step| step.act == Act::Connect);
            let kinds = [(Kind::Service, true), (Kind::Intended, is_open), (Kind::Connect, connects)];
            for (kind, _) in kinds.into_iter().filter(|(_, is_counted)| *is_counted) {
                // The bounds of a histogram are fixed.
                let _ = self.latencies.make_room(transaction.row as usize, kind);
            }
        }
        for index in 0..self.slots.len() {
            let slot = &mut self.slots[index];
            if !slot.has_failed {
                slot.strand.begin(&self.script, round, at_ns, ending);
                slot.is_running = true;
                slot.begun_before = 0;
                self.running_count += 1;
                self.enqueue(index);
            }
        }
        if self.running_count == 0 {
            self.report_reached();
        }
    }

    pub(super) fn enqueue(&mut self, slot: usize) {
        let queued = &mut self.slots[slot].is_queued;
        if !*queued {
            *queued = true;
            self.ready.push_back(u32::try_from(slot).unwrap_or(u32::MAX));
        }
    }

    /// Queues the strands whose instant has come; returns the time to the next one.
    fn fire_timers(&mut self) -> Option<u64> {
        if self.timers.is_empty() {
            return None;
        }
        self.now_ns = mono_ns();
        while let Some(Reverse((at_ns, slot))) = self.timers.peek().copied() {
            let is_stale = self.slots[slot as usize].wake_ns != at_ns;
            if !is_stale && at_ns > self.now_ns {
                return Some(at_ns - self.now_ns);
            }
            self.timers.pop();
            if !is_stale {
                self.slots[slot as usize].wake_ns = u64::MAX;
                self.enqueue(slot as usize);
            }
        }
        None
    }

    fn on_event(&mut self, events: u32, index: usize) -> io::Result<()> {
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
        self.slots[slot].strand.on_ready(directions(got));
        self.enqueue(slot);
        Ok(())
    }

    /// Lets epoll report these events too.
    fn arm(&mut self, index: usize, events: u32) -> io::Result<()> {
        let link = &mut self.links[index];
        let armed = link.armed | bits(events);
        if armed != link.armed || !link.is_watched {
            self.epoll.watch(link.descriptor, u32::from(armed), Key::Link(index).code(), link.is_watched)?;
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
            self.epoll.forget(link.descriptor);
            link.armed = 0;
            link.is_watched = false;
        } else {
            self.epoll.watch(link.descriptor, u32::from(link.armed), Key::Link(index).code(), true)?;
        }
        self.slots[link.slot as usize].other_calls_count += 1;
        Ok(())
    }

    /// Lets a strand go on until it has to wait or others are due.
    pub(super) fn turn(&mut self, index: usize) {
        self.slots[index].is_queued = false;
        if !self.slots[index].is_running {
            return;
        }
        let row = self.slots[index].strand.row(&self.script).map(|row| row as usize);
        let mut calls = 0;
        loop {
            if calls >= TURN_CALLS {
                self.enqueue(index);
                break;
            }
            let slot = &mut self.slots[index];
            let action = slot.strand.poll_action(&self.script, self.now_ns);
            let done = match action {
                Action::Send { connection, bytes, .. } => {
                    calls += 1;
                    self.send(index, row, connection, bytes)
                }
                Action::Receive { connection, bytes } => {
                    calls += 1;
                    self.receive(index, row, connection, bytes)
                }
                Action::Ended(execution) => {
                    let row = row.unwrap_or(0);
                    let counter = &self.ledger.rows[row];
                    if execution.is_failed {
                        counter.failed.add(1);
                    } else {
                        self.latencies.record(row, &execution);
                    }
                    counter.ended.add(1);
                    continue;
                }
                Action::Wait { until_ns } => {
                    if until_ns != u64::MAX && until_ns != slot.wake_ns {
                        slot.wake_ns = until_ns;
                        self.timers.push(Reverse((until_ns, u32::try_from(index).unwrap_or(u32::MAX))));
                    }
                    break;
                }
                Action::Spin { until_ns } => {
                    let until_ns = until_ns.min(self.now_ns + SPIN_NS);
                    while self.now_ns < until_ns {
                        std::hint::spin_loop();
                        self.now_ns = mono_ns();
                    }
                    calls = TURN_CALLS;
                    continue;
                }
                Action::Limit { executions_count } => {
                    let strand = slot.strand.number();
                    self.report(Report::Limit { strand, executions_count });
                    continue;
                }
                Action::Barrier | Action::Over => {
                    if !self.is_settled(index) {
                        break;
                    }
                    let slot = &mut self.slots[index];
                    slot.is_running = false;
                    self.on_reached();
                    break;
                }
                Action::SendFile { connection, file, step, offset, bytes } => {
                    calls += 1;
                    self.send_file(index, row, connection, (file, step, offset), bytes)
                }
                Action::Connect { connection, .. } => {
                    calls += 1;
                    self.connect(index, row, connection)
                }
                Action::Accept { connection, .. } => {
                    self.accept(index, connection);
                    Ok(())
                }
                Action::Disconnect { connection } => self.disconnect(index, row, connection),
                Action::Hear { connection } => self.hear(index, connection),
            };
            if let Err(error) = done {
                self.fail(index, &error);
            }
        }
        self.count_begun(index, row);
    }

    fn count_begun(&mut self, index: usize, row: Option<usize>) {
        let slot = &mut self.slots[index];
        let begun = u32::try_from(slot.strand.begun_count() & u64::from(u32::MAX)).unwrap_or(0);
        if let Some(row) = row {
            self.ledger.rows[row].begun.add(u64::from(begun.wrapping_sub(slot.begun_before)));
        }
        slot.begun_before = begun;
    }

    pub(super) fn link(&self, index: usize, connection: u32) -> io::Result<usize> {
        let link = (self.slots[index].first_link + connection) as usize;
        if self.links[link].descriptor == NO_DESCRIPTOR { Err(io::Error::other("the connection is not open")) } else { Ok(link) }
    }

    #[inline]
    fn send(&mut self, index: usize, row: Option<usize>, connection: u32, bytes: u64) -> io::Result<()> {
        if self.transport == Transport::Udp {
            return self.send_datagram(index, row, connection, bytes);
        }
        let link = self.link(index, connection)?;
        let ask = usize::try_from(bytes).unwrap_or(usize::MAX).min(self.source.len());
        self.on_first_call(index);
        let sent = if self.links[link].must_greet {
            self.greet(index, row, link, ask)
        } else if self.ring.is_some() {
            return self.begin_by_ring(index, link, Direction::Send, bytes);
        } else {
            sys::send(self.links[link].descriptor, &self.source[..ask], self.waiting(index, link))
        };
        self.on_sent(index, row, link, (ask, bytes), sent)
    }

    fn send_file(
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
        let path = self.slots[index].strand.file_path(&self.script, step, file);
        let file = path.and_then(|path| self.files.get(path)).ok_or_else(|| io::Error::other("a file that was not opened"))?;
        // What one call of sendfile(2) takes at most.
        let ask = usize::try_from(bytes).unwrap_or(usize::MAX).min(0x7fff_f000);
        let descriptor = self.links[link].descriptor;
        // sendfile(2) has no flag for it, and a ring waits only for sockets whose calls may.
        let must_switch = self.ring.is_some();
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
        self.on_sent(index, row, link, (ask, bytes), sent)
    }

    /// The flag that keeps a call from waiting, where it must not: a strand whose sends and receives go
    /// on side by side waits for both at once.
    #[inline]
    pub(super) fn waiting(&self, index: usize, link: usize) -> i32 {
        if self.links[link].is_blocking && !self.slots[index].strand.is_pipelined() { 0 } else { libc::MSG_DONTWAIT }
    }

    pub(super) fn on_first_call(&mut self, index: usize) {
        let slot = &mut self.slots[index];
        if slot.first_call_ns == u64::MAX {
            slot.first_call_ns = self.now_ns;
        }
    }

    #[inline]
    pub(super) fn on_sent(
        &mut self,
        index: usize,
        row: Option<usize>,
        link_index: usize,
        (ask, bytes): (usize, u64),
        sent: io::Result<usize>,
    ) -> io::Result<()> {
        let link = &mut self.links[link_index];
        let slot = &mut self.slots[index];
        let counter = row.map(|row| &self.ledger.rows[row]);
        let strand_counter = &self.ledger.strands[index];
        strand_counter.calls_count.add(1);
        if let Some(counter) = counter {
            counter.calls.add(1);
        }
        match sent {
            Ok(moved) => {
                self.now_ns = mono_ns();
                slot.last_call_ns = self.now_ns;
                slot.short_calls_count += u64::from(moved < ask);
                strand_counter.payload_bytes.add(moved as u64);
                if let Some(counter) = counter {
                    counter.sent_bytes.add(moved as u64);
                    counter.operations.add(u64::from(moved as u64 == bytes));
                }
                slot.strand.on_moved(Direction::Send, moved as u64, self.now_ns);
                // What answers a request that has just left is not there yet.
                link.is_readable &= slot.strand.is_pipelined();
                Ok(())
            }
            Err(error) => self.refused(error, index, link_index, Direction::Send),
        }
    }

    #[inline]
    fn receive(&mut self, index: usize, row: Option<usize>, connection: u32, bytes: u64) -> io::Result<()> {
        if self.transport == Transport::Udp {
            return self.receive_datagram(index, row, connection);
        }
        let link_index = self.link(index, connection)?;
        if self.links[link_index].must_greet {
            match self.greet(index, row, link_index, 0) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return self.refused(error, index, link_index, Direction::Send),
                outcome => drop(outcome?),
            }
        }
        let link = &mut self.links[link_index];
        if link.credit_bytes > 0 {
            self.take_credit(index, row, link_index, bytes);
            return Ok(());
        }
        if self.ring.is_some() {
            return self.begin_by_ring(index, link_index, Direction::Receive, bytes);
        }
        if !link.is_readable && !link.is_blocking {
            return self.refused(io::ErrorKind::WouldBlock.into(), index, link_index, Direction::Receive);
        }
        let flags = self.waiting(index, link_index) | self.receive_flags;
        let ask = usize::try_from(bytes).unwrap_or(usize::MAX).min(self.sink.len());
        let received = sys::receive(self.links[link_index].descriptor, &mut self.sink[..ask], flags);
        self.on_received(index, row, link_index, (ask, bytes), received)
    }

    #[inline]
    pub(super) fn on_received(
        &mut self,
        index: usize,
        row: Option<usize>,
        link_index: usize,
        (ask, bytes): (usize, u64),
        received: io::Result<usize>,
    ) -> io::Result<()> {
        let link = &mut self.links[link_index];
        let slot = &mut self.slots[index];
        let counter = row.map(|row| &self.ledger.rows[row]);
        let strand_counter = &self.ledger.strands[index];
        strand_counter.calls_count.add(1);
        if let Some(counter) = counter {
            counter.calls.add(1);
        }
        match received {
            Ok(0) => Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the other end closed the connection")),
            Ok(moved) => {
                self.now_ns = mono_ns();
                slot.last_call_ns = self.now_ns;
                if slot.first_call_ns == u64::MAX {
                    slot.first_call_ns = self.now_ns;
                }
                slot.short_calls_count += u64::from(moved < ask);
                // A call that got less than it asked for has emptied the socket.
                link.is_readable = moved == ask;
                strand_counter.payload_bytes.add(moved as u64);
                if let Some(counter) = counter {
                    counter.received_bytes.add(moved as u64);
                    counter.operations.add(u64::from(moved as u64 == bytes));
                }
                slot.strand.on_moved(Direction::Receive, moved as u64, self.now_ns);
                if self.quick_ack {
                    slot.other_calls_count += 1;
                    sys::quick_ack(link.descriptor)?;
                }
                Ok(())
            }
            Err(error) => self.refused(error, index, link_index, Direction::Receive),
        }
    }

    /// Payload that came together with a preamble.
    fn take_credit(&mut self, index: usize, row: Option<usize>, link: usize, bytes: u64) {
        let link = &mut self.links[link];
        let moved = bytes.min(u64::from(link.credit_bytes));
        link.credit_bytes -= u32::try_from(moved).unwrap_or(0);
        let slot = &mut self.slots[index];
        slot.last_call_ns = self.now_ns;
        slot.first_call_ns = slot.first_call_ns.min(self.now_ns);
        let counter = &self.ledger.strands[index];
        counter.payload_bytes.add(moved);
        counter.calls_count.add(1);
        if let Some(row) = row {
            let counter = &self.ledger.rows[row];
            counter.calls.add(1);
            counter.received_bytes.add(moved);
            counter.operations.add(u64::from(moved == bytes));
        }
        slot.strand.on_moved(Direction::Receive, moved, self.now_ns);
    }

    /// A call that moved nothing: the strand waits until it may be tried again.
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
        self.slots[index].strand.on_blocked(direction);
        self.links[link].is_readable &= direction == Direction::Send;
        self.links[link].wanted |= bits(events);
        self.arm(link, events)
    }

    pub(super) fn fail(&mut self, index: usize, error: &io::Error) {
        let slot = &mut self.slots[index];
        let doing = slot.strand.describe(&self.script);
        if slot.strand.on_failed(&self.script) {
            return;
        }
        let strand = slot.strand.number();
        slot.has_failed = true;
        self.failures.insert(strand, format!("strand {strand}, {doing}: {error}"));
        self.report(Report::Failed { strand });
    }

    fn report(&self, report: Report) {
        // A conductor that is gone ends everything by an order.
        let _ = self.reports.send(report);
        self.conductor.wake();
    }

    fn on_reached(&mut self) {
        self.running_count -= 1;
        if self.running_count == 0 {
            self.report_reached();
        }
    }

    fn report_reached(&self) {
        let totals = self.slots.iter().filter(|slot| !slot.has_failed).map(|slot| Total {
            strand: slot.strand.number(),
            sent_bytes: slot.strand.sent_bytes(),
            received_bytes: slot.strand.received_bytes(),
        });
        self.report(Report::Reached { round: self.round, totals: totals.collect() });
    }

    /// Does what was ordered; says whether all is over.
    fn follow_orders(&mut self, ending: &Ending) -> bool {
        for order in self.inbox.take() {
            match order {
                Order::Begin { round, at_mono_ns } => {
                    self.now_ns = mono_ns();
                    self.begin(round, at_mono_ns, ending);
                }
                Order::Limit { strand, executions_count } => {
                    if let Some(index) = self.slot_of(strand) {
                        if self.transport == Transport::Udp {
                            self.hear_the_rest(index);
                        }
                        self.slots[index].strand.on_limit(executions_count);
                        self.enqueue(index);
                    }
                }
                Order::GiveUp { strand, reason } => {
                    if let Some(index) = self.slot_of(strand) {
                        self.give_up(index, &reason);
                    }
                }
                Order::Adopt(arrival) => self.adopt(arrival),
                Order::Finish => return true,
            }
        }
        false
    }

    fn give_up(&mut self, index: usize, reason: &str) {
        let slot = &mut self.slots[index];
        if !slot.has_failed {
            let doing = if slot.is_running { format!(", {}", slot.strand.describe(&self.script)) } else { String::new() };
            slot.has_failed = true;
            self.failures.insert(slot.strand.number(), format!("strand {}{doing}: {reason}", slot.strand.number()));
            slot.strand.give_up();
            if slot.is_running {
                self.enqueue(index);
            }
        }
    }

    /// The thread's own number of a strand.
    pub(super) fn slot_of(&self, strand: u32) -> Option<usize> {
        self.slots.binary_search_by_key(&strand, |slot| slot.strand.number()).ok()
    }

    fn lives(&mut self, cut: Option<Cut>, broken: Option<io::Error>) -> Vec<Life> {
        let broken = broken.map(|error| format!("waiting for events: {error}"));
        let known = |ns: u64| (ns != u64::MAX && ns != 0).then_some(ns);
        let mut lives = Vec::with_capacity(self.slots.len());
        for (slot, counter) in self.slots.iter().zip(&self.ledger.strands) {
            let counts = counter.read();
            let ended = match (self.failures.get(&slot.strand.number()), cut, &broken) {
                (_, Some(cut), _) => Ended::Cut(cut),
                (Some(failure), None, _) => Ended::Failed(failure.clone()),
                (None, None, Some(broken)) => Ended::Failed(broken.clone()),
                (None, None, None) => Ended::Complete,
            };
            lives.push(Life {
                first_call_mono_ns: known(slot.first_call_ns),
                last_call_mono_ns: known(slot.last_call_ns),
                payload_bytes: counts.payload_bytes,
                calls_count: counts.calls_count,
                short_calls_count: slot.short_calls_count,
                other_calls_count: slot.other_calls_count,
                ended,
                ..Life::new(slot.strand.number())
            });
        }
        lives
    }
}

fn bits(events: u32) -> u8 {
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
