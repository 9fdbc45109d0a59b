//! A workload made ready for one host: checked, and with the far host's mirror applied.

use schema::workload::{Arrivals, FileToSend, Group as GroupAsked, Operation, Repeat, Size, Step as StepAsked, Workload};
use std::collections::BTreeSet;

use crate::sizes;

/// Most connections of a user.
pub const MAX_CONNECTIONS: u32 = 1024;
/// Most users of a workload.
pub const MAX_USERS: u32 = 1 << 24;
/// Most executions of a user under way.
pub const MAX_OUTSTANDING: u32 = 1 << 16;

/// Why a workload makes no sense.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {text}")]
pub struct ScriptError {
    /// Group, transaction and step, as far as they are concerned.
    pub place: String,
    /// The fault, in a sentence.
    pub text: String,
}

/// A workload as one host executes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Script {
    /// Seed of everything random.
    pub seed: u64,
    /// The groups in order.
    pub groups: Vec<Group>,
}

/// Virtual users that do the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// Name.
    pub name: String,
    /// Number of its first user; the others follow.
    pub first_user: u32,
    /// Virtual users.
    pub strands_count: u32,
    /// True where connection 0 of each user is open before the start.
    pub is_connected: bool,
    /// Connections of each user.
    pub connections_count: u32,
    /// One after another.
    pub transactions: Vec<Transaction>,
}

/// The part that is repeated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transaction {
    /// Name.
    pub name: String,
    /// Number among the transactions of all groups.
    pub row: u32,
    /// The extent of the repetition.
    pub repeat: Repeat,
    /// When each execution is to begin.
    pub arrivals: Arrivals,
    /// Executions of a user under way at the same time.
    pub outstanding_count: u32,
    /// In order.
    pub steps: Vec<Step>,
    /// Steps before the payload first changes its direction.
    pub opening_steps_count: u32,
    /// True where this host begins each execution, and so decides how many there are.
    pub leads: bool,
    /// True where the hosts' executions cannot be matched: nothing goes between them.
    pub is_silent: bool,
}

/// An operation as this host executes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The act.
    pub act: Act,
    /// On which connection of the user.
    pub connection: u32,
    /// Number of times.
    pub count: u32,
    /// True where a failure is passed over.
    pub can_fail: bool,
}

/// An act of this host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Act {
    /// Opens.
    Connect,
    /// Waits until the other host has opened.
    Accept,
    /// Sends.
    Write(Transfer),
    /// Receives.
    Read(Transfer),
    /// Sends a file.
    SendFile(Vec<FileToSend>, u64),
    /// Receives what the other host sends from a file.
    ReadFile(Vec<FileToSend>, u64),
    /// Does nothing for a time.
    Think(Thought),
    /// The other host does nothing for a time.
    Rest(Thought),
    /// Closes.
    Disconnect,
    /// The other host closes; so does this one then.
    Hear,
}

/// The way that bytes are moved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transfer {
    /// Number of bytes.
    pub size: Size,
    /// A call asks for this much at most.
    pub call_bytes: u64,
    /// The reader fails when nothing comes for this long, in ns.
    pub timeout_ns: Option<u64>,
}

/// The way that time is passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Thought {
    /// For this long, in ns.
    pub duration_ns: u64,
    /// True where the CPU is kept busy.
    pub is_busy: bool,
    /// True where both hosts do it.
    pub is_mirrored: bool,
}

impl Act {
    /// The act of the other host meanwhile.
    #[must_use]
    pub fn mirror(self) -> Self {
        match self {
            Act::Connect => Act::Accept,
            Act::Accept => Act::Connect,
            Act::Write(transfer) => Act::Read(transfer),
            Act::Read(transfer) => Act::Write(transfer),
            Act::SendFile(files, call_bytes) => Act::ReadFile(files, call_bytes),
            Act::ReadFile(files, call_bytes) => Act::SendFile(files, call_bytes),
            Act::Think(thought) if thought.is_mirrored => Act::Think(thought),
            Act::Think(thought) => Act::Rest(thought),
            Act::Rest(thought) => Act::Think(thought),
            Act::Disconnect => Act::Hear,
            Act::Hear => Act::Disconnect,
        }
    }

    /// True where this host moves first here; absent where nothing goes between the ends.
    fn leads(&self) -> Option<bool> {
        match self {
            Act::Connect | Act::Write(_) | Act::SendFile(..) | Act::Disconnect => Some(true),
            Act::Accept | Act::Read(_) | Act::ReadFile(..) | Act::Hear => Some(false),
            Act::Think(_) | Act::Rest(_) => None,
        }
    }

    /// True where it is payload that this host sends.
    pub fn sends(&self) -> bool {
        matches!(self, Act::Write(_) | Act::SendFile(..))
    }

    /// True where it is payload that this host receives.
    pub fn receives(&self) -> bool {
        matches!(self, Act::Read(_) | Act::ReadFile(..))
    }
}

