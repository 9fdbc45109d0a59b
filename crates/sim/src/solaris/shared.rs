//! The parts that the connections of a host share: processors, whose turn it is on them, and the adapter.
//!
//! A process keeps its processor until it sleeps, or has had its time slice while others wait (`ts_dptbl(4)`: slices of
//! the time-sharing class).

use super::spec::HostSpec;
use super::tasks::{Caller, Task};
use crate::coalescing::Moderator;
use crate::cpu::{Cpu, Level};
use crate::end_system::Arrival;
use crate::rng::Rng;
use crate::segment::Segment;
use crate::time::{MS, Ps};
use std::collections::VecDeque;

/// The shortest slice of `ts_dptbl(4)`, that of processes that often sleep.
const SLICE: Ps = 20 * MS;

/// Whose turn it is on a processor, and since when.
#[derive(Debug, Clone, Copy, Default)]
struct TimeSlice {
    owner: Option<u16>,
    since: Ps,
}

/// A host but for its connections.
#[derive(Debug, Clone)]
pub(super) struct HostResources {
    pub spec: HostSpec,
    /// Those of processes, and one more where interrupts have their own.
    pub cpus: Vec<Cpu<(u16, Task)>>,
    slices: Vec<TimeSlice>,
    /// Which of them takes interrupts.
    interrupts: usize,
    pub moderator: Moderator,
    /// Segments in memory, and since when.
    pub ring: VecDeque<(Ps, Segment)>,
    /// When the adapter has moved what it was given, out and in.
    sends_until: Ps,
    receives_until: Ps,
    /// Bytes that all processes have read.
    pub delivered_bytes: u64,
    pub now: Ps,
    pub rng: Rng,
}

impl HostResources {
    pub fn new(spec: &HostSpec, seed: u64) -> Self {
        let processors = usize::try_from(spec.processors.max(1)).unwrap_or(1);
        let cpus = processors + usize::from(spec.has_interrupt_processor);
        Self {
            spec: *spec,
            cpus: vec![Cpu::default(); cpus],
            slices: vec![TimeSlice::default(); processors],
            interrupts: cpus - 1,
            moderator: Moderator::new(spec.coalescing),
            ring: VecDeque::with_capacity(64),
            sends_until: 0,
            receives_until: 0,
            delivered_bytes: 0,
            now: 0,
            rng: Rng::new(seed, spec.jitter_per_mille),
        }
    }

    /// The processor of a connection's process: they are spread over all of them and stay there.
    pub fn process_cpu(&self, connection: u16) -> usize {
        usize::from(connection) % self.slices.len()
    }

    fn submit(&mut self, cpu: usize, level: Level, cost: Ps, work: (u16, Task)) {
        let cost = self.rng.around(cost);
        self.cpus[cpu].submit(self.now, level, cost, work);
        self.cpus[cpu].dispatch(self.now);
    }

    /// Work for the processor of a connection's process.
    pub fn submit_to_process(&mut self, level: Level, cost: Ps, work: (u16, Task)) {
        self.submit(self.process_cpu(work.0), level, cost, work);
    }

    /// TCP's code goes on at once on the processor of `caller`.
    pub fn go_on(&mut self, caller: Caller, cost: Ps, work: (u16, Task)) {
        let cost = self.rng.around(cost);
        let (cpu, level) = match caller {
            Caller::Input => (self.interrupts, Level::Interrupt),
            Caller::Timer | Caller::Writer | Caller::Reader => (self.process_cpu(work.0), Level::Protocol),
        };
        self.cpus[cpu].go_on(level, cost, work);
    }

    /// The process goes on, or gives way before a call.
    pub fn go_on_process(&mut self, cost: Ps, work: (u16, Task)) {
        let cost = self.rng.around(cost);
        let cpu = self.process_cpu(work.0);
        if self.is_slice_over(cpu, &work) {
            self.slices[cpu].owner = None;
            self.cpus[cpu].submit(self.now, Level::Process, cost, work);
        } else {
            self.cpus[cpu].go_on(Level::Process, cost, work);
        }
    }

    fn is_slice_over(&mut self, cpu: usize, (connection, task): &(u16, Task)) -> bool {
        let slice = &mut self.slices[cpu];
        if slice.owner != Some(*connection) {
            *slice = TimeSlice { owner: Some(*connection), since: self.now };
            return false;
        }
        let starts_call = matches!(task, Task::WriteCall(_) | Task::ReadCall(_));
        starts_call && self.now - slice.since >= SLICE && self.cpus[cpu].is_waiting(Level::Process)
    }

    /// A process sleeps: the next one's turn begins with its first step.
    pub fn end_slice(&mut self, connection: u16) {
        let cpu = self.process_cpu(connection);
        self.slices[cpu].owner = None;
    }

    /// When the adapter has a frame of so many bytes of payload in its own memory, from where it sends it.
    pub fn fetched_at(&mut self, bytes: u32) -> Ps {
        self.sends_until = self.sends_until.max(self.now) + self.spec.dma_per_byte * Ps::from(bytes);
        self.sends_until
    }

    /// The adapter writes a frame to memory; a super-segment comes as the segments that it is on the line.
    pub fn take_from_line(&mut self, arrival: &Arrival) {
        let segment = arrival.segment;
        let full = segment.bytes.div_ceil(u32::from(segment.wire_segments_count.max(1))).max(1);
        let mut taken = 0;
        loop {
            let bytes = full.min(segment.bytes - taken);
            let part = Segment { sequence: segment.sequence + u64::from(taken), bytes, wire_segments_count: 1, ..segment };
            let is_there = arrival.last + self.spec.switch_per_byte * Ps::from(bytes);
            self.receives_until = self.receives_until.max(is_there) + self.spec.dma_per_byte * Ps::from(bytes);
            self.ring.push_back((self.receives_until, part));
            self.moderator.on_frame(self.receives_until);
            taken += bytes;
            if taken >= segment.bytes {
                return;
            }
        }
    }

    /// An interrupt that is due; whether there was one.
    pub fn take_interrupt(&mut self) -> bool {
        let is_due = self.moderator.interrupts_at().is_some_and(|at| at <= self.now);
        if is_due {
            self.moderator.on_interrupt();
            self.submit(self.interrupts, Level::Interrupt, self.spec.costs.interrupt, (0, Task::Interrupt));
        }
        is_due
    }

    /// The interrupt's routine takes the next frame, or ends.
    pub fn next_frame(&mut self) {
        match self.ring.front() {
            Some((since, segment)) if *since <= self.now => {
                let cost = if segment.bytes > 0 { self.spec.receive_of(segment.bytes) } else { self.spec.costs.receive_ack };
                let work = (segment.connection, Task::Received);
                self.go_on(Caller::Input, cost, work);
            }
            waiting => {
                let since = waiting.map(|(since, _)| *since);
                self.moderator.unmask();
                if let Some(since) = since {
                    self.moderator.on_frame(since);
                }
            }
        }
    }

    /// When a processor is done with something, or the adapter interrupts.
    pub fn next_at(&self) -> Option<Ps> {
        let done = self.cpus.iter().filter_map(Cpu::done_at);
        done.chain(self.moderator.interrupts_at()).min()
    }
}
