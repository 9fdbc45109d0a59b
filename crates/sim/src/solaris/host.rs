//! An end system with Solaris 8: processors, one connection, the process that writes or reads, an adapter with DMA.
//!
//! A process runs on one processor, interrupts on another if there are several; TCP's perimeter lets one of them into
//! the output of a connection at a time, and what the other wants is done by the one inside when it leaves.
//! Not modeled: the time that waiting for the perimeter takes, which would show as system time without throughput.

use super::deferred::Deferred;
use super::messages::Unsent;
use super::receiver::Receiver;
use super::sender::Sender;
use super::spec::HostSpec;
use crate::application::{Application, Executed};
use crate::calls::{AtCall, Processor};
use crate::coalescing::Moderator;
use crate::cpu::{Cpu, Level};
use crate::end_system::{Arrival, Cause, EndState, EndSystem, Hello, LEVELS, Outbox};
pub(super) use crate::process::Process;
use crate::rng::Rng;
use crate::segment::Segment;
use crate::time::Ps;
use std::collections::VecDeque;

/// Who runs TCP's output, and goes on behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Caller {
    /// The process, in a write call.
    Writer,
    /// The process, at the end of a read call.
    Reader,
    /// The interrupt that took a segment in.
    Input,
    /// A timer.
    Timer,
}

/// Work of a processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Task {
    /// The process enters a write call of so many bytes.
    WriteCall(u32),
    /// A message of a write is handed to TCP.
    CopiedIn(u32),
    /// A segment with payload has left.
    Sent,
    /// One without has.
    AckSent(Caller, Cause),
    /// The adapter interrupts.
    Interrupt,
    /// A segment has gone up to TCP.
    Received,
    /// The process enters a read call with room for so many bytes.
    ReadCall(u32),
    /// Bytes lie with the user.
    CopiedOut(u32),
    /// The process runs again.
    Awake,
    /// The timer of deferred acknowledgments.
    DeferredTimer,
    /// The retransmission timer.
    RetransmissionTimer,
    /// The persist timer.
    PersistTimer,
}

/// A run of TCP's output under way.
#[derive(Debug, Clone, Copy)]
pub(super) struct Run {
    pub caller: Caller,
    pub cause: Cause,
    /// Bytes that it may still send.
    pub left: u64,
    /// The segment that is being made.
    pub segment: Segment,
}

/// The processor of processes.
pub(super) const PROCESS: usize = 0;

/// One host as it stands.
#[derive(Debug, Clone)]
pub struct Host {
    pub(super) spec: HostSpec,
    pub(super) cpus: [Cpu<Task>; 2],
    /// Which of them takes interrupts.
    pub(super) interrupts: usize,
    pub(super) sender: Sender,
    pub(super) receiver: Receiver,
    pub(super) application: Application,
    pub(super) process: Process,
    pub(super) rng: Rng,
    pub(super) run: Option<Run>,
    /// Somebody wanted output while another was at it.
    pub(super) is_wanted_again: bool,
    pub(super) ack_due: Option<Cause>,
    pub(super) deferred_at: Option<Ps>,
    pub(super) persist_at: Option<Ps>,
    pub(super) moderator: Moderator,
    /// Segments in memory, and since when.
    pub(super) ring: VecDeque<(Ps, Segment)>,
    pub(super) counted: EndState,
}

impl Host {
    /// A host whose process has not begun.
    pub fn new(spec: HostSpec, application: Application, seed: u64) -> Self {
        Self {
            cpus: [Cpu::default(), Cpu::default()],
            interrupts: usize::from(spec.has_interrupt_processor),
            sender: sender(&spec, spec.mss, 0),
            receiver: receiver(&spec, spec.mss),
            application,
            process: Process::Over,
            rng: Rng::new(seed, spec.jitter_per_mille),
            run: None,
            is_wanted_again: false,
            ack_due: None,
            deferred_at: None,
            persist_at: None,
            moderator: Moderator::new(spec.coalescing),
            ring: VecDeque::with_capacity(64),
            counted: EndState::default(),
            spec,
        }
    }

    pub(super) fn submit(&mut self, now: Ps, cpu: usize, level: Level, cost: Ps, task: Task) {
        let cost = self.rng.around(cost);
        self.cpus[cpu].submit(now, level, cost, task);
        self.cpus[cpu].dispatch(now);
    }

    /// Goes on at once on the processor of `caller`.
    pub(super) fn go_on(&mut self, caller: Caller, cost: Ps, task: Task) {
        let cost = self.rng.around(cost);
        let (cpu, level) = match caller {
            Caller::Input => (self.interrupts, Level::Interrupt),
            Caller::Timer | Caller::Writer | Caller::Reader => (PROCESS, Level::Protocol),
        };
        self.cpus[cpu].go_on(level, cost, task);
    }

    fn on_done(&mut self, now: Ps, task: Task, out: &mut Outbox) {
        match task {
            Task::WriteCall(remaining) => {
                self.process = Process::Writing { remaining, is_asleep: false };
                self.write_on(now);
            }
            Task::CopiedIn(bytes) => self.copied_in(now, bytes),
            Task::Sent => self.sent(now, out),
            Task::AckSent(caller, cause) => self.ack_sent(now, caller, cause, out),
            Task::Interrupt => self.next_frame(now),
            Task::Received => self.received(now),
            Task::ReadCall(room) => {
                self.process = Process::Reading { room, is_asleep: false };
                self.read();
            }
            Task::CopiedOut(bytes) => self.copied_out(now, bytes),
            Task::Awake => self.awake(now),
            Task::DeferredTimer => {
                if self.receiver.is_deferring {
                    self.begin_ack(Caller::Timer, Cause::DelayedAck);
                }
            }
            Task::RetransmissionTimer => self.on_retransmission_timer(now),
            Task::PersistTimer => self.probe(now),
        }
    }

