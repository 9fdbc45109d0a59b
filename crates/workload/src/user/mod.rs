//! The next action of one user, by a state machine: events in, actions out.
//!
//! [`action`] has its words, [`polling`] how it goes on with one execution at a time, [`pipelining`] with
//! several outstanding, [`datagrams`] what is other where messages get lost.

mod action;
mod datagrams;
mod pipelining;
mod polling;

use schema::workload::{Arrivals, Repeat};

use crate::arrivals::{Schedule, Share};
use crate::cursor::{BETWEEN, Cursor, Of};
use crate::script::{Act, Script, Transaction};

pub use self::action::{Action, Direction, Ending, Execution};
pub use self::datagrams::{Datagram, LOST_AFTER_NS};
use self::pipelining::Outstanding;

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

/// One user.
#[derive(Debug, Clone)]
pub struct VirtualUser {
    number: u32,
    group: u16,
    round: u16,
    standing: Standing,
    blocked: u8,
    /// True where this host begins the executions of the transaction.
    leads: bool,
    must_report: bool,
    is_lossy: bool,
    is_failed: bool,
    is_hurried: bool,
    /// Executions of the transaction; `u64::MAX`: not known yet.
    limit: u64,
    begin_ns: u64,
    until_ns: u64,
    budget_bytes: u64,
    schedule: Schedule,
    head: Cursor,
    ended_count: u64,
    /// Of the execution under way, where there is only one.
    stamps: Stamps,
    /// Number of the operation before which payload is given up; over UDP only.
    skip_until: u64,
    /// Further state where several are under way; apart, for there may be 100 000 users without.
    outstanding: Option<Box<Outstanding>>,
    sent_bytes: u64,
    received_bytes: u64,
}

