//! An end system with Linux: processors, the adapter, and connections, each with a process that writes or reads.

use super::acting::Acting;
use super::connection::Connection;
use super::shared::Shared;
use super::tasks::Task;
use crate::application::{Application, Executed};
use crate::calls::{AtCall, Processor};
use crate::cpu::{Cpu, Level};
use crate::end_system::{Arrival, Departure, EndState, EndSystem, Hello, LEVELS, Outbox};
use crate::linux::spec::{Completion, HostSpec};
use crate::time::Ps;

/// One host as it stands.
#[derive(Debug, Clone)]
pub struct Host {
    shared: Shared,
    connections: Vec<Connection>,
    /// When each connection next has something to do; [`NEVER`] where it waits for others.
    next_at: Vec<Ps>,
}

/// An instant that never comes.
const NEVER: Ps = Ps::MAX;

impl Host {
    /// A host with one connection whose process has not begun.
    pub fn new(spec: HostSpec, application: Application, seed: u64) -> Self {
        Self::with_several(spec, vec![application], seed)
    }

    /// A host with a connection for each process.
    pub fn with_several(spec: HostSpec, applications: Vec<Application>, seed: u64) -> Self {
        let connections = (0..).zip(applications).map(|(number, application)| Connection::new(&spec, number, application));
        let connections: Vec<_> = connections.collect();
        Self { shared: Shared::new(&spec, seed), next_at: vec![NEVER; connections.len()], connections }
    }

    /// Does something for a connection at `now`.
    fn act(&mut self, now: Ps, connection: u16, act: impl FnOnce(&mut Acting<'_>)) {
        self.shared.now = now;
        let position = usize::from(connection);
        act(&mut Acting { own: &mut self.connections[position], shared: &mut self.shared });
        self.next_at[position] = self.connections[position].next_at().unwrap_or(NEVER);
    }

    fn dispatch(&mut self, now: Ps) {
        self.shared.cpus.iter_mut().for_each(|cpu| cpu.dispatch(now));
    }
}

impl EndSystem for Host {
    fn hello(&self) -> Hello {
        let window_bytes = self.connections.first().map_or(0, |first| first.receiver.initial_window());
        let window_bytes = u32::try_from(window_bytes).unwrap_or(u32::MAX);
        Hello { mss: self.shared.spec.mss, window_bytes, has_sack: true, has_ecn: self.shared.spec.socket.has_ecn }
    }

    fn open(&mut self, peer: &Hello) {
        let spec = self.shared.spec;
        // What goes on stands before what waits, so the first comes last.
        for connection in (0..self.connections_count()).rev() {
            self.act(0, connection, |acting| {
                acting.own.open(&spec, peer);
                acting.call(0);
            });
        }
        self.dispatch(0);
    }

    fn connections_count(&self) -> u16 {
        u16::try_from(self.connections.len()).unwrap_or(u16::MAX)
    }

    fn next_at(&self) -> Option<Ps> {
        let timers = self.next_at.iter().copied().min().filter(|&at| at != NEVER);
        [self.shared.next_at(), timers].into_iter().flatten().min()
    }

    fn advance(&mut self, now: Ps, out: &mut Outbox) {
        self.shared.now = now;
        for cpu in 0..self.shared.cpus.len() {
            if self.shared.cpus[cpu].done_at().is_some_and(|done| done <= now) {
                if let Some((connection, task)) = self.shared.cpus[cpu].finish(now) {
                    self.act(now, connection, |acting| acting.on_done(now, task, out));
                }
                return self.dispatch(now);
            }
        }
        if !self.shared.take_interrupt()
            && let Some(due) = (0..).zip(&self.next_at).find_map(|(number, &at)| (at <= now).then_some(number))
        {
            self.act(now, due, |acting| acting.on_instant(now));
        }
    }

    fn on_accepted(&mut self, departure: &Departure, left: Ps) {
        if departure.segment.bytes > 0
            && let Completion::After(time) = self.shared.spec.adapter.completion
        {
            self.act(self.shared.now, departure.segment.connection, |acting| {
                if let Some(memory) = acting.own.handed_over.pop_front() {
                    acting.own.completions.push_back((left + time, memory));
                }
            });
        }
    }

    fn taken_frames(&self) -> (u64, u16) {
        self.shared.taken_frames
    }

    fn on_peer_took(&mut self, now: Ps, connection: u16, frames: u64) {
        if self.shared.spec.adapter.completion == Completion::WhenTaken {
            self.act(now, connection, |acting| {
                for _ in 0..frames {
                    let memory = acting.own.handed_over.pop_front().unwrap_or(0);
                    acting.own.completions.push_back((now, memory));
                }
            });
        }
    }

    fn is_taking(&self, connection: u16) -> bool {
        let queue = &self.shared.queues[self.shared.queue_of(connection)];
        queue.is_polling || queue.raised_at.is_some()
    }

    fn on_interrupting(&mut self, now: Ps, connection: u16) {
        let cost = self.shared.spec.costs.handover;
        if cost > 0 {
            self.shared.now = now;
            let cpu = self.shared.softirq_cpu(connection);
            self.shared.submit(cpu, Level::Protocol, cost, (connection, Task::HandedOver));
        }
    }

    fn arrive(&mut self, now: Ps, arrival: &Arrival) {
        self.shared.now = now;
        self.shared.put_in_adapter(arrival);
    }

    fn delivered_bytes(&self) -> u64 {
        self.shared.delivered_bytes
    }

    fn is_complete(&self) -> bool {
        self.connections.iter().all(|connection| connection.application.is_complete())
    }

    fn at_call(&self, connection: u16) -> AtCall {
        let own = &self.connections[usize::from(connection)];
        let cpu = &self.shared.cpus[self.shared.process_cpu(connection)];
        let processor = match cpu.running() {
            None => Processor::Idle,
            Some(work) if own.is_of_process(work) => Processor::Own,
            // What runs in between displaces the process that it interrupted; others wait for their turn as well.
            Some((_, task)) if task.processor() == Processor::Own => Processor::Others,
            Some(_) if self.connections.len() > 1 && cpu.next_of(Level::Process).is_some_and(|work| !own.is_of_process(work)) => {
                Processor::Others
            }
            Some(_) => Processor::Displaced,
        };
        own.process.at_call(processor, &own.counted)
    }

    fn processors(&self) -> Vec<[Ps; LEVELS]> {
        let busy = |cpu: &Cpu<_>| [Level::Process, Level::Protocol, Level::Interrupt].map(|level| cpu.busy(level));
        self.shared.cpus.iter().map(busy).collect()
    }

    fn connection_state(&self, _now: Ps, connection: u16) -> EndState {
        self.connections[usize::from(connection)].state()
    }

    fn executed(&self) -> Vec<Executed> {
        self.connections.iter().flat_map(|connection| connection.application.executed()).copied().collect()
    }

    fn waits_for(&self, connection: u16) -> String {
        self.connections[usize::from(connection)].waits_for()
    }
}
