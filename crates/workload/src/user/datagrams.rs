//! What is other for a user of datagrams, some of which get lost.

use super::{NEVER, VirtualUser};
use crate::datagram_order;
use crate::script::{Script, Transaction};

impl VirtualUser {
    /// Number of the datagram that is sent now.
    pub fn datagram_number(&self, script: &Script) -> u64 {
        self.transaction(script).map_or(0, |transaction| datagram_order::number(&self.head, transaction, u32::from(self.round)))
    }

    /// Whether this datagram is the one that is received now. The end that follows goes on to the
    /// operation that it belongs to: those between are lost, and with them the execution under way.
    pub fn takes_datagram(&mut self, script: &Script, datagram: &[u8]) -> bool {
        let Some(transaction) = self.transaction(script) else { return false };
        let Some(there) = datagram_order::place_of(datagram, self.head, &self.of(script), transaction) else { return false };
        let is_here = (there.execution, there.step, there.repetition) == (self.head.execution, self.head.step, self.head.repetition);
        if !is_here && self.leads {
            return false;
        }
        if there.execution != self.head.execution {
            self.stamps = NEVER;
            self.is_failed = false;
        }
        // Of an execution whose first datagram is lost not all can be done.
        let waited_for_first = is_here || (there.step, there.repetition) == Self::first_receive(transaction);
        self.is_failed |= !waited_for_first;
        self.head = there;
        true
    }

    fn first_receive(transaction: &Transaction) -> (u32, u32) {
        let step = transaction.steps.iter().position(|step| step.act.receives()).unwrap_or(0);
        (u32::try_from(step).unwrap_or(u32::MAX), 0)
    }
}
