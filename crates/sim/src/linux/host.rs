//! An end system with Linux: processors, a connection, the process that writes or reads, and the adapter.

use crate::application::{Application, Executed};
use crate::calls::{AtCall, Kind, Processor};
use crate::chance::Chance;
use crate::cpu::{Cpu, Level};
use crate::end_system::{Arrival, Cause, Departure, EndState, EndSystem, Hello, Outbox};
use crate::linux::buffer::SendBuffer;
use crate::linux::receiver::Receiver;
use crate::linux::sender::{Push, Sender};
use crate::linux::spec::{Completion, HostSpec, Steering};
use crate::linux::write_queue::Buffer;
use crate::segment::Segment;
use crate::time::Ps;
use std::collections::VecDeque;

/// Who runs TCP's output, and goes on behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Caller {
    /// The process, within a write call.
    Write,
    /// The process, at the end of a write call.
    WriteEnd,
    /// The process, before it waits for memory.
    WriteSleep,
    /// The process, at the end of a read call.
    Read,
    /// The process, with what came while it owned the socket.
    Backlog,
    /// The process, before it lets go of the socket.
    Release,
    /// The softirq that took a segment in.
    Softirq,
    /// A timer, or a completion of the device.
    Timer(Cause),
}

impl Caller {
    fn is_process(self) -> bool {
        !matches!(self, Self::Softirq | Self::Timer(_))
    }

    /// What is told in the log of data that leaves.
    pub(super) fn cause(self) -> Cause {
        match self {
            Self::Write | Self::WriteEnd | Self::WriteSleep => Cause::WriteCall,
            Self::Read => Cause::ReadCall,
            Self::Backlog | Self::Softirq => Cause::Arrival,
            Self::Release => Cause::Deferred,
            Self::Timer(cause) => cause,
        }
    }
}

/// Work of a processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Task {
    /// The process has entered a write call of so many bytes.
    WriteCall(u32),
    /// A piece of a write lies in the send queue, in a buffer of its own or not.
    CopiedIn(u32, bool),
    /// A buffer has gone through TCP, IP and the driver.
    Sent(Caller, Push, Buffer),
    /// An acknowledgment has.
    Acknowledged(Caller, Cause),
    /// The process has asked whether there is something to read.
    Polled(u32),
    /// The process has entered a read call with so much room.
    ReadCall(u32),
    /// A piece of the receive queue lies with the user.
    CopiedOut(u32),
    /// The process runs again.
    Awake,
    /// The processor has taken the adapter's interrupt.
    Interrupted,
    /// Driver and IP have taken a segment.
    Taken(Segment),
    /// TCP has.
    Input(Caller, Segment),
    /// It lies before the socket's owner.
    Backlogged,
    /// The sender's timer.
    SenderTimer,
    /// The timer of delayed acknowledgments.
    AckTimer,
    /// The device is done with something, and sending goes on.
    DeviceDone,
    /// The timer of pacing.
    Paced,
}

impl Task {
    /// Whose it is, on the processor of the process.
    fn processor(&self) -> Processor {
        match self {
            Self::WriteCall(_) | Self::CopiedIn(..) | Self::Polled(_) | Self::ReadCall(_) | Self::CopiedOut(_) | Self::Awake => {
                Processor::Own
            }
            Self::Sent(caller, ..) | Self::Acknowledged(caller, _) | Self::Input(caller, _) if caller.is_process() => Processor::Own,
            _ => Processor::Displaced,
        }
    }
}

/// What the process is at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Process {
    /// In a write call with so many bytes left.
    Writing { remaining: u32, is_asleep: bool },
    /// In a read call, or waiting for one.
    Reading { room: u32, has_copied: bool, is_asleep: bool, is_polling: bool },
    /// In none, until then.
    Waiting(Ps),
    /// Done.
    Over,
}