impl Script {
    /// The script that the near host executes.
    ///
    /// # Errors
    /// The workload makes no sense; the place and the reason.
    pub fn near(workload: &Workload) -> Result<Self, ScriptError> {
        let whole = |text: &str| ScriptError { place: "the workload".to_owned(), text: text.to_owned() };
        if workload.groups.is_empty() {
            return Err(whole("it has no group"));
        }
        let (mut first_user, mut row) = (0u32, 0u32);
        let mut groups: Vec<Group> = Vec::new();
        for asked in &workload.groups {
            if groups.iter().any(|group| group.name == asked.name) {
                return Err(ScriptError { place: format!("group \"{}\"", asked.name), text: "there are two of that name".to_owned() });
            }
            groups.push(group(asked, first_user, row)?);
            first_user = first_user.checked_add(asked.strands_count).filter(|sum| *sum <= MAX_USERS).ok_or_else(|| ScriptError {
                place: format!("group \"{}\"", asked.name),
                text: format!("more than {MAX_USERS} virtual users in all"),
            })?;
            row += u32::try_from(asked.transactions.len()).unwrap_or(0);
        }
        Ok(Self { seed: workload.seed, groups })
    }

    /// The script that the other host executes.
    #[must_use]
    pub fn mirror(mut self) -> Self {
        for group in &mut self.groups {
            for transaction in &mut group.transactions {
                transaction.leads = !transaction.leads;
                for step in &mut transaction.steps {
                    step.act = step.act.clone().mirror();
                }
            }
        }
        self
    }

    /// Virtual users of all groups.
    pub fn strands_count(&self) -> u32 {
        self.groups.iter().map(|group| group.strands_count).sum()
    }

    /// Transactions one after another: of the group that has most.
    pub fn rounds_count(&self) -> usize {
        self.groups.iter().map(|group| group.transactions.len()).max().unwrap_or(0)
    }

    /// Transactions of all groups.
    pub fn rows_count(&self) -> usize {
        self.groups.iter().map(|group| group.transactions.len()).sum()
    }

    /// Seed of what a user draws in addition to its sizes.
    pub fn user_seed(&self, user: u32) -> u64 {
        sizes::mix(self.seed ^ sizes::mix(u64::from(user)))
    }

    /// Transactions of all groups.
    pub fn transactions(&self) -> impl Iterator<Item = &Transaction> {
        self.groups.iter().flat_map(|group| &group.transactions)
    }

    /// Steps of all transactions.
    pub fn steps(&self) -> impl Iterator<Item = &Step> {
        self.transactions().flat_map(|transaction| &transaction.steps)
    }
}

fn group(asked: &GroupAsked, first_user: u32, first_row: u32) -> Result<Group, ScriptError> {
    let place = format!("group \"{}\"", asked.name);
    let wrong = |text: String| ScriptError { place: place.clone(), text };
    if asked.strands_count == 0 {
        return Err(wrong("it has no virtual user".to_owned()));
    }
    let mut open: BTreeSet<u32> = asked.is_connected.then_some(0).into_iter().collect();
    let mut connections_count = u32::from(asked.is_connected);
    let mut transactions: Vec<Transaction> = Vec::new();
    for (row, transaction) in (first_row..).zip(&asked.transactions) {
        let place = format!("{place}, transaction \"{}\"", transaction.name);
        let wrong = |text: String| ScriptError { place: place.clone(), text };
        if transactions.iter().any(|before| before.name == transaction.name) {
            return Err(wrong("there are two of that name".to_owned()));
        }
        check_arrivals(&transaction.arrivals).map_err(wrong)?;
        let steps = compile_steps(&place, &transaction.steps)?;
        if transaction.outstanding_count == 0 || transaction.outstanding_count > MAX_OUTSTANDING {
            return Err(wrong(format!("outstanding_count is {}; it must be from 1 to {MAX_OUTSTANDING}", transaction.outstanding_count)));
        }
        if transaction.outstanding_count > 1 && steps.iter().any(|step| !step.act.sends() && !step.act.receives()) {
            return Err(wrong("only reads and writes can be outstanding together".to_owned()));
        }
        let is_executed = !matches!(transaction.repeat, Repeat::Iterations { count: 0 });
        let is_repeated = !matches!(transaction.repeat, Repeat::Iterations { count: 0 | 1 });
        if is_executed {
            check_connections(&place, &steps, &mut open, is_repeated)?;
        }
        connections_count = connections_count.max(steps.iter().map(|step| step.connection + 1).max().unwrap_or(0));
        transactions.push(Transaction {
            name: transaction.name.clone(),
            row,
            repeat: transaction.repeat,
            arrivals: transaction.arrivals.clone(),
            outstanding_count: transaction.outstanding_count,
            leads: steps.iter().find_map(|step| step.act.leads()).unwrap_or(true),
            is_silent: steps.iter().all(|step| step.act.leads().is_none()),
            opening_steps_count: u32::try_from(opening_steps_count(&steps)).unwrap_or(u32::MAX),
            steps,
        });
    }
    if connections_count > MAX_CONNECTIONS {
        return Err(wrong(format!("a virtual user has at most {MAX_CONNECTIONS} connections")));
    }
    Ok(Group {
        name: asked.name.clone(),
        first_user,
        strands_count: asked.strands_count,
        is_connected: asked.is_connected,
        connections_count,
        transactions,
    })
}

