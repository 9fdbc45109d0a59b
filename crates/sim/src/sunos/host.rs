//! An end system with `SunOS` 4.1: a processor, a socket's buffers, TCP, and the process that writes or reads.

use crate::application::{Application, Executed};
use crate::calls::{AtCall, Processor};
use crate::cpu::{Cpu, Level};
use crate::end_system::{Arrival, Cause, Departure, EndState, EndSystem, Hello, LEVELS, Outbox};
pub(super) use crate::process::Process;
use crate::rng::Rng;
use crate::segment::Segment;
use crate::stages::Staged;
use crate::sunos::recovery::Due;
use crate::sunos::socket::Received;
use crate::sunos::spec::HostSpec;
use crate::sunos::tcp::{Buffers, Tcp};
use crate::time::Ps;
use std::collections::VecDeque;

/// Who runs TCP's output, and goes on behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Caller {
    /// The process, in a write call.
    Writer,
    /// The process, at the end of a read call.
    Reader,
    /// The software interrupt that took a segment in.
    Input,
    /// A timer.
    Timer,
}

/// Work of the processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Task {
    /// The process enters a write call of so many bytes.
    WriteCall(u32),
    /// A piece of a write lies in the send buffer.
    CopiedIn(u32),
    /// TCP and IP have made the segment that is in `Host::made`; the driver is next.
    Made(Output),
    /// The driver has sent it.
    Sent(Output),
    /// The driver has taken the first segment of `Host::taking` from the adapter.
    Taken,
    /// The driver has read the cells that are left of a segment that did not fit into the adapter.
    Lost,
    /// TCP and IP have taken in the first segment of `Host::incoming`.
    Input,
    /// The adapter's interrupt about a segment that has left.
    SentInterrupt,
    /// The process enters a read call with room for so many bytes.
    ReadCall(u32),
    /// A piece of the receive buffer lies with the user.
    CopiedOut(u32),
    /// The process runs again.
    Awake,
    /// TCP's fast timer.
    FastTimer,
    /// The retransmission timer.
    RetransmissionTimer,
    /// The timer that asks for a window.
    PersistTimer,
}

impl Task {
    /// Whose it is.
    fn processor(self) -> Processor {
        match self {
            Self::WriteCall(_) | Self::CopiedIn(_) | Self::ReadCall(_) | Self::CopiedOut(_) | Self::Awake => Processor::Own,
            Self::Made(output) | Self::Sent(output) if matches!(output.caller, Caller::Writer | Caller::Reader) => Processor::Own,
            _ => Processor::Displaced,
        }
    }
}

/// A run of TCP's output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Output {
    /// Who asked for it.
    pub caller: Caller,
    /// For the log: why.
    pub cause: Cause,
    /// True if everything was acknowledged when it began.
    pub was_idle: bool,
    /// True if there may be another segment.
    pub is_more: bool,
}

/// One host as it stands.
#[derive(Debug, Clone)]
pub struct Host {
    pub(super) spec: HostSpec,
    pub(super) cpu: Cpu<Task>,
    pub(super) tcp: Tcp,
    /// Bytes in the send buffer.
    pub(super) queued: u64,
    pub(super) received: Received,
    pub(super) application: Application,
    pub(super) process: Process,
    pub(super) rng: Rng,
    /// The segment that output and driver handle: there is one at a time.
    pub(super) made: Segment,
    /// Segments that the driver takes from the adapter, in order.
    pub(super) taking: VecDeque<Segment>,
    /// Segments before TCP's input, in order.
    pub(super) incoming: VecDeque<Segment>,
    /// Arrivals that the driver is to take from the adapter, and when it can begin.
    pub(super) inbox: VecDeque<(Ps, Arrival)>,
    /// When the adapter reports segments that have left.
    pub(super) sent_at: VecDeque<Ps>,
    /// When the adapter's own processor is free: for segments out, and for those in.
    pub(super) board_free_at: [Ps; 2],
    /// Time for which it worked, in the same order.
    pub(super) board_busy: [Ps; 2],
    fast_timer_at: Ps,
    slow_timer_at: Ps,
    pub(super) counted: EndState,
    /// Where they are asked for.
    pub(super) stages: Option<Vec<Staged>>,
    /// When the ACK that the driver has was begun, and what making it cost.
    pub(super) ack_made: Option<(Ps, Ps)>,
}