impl Process {
    /// What the log of calls is told. One that polls for data is before its read call, not in it.
    fn at_call(&self, processor: Processor, counted: &EndState) -> AtCall {
        match *self {
            Self::Writing { is_asleep, .. } => AtCall::inside(Kind::Write, is_asleep, processor, counted),
            Self::Reading { is_asleep, is_polling: true, .. } => AtCall::before(is_asleep, processor, counted),
            Self::Reading { is_asleep, .. } => AtCall::inside(Kind::Read, is_asleep, processor, counted),
            Self::Waiting(_) | Self::Over => AtCall::outside(counted),
        }
    }
}

/// What the process does once it has let go of the socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Then {
    /// Leaves the call.
    Return,
    /// Waits for memory or data.
    Wait,
    /// Locks the socket again and goes on.
    GoOn,
}

/// What was put off because the process owned the socket.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Deferred {
    pub output: bool,
    pub ack: Option<Cause>,
    pub sender_timer: bool,
    pub ack_timer: bool,
}

/// One host as it stands.
#[derive(Debug, Clone)]
pub struct Host {
    pub(super) spec: HostSpec,
    /// That of the process, and the other one.
    pub(super) cpus: [Cpu<Task>; 2],
    pub(super) sender: Sender,
    pub(super) receiver: Receiver,
    pub(super) send_buffer: SendBuffer,
    pub(super) application: Application,
    pub(super) process: Process,
    pub(super) then: Then,
    /// The process owns the socket.
    pub(super) is_owned: bool,
    pub(super) backlog: VecDeque<Segment>,
    pub(super) deferred: Deferred,
    /// An acknowledgment leaves behind what is being sent, unless that carries it.
    pub(super) ack_due: Option<Cause>,
    /// New buffers since the backlog was looked at.
    pub(super) new_buffers: u32,
    /// What came in and was not taken, and when each was all there.
    pub(super) adapter: VecDeque<(Ps, Segment)>,
    pub(super) is_polling: bool,
    /// When the adapter interrupts, and when the processor takes that.
    pub(super) raised_at: Option<Ps>,
    pub(super) interrupt_at: Option<Ps>,
    pub(super) wake_at: Option<Ps>,
    /// Memory of frames that the line has not yet accepted, and when the device is done with those it has.
    pub(super) handed_over: VecDeque<u64>,
    pub(super) completions: VecDeque<(Ps, u64)>,
    /// Frames with payload that were taken from the adapter, and that the other end took.
    pub(super) taken_frames: u64,
    peer_took: u64,
    /// Time that belongs to what was just done, added to what comes next.
    pub(super) debt: Ps,
    pub(super) has_sent: bool,
    pub(super) chance: Chance,
    pub(super) counted: EndState,
}

impl Host {
    /// A host whose process has not begun.
    pub fn new(spec: HostSpec, application: Application, seed: u64) -> Self {
        let HostSpec { kernel, socket, mss, .. } = spec;
        let limit = socket.send_buffer_bytes.map_or(kernel.send_memory[1], |bytes| 2 * u64::from(bytes));
        let is_locked = socket.send_buffer_bytes.is_some();
        let mut send_buffer = SendBuffer { limit, is_locked, most: kernel.send_memory[2] };
        send_buffer.expand(mss, 0);
        Self {
            spec,
            cpus: Default::default(),
            sender: Sender::new(kernel, socket, mss, 0, true),
            receiver: Receiver::new(kernel, socket, mss),
            send_buffer,
            application,
            process: Process::Over,
            then: Then::Return,
            is_owned: false,
            backlog: VecDeque::new(),
            deferred: Deferred::default(),
            ack_due: None,
            new_buffers: 0,
            adapter: VecDeque::new(),
            is_polling: false,
            raised_at: None,
            interrupt_at: None,
            wake_at: None,
            handed_over: VecDeque::new(),
            completions: VecDeque::new(),
            taken_frames: 0,
            peer_took: 0,
            debt: 0,
            has_sent: false,
            chance: Chance::new(seed, spec.jitter_per_mille),
            counted: EndState::default(),
        }
    }

    /// The processor of softirqs.
    pub(super) fn softirq_cpu(&self) -> usize {
        usize::from(self.spec.steering == Steering::OtherProcessor)
    }

