//! A thread of the engine: many strands, one epoll.
//!
//! Each strand goes on until it would have to wait or has had its turn.

use probe::clock::mono_ns;
use schema::trial::{Role, SocketSpec};
use schema::workload::Transport;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::fs::File;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use workload::script::{Act, Script};
use workload::strand::{Action, Ending};

use super::arriving::Newcomer;
use super::key::Key;
use super::ledger::{Kind, Ledger, SharedLatencies};
use super::link::Link;
use super::opening::Openings;
use super::orders::{Inbox, Report};
use super::ports::Ports;
use super::ring::Ring;
use super::sending::Sending;
use super::slot::Slot;
use super::sys::{self, Epoll, Waker};
use super::wire::{self, Wire};
use crate::control::Control;
use crate::life::{Cut, Ended, Life};
use crate::pending::Pending;

/// Calls of a strand in one turn.
const TURN_CALLS: u32 = 32;
/// Longest time a strand keeps the CPU busy before others get their turn, in ns.
const SPIN_NS: u64 = 100_000;
/// How often those are looked for who say nothing, in ns.
const SILENCE_CHECK_NS: u64 = 1_000_000_000;

/// What a thread is told when it is made.
pub(crate) struct Worker {
    pub script: Arc<Script>,
    pub ending: EndingSpec,
    pub control: Arc<Control>,
    pub inbox: Arc<Inbox>,
    pub reports: Sender<Report>,
    pub conductor: Arc<Waker>,
    pub ledger: Arc<Ledger>,
    pub latencies: SharedLatencies,
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
    pub inboxes: Arc<[Arc<Inbox>]>,
    /// Why strands failed, by their numbers.
    pub failures: HashMap<u32, String>,
    pub newcomers: Pending<Newcomer>,
    pub silence_check_ns: u64,
    pub transport: Transport,
    pub socket_spec: SocketSpec,
    pub role: Role,
    /// The ports that connections come from.
    pub ports: Ports,
    /// Where sends are not plain ones.
    pub sending: Option<Box<Sending>>,
    /// Where the kernel's stamps were asked for.
    pub wire: Option<Box<Wire>>,
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
    /// Runs the strands from `start_ns` on until all is over, and says how each ended.
    pub fn run(&mut self, start_ns: u64) -> Vec<Life> {
        sys::sharpen_timers();
        let ending = self.ending.from(start_ns);
        self.latencies.lock().on_start(start_ns);
        self.now_ns = mono_ns();
        self.begin(0, start_ns, &ending);
        let enabled = self.ring.as_ref().map_or(Ok(()), Ring::enable);
        let ended = enabled.and_then(|()| self.work(&ending));
        let cut = self.control.cut();
        self.settle_ring();
        self.settle_completions();
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
            if self.newcomers.len() > 0 && self.now_ns >= self.silence_check_ns {
                self.silence_check_ns = self.now_ns + SILENCE_CHECK_NS;
                self.drop_silent();
            }
        }
    }

    pub(super) fn begin(&mut self, round: u32, at_ns: u64, ending: &Ending) {
        self.round = round;
        let rows = self.script.groups.iter().filter_map(|group| group.transactions.get(round as usize));
        for transaction in rows {
            let is_open = !matches!(transaction.arrivals, schema::workload::Arrivals::Closed);
            let connects = transaction.steps.iter().any(|step| step.act == Act::Connect);
            let is_stamped = self.wire.is_some() && wire::is_stamped(transaction);
            let kinds = [
                (Kind::Service, true),
                (Kind::Intended, is_open),
                (Kind::Connect, connects),
                (Kind::Wire, is_stamped),
                (Kind::Host, is_stamped),
            ];
            for (kind, _) in kinds.into_iter().filter(|(_, is_counted)| *is_counted) {
                // The bounds of a histogram are fixed.
                let _ = self.latencies.lock().make_room(transaction.row as usize, kind);
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
                        self.latencies.lock().record(row, &execution);
                    }
                    counter.ended.add(1);
                    if self.wire.is_some() {
                        self.record_wire(index, row, &execution);
                    }
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

    fn lives(&mut self, cut: Option<Cut>, broken: Option<io::Error>) -> Vec<Life> {
        let broken = broken.map(|error| format!("waiting for events: {error}"));
        let known = |ns: u64| (ns != u64::MAX && ns != 0).then_some(ns);
        let mut lives = Vec::with_capacity(self.slots.len());
        for (index, (slot, counter)) in self.slots.iter().zip(&self.ledger.strands).enumerate() {
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
                zero_copy: self.sending.as_ref().and_then(|sending| sending.zero_copy(index)),
                ended,
                ..Life::new(slot.strand.number())
            });
        }
        lives
    }
}
