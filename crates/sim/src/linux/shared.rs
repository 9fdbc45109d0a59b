//! The parts that the connections of a host share: processors and whose turn it is on them, and the adapter's queues.
//!
//! A processor's processes take turns: who was woken stands behind those who wait, and who has run for a slice while
//! others wait goes behind them before its next call (`update_curr`, `resched_curr_lazy` in `kernel/sched/fair.c` and
//! `core.c`: the way back from a call is where a process gives way).

use super::spec::{HostSpec, Steering};
use super::tasks::{Caller, Task};
use crate::cpu::{Cpu, Level};
use crate::rng::Rng;
use crate::segment::Segment;
use crate::time::Ps;
use std::collections::VecDeque;

/// Segments that came in for the connections of one processor.
#[derive(Debug, Clone, Default)]
pub(super) struct ReceiveQueue {
    /// Segments that came in and were not taken, and when each was all there.
    pub waiting: VecDeque<(Ps, Segment)>,
    pub is_polling: bool,
    /// When the adapter interrupts, and when the processor takes that.
    pub raised_at: Option<Ps>,
    pub interrupt_at: Option<Ps>,
}

/// Whose turn it is on a processor, and since when.
#[derive(Debug, Clone, Copy, Default)]
struct TimeSlice {
    owner: Option<u16>,
    since: Ps,
}

/// A host but for its connections.
#[derive(Debug, Clone)]
pub(super) struct Shared {
    pub spec: HostSpec,
    /// Those of processes, and one more where another takes what arrives.
    pub cpus: Vec<Cpu<(u16, Task)>>,
    slices: Vec<TimeSlice>,
    /// One for each processor that takes what arrives.
    pub queues: Vec<ReceiveQueue>,
    /// Frames with payload that were taken from the adapter, and of which connection the last ones were.
    pub taken_frames: (u64, u16),
    /// Bytes that all processes have read.
    pub delivered_bytes: u64,
    /// Time that belongs to what was just done, added to what comes next.
    pub debt: Ps,
    pub now: Ps,
    pub rng: Rng,
}

impl Shared {
    pub fn new(spec: &HostSpec, seed: u64) -> Self {
        let processors = usize::from(spec.scheduling.processors.max(1));
        let (cpus, queues) = match spec.steering {
            Steering::SameProcessor => (processors, processors),
            Steering::OtherProcessor => (processors + 1, 1),
        };
        Self {
            spec: *spec,
            cpus: vec![Cpu::default(); cpus],
            slices: vec![TimeSlice::default(); processors],
            queues: vec![ReceiveQueue::default(); queues],
            taken_frames: (0, 0),
            delivered_bytes: 0,
            debt: 0,
            now: 0,
            rng: Rng::new(seed, spec.jitter_per_mille),
        }
    }

    /// The processor of a connection's process: they are spread over all of them and stay there.
    pub fn process_cpu(&self, connection: u16) -> usize {
        usize::from(connection) % self.slices.len()
    }

    /// The queue of what arrives for a connection.
    pub fn queue_of(&self, connection: u16) -> usize {
        match self.spec.steering {
            Steering::SameProcessor => self.process_cpu(connection),
            Steering::OtherProcessor => 0,
        }
    }

    /// The processor that works a queue off.
    pub fn cpu_of(&self, queue: usize) -> usize {
        match self.spec.steering {
            Steering::SameProcessor => queue,
            Steering::OtherProcessor => self.slices.len(),
        }
    }

    /// The processor of a connection's softirqs.
    pub fn softirq_cpu(&self, connection: u16) -> usize {
        self.cpu_of(self.queue_of(connection))
    }

    pub fn submit(&mut self, cpu: usize, level: Level, cost: Ps, work: (u16, Task)) {
        let cost = self.rng.around(cost + std::mem::take(&mut self.debt));
        self.cpus[cpu].submit(self.now, level, cost, work);
        self.cpus[cpu].dispatch(self.now);
    }

    /// Goes on with what a process or a softirq is at.
    pub fn go_on(&mut self, caller: Caller, cost: Ps, work: (u16, Task)) {
        let cost = self.rng.around(cost + std::mem::take(&mut self.debt));
        if !caller.is_process() {
            let cpu = self.softirq_cpu(work.0);
            return self.cpus[cpu].go_on(Level::Protocol, cost, work);
        }
        let cpu = self.process_cpu(work.0);
        if self.is_slice_over(cpu, &work) {
            self.slices[cpu].owner = None;
            let switch = self.rng.around(self.spec.costs.switch);
            self.cpus[cpu].submit(self.now, Level::Process, cost + switch, work);
        } else {
            self.cpus[cpu].go_on(Level::Process, cost, work);
        }
    }

    /// True if a process that begins a call has had its slice, and others wait. One whose turn begins is taken note of.
    fn is_slice_over(&mut self, cpu: usize, (connection, task): &(u16, Task)) -> bool {
        let slice = &mut self.slices[cpu];
        if slice.owner != Some(*connection) {
            *slice = TimeSlice { owner: Some(*connection), since: self.now };
            return false;
        }
        let starts_call = matches!(task, Task::WriteCall(_) | Task::ReadCall(_) | Task::Polled(_));
        starts_call && self.now - slice.since >= self.spec.scheduling.slice && self.cpus[cpu].is_waiting(Level::Process)
    }

    /// A process sleeps: the next one's turn begins with its first step.
    pub fn end_slice(&mut self, connection: u16) {
        let cpu = self.process_cpu(connection);
        self.slices[cpu].owner = None;
    }

    /// The adapter interrupts at an instant; an idle processor takes it later than a busy one.
    pub fn interrupt(&mut self, queue: usize, at: Ps) {
        let is_idle = self.cpus[self.cpu_of(queue)].done_at().is_none();
        let taken_at = at + if is_idle { self.spec.costs.idle_exit } else { 0 };
        self.queues[queue].raised_at = Some(at);
        self.queues[queue].interrupt_at = Some(taken_at);
    }

    /// Interrupts that are due; whether there was one.
    pub fn take_interrupt(&mut self) -> bool {
        let now = self.now;
        let is_due = |queue: &ReceiveQueue| queue.interrupt_at.is_some_and(|at| at <= now);
        let Some(number) = self.queues.iter().position(is_due) else { return false };
        let queue = &mut self.queues[number];
        (queue.raised_at, queue.interrupt_at) = (None, None);
        queue.is_polling = true;
        let (cpu, cost) = (self.cpu_of(number), self.spec.costs.interrupt);
        self.submit(cpu, Level::Interrupt, cost, (0, Task::Interrupted(number)));
        true
    }

    /// When a processor is done with something or takes an interrupt.
    pub fn next_at(&self) -> Option<Ps> {
        let done = self.cpus.iter().filter_map(Cpu::done_at);
        done.chain(self.queues.iter().filter_map(|queue| queue.interrupt_at)).min()
    }
}