    pub(super) fn submit(&mut self, now: Ps, cpu: usize, level: Level, cost: Ps, task: Task) {
        let cost = self.chance.around(cost + std::mem::take(&mut self.debt));
        self.cpus[cpu].submit(now, level, cost, task);
        self.cpus[cpu].dispatch(now);
    }

    pub(super) fn go_on(&mut self, caller: Caller, cost: Ps, task: Task) {
        let cost = self.chance.around(cost + std::mem::take(&mut self.debt));
        let (cpu, level) = if caller.is_process() { (0, Level::Process) } else { (self.softirq_cpu(), Level::Protocol) };
        self.cpus[cpu].go_on(level, cost, task);
    }

    fn on_done(&mut self, now: Ps, task: Task, out: &mut Outbox) {
        match task {
            Task::WriteCall(bytes) => self.write(now, bytes),
            Task::CopiedIn(bytes, is_new) => self.copied_in(now, bytes, is_new),
            Task::Sent(caller, push, buffer) => self.sent(now, caller, push, &buffer, out),
            Task::Acknowledged(caller, cause) => self.acknowledged(now, caller, cause, out),
            Task::Polled(room) => self.polled(room),
            Task::ReadCall(room) => self.begin_read(now, room),
            Task::CopiedOut(bytes) => self.copied_out(now, bytes),
            Task::Awake => self.awake(now),
            Task::Interrupted | Task::Backlogged => self.poll_adapter(now),
            Task::Taken(segment) => self.taken(segment),
            Task::Input(caller, segment) => self.input(now, caller, &segment),
            Task::SenderTimer => self.on_sender_timer(now),
            Task::AckTimer => self.on_ack_timer(),
            Task::DeviceDone => self.send_on(now, Cause::Deferred),
            Task::Paced => self.send_on(now, Cause::Pacing),
        }
    }

    /// Timers and devices that are due.
    fn on_instant(&mut self, now: Ps) {
        let is_due = |at: Option<Ps>| at.is_some_and(|at| at <= now);
        let costs = self.spec.costs;
        let cpu = self.softirq_cpu();
        if is_due(self.interrupt_at) {
            (self.raised_at, self.interrupt_at) = (None, None);
            self.is_polling = true;
            self.submit(now, cpu, Level::Interrupt, costs.interrupt, Task::Interrupted);
        } else if is_due(self.wake_at) {
            self.wake_at = None;
            self.submit(now, 0, Level::Process, costs.switch, Task::Awake);
        } else if self.sender.is_throttled && is_due(self.completions.front().map(|&(at, _)| at)) {
            self.settle_device(now);
            if !self.sender.is_throttled {
                self.submit(now, cpu, Level::Protocol, costs.timer, Task::DeviceDone);
            }
        } else if is_due(self.sender.timer_at()) {
            self.sender.hold_timer();
            self.submit(now, cpu, Level::Protocol, costs.timer, Task::SenderTimer);
        } else if is_due(self.sender.pacing.timer_at()) {
            self.sender.pacing.on_timer();
            self.submit(now, cpu, Level::Protocol, costs.timer, Task::Paced);
        } else if is_due(self.receiver.acks.due_at) {
            self.receiver.acks.due_at = None;
            self.submit(now, cpu, Level::Protocol, costs.timer, Task::AckTimer);
        } else {
            self.call(now);
            self.cpus[0].dispatch(now);
        }
    }
}

impl EndSystem for Host {
    fn hello(&self) -> Hello {
        let window_bytes = u32::try_from(self.receiver.initial_window()).unwrap_or(u32::MAX);
        Hello { mss: self.spec.mss, window_bytes, has_sack: true, has_ecn: false }
    }

    fn open(&mut self, peer: &Hello) {
        let HostSpec { kernel, socket, mss, .. } = self.spec;
        self.sender = Sender::new(kernel, socket, mss.min(peer.mss), peer.window_bytes, peer.has_sack);
        self.call(0);
        self.cpus[0].dispatch(0);
    }

