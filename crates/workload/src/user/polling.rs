//! The next action of a user where one execution is under way at a time, and what a step asks for.

use super::{Action, Direction, Execution, LOST_AFTER_NS, NEVER, Stamps, Standing, VirtualUser};
use crate::cursor::{BETWEEN, Cursor, Of};
use crate::script::{Act, Script, Step, Transaction};

impl VirtualUser {
    /// Checks that the next execution may begin: `Ok`, or what to do instead.
    pub(super) fn poll_begin(&mut self, transaction: &Transaction, now_ns: u64) -> Result<(), Action> {
        let execution = self.head.execution;
        if execution >= self.limit || self.head.planned_bytes >= self.budget_bytes {
            self.limit = execution;
            return Err(self.leave());
        }
        if !self.leads {
            self.set_stamps(execution, NEVER);
            return Ok(());
        }
        if now_ns >= self.until_ns {
            self.limit = execution;
            return Err(self.leave());
        }
        let mut stamps = Stamps { intended_ns: u64::MAX, begin_ns: now_ns };
        if let Some(since_begin_ns) = self.schedule.next_ns() {
            let intended_ns = self.begin_ns.saturating_add(since_begin_ns);
            if now_ns < intended_ns {
                return Err(Action::Wait { until_ns: intended_ns.min(self.until_ns) });
            }
            stamps.intended_ns = intended_ns;
            self.schedule.advance(&transaction.arrivals);
        } else if transaction.steps.is_empty() {
            return Err(Action::Wait { until_ns: self.until_ns });
        }
        self.set_stamps(execution, stamps);
        Ok(())
    }

    /// No execution begins any more: the other host is informed, those under way are ended.
    pub(super) fn leave(&mut self) -> Action {
        if self.must_report {
            self.must_report = false;
            return Action::Limit { executions_count: self.limit };
        }
        if self.ended_count >= self.limit || self.outstanding.is_none() {
            self.standing = Standing::Waiting;
            return Action::Barrier;
        }
        Action::Wait { until_ns: u64::MAX }
    }

    pub(super) fn end_execution(&mut self, execution: u64, now_ns: u64) -> Action {
        let Stamps { intended_ns, begin_ns } = self.stamps_of(execution);
        self.ended_count += 1;
        let is_failed = std::mem::take(&mut self.is_failed);
        Action::Ended(Execution {
            intended_ns: (intended_ns != u64::MAX).then_some(intended_ns),
            begin_ns: begin_ns.min(now_ns),
            end_ns: now_ns,
            is_failed,
        })
    }

    pub(super) fn poll_single(&mut self, script: &Script, transaction: &Transaction, now_ns: u64) -> Action {
        let of = self.of(script);
        loop {
            if self.head.execution >= self.limit && !self.leads {
                return self.leave();
            }
            if self.head.step == BETWEEN {
                if let Err(action) = self.poll_begin(transaction, now_ns) {
                    return action;
                }
                self.head.step = 0;
            }
            let Some(step) = transaction.steps.get(self.head.step as usize) else {
                let execution = self.head.execution;
                let is_missed = self.is_missed();
                self.next_execution(transaction);
                if is_missed {
                    self.is_failed = false;
                    continue;
                }
                return self.end_execution(execution, now_ns);
            };
            if self.is_lossy && self.passes(transaction, step) {
                continue;
            }
            let was_open = self.head.is_open;
            if let Some(action) = poll_step(&mut self.head, &of, step, self.blocked, (now_ns, self.until_ns), self.round) {
                if self.is_lossy && self.leads && !was_open && step.act == Act::Accept {
                    self.head.until_ns = now_ns.saturating_add(LOST_AFTER_NS);
                }
                if self.is_lost(step, now_ns) {
                    self.skip_execution(transaction);
                    continue;
                }
                return self.fail_if_late(&of, action, step, now_ns).unwrap_or(action);
            }
        }
    }

    /// A read that has waited too long fails, and with it the user, unless that is passed over.
    fn fail_if_late(&mut self, of: &Of<'_>, action: Action, step: &Step, now_ns: u64) -> Option<Action> {
        if !step.act.receives() || now_ns < self.head.until_ns {
            return None;
        }
        debug_assert!(matches!(action, Action::Wait { .. } | Action::Receive { .. }));
        if step.can_fail {
            self.is_failed = true;
            self.head.pass(of, step);
            return Some(Action::Wait { until_ns: now_ns });
        }
        self.give_up();
        Some(Action::Over)
    }
}

/// The action that a cursor's step asks for; nothing when it is done and the cursor has moved on.
pub(super) fn poll_step(
    cursor: &mut Cursor,
    of: &Of<'_>,
    step: &Step,
    blocked: u8,
    (now_ns, until_ns): (u64, u64),
    round: u16,
) -> Option<Action> {
    let connection = step.connection;
    if !cursor.is_open {
        cursor.open(of, step);
        match &step.act {
            Act::Read(transfer) => {
                cursor.until_ns = transfer.timeout_ns.map_or(u64::MAX, |timeout_ns| now_ns.saturating_add(timeout_ns));
            }
            Act::Think(thought) => cursor.until_ns = now_ns.saturating_add(thought.duration_ns).min(until_ns),
            _ => {}
        }
    }
    if cursor.left == 0 {
        cursor.pass(of, step);
        return None;
    }
    let is_blocked = |direction: Direction| blocked & direction.bit() != 0;
    let ordinal = (u64::from(round) << 48) | cursor.execution;
    Some(match &step.act {
        Act::Write(_) | Act::SendFile(..) if is_blocked(Direction::Send) => Action::Wait { until_ns: u64::MAX },
        Act::Write(transfer) => {
            let bytes = cursor.left.min(transfer.call_bytes);
            Action::Send { connection, bytes, is_last: bytes == cursor.left }
        }
        Act::SendFile(files, call_bytes) => Action::SendFile {
            connection,
            file: u32::try_from(cursor.file(of, files, step)).unwrap_or(0),
            step: cursor.step,
            offset: cursor.size - cursor.left,
            bytes: cursor.left.min(*call_bytes),
        },
        Act::Read(_) | Act::ReadFile(..) if is_blocked(Direction::Receive) => Action::Wait { until_ns: cursor.until_ns },
        Act::Read(transfer) => Action::Receive { connection, bytes: cursor.left.min(transfer.call_bytes) },
        Act::ReadFile(_, call_bytes) => Action::Receive { connection, bytes: cursor.left.min(*call_bytes) },
        Act::Think(_) | Act::Rest(_) if now_ns >= cursor.until_ns || matches!(step.act, Act::Rest(_)) => {
            cursor.pass(of, step);
            return None;
        }
        Act::Think(thought) if thought.is_busy => Action::Spin { until_ns: cursor.until_ns },
        Act::Think(_) | Act::Rest(_) => Action::Wait { until_ns: cursor.until_ns },
        _ if blocked != 0 => Action::Wait { until_ns: cursor.until_ns },
        Act::Connect => Action::Connect { connection, ordinal },
        Act::Accept => Action::Accept { connection, ordinal },
        Act::Disconnect => Action::Disconnect { connection },
        Act::Hear => Action::Hear { connection },
    })
}
