//! An end system with Solaris 8: processors, an adapter with DMA, and connections, each with a process.
//!
//! Processes run on their processors, interrupts on one of them or on their own. A connection's perimeter lets one of
//! them into its TCP at a time; what the other wants is done by the one inside when it leaves, and messages of the writer
//! are handed over to it one by one.
//! Not modeled: the time that waiting for the perimeter takes, which would show as system time without throughput.

use super::connection::HostConnection;
use super::shared::HostResources;
use super::spec::HostSpec;
use super::tasks::{Caller, Process, Task};
use crate::application::{Application, Executed};
use crate::calls::{AtCall, Processor};
use crate::cpu::{Cpu, Level};
use crate::end_system::{Arrival, Cause, EndState, EndSystem, Hello, LEVELS, Outbox};
use crate::time::Ps;

/// One host as it stands.
#[derive(Debug, Clone)]
pub struct Host {
    shared: HostResources,
    connections: Vec<HostConnection>,
    /// When each connection next has something to do; [`NEVER`] where it waits for others.
    next_at: Vec<Ps>,
}

/// An instant that never comes.
const NEVER: Ps = Ps::MAX;

/// A connection of a host, with what it shares with others.
pub(super) struct Acting<'host> {
    pub own: &'host mut HostConnection,
    pub shared: &'host mut HostResources,
}

impl Host {
    /// A host with one connection whose process has not begun.
    pub fn new(spec: HostSpec, application: Application, seed: u64) -> Self {
        Self::with_several(spec, vec![application], seed)
    }

    /// A host with a connection for each process.
    pub fn with_several(spec: HostSpec, applications: Vec<Application>, seed: u64) -> Self {
        let connections = (0..).zip(applications).map(|(number, application)| HostConnection::new(&spec, number, application));
        let connections: Vec<_> = connections.collect();
        Self { shared: HostResources::new(&spec, seed), next_at: vec![NEVER; connections.len()], connections }
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

impl Acting<'_> {
    fn on_done(&mut self, now: Ps, task: Task, out: &mut Outbox) {
        match task {
            Task::WriteCall(remaining) => {
                self.own.process = Process::Writing { remaining, is_asleep: false };
                self.write_on(now);
            }
            Task::CopiedIn(bytes) => self.copied_in(now, bytes),
            Task::HandedOver(caller, bytes) => self.handed_over(now, caller, bytes),
            Task::Sent(_) => self.sent(now, out),
            Task::AckSent(caller, cause) => self.ack_sent(now, caller, cause, out),
            Task::Interrupt => self.shared.next_frame(),
            Task::Received => self.received(now),
            Task::ReadCall(room) => {
                self.own.process = Process::Reading { room, is_asleep: false };
                self.read();
            }
            Task::CopiedOut(bytes) => self.copied_out(now, bytes),
            Task::Awake => self.awake(now),
            Task::DeferredTimer => {
                if self.own.receiver.is_deferring {
                    self.begin_ack(Caller::Timer, Cause::DelayedAck);
                }
            }
            Task::RetransmissionTimer => self.on_retransmission_timer(now),
            Task::PersistTimer => self.probe(now),
        }
    }

    /// The first of what is due at `now`.
    fn on_instant(&mut self, now: Ps) {
        let is_due = |at: &mut Ps| *at <= now;
        let task = if self.own.deferred_at.take_if(is_due).is_some() {
            Task::DeferredTimer
        } else if self.own.sender.rto_at.take_if(is_due).is_some() {
            Task::RetransmissionTimer
        } else if self.own.persist_at.take_if(is_due).is_some() {
            Task::PersistTimer
        } else {
            // The end of a wait: the process stands behind those that wait for its processor.
            return self.call(now, true);
        };
        self.shared.submit_to_process(Level::Protocol, self.shared.spec.costs.timer, (self.own.number, task));
    }
}

impl EndSystem for Host {
    fn hello(&self) -> Hello {
        let spec = &self.shared.spec;
        Hello { mss: spec.mss, window_bytes: spec.window_bytes, has_sack: false, has_ecn: false }
    }

    fn open(&mut self, peer: &Hello) {
        let spec = self.shared.spec;
        let mss = spec.mss.min(peer.mss);
        // What goes on stands before what waits, so the first comes last.
        for connection in (0..self.connections_count()).rev() {
            self.act(0, connection, |acting| {
                acting.own.open(&spec, mss, peer.window_bytes);
                acting.call(0, false);
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

    fn arrive(&mut self, now: Ps, arrival: &Arrival) {
        self.shared.now = now;
        self.shared.take_from_line(arrival);
    }

    fn delivered_bytes(&self) -> u64 {
        self.shared.delivered_bytes
    }

    fn is_complete(&self) -> bool {
        self.connections.iter().all(|connection| connection.application.is_complete())
    }

    fn at_call(&self, connection: u16) -> AtCall {
        let own = &self.connections[usize::from(connection)];
        let processor = match self.shared.cpus[self.shared.process_cpu(connection)].running() {
            None => Processor::Idle,
            Some((number, task)) if *number != connection && task.processor() == Processor::Own => Processor::Others,
            Some((_, task)) => task.processor(),
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
