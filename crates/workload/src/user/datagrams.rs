//! The differences for a user of datagrams, some of which get lost.
//!
//! The execution that a lost datagram belongs to fails. What is left of it is skipped, except for opening and closing
//! connections, so that those that are open are the same as if nothing had been lost. The end that leads skips when it
//! has waited too long, the other one when something shows that the leading end has gone on.

use super::VirtualUser;
use crate::cursor::BETWEEN;
use crate::datagram_order::{execution_of, first_number, number, number_of};
use crate::script::{Act, Script, Step, Transaction};

/// The time that a datagram or a connection is waited for where the workload does not say, in ns.
pub const LOST_AFTER_NS: u64 = 1_000_000_000;

/// The meaning of a datagram to a user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Datagram {
    /// The one that is received now.
    Awaited,
    /// One of a later operation: those between are lost, or not here yet.
    Early(u64),
    /// One of an operation that was given up.
    Late(u64),
    /// Nobody's.
    Unknown,
}

impl VirtualUser {
    /// Number of the operation under way, which its datagram carries.
    pub fn datagram_number(&self, script: &Script) -> u64 {
        self.transaction(script).map_or(0, |transaction| number(&self.head, transaction, u32::from(self.round)))
    }

    /// Judges a datagram that came over this connection. The end that leads takes what it waits for and nothing else.
    pub fn judge(&self, script: &Script, connection: u32, datagram: &[u8]) -> Datagram {
        let Some(transaction) = self.transaction(script) else { return Datagram::Unknown };
        match number_of(datagram, connection, &self.head, &self.of(script), transaction) {
            Some(number) => self.judge_number(script, number),
            None => Datagram::Unknown,
        }
    }

    /// The same by the number of its operation.
    pub fn judge_number(&self, script: &Script, number: u64) -> Datagram {
        let here = self.datagram_number(script);
        if number == here {
            Datagram::Awaited
        } else if self.leads {
            Datagram::Unknown
        } else if number > here {
            Datagram::Early(number)
        } else {
            Datagram::Late(number)
        }
    }

    /// True where this host begins the executions.
    pub fn leads(&self) -> bool {
        self.leads
    }

    /// A datagram of an operation that was given up has come.
    pub fn on_late(&mut self, bytes: u64) {
        self.received_bytes += bytes;
    }

    /// Gives up the payload of all operations before that of this number.
    pub fn skip_to(&mut self, number: u64) {
        self.skip_until = number;
        self.blocked = 0;
    }

    /// True where the operation under way comes before what the user skips to.
    pub fn is_skipping(&self, script: &Script) -> bool {
        self.head.step != BETWEEN && self.datagram_number(script) < self.skip_until
    }

    /// Sets whether the user skips thinking: it is behind, and what came is to be taken before there is no room for it.
    pub fn hurry(&mut self, is_hurried: bool) {
        self.is_hurried = is_hurried;
    }

    /// A connection that is not here is given up.
    pub fn on_absent(&mut self) {
        self.is_failed = true;
        self.blocked = 0;
        self.head.left = 0;
    }

    /// Gives up the rest of the execution under way.
    pub(super) fn skip_execution(&mut self, transaction: &Transaction) {
        self.is_failed = true;
        self.skip_to(first_number(self.head.execution + 1, transaction, u32::from(self.round)));
    }

    /// True where what the operation waits for is taken for lost.
    pub(super) fn is_lost(&self, step: &Step, now_ns: u64) -> bool {
        self.is_lossy && (step.act.receives() || step.act == Act::Accept) && now_ns >= self.head.until_ns
    }

    /// Passes over an operation that is skipped; false where it is to be done all the same.
    pub(super) fn passes(&mut self, transaction: &Transaction, step: &Step) -> bool {
        if self.is_hurried && matches!(step.act, Act::Think(_)) {
            self.head.skip(step, u64::MAX);
            return true;
        }
        let here = number(&self.head, transaction, u32::from(self.round));
        if here >= self.skip_until || (self.head.is_open && self.head.left == 0) {
            return false;
        }
        match step.act {
            Act::Disconnect | Act::Hear => return false,
            // The other host has gone on, or waits for no connection any more.
            Act::Connect if self.leads => return false,
            Act::Accept if !self.leads => return false,
            _ => {}
        }
        self.is_failed |= step.act.sends() || step.act.receives();
        self.head.skip(step, self.skip_until - here);
        true
    }

    /// Goes on to the next execution. Of those that are skipped as a whole only the last one's connections matter,
    /// for a transaction that is repeated leaves the connections as it finds them.
    pub(super) fn next_execution(&mut self, transaction: &Transaction) {
        self.head.next_execution();
        if self.skip_until > first_number(self.head.execution, transaction, u32::from(self.round)) {
            let there = execution_of(self.skip_until, transaction);
            self.head.execution = self.head.execution.max(there.saturating_sub(1));
        }
    }

    /// True where nothing of the execution that ends has come: the end that follows never had it.
    pub(super) fn is_missed(&self) -> bool {
        self.is_lossy && !self.leads && self.is_failed && self.stamps.begin_ns == u64::MAX
    }

    /// The end that leads has had this many executions, and what has not come by now is lost.
    pub(super) fn on_lossy_limit(&mut self, script: &Script, executions_count: u64) {
        self.limit = executions_count;
        if let Some(transaction) = self.transaction(script) {
            self.skip_to(first_number(executions_count, transaction, u32::from(self.round)));
        }
    }
}
