//! A processor: work of three levels, of which a higher one interrupts a lower one.
//!
//! The levels are those of BSD: a process, protocol code (`splnet`, whoever runs it), and device
//! interrupts (`splimp`). Work of one level is done in the order in which it came, what was interrupted
//! first.

use crate::time::Ps;
use std::collections::VecDeque;

/// Who may interrupt whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// A process outside of protocol code.
    Process,
    /// Protocol code: that of a process in a system call, and the software interrupt of the network.
    Protocol,
    /// A device's interrupt, and the driver.
    Interrupt,
}

const LEVELS: usize = 3;

/// Something to be computed, and what it was for.
#[derive(Debug, Clone)]
struct Work<Task> {
    level: Level,
    remaining: Ps,
    /// Its cost in all, and when it first ran.
    cost: Ps,
    began: Option<Ps>,
    task: Task,
}

/// One processor.
#[derive(Debug, Clone)]
pub struct Cpu<Task> {
    running: Option<Work<Task>>,
    since: Ps,
    waiting: [VecDeque<Work<Task>>; LEVELS],
    /// A bit for each level in which something waits.
    occupied: u8,
    busy: [Ps; LEVELS],
    /// Of the work that was done last: when it first ran, and its cost.
    last: (Ps, Ps),
    /// Between [`Cpu::finish`] and [`Cpu::dispatch`]: what goes on may begin without waiting.
    is_between: bool,
}

impl<Task> Default for Cpu<Task> {
    fn default() -> Self {
        Self { running: None, since: 0, waiting: Default::default(), occupied: 0, busy: [0; LEVELS], last: (0, 0), is_between: false }
    }
}

impl<Task> Cpu<Task> {
    /// Takes on work that needs the processor for `cost`, behind other work of its level.
    #[inline]
    pub fn submit(&mut self, now: Ps, level: Level, cost: Ps, task: Task) {
        self.waiting[level as usize].push_back(Work { level, remaining: cost, cost, began: None, task });
        self.occupied |= 1 << level as u8;
        self.interrupt(now, level);
    }

    /// Goes on with what was under way, before other work of its level.
    #[inline]
    pub fn go_on(&mut self, level: Level, cost: Ps, task: Task) {
        // Most work goes on so, and nothing of a higher level waits: then it need not stand in line.
        if self.is_between && self.running.is_none() && self.occupied >> level as u8 <= 1 {
            self.running = Some(Work { level, remaining: cost, cost, began: Some(self.since), task });
            return;
        }
        self.waiting[level as usize].push_front(Work { level, remaining: cost, cost, began: None, task });
        self.occupied |= 1 << level as u8;
    }

    /// When the work under way is done, if nothing interrupts it.
    #[inline]
    pub fn done_at(&self) -> Option<Ps> {
        self.running.as_ref().map(|work| self.since + work.remaining)
    }

    /// The task that the work under way is for.
    pub fn running(&self) -> Option<&Task> {
        self.running.as_ref().map(|work| &work.task)
    }

    /// The work under way is done at `now`, which is [`Cpu::done_at`]. Who asked for it may go on with
    /// [`Cpu::go_on`]; then the next begins by [`Cpu::dispatch`].
    #[inline]
    pub fn finish(&mut self, now: Ps) -> Option<Task> {
        self.account(now);
        self.is_between = true;
        self.running.take().map(|work| {
            self.last = (work.began.unwrap_or(now), work.cost);
            work.task
        })
    }

    /// When the work that [`Cpu::finish`] returned last first ran, and its cost.
    #[inline]
    pub fn last(&self) -> (Ps, Ps) {
        self.last
    }