fn opening_steps_count(steps: &[Step]) -> usize {
    let sends = steps.first().is_some_and(|step| step.act.sends());
    steps.iter().take_while(|step| step.act.sends() == sends).count()
}

fn check_arrivals(arrivals: &Arrivals) -> Result<(), String> {
    match arrivals {
        Arrivals::Constant { per_kilosecond: 0 } | Arrivals::Poisson { per_kilosecond: 0 } => Err("its rate is 0".to_owned()),
        Arrivals::Trace { intended_ns } if !intended_ns.is_sorted() => Err("the instants of its trace do not ascend".to_owned()),
        _ => Ok(()),
    }
}

fn compile_steps(place: &str, asked: &[StepAsked]) -> Result<Vec<Step>, ScriptError> {
    (1..)
        .zip(asked)
        .map(|(number, step)| compile_step(step).map_err(|text| ScriptError { place: format!("{place}, step {number}"), text }))
        .collect()
}

fn compile_step(asked: &StepAsked) -> Result<Step, String> {
    if asked.count == 0 {
        return Err("its count is 0".to_owned());
    }
    let call = |call_bytes: Option<u32>| match call_bytes {
        Some(0) => Err("a call must ask for at least 1 byte".to_owned()),
        Some(bytes) => Ok(u64::from(bytes)),
        None => Ok(u64::MAX),
    };
    let transfer = |size: &Size, call_bytes: Option<u32>, timeout_ns: Option<u64>| {
        check_size(size)?;
        Ok::<_, String>(Transfer { size: size.clone(), call_bytes: call(call_bytes)?, timeout_ns })
    };
    let (act, connection) = match &asked.operation {
        Operation::Connect { connection } => (Act::Connect, *connection),
        Operation::Accept { connection } => (Act::Accept, *connection),
        Operation::Write { connection, size, call_bytes } => (Act::Write(transfer(size, *call_bytes, None)?), *connection),
        Operation::Read { connection, size, call_bytes, timeout_ns } => (Act::Read(transfer(size, *call_bytes, *timeout_ns)?), *connection),
        Operation::SendFile { connection, files, call_bytes } => {
            if files.is_empty() || files.iter().any(|file| file.length_bytes == 0) {
                return Err("it sends no file, or an empty one".to_owned());
            }
            (Act::SendFile(files.clone(), call(*call_bytes)?), *connection)
        }
        Operation::Think { duration_ns, is_busy, is_mirrored } => {
            (Act::Think(Thought { duration_ns: *duration_ns, is_busy: *is_busy, is_mirrored: *is_mirrored }), 0)
        }
        Operation::Disconnect { connection } => (Act::Disconnect, *connection),
    };
    if connection >= MAX_CONNECTIONS {
        return Err(format!("connection {connection}: a virtual user has at most {MAX_CONNECTIONS}"));
    }
    Ok(Step { act, connection, count: asked.count, can_fail: asked.can_fail })
}

fn check_size(size: &Size) -> Result<(), String> {
    match size {
        Size::Uniform { low_bytes, high_bytes } if low_bytes > high_bytes => {
            Err(format!("its least size, {low_bytes}, is more than its largest, {high_bytes}"))
        }
        Size::Weighted { values } if values.iter().all(|value| value.weight == 0) => Err("its sizes have no weight".to_owned()),
        Size::Sequence { bytes } if bytes.is_empty() => Err("its sequence of sizes is empty".to_owned()),
        size if sizes::smallest(size) == 0 => Err("a size of 0 bytes".to_owned()),
        _ => Ok(()),
    }
}

/// Follows which connections are open through a transaction.
fn check_connections(place: &str, steps: &[Step], open: &mut BTreeSet<u32>, is_repeated: bool) -> Result<(), ScriptError> {
    let before = open.clone();
    for (number, step) in (1..).zip(steps) {
        let connection = step.connection;
        let wrong = |text: String| Err(ScriptError { place: format!("{place}, step {number}"), text });
        match step.act {
            Act::Connect | Act::Accept if step.count > 1 || !open.insert(connection) => {
                return wrong(format!("connection {connection} is already open"));
            }
            Act::Disconnect | Act::Hear if step.count > 1 || !open.remove(&connection) => {
                return wrong(format!("connection {connection} is not open"));
            }
            Act::Write(_) | Act::Read(_) | Act::SendFile(..) | Act::ReadFile(..) if !open.contains(&connection) => {
                return wrong(format!("connection {connection} is not open"));
            }
            _ => {}
        }
    }
    if is_repeated && *open != before {
        let place = place.to_owned();
        return Err(ScriptError { place, text: "it is repeated, but does not leave the connections as it finds them".to_owned() });
    }
    Ok(())
}
