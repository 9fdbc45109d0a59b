//! A workload's user as the process of an end system: what `crates/workload` asks for, as system calls.
//!
//! The workload is the one that the load executes over sockets; here its calls block. What a model
//! cannot do is refused before the run. Not modeled: the copy of a message before it is written, and the
//! time a process needs to think what to do next, which the costs of the calls contain.

use super::Call;
use crate::time::{NS, Ps};
use schema::workload::{Operation, Repeat, Workload};
use std::fmt;
use workload::script::{Script, ScriptError};
use workload::user::{Action, Direction, Ending, Execution, VirtualUser};

/// An execution of a transaction, and which it was of those of all groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Executed {
    /// Number of the transaction.
    pub row: u32,
    /// When it began and ended.
    pub execution: Execution,
}

/// Why a process of the model cannot execute a workload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// It makes no sense.
    Script(ScriptError),
    /// The model does not know what is named.
    Unknown(&'static str),
}

impl fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Script(error) => error.fmt(formatter),
            Self::Unknown(what) => write!(formatter, "the model does not know {what}"),
        }
    }
}

impl std::error::Error for Refusal {}

/// One user under way.
#[derive(Debug, Clone)]
pub struct Scripted {
    script: Script,
    user: VirtualUser,
    ending: Ending,
    round: u32,
    direction: Direction,
    /// When the last call was made, in ns: reported to the user as the time of its bytes.
    now_ns: u64,
    executed: Vec<Executed>,
    is_over: bool,
}

impl Scripted {
    /// The user of that number at one host: the near one executes the workload, the far one its mirror.
    ///
    /// # Errors
    /// The model does not know an operation of it.
    pub fn new(workload: &Workload, is_near: bool, user: u32, ending: Ending) -> Result<Self, Refusal> {
        refuse_unknown(workload)?;
        let script = Script::near(workload).map_err(Refusal::Script)?;
        let script = if is_near { script } else { script.mirror() };
        let mut user = VirtualUser::new(&script, user);
        user.start(&script, 0, 0, &ending);
        Ok(Self { script, user, ending, round: 0, direction: Direction::Send, now_ns: 0, executed: Vec::new(), is_over: false })
    }

    pub(super) fn next_call(&mut self, now: Ps) -> Call {
        self.now_ns = now / NS;
        loop {
            match self.user.poll_action(&self.script, self.now_ns) {
                Action::Send { bytes, .. } => {
                    self.direction = Direction::Send;
                    return Call::Write(u32::try_from(bytes).unwrap_or(u32::MAX));
                }
                Action::Receive { bytes, .. } => {
                    self.direction = Direction::Receive;
                    return Call::Read(u32::try_from(bytes).unwrap_or(u32::MAX));
                }
                Action::Wait { until_ns } | Action::Spin { until_ns } => {
                    return if until_ns == u64::MAX { Call::Over } else { Call::Wait(until_ns.saturating_mul(NS)) };
                }
                Action::Ended(execution) => {
                    let row = self.user.row(&self.script).unwrap_or(0);
                    self.executed.push(Executed { row, execution });
                }
                // The other host learns it from what it reads: one that ends by a clock is cut by it.
                Action::Limit { .. } => {}
                Action::Barrier if (self.round as usize) + 1 < self.script.rounds_count() => {
                    self.round += 1;
                    self.user.start(&self.script, self.round, self.now_ns, &self.ending);
                }
                _ => {
                    self.is_over = true;
                    return Call::Over;
                }
            }
        }
    }

    pub(super) fn on_moved(&mut self, bytes: u32) {
        self.user.on_moved(self.direction, u64::from(bytes), self.now_ns);
    }

    pub(super) fn is_complete(&self) -> bool {
        self.is_over
    }

    pub(super) fn executed(&self) -> &[Executed] {
        &self.executed
    }

    /// Names of groups and transactions, by the number of all groups' transactions.
    pub fn names(&self) -> Vec<(&str, &str)> {
        let groups = self.script.groups.iter();
        groups.flat_map(|group| group.transactions.iter().map(|transaction| (group.name.as_str(), transaction.name.as_str()))).collect()
    }
}

/// Refuses what the model has no rule for.
fn refuse_unknown(workload: &Workload) -> Result<(), Refusal> {
    for group in &workload.groups {
        if !group.is_connected {
            return Err(Refusal::Unknown("connections that are opened by the workload; it has no handshake"));
        }
        for transaction in &group.transactions {
            if transaction.outstanding_count > 1 {
                return Err(Refusal::Unknown("transactions outstanding together (outstanding above 1)"));
            }
            if matches!(transaction.repeat, Repeat::Duration { .. }) {
                return Err(Refusal::Unknown("transactions with a time of their own; give them a count"));
            }
            for step in &transaction.steps {
                match step.operation {
                    Operation::Connect { .. } | Operation::Accept { .. } | Operation::Disconnect { .. } => {
                        return Err(Refusal::Unknown("connections that are opened by the workload; it has no handshake"));
                    }
                    Operation::SendFile { .. } => return Err(Refusal::Unknown("sendfile")),
                    Operation::Think { is_busy: true, .. } => return Err(Refusal::Unknown("thinking that keeps the CPU busy")),
                    Operation::Read { timeout_ns: Some(_), .. } => return Err(Refusal::Unknown("reads with a timeout")),
                    Operation::Read { connection, .. } | Operation::Write { connection, .. } if connection > 0 => {
                        return Err(Refusal::Unknown("several connections of a virtual user"));
                    }
                    _ => {}
                }
            }
        }
    }
    Ok(())
}
