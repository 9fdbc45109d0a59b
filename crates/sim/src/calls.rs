//! The calls of the processes: when each began and ended, what it moved, and where its time went.
//!
//! The world asks an end system what its process is at after each of its events, and only where a log is kept; an end
//! system itself keeps nothing of past calls.

use crate::end_state::EndState;
use crate::time::Ps;

/// The action of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// It gives payload to the socket.
    Write,
    /// It takes payload from the socket.
    Read,
}

/// Where the process is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// In no call.
    Outside,
    /// Before its next call, which begins when there is something for it: a process that polls.
    Before,
    /// In a call.
    Inside(Kind),
}

/// The activity of the processor of the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Processor {
    /// Work of the process: its calls, TCP's output in them, and switching to it.
    Own,
    /// Nothing.
    Idle,
    /// Protocol code and interrupts that are not of the process.
    Displaced,
    /// Another process, for which this one waits.
    Others,
}

/// The point that a process is at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AtCall {
    place: Place,
    is_asleep: bool,
    processor: Processor,
    begun: u64,
    moved_bytes: [u64; 2],
}

impl AtCall {
    /// In a call.
    pub fn inside(kind: Kind, is_asleep: bool, processor: Processor, counted: &EndState) -> Self {
        Self::at(Place::Inside(kind), is_asleep, processor, counted)
    }

    /// Before a call, until there is something for it.
    pub fn before(is_asleep: bool, processor: Processor, counted: &EndState) -> Self {
        Self::at(Place::Before, is_asleep, processor, counted)
    }

    /// In no call: it sleeps until its time, or is done.
    pub fn outside(counted: &EndState) -> Self {
        Self::at(Place::Outside, true, Processor::Idle, counted)
    }

    fn at(place: Place, is_asleep: bool, processor: Processor, counted: &EndState) -> Self {
        let moved_bytes = [counted.written_bytes, counted.read_bytes];
        Self { place, is_asleep, processor, begun: counted.calls_begun, moved_bytes }
    }
}

/// Where the time of a call, or before it, went in addition to the process's own work.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Spent {
    /// It slept.
    pub asleep: Ps,
    /// It could run, and its processor was not yet signaled or ran something else.
    pub runnable: Ps,
    /// It was awake, and its processor did protocol work that was not its own.
    pub displaced: Ps,
}

/// A call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Call {
    /// Its action.
    pub kind: Kind,
    /// When it began.
    pub from: Ps,
    /// When it returned, or the end of the run, which cut it.
    pub to: Ps,
    /// Payload.
    pub moved_bytes: u64,
    /// Inside it.
    pub inside: Spent,
    /// Between the call before it and this one.
    pub before: Spent,
}

/// The calls of one host system's process.
#[derive(Debug, Clone)]
pub(crate) struct Watch {
    calls: Vec<Call>,
    at: Ps,
    last: AtCall,
    spent: Spent,
    /// The call under way: when it began, what was moved until then, and the time before it.
    open: Option<Open>,
}

#[derive(Debug, Clone, Copy)]
struct Open {
    kind: Kind,
    from: Ps,
    moved_bytes: u64,
    before: Spent,
}

impl Watch {
    pub fn new(first: AtCall) -> Self {
        let mut watch = Self { calls: Vec::new(), at: 0, last: AtCall { begun: 0, ..first }, spent: Spent::default(), open: None };
        watch.look(0, first);
        watch
    }

    /// The process is at that since `now`.
    pub fn look(&mut self, now: Ps, seen: AtCall) {
        let passed = now - self.at;
        match (self.last.is_asleep, self.last.processor) {
            (true, _) => self.spent.asleep += passed,
            (false, Processor::Idle | Processor::Others) => self.spent.runnable += passed,
            (false, Processor::Displaced) => self.spent.displaced += passed,
            (false, Processor::Own) => {}
        }
        if seen.begun != self.last.begun || !matches!(seen.place, Place::Inside(_)) {
            self.close(now, seen.moved_bytes);
        }
        if let (Place::Inside(kind), None) = (seen.place, self.open) {
            let before = std::mem::take(&mut self.spent);
            self.open = Some(Open { kind, from: now, moved_bytes: seen.moved_bytes[kind as usize], before });
        }
        (self.at, self.last) = (now, seen);
    }

    /// All calls; the run ends at `now`.
    pub fn finish(mut self, now: Ps) -> Vec<Call> {
        self.look(now.max(self.at), self.last);
        self.close(self.at, self.last.moved_bytes);
        self.calls
    }

    fn close(&mut self, to: Ps, moved_bytes: [u64; 2]) {
        if let Some(Open { kind, from, moved_bytes: before_bytes, before }) = self.open.take() {
            let inside = std::mem::take(&mut self.spent);
            self.calls.push(Call { kind, from, to, moved_bytes: moved_bytes[kind as usize] - before_bytes, inside, before });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(calls_begun: u64, read_bytes: u64) -> EndState {
        EndState { read_bytes, calls_begun, ..EndState::default() }
    }

    #[test]
    fn a_read_that_slept_and_was_displaced_says_so() {
        let read = |is_asleep, processor, bytes| AtCall::inside(Kind::Read, is_asleep, processor, &counted(1, bytes));
        let mut watch = Watch::new(read(false, Processor::Own, 0));
        watch.look(10, read(true, Processor::Idle, 0));
        watch.look(50, read(false, Processor::Idle, 0));
        watch.look(57, read(false, Processor::Own, 0));
        watch.look(60, read(false, Processor::Displaced, 0));
        watch.look(65, read(false, Processor::Own, 1000));
        watch.look(80, AtCall::outside(&counted(1, 1000)));
        watch.look(100, AtCall::inside(Kind::Read, false, Processor::Own, &counted(2, 1000)));
        let inside = Spent { asleep: 40, runnable: 7, displaced: 5 };
        let before = Spent { asleep: 20, ..Spent::default() };
        let idle = Spent::default();
        assert_eq!(
            watch.finish(130),
            [
                Call { kind: Kind::Read, from: 0, to: 80, moved_bytes: 1000, inside, before: idle },
                Call { kind: Kind::Read, from: 100, to: 130, moved_bytes: 0, inside: idle, before },
            ]
        );
    }

    #[test]
    fn who_polls_is_in_no_call_until_there_is_something() {
        let polls = |is_asleep| AtCall::before(is_asleep, Processor::Own, &counted(1, 0));
        let mut watch = Watch::new(polls(false));
        watch.look(5, polls(true));
        watch.look(25, AtCall::inside(Kind::Read, false, Processor::Own, &counted(1, 0)));
        watch.look(30, AtCall::inside(Kind::Read, false, Processor::Own, &counted(2, 400)));
        let before = Spent { asleep: 20, ..Spent::default() };
        let calls = watch.finish(30);
        assert_eq!(calls[0], Call { kind: Kind::Read, from: 25, to: 30, moved_bytes: 400, inside: Spent::default(), before });
    }
}