impl Host {
    /// A host whose process has not begun.
    pub fn new(spec: HostSpec, application: Application, seed: u64) -> Self {
        let mut rng = Rng::new(seed, spec.jitter_per_mille);
        let phase = rng.below(spec.rules.slow_timer);
        Self {
            spec,
            cpu: Cpu::default(),
            tcp: Tcp::new(spec.rules.tcp, spec.mss, 0, u64::from(spec.window_bytes)),
            queued: 0,
            received: Received::default(),
            application,
            process: Process::Over,
            rng,
            made: Segment::data(0, 0),
            taking: VecDeque::new(),
            incoming: VecDeque::new(),
            inbox: VecDeque::new(),
            sent_at: VecDeque::new(),
            board_free_at: [0; 2],
            board_busy: [0; 2],
            fast_timer_at: phase % spec.rules.fast_timer,
            slow_timer_at: phase,
            counted: EndState::default(),
            stages: None,
            ack_made: None,
        }
    }

    /// The buffers as TCP sees them.
    pub(super) fn buffers(&self) -> Buffers {
        Buffers { send_bytes: self.queued, receive_bytes: self.received.bytes, receive_limit: u64::from(self.spec.window_bytes) }
    }

    pub(super) fn submit(&mut self, now: Ps, level: Level, cost: Ps, task: Task) {
        let cost = self.rng.around(cost);
        self.cpu.submit(now, level, cost, task);
        self.cpu.dispatch(now);
    }

    pub(super) fn go_on(&mut self, level: Level, cost: Ps, task: Task) {
        let cost = self.rng.around(cost);
        self.cpu.go_on(level, cost, task);
    }

    fn on_done(&mut self, now: Ps, task: Task, out: &mut Outbox) {
        self.note_stage(now, task);
        match task {
            Task::WriteCall(bytes) => self.write(bytes),
            Task::CopiedIn(bytes) => self.copied_in(now, bytes),
            Task::Made(output) => self.drive(now, output, out),
            Task::Sent(output) if output.is_more => self.output(now, output),
            Task::Sent(output) => self.returned(now, output.caller),
            Task::Taken => self.taken(now),
            Task::Input => self.input(now),
            Task::Lost | Task::SentInterrupt => {}
            Task::ReadCall(room) => {
                self.process = Process::Reading { room, is_asleep: false };
                self.read();
            }
            Task::CopiedOut(bytes) => self.copied_out(now, bytes),
            Task::Awake => self.awake(now),
            Task::FastTimer => {
                if self.tcp.on_fast_timer() {
                    self.begin_output(now, Caller::Timer, Cause::DelayedAck);
                }
            }
            Task::RetransmissionTimer => {
                self.counted.timeouts += 1;
                self.tcp.on_retransmission_timer();
                self.begin_output(now, Caller::Timer, Cause::Retransmission);
            }
            Task::PersistTimer => self.probe(now),
        }
    }

    fn on_slow_timer(&mut self, now: Ps) {
        let task = match self.tcp.recovery.on_slow_timer() {
            Due::Retransmission => Task::RetransmissionTimer,
            Due::Probe => Task::PersistTimer,
            Due::Nothing => return,
        };
        self.submit(now, Level::Protocol, self.spec.costs.timer, task);
    }
}

impl EndSystem for Host {
    fn hello(&self) -> Hello {
        Hello { mss: self.spec.mss, window_bytes: self.spec.window_bytes, has_sack: false, has_ecn: false }
    }

