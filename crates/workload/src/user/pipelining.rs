//! The next action of a user where several executions are outstanding.
//!
//! Sends and receives each have a cursor of their own: the one that begins an execution (the head) runs
//! ahead of the other (the tail) by as many executions as may be outstanding. Within an execution both
//! keep the order of the script.

use super::polling::poll_step;
use super::{Action, NEVER, Stamps, VirtualUser};
use crate::cursor::{BETWEEN, Cursor, Of};
use crate::script::{Script, Transaction};

/// The state that a user keeps where several executions are outstanding.
#[derive(Debug, Clone)]
pub(super) struct Outstanding {
    /// The cursor that comes behind.
    pub tail: Cursor,
    /// Of the executions under way, each at its number modulo their count.
    stamps: Box<[Stamps]>,
}

impl Outstanding {
    /// Of so many executions, at least one; none has begun.
    pub fn new(count: u32) -> Self {
        Self { tail: Cursor::new(), stamps: vec![NEVER; count.max(1) as usize].into() }
    }

    /// When an execution was to begin, and did.
    pub fn stamps(&self, execution: u64) -> Stamps {
        self.stamps[self.place(execution)]
    }

    /// An execution has begun, or not yet.
    pub fn set_stamps(&mut self, execution: u64, stamps: Stamps) {
        let place = self.place(execution);
        self.stamps[place] = stamps;
    }

    fn place(&self, execution: u64) -> usize {
        usize::try_from(execution % self.stamps.len() as u64).unwrap_or(0)
    }
}

impl VirtualUser {
    fn outstanding_count(&self) -> u64 {
        self.outstanding.as_ref().map_or(1, |outstanding| outstanding.stamps.len() as u64)
    }

    pub(super) fn poll_pipelined(&mut self, script: &Script, transaction: &Transaction, now_ns: u64) -> Action {
        let of = self.of(script);
        loop {
            let (mut until_ns, tail) = (u64::MAX, self.tail());
            for is_head in [true, false] {
                match self.poll_cursor(is_head, &of, transaction, now_ns) {
                    Action::Wait { until_ns: this_ns } => until_ns = until_ns.min(this_ns),
                    action => return action,
                }
                let passed = self.head.execution.min(self.tail().execution);
                if passed > self.ended_count {
                    return self.end_execution(self.ended_count, now_ns);
                }
            }
            // The head may wait for the step that the tail has just passed.
            if self.tail() == tail {
                return Action::Wait { until_ns };
            }
        }
    }

    /// The next action of one of both cursors.
    fn poll_cursor(&mut self, is_head: bool, of: &Of<'_>, transaction: &Transaction, now_ns: u64) -> Action {
        let sends = is_head == self.leads;
        loop {
            let (mut cursor, other) = if is_head { (self.head, self.tail()) } else { (self.tail(), self.head) };
            if is_head && cursor.execution >= self.limit {
                return self.leave();
            }
            if cursor.step == BETWEEN {
                if is_head {
                    if cursor.execution - self.ended_count >= self.outstanding_count() {
                        return Action::Wait { until_ns: u64::MAX };
                    }
                    if let Err(action) = self.poll_begin(transaction, now_ns) {
                        return action;
                    }
                } else if other.execution < cursor.execution || (other.execution == cursor.execution && other.step == BETWEEN) {
                    return Action::Wait { until_ns: u64::MAX };
                }
                cursor.step = 0;
            }
            let mut action = None;
            match transaction.steps.get(cursor.step as usize) {
                None => cursor.next_execution(),
                Some(step) if step.act.sends() != sends => cursor.pass(of, step),
                Some(step) => {
                    let is_other_ahead = other.execution > cursor.execution
                        || (other.execution == cursor.execution && other.step != BETWEEN && other.step >= cursor.step);
                    // Nothing in an execution comes before its first steps of one direction: they wait for no other execution.
                    if is_other_ahead || (is_head && cursor.step < transaction.opening_steps_count) {
                        action = poll_step(&mut cursor, of, step, self.blocked, (now_ns, self.until_ns), self.round);
                    } else {
                        action = Some(Action::Wait { until_ns: u64::MAX });
                    }
                }
            }
            match &mut self.outstanding {
                Some(outstanding) if !is_head => outstanding.tail = cursor,
                _ => self.head = cursor,
            }
            if let Some(action) = action {
                return action;
            }
            if self.head.execution.min(self.tail().execution) > self.ended_count {
                // Both are behind an execution: it is reported before anything else.
                return Action::Wait { until_ns: u64::MAX };
            }
        }
    }
}