impl VirtualUser {
    /// The user of this number.
    pub fn new(script: &Script, number: u32) -> Self {
        let group = script.groups.partition_point(|group| group.first_user + group.strands_count <= number);
        let share = Share { position: 0, strands_count: 1, seed: 0 };
        Self {
            number,
            group: u16::try_from(group).unwrap_or(u16::MAX),
            round: 0,
            standing: Standing::Waiting,
            blocked: 0,
            leads: false,
            must_report: false,
            is_lossy: false,
            is_failed: false,
            is_hurried: false,
            limit: 0,
            begin_ns: 0,
            until_ns: u64::MAX,
            budget_bytes: u64::MAX,
            schedule: Schedule::new(&Arrivals::Closed, share),
            head: Cursor::new(),
            ended_count: 0,
            stamps: NEVER,
            skip_until: 0,
            outstanding: None,
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

    /// Payload sent since the user began, in bytes.
    pub fn sent_bytes(&self) -> u64 {
        self.sent_bytes
    }

    /// Payload received since the user began, in bytes.
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

    /// True where sends and receives go on side by side.
    pub fn is_pipelined(&self) -> bool {
        self.outstanding.is_some()
    }

    /// True where it has failed.
    pub fn has_failed(&self) -> bool {
        self.standing == Standing::Failed
    }

    /// Describes what it does or waits for, in words, for the sentence about a user that was cut.
    pub fn describe(&self, script: &Script) -> String {
        let Some(transaction) = self.transaction(script).filter(|_| self.standing == Standing::Running) else {
            return "waiting for the other virtual users".to_owned();
        };
        let tail = self.tail();
        let cursor = if tail.execution < self.head.execution { tail } else { self.head };
        let execution = cursor.execution + 1;
        let Some(step) = transaction.steps.get(cursor.step as usize) else {
            return format!("before execution {execution} of {}", transaction.name);
        };
        let doing = match step.act {
            Act::Connect => "connecting".to_owned(),
            Act::Accept => "waiting for the other host to connect".to_owned(),
            Act::Write(_) | Act::SendFile(..) => format!("{} of {} bytes not taken", cursor.left, cursor.size),
            Act::Read(_) | Act::ReadFile(..) => format!("{} of {} bytes missing", cursor.left, cursor.size),
            Act::Think(_) | Act::Rest(_) => "thinking".to_owned(),
            Act::Disconnect => "closing".to_owned(),
            Act::Hear => "waiting for the other host to close".to_owned(),
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

    /// True where payload, or the end, of the connection that is opened now follows at once.
    pub fn greets_by_payload(&self, script: &Script) -> bool {
        let Some(transaction) = self.transaction(script) else { return false };
        let mut steps = transaction.steps.iter().skip(self.head.step as usize);
        let Some(opened) = steps.next() else { return false };
        let next = steps.find(|step| !matches!(step.act, Act::Rest(_)));
        next.is_some_and(|next| next.connection == opened.connection && (next.act.sends() || next.act == Act::Disconnect))
    }

    /// Begins the transaction of this number in its group, at `begin_ns`.
    pub fn start(&mut self, script: &Script, round: u32, begin_ns: u64, ending: &Ending) {
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
            position: self.number - group.first_user,
            strands_count: group.strands_count,
            seed: script.user_seed(self.number) ^ u64::from(round),
        };
        self.standing = Standing::Running;
        self.blocked = 0;
        self.head = Cursor::new();
        self.ended_count = 0;
        self.is_failed = false;
        self.stamps = NEVER;
        self.skip_until = 0;
        self.begin_ns = begin_ns;
        self.is_lossy = ending.is_lossy;
        self.leads = transaction.leads || transaction.is_silent;
        self.schedule = Schedule::new(&transaction.arrivals, share);
        self.outstanding = match transaction.outstanding_count {
            0 | 1 => None,
            count => Some(Box::new(Outstanding::new(count))),
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
            let (all, position, users) = (intended_ns.len() as u64, u64::from(share.position), u64::from(share.strands_count));
            self.limit = self.limit.min(all.saturating_sub(position).div_ceil(users));
        }
        if transaction.is_silent && !transaction.steps.iter().any(|step| matches!(step.act, Act::Think(_))) {
            // Nothing to do here but to let the time pass, at one host.
            self.limit = if transaction.leads && !matches!(transaction.repeat, Repeat::Iterations { .. }) { self.limit } else { 0 };
        }
        // How many a clock allows only the end that leads finds out.
        let by_clock = !matches!(transaction.repeat, Repeat::Iterations { .. }) && self.budget_bytes == u64::MAX;
        self.must_report = transaction.leads && !transaction.is_silent && (self.is_lossy || by_clock);
    }

    /// The action to take now.
    #[inline]
    pub fn poll_action(&mut self, script: &Script, now_ns: u64) -> Action {
        match self.standing {
            Standing::Failed => return Action::Over,
            Standing::Waiting => return Action::Barrier,
            Standing::Running => {}
        }
        let Some(transaction) = self.transaction(script) else { return Action::Barrier };
        if self.outstanding.is_none() {
            self.poll_single(script, transaction, now_ns)
        } else {
            self.poll_pipelined(script, transaction, now_ns)
        }
    }

    /// Bytes have moved; says whether the operation has ended with them.
    #[inline]
    pub fn on_moved(&mut self, direction: Direction, bytes: u64, now_ns: u64) -> bool {
        self.blocked &= !direction.bit();
        match direction {
            Direction::Send => self.sent_bytes += bytes,
            Direction::Receive => self.received_bytes += bytes,
        }
        let cursor = match &mut self.outstanding {
            Some(outstanding) if (direction == Direction::Send) != self.leads => &mut outstanding.tail,
            _ => &mut self.head,
        };
        cursor.left = cursor.left.saturating_sub(bytes);
        let (execution, is_over) = (cursor.execution, cursor.left == 0);
        self.stamp_begin(execution, now_ns);
        is_over
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
    pub fn on_limit(&mut self, script: &Script, executions_count: u64) {
        if self.is_lossy {
            self.on_lossy_limit(script, executions_count);
        } else {
            self.limit = executions_count;
        }
    }

    /// The operation under way has failed. Returns whether that is passed over; if not, the user is
    /// over.
    pub fn on_failed(&mut self, script: &Script) -> bool {
        self.blocked = 0;
        let step = self.transaction(script).and_then(|transaction| transaction.steps.get(self.head.step as usize));
        match step {
            Some(step) if step.can_fail && self.outstanding.is_none() => {
                self.is_failed = true;
                if matches!(step.act, Act::Connect) {
                    // The other host does not see it: the execution starts again under its number.
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
        Of { script, user: self.number, round: u32::from(self.round), budget_bytes: self.budget_bytes }
    }

    /// Of the cursor that comes behind; where there is one alone, that one.
    fn tail(&self) -> Cursor {
        self.outstanding.as_ref().map_or(self.head, |outstanding| outstanding.tail)
    }

    fn stamps_of(&self, execution: u64) -> Stamps {
        self.outstanding.as_ref().map_or(self.stamps, |outstanding| outstanding.stamps(execution))
    }

    fn set_stamps(&mut self, execution: u64, stamps: Stamps) {
        match &mut self.outstanding {
            Some(outstanding) => outstanding.set_stamps(execution, stamps),
            None => self.stamps = stamps,
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
}