    fn open(&mut self, peer: &Hello) {
        self.tcp = Tcp::new(self.spec.rules.tcp, self.spec.mss.min(peer.mss), peer.window_bytes, u64::from(self.spec.window_bytes));
        self.call(0);
        self.cpu.dispatch(0);
    }

    fn next_at(&self) -> Option<Ps> {
        let mut next = self.fast_timer_at.min(self.slow_timer_at);
        if let Some(done) = self.cpu.done_at() {
            next = next.min(done);
        }
        if let Some(&(at, _)) = self.inbox.front() {
            next = next.min(at);
        }
        if let Some(&at) = self.sent_at.front() {
            next = next.min(at);
        }
        if let Process::Waiting(until) = self.process {
            next = next.min(until);
        }
        Some(next)
    }

    fn advance(&mut self, now: Ps, out: &mut Outbox) {
        if self.cpu.done_at().is_some_and(|done| done <= now) {
            if let Some(task) = self.cpu.finish(now) {
                self.on_done(now, task, out);
            }
            self.cpu.dispatch(now);
        } else if self.inbox.front().is_some_and(|&(at, _)| at <= now) {
            if let Some((_, arrival)) = self.inbox.pop_front() {
                self.begin_to_take(now, &arrival);
            }
        } else if self.sent_at.front().is_some_and(|&at| at <= now) {
            self.sent_at.pop_front();
            self.interrupt_of_sent(now);
        } else if self.fast_timer_at <= now {
            self.fast_timer_at += self.spec.rules.fast_timer;
            self.submit(now, Level::Protocol, self.spec.costs.timer, Task::FastTimer);
        } else if self.slow_timer_at <= now {
            self.slow_timer_at += self.spec.rules.slow_timer;
            self.on_slow_timer(now);
        } else {
            self.call(now);
            self.cpu.dispatch(now);
        }
    }

    fn on_accepted(&mut self, _departure: &Departure, left: Ps) {
        self.plan_interrupt_of_sent(left);
    }

    fn arrive(&mut self, now: Ps, arrival: &Arrival) {
        self.put_in_adapter(now, arrival);
    }

    fn delivered_bytes(&self) -> u64 {
        self.counted.read_bytes
    }

    fn is_complete(&self) -> bool {
        self.application.is_complete()
    }

    fn keep_stages(&mut self) {
        self.stages = Some(Vec::new());
    }

    fn stages(&mut self) -> Vec<Staged> {
        self.stages.take().unwrap_or_default()
    }

    fn at_call(&self, _connection: u16) -> AtCall {
        self.process.at_call(self.cpu.running().map_or(Processor::Idle, |task| task.processor()), &self.counted)
    }

    fn processors(&self) -> Vec<[Ps; LEVELS]> {
        vec![[Level::Process, Level::Protocol, Level::Interrupt].map(|level| self.cpu.busy(level))]
    }

    fn adapter_busy(&self) -> [Ps; 2] {
        self.board_busy
    }

    fn connection_state(&self, _now: Ps, _connection: u16) -> EndState {
        EndState {
            queued_bytes: self.queued,
            unread_bytes: self.received.bytes,
            outstanding_bytes: self.tcp.next - self.tcp.una,
            acked_bytes: self.tcp.una,
            send_window_bytes: u64::from(self.tcp.send_window),
            cwnd_bytes: self.tcp.recovery.cwnd,
            ssthresh_bytes: self.tcp.recovery.ssthresh,
            rto: Ps::from(self.tcp.recovery.rto_ticks(&self.spec.rules.tcp)) * self.spec.rules.slow_timer,
            ..self.counted
        }
    }

    fn executed(&self) -> Vec<Executed> {
        self.application.executed().to_vec()
    }

    fn waits_for(&self, _connection: u16) -> String {
        format!(
            "{}, {} bytes are queued, {} of them sent, the other host's window is {} bytes, {} bytes are unread",
            self.process,
            self.queued,
            self.tcp.next - self.tcp.una,
            self.tcp.send_window,
            self.received.bytes
        )
    }
}
