//! What one strand does next: a state machine that is told what happened and says what to do.
//!
//! Where several executions are outstanding, sends and receives each have a cursor of their own: the
//! one that begins an execution (the head) runs ahead of the other (the tail) by as many executions as
//! may be outstanding. Within an execution both keep the order of the script. Otherwise the head alone
//! does everything.

use schema::workload::{Arrivals, Repeat};

use crate::arrivals::{Schedule, Share};
use crate::cursor::{BETWEEN, Cursor, Of};
use crate::datagram_order;
use crate::script::{Act, Script, Step, Transaction};

/// What a strand asks for. Except for those of [`Action::Wait`], [`Action::Barrier`] and
/// [`Action::Over`] the answer comes by one of the `on_*` methods, or not at all where none is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Send at most this much; answer [`Strand::on_moved`] or [`Strand::on_blocked`].
    Send {
        /// On which connection.
        connection: u32,
        /// Bytes.
        bytes: u64,
        /// Whether the operation ends with them.
        is_last: bool,
    },
    /// Receive at most this much; answer as above.
    Receive {
        /// On which connection.
        connection: u32,
        /// Bytes.
        bytes: u64,
    },
    /// Send from a file; answer as above.
    SendFile {
        /// On which connection.
        connection: u32,
        /// Number of the file in the step.
        file: u32,
        /// Number of the step.
        step: u32,
        /// Where in the file.
        offset: u64,
        /// Bytes.
        bytes: u64,
    },
    /// Open a connection; answer [`Strand::on_done`].
    Connect {
        /// Its number.
        connection: u32,
        /// Which of the strand's connections ever; the same at both ends.
        ordinal: u64,
    },
    /// Take the connection that the other end opened; answer [`Strand::on_done`].
    Accept {
        /// Its number.
        connection: u32,
        /// Which of the strand's connections ever; the same at both ends.
        ordinal: u64,
    },
    /// Close; answer [`Strand::on_done`].
    Disconnect {
        /// Which connection.
        connection: u32,
    },
    /// Close when the other end has; answer [`Strand::on_done`].
    Hear {
        /// Which connection.
        connection: u32,
    },
    /// Nothing until something happens, or until this instant.
    Wait {
        /// `u64::MAX`: no instant.
        until_ns: u64,
    },
    /// As [`Action::Wait`], but busy.
    Spin {
        /// Until when.
        until_ns: u64,
    },
    /// An execution has ended; no answer.
    Ended(Execution),
    /// The other end must be told how many executions there are; no answer.
    Limit {
        /// How many.
        executions_count: u64,
    },
    /// The transaction is over; the next begins with [`Strand::begin`].
    Barrier,
    /// Failed; there is nothing more.
    Over,
}

/// An execution of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Execution {
    /// When it was to begin; absent in a closed loop and at the end that follows.
    pub intended_ns: Option<u64>,
    /// When it began. Where the other end begins: when its first bytes were here.
    pub begin_ns: u64,
    /// When it ended.
    pub end_ns: u64,
    /// Whether any of it failed.
    pub is_failed: bool,
}

/// What ends a transaction that is repeated through the trial.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Ending {
    /// When the phases are over.
    pub until_ns: Option<u64>,
    /// Payload of each strand, both directions together.
    pub payload_bytes: Option<u64>,
    /// Whether messages may get lost.
    pub is_lossy: bool,
}

/// A direction of payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Out of this end.
    Send,
    /// Into it.
    Receive,
}