    fn next_at(&self) -> Option<Ps> {
        let done = if self.sender.is_throttled { self.completions.front().map(|&(at, _)| at) } else { None };
        let waits = if let Process::Waiting(until) = self.process { Some(until) } else { None };
        let own = [self.cpus[0].done_at(), self.cpus[1].done_at(), self.interrupt_at, self.wake_at];
        let timers = [self.sender.timer_at(), self.sender.pacing.timer_at(), self.receiver.acks.due_at, done, waits];
        own.into_iter().chain(timers).flatten().min()
    }

    fn advance(&mut self, now: Ps, out: &mut Outbox) {
        for cpu in 0..2 {
            if self.cpus[cpu].done_at().is_some_and(|done| done <= now) {
                if let Some(task) = self.cpus[cpu].finish(now) {
                    self.on_done(now, task, out);
                }
                self.cpus[0].dispatch(now);
                self.cpus[1].dispatch(now);
                return;
            }
        }
        self.on_instant(now);
    }

    fn on_accepted(&mut self, departure: &Departure, left: Ps) {
        if departure.segment.bytes > 0
            && let Completion::After(time) = self.spec.adapter.completion
            && let Some(memory) = self.handed_over.pop_front()
        {
            self.completions.push_back((left + time, memory));
        }
    }

    fn taken_frames(&self) -> u64 {
        self.taken_frames
    }

    fn on_peer_took(&mut self, now: Ps, frames: u64) {
        if self.spec.adapter.completion == Completion::WhenTaken {
            for _ in self.peer_took..frames {
                let memory = self.handed_over.pop_front().unwrap_or(0);
                self.completions.push_back((now, memory));
            }
            self.peer_took = frames;
        }
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

    fn at_call(&self) -> AtCall {
        self.process.at_call(self.cpus[0].running().map_or(Processor::Idle, Task::processor), &self.counted)
    }

    fn state(&self, _now: Ps) -> EndState {
        let busy = |level| self.cpus[0].busy(level) + self.cpus[1].busy(level);
        let mss = u64::from(self.sender.mss);
        EndState {
            busy: [Level::Process, Level::Protocol, Level::Interrupt].map(busy),
            lost_segments: self.receiver.dropped,
            queued_bytes: self.sender.queue.end - self.sender.una,
            unread_bytes: self.receiver.readable(),
            outstanding_bytes: self.sender.next - self.sender.una,
            send_window_bytes: self.sender.window_end.saturating_sub(self.sender.una),
            cwnd_bytes: u64::from(self.sender.congestion.window) * mss,
            ssthresh_bytes: if self.sender.congestion.threshold == u32::MAX {
                u64::MAX
            } else {
                u64::from(self.sender.congestion.threshold) * mss
            },
            srtt: self.sender.round_trip.smoothed,
            rto: self.sender.round_trip.timeout(0),
            pacing_rate: Some(self.sender.pacing_rate()).filter(|&rate| rate < u64::MAX).unwrap_or(0),
            ..self.counted
        }
    }

    fn executed(&self) -> Vec<Executed> {
        self.application.executed().to_vec()
    }

    fn waits_for(&self) -> String {
        let process = match self.process {
            Process::Writing { remaining, is_asleep: true } => {
                format!("the writer waits for memory with {remaining} bytes of its call left")
            }
            Process::Writing { remaining, .. } => format!("the writer has {remaining} bytes of its call left"),
            Process::Reading { .. } => "the reader waits for data".to_owned(),
            Process::Waiting(_) => "the process waits for its time".to_owned(),
            Process::Over => "the process is done".to_owned(),
        };
        let sender = &self.sender;
        format!(
            "{process}, {} bytes are queued, {} of them sent, the other end's window is {} bytes, the congestion window {} segments, {} bytes are unread",
            sender.queue.end - sender.una,
            sender.next - sender.una,
            sender.window_end.saturating_sub(sender.una),
            sender.congestion.window,
            self.receiver.readable()
        )
    }
}
