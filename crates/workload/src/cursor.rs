//! A place in the executions of a transaction.

use schema::workload::FileToSend;

use crate::script::{Act, Script, Step};
use crate::sizes::{self, Place};

/// A cursor's step between two executions.
pub(crate) const BETWEEN: u32 = u32::MAX;

/// Where in a transaction's executions something stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cursor {
    /// Number of the execution.
    pub execution: u64,
    /// Number of the step, or [`BETWEEN`].
    pub step: u32,
    /// Which of the step's repetitions.
    pub repetition: u32,
    /// True where the operation is under way; the fields below are valid only then.
    pub is_open: bool,
    /// Bytes that are missing; 1 for an operation that moves none.
    pub left: u64,
    /// Bytes of the whole operation.
    pub size: u64,
    /// When a read has waited too long, or a think is over.
    pub until_ns: u64,
    /// Bytes of all operations before, in the order of the script; counted only under a budget.
    pub planned_bytes: u64,
}

/// Whom and what a cursor belongs to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Of<'a> {
    pub script: &'a Script,
    pub user: u32,
    pub round: u32,
    /// Bytes that the transaction may move; `u64::MAX`: any.
    pub budget_bytes: u64,
}

impl Cursor {
    pub fn new() -> Self {
        Self { execution: 0, step: BETWEEN, repetition: 0, is_open: false, left: 0, size: 0, until_ns: u64::MAX, planned_bytes: 0 }
    }

    /// Opens the operation.
    pub fn open(&mut self, of: &Of<'_>, step: &Step) {
        self.size = self.bytes(of, step).unwrap_or(1);
        self.left = self.size;
        self.is_open = true;
        self.until_ns = u64::MAX;
    }

    /// Goes on behind the operation, whether it was opened or not.
    pub fn pass(&mut self, of: &Of<'_>, step: &Step) {
        if of.budget_bytes != u64::MAX {
            self.planned_bytes += self.bytes(of, step).unwrap_or(0);
        }
        self.is_open = false;
        self.repetition += 1;
        if self.repetition >= step.count {
            self.repetition = 0;
            self.step += 1;
        }
    }

    /// Goes on behind at most so many operations of the step that are not done.
    pub fn skip(&mut self, step: &Step, most: u64) {
        let left = step.count - self.repetition;
        self.is_open = false;
        self.repetition += u32::try_from(most).unwrap_or(u32::MAX).min(left);
        if self.repetition >= step.count {
            self.repetition = 0;
            self.step += 1;
        }
    }

    /// Goes on to the next execution.
    pub fn next_execution(&mut self) {
        self.execution += 1;
        self.step = BETWEEN;
        self.repetition = 0;
        self.is_open = false;
    }

    /// Which file is sent now.
    pub fn file(&self, of: &Of<'_>, files: &[FileToSend], step: &Step) -> usize {
        let count = files.len() as u64;
        usize::try_from(sizes::below(self.place(of, step).bits(), count)).unwrap_or(0)
    }

    fn bytes(&self, of: &Of<'_>, step: &Step) -> Option<u64> {
        let drawn = match &step.act {
            Act::Write(transfer) | Act::Read(transfer) => sizes::draw(&transfer.size, &self.place(of, step)),
            Act::SendFile(files, _) | Act::ReadFile(files, _) => files[self.file(of, files, step)].length_bytes,
            _ => return None,
        };
        Some(drawn.min(of.budget_bytes.saturating_sub(self.planned_bytes)))
    }

    fn place(&self, of: &Of<'_>, step: &Step) -> Place {
        Place {
            seed: of.script.seed,
            user: of.user,
            transaction: of.round,
            execution: self.execution,
            step: self.step,
            repetition: self.repetition,
            repetitions_count: step.count,
        }
    }
}
