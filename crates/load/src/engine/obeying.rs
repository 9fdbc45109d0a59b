//! Carries out the orders of the conductor.

use probe::clock::mono_ns;
use schema::workload::Transport;
use workload::user::Ending;

use super::orders::Order;
use super::worker::Worker;

impl Worker {
    /// Does what was ordered; says whether all is over.
    pub(super) fn follow_orders(&mut self, ending: &Ending) -> bool {
        for order in self.shared.inbox.take() {
            match order {
                Order::Begin { round, at_mono_ns } => {
                    self.now_ns = mono_ns();
                    self.start(round, at_mono_ns, ending);
                }
                Order::Limit { user, executions_count } => {
                    if let Some(index) = self.slot_of(user) {
                        if self.plan.transport == Transport::Udp {
                            self.hear_the_rest(index);
                        }
                        self.slots[index].user.on_limit(&self.plan.script, executions_count);
                        self.enqueue(index);
                    }
                }
                Order::GiveUp { user, reason } => {
                    if let Some(index) = self.slot_of(user) {
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
            let doing = if slot.is_running { format!(", {}", slot.user.describe(&self.plan.script)) } else { String::new() };
            slot.has_failed = true;
            self.tally.failures.insert(slot.user.number(), format!("virtual user {}{doing}: {reason}", slot.user.number()));
            slot.user.give_up();
            if slot.is_running {
                self.enqueue(index);
            }
        }
    }
}