    /// What the processor of the process does.
    fn processor(&self) -> Processor {
        let is_own = |caller| matches!(caller, Caller::Writer | Caller::Reader);
        match self.cpus[PROCESS].running() {
            None => Processor::Idle,
            Some(Task::WriteCall(_) | Task::CopiedIn(_) | Task::ReadCall(_) | Task::CopiedOut(_) | Task::Awake) => Processor::Own,
            Some(Task::Sent) if self.run.is_some_and(|run| is_own(run.caller)) => Processor::Own,
            Some(Task::AckSent(caller, _)) if is_own(*caller) => Processor::Own,
            Some(_) => Processor::Displaced,
        }
    }

    fn next(&self) -> [Option<Ps>; 7] {
        let waits = if let Process::Waiting(until) = self.process { Some(until) } else { None };
        [
            self.cpus[0].done_at(),
            self.cpus[1].done_at(),
            self.moderator.interrupts_at(),
            self.deferred_at,
            self.sender.rto_at,
            self.persist_at,
            waits,
        ]
    }
}

fn sender(spec: &HostSpec, mss: u32, window: u32) -> Sender {
    let limit = if spec.no_delay { 1 } else { spec.rules.nagle_limit_bytes.min(mss) };
    Sender::new(mss, limit, window, Unsent::new(spec.rules.keeps_boundaries))
}

fn receiver(spec: &HostSpec, mss: u32) -> Receiver {
    let deferred = Deferred::new(spec.rules.deferred_acks_max, spec.rules.answers_small_segments);
    Receiver::new(mss, spec.window_bytes, deferred)
}

impl EndSystem for Host {
    fn hello(&self) -> Hello {
        Hello { mss: self.spec.mss, window_bytes: self.spec.window_bytes, has_sack: false, has_ecn: false }
    }

    fn open(&mut self, peer: &Hello) {
        let mss = self.spec.mss.min(peer.mss);
        self.sender = sender(&self.spec, mss, peer.window_bytes);
        self.receiver = receiver(&self.spec, mss);
        self.call(0);
        self.cpus[PROCESS].dispatch(0);
    }

    fn next_at(&self) -> Option<Ps> {
        self.next().into_iter().flatten().min()
    }

    fn advance(&mut self, now: Ps, out: &mut Outbox) {
        for cpu in 0..self.cpus.len() {
            if self.cpus[cpu].done_at().is_some_and(|done| done <= now) {
                if let Some(task) = self.cpus[cpu].finish(now) {
                    self.on_done(now, task, out);
                }
                self.cpus.iter_mut().for_each(|cpu| cpu.dispatch(now));
                return;
            }
        }
        let timer = self.spec.costs.timer;
        if self.moderator.interrupts_at().is_some_and(|at| at <= now) {
            self.moderator.on_interrupt();
            self.submit(now, self.interrupts, Level::Interrupt, self.spec.costs.interrupt, Task::Interrupt);
        } else if self.deferred_at.take_if(|at| *at <= now).is_some() {
            self.submit(now, PROCESS, Level::Protocol, timer, Task::DeferredTimer);
        } else if self.sender.rto_at.take_if(|at| *at <= now).is_some() {
            self.submit(now, PROCESS, Level::Protocol, timer, Task::RetransmissionTimer);
        } else if self.persist_at.take_if(|at| *at <= now).is_some() {
            self.submit(now, PROCESS, Level::Protocol, timer, Task::PersistTimer);
        } else {
            self.call(now);
            self.cpus[PROCESS].dispatch(now);
        }
    }

    fn arrive(&mut self, _now: Ps, arrival: &Arrival) {
        self.take_from_line(arrival);
    }

    fn delivered_bytes(&self) -> u64 {
        self.counted.read_bytes
    }

    fn is_complete(&self) -> bool {
        self.application.is_complete()
    }

    fn at_call(&self, _connection: u16) -> AtCall {
        self.process.at_call(self.processor(), &self.counted)
    }

    fn processors(&self) -> Vec<[Ps; LEVELS]> {
        let busy = |cpu: &Cpu<_>| [Level::Process, Level::Protocol, Level::Interrupt].map(|level| cpu.busy(level));
        self.cpus.iter().map(busy).collect()
    }

    fn connection_state(&self, _now: Ps, _connection: u16) -> EndState {
        EndState {
            queued_bytes: self.sender.unsent.bytes + self.sender.highest - self.sender.una,
            unread_bytes: self.receiver.unread,
            outstanding_bytes: self.sender.outstanding(),
            send_window_bytes: self.sender.window,
            cwnd_bytes: self.sender.cwnd,
            ssthresh_bytes: self.sender.ssthresh,
            srtt: self.sender.srtt,
            rto: self.sender.rto,
            timeouts: self.sender.timeouts,
            ..self.counted
        }
    }

    fn executed(&self) -> Vec<Executed> {
        self.application.executed().to_vec()
    }

    fn waits_for(&self, _connection: u16) -> String {
        format!(
            "{}, {} bytes are unsent and {} unacknowledged, the other host's window is {} bytes, {} bytes are unread",
            self.process,
            self.sender.unsent.bytes,
            self.sender.outstanding(),
            self.sender.window,
            self.receiver.unread
        )
    }
}