    /// Begins the next work, the highest level first, where nothing is under way.
    #[inline]
    pub fn dispatch(&mut self, now: Ps) {
        self.is_between = false;
        if self.running.is_none() {
            self.since = now;
            if let Some(highest) = self.occupied.checked_ilog2() {
                let waiting = &mut self.waiting[highest as usize];
                self.running = waiting.pop_front();
                if let Some(work) = &mut self.running {
                    work.began.get_or_insert(now);
                }
                if waiting.is_empty() {
                    self.occupied &= !(1 << highest);
                }
            }
        }
    }

    /// True if work of a level waits.
    #[inline]
    pub fn is_waiting(&self, level: Level) -> bool {
        self.occupied & (1 << level as u8) != 0
    }

    /// The work of a level that is next, or was interrupted.
    pub fn next_of(&self, level: Level) -> Option<&Task> {
        self.waiting[level as usize].front().map(|work| &work.task)
    }

    /// Time that work of a level still needs, counted where `is_meant`.
    pub fn pending(&self, now: Ps, level: Level, is_meant: impl Fn(&Task) -> bool) -> Ps {
        let running = self.running.iter().map(|work| (work, now - self.since));
        let waiting = self.waiting[level as usize].iter().map(|work| (work, 0));
        running
            .chain(waiting)
            .filter(|(work, _)| work.level == level && is_meant(&work.task))
            .map(|(work, done)| work.remaining - done)
            .sum()
    }

    /// Time spent in a level so far, in ps.
    pub fn busy(&self, level: Level) -> Ps {
        self.busy[level as usize]
    }

    /// Interrupts what runs below `level`, to make room.
    #[inline]
    fn interrupt(&mut self, now: Ps, level: Level) {
        if self.running.as_ref().is_some_and(|running| running.level < level) {
            self.account(now);
            if let Some(interrupted) = self.running.take() {
                self.occupied |= 1 << interrupted.level as u8;
                self.waiting[interrupted.level as usize].push_front(interrupted);
            }
        }
    }