impl Direction {
    /// A bit for a set of them.
    pub fn bit(self) -> u8 {
        match self {
            Direction::Send => 1,
            Direction::Receive => 2,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    /// Before, between and after the transactions.
    Waiting,
    Running,
    Failed,
}

/// When an execution was to begin, and did; `NEVER` where that is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamps {
    intended_ns: u64,
    begin_ns: u64,
}

const NEVER: Stamps = Stamps { intended_ns: u64::MAX, begin_ns: u64::MAX };

/// One strand.
#[derive(Debug, Clone)]
pub struct Strand {
    number: u32,
    group: u16,
    round: u16,
    standing: Standing,
    blocked: u8,
    /// Whether this end begins the executions of the transaction.
    leads: bool,
    must_tell: bool,
    is_lossy: bool,
    is_failed: bool,
    /// Executions of the transaction; `u64::MAX`: not known yet.
    limit: u64,
    begin_ns: u64,
    until_ns: u64,
    budget_bytes: u64,
    schedule: Schedule,
    head: Cursor,
    tail: Cursor,
    ended_count: u64,
    /// Of the execution under way, where there is only one.
    stamps: Stamps,
    /// Of those under way, where there are several.
    ring: Box<[Stamps]>,
    sent_bytes: u64,
    received_bytes: u64,
}

impl Strand {
    /// The strand of this number.
    pub fn new(script: &Script, number: u32) -> Self {
        let group = script.groups.partition_point(|group| group.first_strand + group.strands_count <= number);
        let share = Share { position: 0, strands_count: 1, seed: 0 };
        Self {
            number,
            group: u16::try_from(group).unwrap_or(u16::MAX),
            round: 0,
            standing: Standing::Waiting,
            blocked: 0,
            leads: false,
            must_tell: false,
            is_lossy: false,
            is_failed: false,
            limit: 0,
            begin_ns: 0,
            until_ns: u64::MAX,
            budget_bytes: u64::MAX,
            schedule: Schedule::new(&Arrivals::Closed, share),
            head: Cursor::new(),
            tail: Cursor::new(),
            ended_count: 0,
            stamps: NEVER,
            ring: Box::default(),
            sent_bytes: 0,
            received_bytes: 0,
        }
    }

    /// Its number.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// The transaction it is in, by the number of all groups' transactions.
    pub fn row(&self, script: &Script) -> Option<u32> {
        self.transaction(script).map(|transaction| transaction.row)
    }

    /// Number of the transaction in its group.
    pub fn round(&self) -> u32 {
        u32::from(self.round)
    }

    /// Payload sent since the strand began, in bytes.
    pub fn sent_bytes(&self) -> u64 {
        self.sent_bytes
    }

    /// Payload received since the strand began, in bytes.
    pub fn received_bytes(&self) -> u64 {
        self.received_bytes
    }

    /// Executions of the transaction that began.
    pub fn begun_count(&self) -> u64 {
        self.head.execution + u64::from(self.head.step != BETWEEN && self.stamps_of(self.head.execution).begin_ns != u64::MAX)
    }

    /// Executions of the transaction that ended.
    pub fn ended_count(&self) -> u64 {
        self.ended_count
    }

    /// Whether sends and receives go on side by side.
    pub fn is_pipelined(&self) -> bool {
        !self.ring.is_empty()
    }

    /// Whether it has failed.
    pub fn has_failed(&self) -> bool {
        self.standing == Standing::Failed
    }

    /// What it does or waits for, in words, for the sentence about a strand that was cut.
    pub fn describe(&self, script: &Script) -> String {
        let Some(transaction) = self.transaction(script).filter(|_| self.standing == Standing::Running) else {
            return "waiting for the other strands".to_owned();
        };
        let cursor = if self.is_pipelined() && self.tail.execution < self.head.execution { &self.tail } else { &self.head };
        let execution = cursor.execution + 1;
        let Some(step) = transaction.steps.get(cursor.step as usize) else {
            return format!("before execution {execution} of {}", transaction.name);
        };
        let doing = match step.act {
            Act::Connect => "connecting".to_owned(),
            Act::Accept => "waiting for the other end to connect".to_owned(),
            Act::Write(_) | Act::SendFile(..) => format!("{} of {} bytes not taken", cursor.left, cursor.size),
            Act::Read(_) | Act::ReadFile(..) => format!("{} of {} bytes missing", cursor.left, cursor.size),
            Act::Think(_) | Act::Rest(_) => "thinking".to_owned(),
            Act::Disconnect => "closing".to_owned(),
            Act::Hear => "waiting for the other end to close".to_owned(),
        };
        format!("in execution {execution} of {}, step {}: {doing}", transaction.name, cursor.step + 1)
    }

