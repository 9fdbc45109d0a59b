//! What a thread is told by the conductor, and what it tells: orders, reports, failures.

use probe::clock::mono_ns;
use schema::workload::Transport;
use std::io;
use workload::strand::Ending;

use super::orders::{Order, Report, Total};
use super::worker::Worker;

impl Worker {
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

    pub(super) fn report(&self, report: Report) {
        // A conductor that is gone ends everything by an order.
        let _ = self.reports.send(report);
        self.conductor.wake();
    }

    pub(super) fn on_reached(&mut self) {
        self.running_count -= 1;
        if self.running_count == 0 {
            self.report_reached();
        }
    }

    pub(super) fn report_reached(&self) {
        let totals = self.slots.iter().filter(|slot| !slot.has_failed).map(|slot| Total {
            strand: slot.strand.number(),
            sent_bytes: slot.strand.sent_bytes(),
            received_bytes: slot.strand.received_bytes(),
        });
        self.report(Report::Reached { round: self.round, totals: totals.collect() });
    }

    /// Does what was ordered; says whether all is over.
    pub(super) fn follow_orders(&mut self, ending: &Ending) -> bool {
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
}