    #[inline]
    fn account(&mut self, now: Ps) {
        if let Some(work) = &mut self.running {
            let done = now - self.since;
            work.remaining -= done;
            self.busy[work.level as usize] += done;
            self.since = now;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs until nothing is left: what was done, and when.
    fn run(cpu: &mut Cpu<&'static str>) -> Vec<(Ps, &'static str)> {
        let mut done = Vec::new();
        while let Some(at) = cpu.done_at() {
            done.push((at, cpu.finish(at).expect("something ran")));
            cpu.dispatch(at);
        }
        done
    }

    #[test]
    fn an_interrupt_delays_what_it_interrupts() {
        let mut cpu = Cpu::default();
        cpu.submit(0, Level::Process, 100, "copy");
        cpu.dispatch(0);
        cpu.submit(30, Level::Interrupt, 20, "receive");
        cpu.dispatch(30);
        cpu.submit(40, Level::Protocol, 10, "input");
        cpu.dispatch(40);
        assert_eq!(run(&mut cpu), [(50, "receive"), (60, "input"), (130, "copy")]);
        assert_eq!((cpu.busy(Level::Process), cpu.busy(Level::Protocol), cpu.busy(Level::Interrupt)), (100, 10, 20));
    }

    #[test]
    fn work_that_was_interrupted_has_its_own_cost_and_its_first_start() {
        let mut cpu = Cpu::default();
        cpu.submit(0, Level::Process, 100, "copy");
        cpu.dispatch(0);
        cpu.submit(30, Level::Interrupt, 20, "receive");
        cpu.dispatch(30);
        let mut last = Vec::new();
        while let Some(at) = cpu.done_at() {
            cpu.finish(at);
            last.push(cpu.last());
            if at == 50 {
                cpu.go_on(Level::Interrupt, 5, "more");
            }
            cpu.dispatch(at);
        }
        assert_eq!(last, [(30, 20), (50, 5), (0, 100)]);
    }

    #[test]
    fn protocol_code_of_a_process_is_not_interrupted_by_the_network() {
        let mut cpu = Cpu::default();
        cpu.submit(0, Level::Protocol, 50, "output");
        cpu.dispatch(0);
        cpu.submit(10, Level::Protocol, 5, "input");
        cpu.dispatch(10);
        assert_eq!(run(&mut cpu), [(50, "output"), (55, "input")]);
    }

    #[test]
    fn what_waits_is_seen_by_level_and_what_runs_does_not_wait() {
        let mut cpu = Cpu::default();
        cpu.submit(0, Level::Process, 100, "copy");
        cpu.submit(0, Level::Process, 7, "write");
        let waiting = |cpu: &Cpu<_>| [Level::Process, Level::Protocol, Level::Interrupt].map(|it| cpu.is_waiting(it));
        assert_eq!(waiting(&cpu), [true, false, false]);
        cpu.dispatch(0);
        assert_eq!((waiting(&cpu), cpu.running(), cpu.next_of(Level::Process)), ([true, false, false], Some(&"copy"), Some(&"write")));
        // An interrupt after 30 of 100: "copy" waits again, and is the next of its level.
        cpu.submit(30, Level::Interrupt, 20, "receive");
        cpu.dispatch(30);
        assert_eq!((waiting(&cpu), cpu.running(), cpu.next_of(Level::Process)), ([true, false, false], Some(&"receive"), Some(&"copy")));
        assert_eq!(cpu.pending(40, Level::Process, |_| true), 77);
        assert_eq!(cpu.pending(40, Level::Process, |task| *task == "write"), 7);
        assert_eq!(cpu.pending(40, Level::Interrupt, |_| true), 10);
        assert_eq!(cpu.pending(40, Level::Protocol, |_| true), 0);
        assert_eq!(run(&mut cpu), [(50, "receive"), (120, "copy"), (127, "write")]);
        assert_eq!(waiting(&cpu), [false; 3]);
    }

    #[test]
    fn who_goes_on_is_before_others_of_its_level_and_behind_higher_ones() {
        let go_on = |others: &[(Level, &'static str)]| {
            let mut cpu = Cpu::default();
            cpu.submit(0, Level::Protocol, 10, "first");
            for (level, task) in others {
                cpu.submit(0, *level, 5, *task);
            }
            cpu.dispatch(0);
            while cpu.running() != Some(&"first") {
                let at = cpu.done_at().expect("something runs");
                cpu.finish(at);
                cpu.dispatch(at);
            }
            let at = cpu.done_at().expect("something runs");
            cpu.finish(at);
            cpu.go_on(Level::Protocol, 3, "second");
            cpu.dispatch(at);
            run(&mut cpu)
        };
        assert_eq!(go_on(&[]), [(13, "second")]);
        assert_eq!(go_on(&[(Level::Protocol, "other")]), [(13, "second"), (18, "other")]);
        assert_eq!(go_on(&[(Level::Process, "other")]), [(13, "second"), (18, "other")]);
        assert_eq!(go_on(&[(Level::Interrupt, "other")]), [(18, "second")]);
        // Before `finish`, nobody goes on at once.
        let mut cpu = Cpu::default();
        cpu.go_on(Level::Process, 3, "alone");
        assert_eq!((cpu.running(), cpu.is_waiting(Level::Process)), (None, true));
        cpu.submit(0, Level::Interrupt, 5, "receive");
        cpu.dispatch(0);
        assert_eq!(run(&mut cpu), [(5, "receive"), (8, "alone")]);
    }

    #[test]
    fn between_two_works_a_higher_level_that_came_is_first() {
        let mut cpu = Cpu::default();
        cpu.submit(0, Level::Process, 10, "copy");
        cpu.dispatch(0);
        cpu.finish(10);
        cpu.submit(10, Level::Interrupt, 5, "receive");
        cpu.go_on(Level::Process, 3, "more");
        cpu.dispatch(10);
        assert_eq!(run(&mut cpu), [(15, "receive"), (18, "more")]);
        assert_eq!(cpu.done_at(), None);
    }
}