    /// Path of a file that is sent.
    pub fn file_path<'a>(&self, script: &'a Script, step: u32, file: u32) -> Option<&'a str> {
        match &self.transaction(script)?.steps.get(step as usize)?.act {
            Act::SendFile(files, _) => files.get(file as usize).map(|file| file.path.as_str()),
            _ => None,
        }
    }

    /// Whether payload, or the end, of the connection that is opened now follows at once.
    pub fn greets_by_payload(&self, script: &Script) -> bool {
        let Some(transaction) = self.transaction(script) else { return false };
        let mut steps = transaction.steps.iter().skip(self.head.step as usize);
        let Some(opened) = steps.next() else { return false };
        let next = steps.find(|step| !matches!(step.act, Act::Rest(_)));
        next.is_some_and(|next| next.connection == opened.connection && (next.act.sends() || next.act == Act::Disconnect))
    }

    /// Begins the transaction of this number in its group, at `begin_ns`.
    pub fn begin(&mut self, script: &Script, round: u32, begin_ns: u64, ending: &Ending) {
        if self.standing == Standing::Failed {
            return;
        }
        self.round = u16::try_from(round).unwrap_or(u16::MAX);
        let group = &script.groups[usize::from(self.group)];
        let Some(transaction) = group.transactions.get(usize::from(self.round)) else {
            self.standing = Standing::Waiting;
            return;
        };
        let share = Share {
            position: self.number - group.first_strand,
            strands_count: group.strands_count,
            seed: script.strand_seed(self.number) ^ u64::from(round),
        };
        self.standing = Standing::Running;
        self.blocked = 0;
        self.head = Cursor::new();
        self.tail = Cursor::new();
        self.ended_count = 0;
        self.is_failed = false;
        self.stamps = NEVER;
        self.begin_ns = begin_ns;
        self.is_lossy = ending.is_lossy;
        self.leads = transaction.leads || transaction.is_silent;
        self.schedule = Schedule::new(&transaction.arrivals, share);
        self.ring = match transaction.outstanding_count {
            0 | 1 => Box::default(),
            count => vec![NEVER; count as usize].into(),
        };
        (self.until_ns, self.budget_bytes, self.limit) = (u64::MAX, u64::MAX, u64::MAX);
        match transaction.repeat {
            Repeat::Iterations { count } => self.limit = count,
            Repeat::Duration { duration_ns } => self.until_ns = begin_ns.saturating_add(duration_ns),
            Repeat::Trial => {
                self.until_ns = ending.until_ns.unwrap_or(u64::MAX);
                self.budget_bytes = ending.payload_bytes.unwrap_or(u64::MAX);
                if self.budget_bytes != u64::MAX && transaction.is_silent {
                    // It would never have moved them.
                    self.limit = 0;
                }
            }
        }
        if let Arrivals::Trace { intended_ns } = &transaction.arrivals {
            let (all, position, strands) = (intended_ns.len() as u64, u64::from(share.position), u64::from(share.strands_count));
            self.limit = self.limit.min(all.saturating_sub(position).div_ceil(strands));
        }
        if transaction.is_silent && !transaction.steps.iter().any(|step| matches!(step.act, Act::Think(_))) {
            // Nothing to do here but to let the time pass, at one end.
            self.limit = if transaction.leads && !matches!(transaction.repeat, Repeat::Iterations { .. }) { self.limit } else { 0 };
        }
        // How many a clock allows only the end that leads finds out.
        let by_clock = !matches!(transaction.repeat, Repeat::Iterations { .. }) && self.budget_bytes == u64::MAX;
        self.must_tell = transaction.leads && !transaction.is_silent && (self.is_lossy || by_clock);
    }

    /// What to do now.
    #[inline]
    pub fn poll_action(&mut self, script: &Script, now_ns: u64) -> Action {
        match self.standing {
            Standing::Failed => return Action::Over,
            Standing::Waiting => return Action::Barrier,
            Standing::Running => {}
        }
        let Some(transaction) = self.transaction(script) else { return Action::Barrier };
        if self.ring.is_empty() { self.poll_single(script, transaction, now_ns) } else { self.poll_pipelined(script, transaction, now_ns) }
    }

    /// Bytes have moved.
    #[inline]
    pub fn on_moved(&mut self, direction: Direction, bytes: u64, now_ns: u64) {
        self.blocked &= !direction.bit();
        match direction {
            Direction::Send => self.sent_bytes += bytes,
            Direction::Receive => self.received_bytes += bytes,
        }
        let is_head = self.ring.is_empty() || (direction == Direction::Send) == self.leads;
        let cursor = if is_head { &mut self.head } else { &mut self.tail };
        cursor.left = cursor.left.saturating_sub(bytes);
        let execution = cursor.execution;
        self.stamp_begin(execution, now_ns);
    }

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

    /// The call would have to wait.
    #[inline]
    pub fn on_blocked(&mut self, direction: Direction) {
        self.blocked |= direction.bit();
    }

    /// Calls of these directions may be tried again.
    #[inline]
    pub fn on_ready(&mut self, bits: u8) {
        self.blocked &= !bits;
    }

    /// A connection was opened, taken or closed as asked.
    pub fn on_done(&mut self, now_ns: u64) {
        self.blocked = 0;
        self.head.left = 0;
        self.stamp_begin(self.head.execution, now_ns);
    }

    /// The end that leads has had this many executions.
    pub fn on_limit(&mut self, executions_count: u64) {
        // What was lost on the way is not waited for.
        let here = if self.head.has_moved() { self.head.execution + 1 } else { self.head.execution };
        self.limit = if self.is_lossy { executions_count.min(here) } else { executions_count };
    }

    /// The operation under way has failed. Returns whether that is passed over; if not, the strand is
    /// over.
    pub fn on_failed(&mut self, script: &Script) -> bool {
        self.blocked = 0;
        let step = self.transaction(script).and_then(|transaction| transaction.steps.get(self.head.step as usize));
        match step {
            Some(step) if step.can_fail && self.ring.is_empty() => {
                self.is_failed = true;
                if matches!(step.act, Act::Connect) {
                    // The other end knows nothing of it: the execution begins anew under its number.
                    self.head.step = BETWEEN;
                    self.head.repetition = 0;
                    self.head.is_open = false;
                } else {
                    self.head.left = 0;
                }
                true
            }
            _ => {
                self.give_up();
                false
            }
        }
    }

    /// Nothing more is to be done.
    pub fn give_up(&mut self) {
        self.standing = Standing::Failed;
    }

    fn transaction<'a>(&self, script: &'a Script) -> Option<&'a Transaction> {
        script.groups.get(usize::from(self.group))?.transactions.get(usize::from(self.round))
    }

    fn of<'a>(&self, script: &'a Script) -> Of<'a> {
        Of { script, strand: self.number, round: u32::from(self.round), budget_bytes: self.budget_bytes }
    }

    fn stamps_of(&self, execution: u64) -> Stamps {
        if self.ring.is_empty() { self.stamps } else { self.ring[self.slot(execution)] }
    }

    fn slot(&self, execution: u64) -> usize {
        usize::try_from(execution % self.ring.len().max(1) as u64).unwrap_or(0)
    }

    fn set_stamps(&mut self, execution: u64, stamps: Stamps) {
        if self.ring.is_empty() {
            self.stamps = stamps;
        } else {
            let slot = self.slot(execution);
            self.ring[slot] = stamps;
        }
    }

    /// The end that follows learns of an execution by its first bytes.
    #[inline]
    fn stamp_begin(&mut self, execution: u64, now_ns: u64) {
        let stamps = self.stamps_of(execution);
        if stamps.begin_ns == u64::MAX {
            self.set_stamps(execution, Stamps { begin_ns: now_ns, ..stamps });
        }
    }

    /// Whether the next execution may begin: `Ok`, or what to do instead.
    fn poll_begin(&mut self, transaction: &Transaction, now_ns: u64) -> Result<(), Action> {
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

    /// No execution begins any more: the other end is told, those under way are ended.
    fn leave(&mut self) -> Action {
        if self.must_tell {
            self.must_tell = false;
            return Action::Limit { executions_count: self.limit };
        }
        if self.ended_count >= self.limit || self.ring.is_empty() {
            self.standing = Standing::Waiting;
            return Action::Barrier;
        }
        Action::Wait { until_ns: u64::MAX }
    }

    fn end_execution(&mut self, execution: u64, now_ns: u64) -> Action {
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

    fn poll_single(&mut self, script: &Script, transaction: &Transaction, now_ns: u64) -> Action {
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
                self.head.next_execution();
                return self.end_execution(execution, now_ns);
            };
            if let Some(action) = poll_step(&mut self.head, &of, step, self.blocked, (now_ns, self.until_ns), self.round) {
                return self.fail_if_late(&of, action, step, now_ns).unwrap_or(action);
            }
        }
    }

    /// A read that has waited too long fails: where messages get lost, the execution; otherwise the
    /// strand, unless that is passed over.
    fn fail_if_late(&mut self, of: &Of<'_>, action: Action, step: &Step, now_ns: u64) -> Option<Action> {
        if !step.act.receives() || now_ns < self.head.until_ns {
            return None;
        }
        debug_assert!(matches!(action, Action::Wait { .. } | Action::Receive { .. }));
        if self.is_lossy {
            let execution = self.head.execution;
            self.head.next_execution();
            self.is_failed = true;
            return Some(self.end_execution(execution, now_ns));
        }
        if step.can_fail {
            self.is_failed = true;
            self.head.pass(of, step);
            return Some(Action::Wait { until_ns: now_ns });
        }
        self.give_up();
        Some(Action::Over)
    }

    fn poll_pipelined(&mut self, script: &Script, transaction: &Transaction, now_ns: u64) -> Action {
        let of = self.of(script);
        let mut until_ns = u64::MAX;
        for is_head in [true, false] {
            match self.poll_cursor(is_head, &of, transaction, now_ns) {
                Action::Wait { until_ns: this_ns } => until_ns = until_ns.min(this_ns),
                action => return action,
            }
            let passed = self.head.execution.min(self.tail.execution);
            if passed > self.ended_count {
                return self.end_execution(self.ended_count, now_ns);
            }
        }
        Action::Wait { until_ns }
    }

    /// What one of both cursors does next.
    fn poll_cursor(&mut self, is_head: bool, of: &Of<'_>, transaction: &Transaction, now_ns: u64) -> Action {
        let sends = is_head == self.leads;
        loop {
            let (mut cursor, other) = if is_head { (self.head, self.tail) } else { (self.tail, self.head) };
            if is_head && cursor.execution >= self.limit {
                return self.leave();
            }
            if cursor.step == BETWEEN {
                if is_head {
                    if cursor.execution - self.ended_count >= self.ring.len() as u64 {
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
                    let in_order = other.execution > cursor.execution || (other.execution == cursor.execution && other.step >= cursor.step);
                    if in_order && (is_head || other.step != BETWEEN || other.execution > cursor.execution) {
                        action = poll_step(&mut cursor, of, step, self.blocked, (now_ns, self.until_ns), self.round);
                    } else {
                        action = Some(Action::Wait { until_ns: u64::MAX });
                    }
                }
            }
            *(if is_head { &mut self.head } else { &mut self.tail }) = cursor;
            if let Some(action) = action {
                return action;
            }
            if self.head.execution.min(self.tail.execution) > self.ended_count {
                // Both are behind an execution: it is told before anything else.
                return Action::Wait { until_ns: u64::MAX };
            }
        }
    }
}

/// What a cursor's step asks for; nothing when it is done and the cursor has moved on.
fn poll_step(cursor: &mut Cursor, of: &Of<'_>, step: &Step, blocked: u8, (now_ns, until_ns): (u64, u64), round: u16) -> Option<Action> {
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
        _ if blocked != 0 => Action::Wait { until_ns: u64::MAX },
        Act::Connect => Action::Connect { connection, ordinal },
        Act::Accept => Action::Accept { connection, ordinal },
        Act::Disconnect => Action::Disconnect { connection },
        Act::Hear => Action::Hear { connection },
    })
}
