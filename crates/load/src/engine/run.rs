//! The loop of a thread: events, timers and time slices of its users.
//!
//! Each user goes on until it would have to wait or has used its time slice.

use probe::clock::mono_ns;
use schema::workload::Transport;
use std::cmp::Reverse;
use std::io;
use workload::script::Act;
use workload::user::{Action, Ending};

use super::interest::Key;
use super::ledger::Kind;
use super::orders::Report;
use super::ring::Ring;
use super::worker::Worker;
use super::{sys, wire};
use crate::connection_result::{ConnectionResult, Cut, Ended};
use crate::urgency::Urgent;

/// Calls of a user in one time slice.
const SLICE_CALLS: u32 = 32;
/// Longest time a user keeps the CPU busy before others get their turn, in ns.
const SPIN_NS: u64 = 100_000;
/// Time between two looks for those who say nothing, in ns.
const SILENCE_CHECK_NS: u64 = 1_000_000_000;

impl Worker {
    /// Does, before the load begins at `start_ns`, all that would keep a CPU from the first calls of other threads; says when
    /// the load ends.
    pub fn prepare(&mut self, start_ns: u64) -> Ending {
        sys::sharpen_timers();
        let ending = self.plan.ending.from(start_ns);
        self.tally.latencies.lock().on_start(start_ns);
        self.start(0, start_ns, &ending);
        ending
    }

    /// Runs the users until all is over, and says how each ended.
    pub fn run(&mut self, ending: &Ending, urgent: Option<Urgent>) -> Vec<ConnectionResult> {
        self.now_ns = mono_ns();
        let enabled = self.events.ring.as_ref().map_or(Ok(()), Ring::enable);
        let ended = enabled.and_then(|()| self.work(ending, urgent));
        let cut = self.shared.control.cut();
        self.settle_ring();
        self.settle_completions();
        self.close_own();
        self.release_silent();
        self.results(cut, ended.err())
    }

    fn work(&mut self, ending: &Ending, mut urgent: Option<Urgent>) -> io::Result<()> {
        loop {
            // Orders first: why the other host is gone is known before it shows at its connections.
            if self.follow_orders(ending) || self.shared.control.cut().is_some() {
                return Ok(());
            }
            for _ in 0..self.events.ready.len() {
                if let Some(slot) = self.events.ready.pop_front() {
                    self.run_slice(slot as usize);
                    drop(urgent.take());
                }
            }
            let timeout_ns = self.fire_timers();
            let timeout_ns = if self.events.ready.is_empty() { timeout_ns } else { Some(0) };
            if self.plan.is_alone && timeout_ns == Some(0) {
                // Calls wait by themselves, and orders are looked at between them.
                continue;
            }
            let count = self.wait(timeout_ns)?;
            self.now_ns = mono_ns();
            for index in 0..count {
                let (events, key) = self.events.epoll.event(index);
                match Key::decode(key) {
                    Key::Link(link) => self.on_event(events, link)?,
                    Key::Waker => self.shared.inbox.waker.clear(),
                    Key::Listener(port) if self.plan.transport == Transport::Udp => self.on_receiver(port),
                    Key::Listener(listener) => self.on_listener(listener),
                    Key::Pending(pending) => self.on_pending(pending),
                }
            }
            if self.opening.pending.len() > 0 && self.now_ns >= self.opening.silence_check_ns {
                self.opening.silence_check_ns = self.now_ns + SILENCE_CHECK_NS;
                self.drop_silent();
            }
        }
    }

    pub(super) fn start(&mut self, round: u32, at_ns: u64, ending: &Ending) {
        self.round = round;
        let rows = self.plan.script.groups.iter().filter_map(|group| group.transactions.get(round as usize));
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
                let _ = self.tally.latencies.lock().make_room(transaction.row as usize, kind);
            }
        }
        for index in 0..self.slots.len() {
            let slot = &mut self.slots[index];
            if !slot.has_failed {
                slot.user.start(&self.plan.script, round, at_ns, ending);
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

    /// Lets a user go on until it has to wait or others are due.
    pub(super) fn run_slice(&mut self, index: usize) {
        self.slots[index].is_queued = false;
        if !self.slots[index].is_running {
            return;
        }
        let row = self.slots[index].user.row(&self.plan.script).map(|row| row as usize);
        let mut calls = 0;
        loop {
            if calls >= SLICE_CALLS {
                self.enqueue(index);
                break;
            }
            let slot = &mut self.slots[index];
            let action = slot.user.poll_action(&self.plan.script, self.now_ns);
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
                    let counter = &self.tally.ledger.rows[row];
                    if execution.is_failed {
                        counter.failed.add(1);
                    } else {
                        self.tally.latencies.lock().record(row, &execution);
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
                        self.events.timers.push(Reverse((until_ns, u32::try_from(index).unwrap_or(u32::MAX))));
                    }
                    break;
                }
                Action::Spin { until_ns } => {
                    let until_ns = until_ns.min(self.now_ns + SPIN_NS);
                    while self.now_ns < until_ns {
                        std::hint::spin_loop();
                        self.now_ns = mono_ns();
                    }
                    calls = SLICE_CALLS;
                    continue;
                }
                Action::Limit { executions_count } => {
                    let user = slot.user.number();
                    self.report(Report::Limit { user, executions_count });
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
                Action::Accept { connection, .. } => self.accept(index, row, connection),
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
        let begun = u32::try_from(slot.user.begun_count() & u64::from(u32::MAX)).unwrap_or(0);
        if let Some(row) = row {
            self.tally.ledger.rows[row].begun.add(u64::from(begun.wrapping_sub(slot.begun_before)));
        }
        slot.begun_before = begun;
    }

    fn results(&mut self, cut: Option<Cut>, broken: Option<io::Error>) -> Vec<ConnectionResult> {
        let broken = broken.map(|error| format!("waiting for events: {error}"));
        let known = |ns: u64| (ns != u64::MAX && ns != 0).then_some(ns);
        let mut results = Vec::with_capacity(self.slots.len());
        for (index, (slot, counter)) in self.slots.iter().zip(&self.tally.ledger.users).enumerate() {
            let counts = counter.read();
            let ended = match (self.tally.failures.get(&slot.user.number()), cut, &broken) {
                (_, Some(cut), _) => Ended::Cut(cut),
                (Some(failure), None, _) => Ended::Failed(failure.clone()),
                (None, None, Some(broken)) => Ended::Failed(broken.clone()),
                (None, None, None) => Ended::Complete,
            };
            results.push(ConnectionResult {
                first_call_mono_ns: known(slot.first_call_ns),
                last_call_mono_ns: known(slot.last_call_ns),
                payload_bytes: counts.payload_bytes,
                calls_count: counts.calls_count,
                short_calls_count: slot.short_calls_count,
                other_calls_count: slot.other_calls_count,
                zero_copy: self.sending.as_ref().and_then(|sending| sending.zero_copy(index)),
                ended,
                ..ConnectionResult::new(slot.user.number())
            });
        }
        results
    }
}
