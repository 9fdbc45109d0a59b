//! Two hosts and the link between them, from the first write to the last read.

use crate::agenda::Agenda;
use crate::cpu::Level;
use crate::host::{Caller, Host, HostSpec, Output, Process, Task};
use crate::link::{Line, LinkSpec};
use crate::log::{Entry, Log};
use crate::segment::Segment;
use crate::socket;
use crate::time::{MS, Ps};

/// The fast timer runs so often, on every host alike and free of any connection (study 1).
pub const FAST_TIMER: Ps = 200 * MS;
/// The slow timer, in whose ticks retransmission is counted (Stevens 25.5).
pub const SLOW_TIMER: Ps = 500 * MS;
/// Ticks until a segment is sent again, as long as no round trip is longer: 1 s (`TCPTV_MIN`).
const RETRANSMISSION_TICKS: u32 = 2;
/// Timers that may run without a byte moving before the protocol is held to have stopped for ever.
const STILL_TIMERS: u32 = 200;

/// What is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorldSpec {
    /// The host that writes and the one that reads.
    pub hosts: [HostSpec; 2],
    /// The line.
    pub link: LinkSpec,
    /// Largest segment.
    pub mss: u32,
    /// Seed of phases and deviations.
    pub seed: u64,
}

/// How it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// Everything was read.
    Complete,
    /// Nothing moves any more; what each end waits for.
    Stuck(String),
}

/// What came out.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// How it ended.
    pub end: End,
    /// From the first write to the last read.
    pub duration: Ps,
    /// Bytes that were read.
    pub read_bytes: u64,
    /// Time of each processor in all levels, in the order of the hosts.
    pub busy: [Ps; 2],
    /// Segments that the adapters lost, in the order of the hosts.
    pub lost_segments: [u64; 2],
    /// Every segment as it left.
    pub log: Log,
}

impl Outcome {
    /// Bits a second that the reading process got.
    pub fn goodput_bps(&self) -> f64 {
        if self.duration == 0 { 0.0 } else { self.read_bytes as f64 * 8e12 / self.duration as f64 }
    }
}

#[derive(Debug, Clone, Copy)]
enum Event {
    /// The driver can begin to take a segment from the adapter; when its last cell comes.
    Arrived(usize, Segment, Ps),
    FastTimer(usize),
    SlowTimer(usize),
}

/// Runs it to its end.
pub fn run(spec: &WorldSpec) -> Outcome {
    World::new(spec).run()
}

struct World {
    hosts: [Host; 2],
    lines: [Line; 2],
    agenda: Agenda<Event>,
    log: Log,
    now: Ps,
    still: u32,
    wanted: u64,
}

impl World {
    fn new(spec: &WorldSpec) -> Self {
        let [writer, reader] = spec.hosts;
        let mut hosts = [
            Host::new(writer, spec.mss, reader.window_bytes, spec.seed ^ 0x57),
            Host::new(reader, spec.mss, writer.window_bytes, spec.seed ^ 0x52),
        ];
        let mut agenda = Agenda::default();
        for (who, host) in hosts.iter_mut().enumerate() {
            let phase = host.chance.below(SLOW_TIMER);
            agenda.plan(phase % FAST_TIMER, Event::FastTimer(who));
            agenda.plan(phase, Event::SlowTimer(who));
        }
        let lines = [Line::new(spec.link), Line::new(spec.link)];
        Self { hosts, lines, agenda, log: Log::default(), now: 0, still: 0, wanted: writer.to_write_bytes }
    }

    fn run(mut self) -> Outcome {
        for who in 0..2 {
            let (cost, task) = match self.hosts[who].process {
                Process::Writing { .. } => (self.hosts[who].spec.costs.write_call, Task::WriteCall),
                _ => (self.hosts[who].spec.costs.read_call, Task::ReadCall),
            };
            self.submit(who, Level::Process, cost, task);
        }
        let end = loop {
            if self.hosts[1].moved >= self.wanted {
                break End::Complete;
            }
            if self.still > STILL_TIMERS {
                break End::Stuck(format!("{}; {}", self.hosts[0].waits_for(), self.hosts[1].waits_for()));
            }
            self.step();
        };
        let busy = [0, 1].map(|who: usize| {
            [Level::Process, Level::Protocol, Level::Interrupt].iter().map(|&level| self.hosts[who].cpu.busy(level)).sum()
        });
        Outcome {
            end,
            duration: self.now,
            read_bytes: self.hosts[1].moved,
            busy,
            lost_segments: [0, 1].map(|who: usize| self.hosts[who].lost_segments),
            log: self.log,
        }
    }

    /// The next thing that happens: work that is done, the writer's host first, or an event.
    fn step(&mut self) {
        let done = [0, 1].map(|who: usize| self.hosts[who].cpu.done_at());
        let planned = self.agenda.next_at();
        let who = match done {
            [Some(first), Some(second)] => Some(usize::from(second < first)),
            [Some(_), None] => Some(0),
            [None, Some(_)] => Some(1),
            [None, None] => None,
        };
        match who.and_then(|who| done[who].map(|at| (who, at))) {
            Some((who, at)) if planned.is_none_or(|planned| at <= planned) => {
                self.now = at;
                if let Some(task) = self.hosts[who].cpu.finish(at) {
                    self.on_done(who, task);
                }
                self.hosts[who].cpu.dispatch(at);
            }
            _ => {
                if let Some((at, event)) = self.agenda.pop() {
                    self.now = at;
                    self.on_event(event);
                }
            }
        }
    }

    fn submit(&mut self, who: usize, level: Level, cost: Ps, task: Task) {
        let host = &mut self.hosts[who];
        let cost = host.chance.around(cost);
        host.cpu.submit(self.now, level, cost, task);
        host.cpu.dispatch(self.now);
    }

    fn go_on(&mut self, who: usize, level: Level, cost: Ps, task: Task) {
        let host = &mut self.hosts[who];
        let cost = host.chance.around(cost);
        host.cpu.go_on(level, cost, task);
    }

    fn on_event(&mut self, event: Event) {
        match event {
            Event::Arrived(who, segment, last) => {
                let cost = self.hosts[who].spec.costs.driver_receive.of(segment.bytes);
                let is_whole = self.hosts[who].can_hold(self.now, segment.bytes, last);
                self.hosts[who].lost_segments += u64::from(!is_whole);
                self.submit(who, Level::Interrupt, cost, if is_whole { Task::Taken(segment) } else { Task::Lost });
            }
            Event::FastTimer(who) => {
                self.still += 1;
                self.agenda.plan(self.now + FAST_TIMER, Event::FastTimer(who));
                self.submit(who, Level::Protocol, self.hosts[who].spec.costs.timer, Task::FastTimer);
            }
            Event::SlowTimer(who) => {
                self.agenda.plan(self.now + SLOW_TIMER, Event::SlowTimer(who));
                let host = &mut self.hosts[who];
                if host.retransmission_ticks > 0 {
                    host.retransmission_ticks -= 1;
                    if host.retransmission_ticks == 0 {
                        let cost = host.spec.costs.timer;
                        self.submit(who, Level::Protocol, cost, Task::RetransmissionTimer);
                    }
                }
            }
        }
    }

    fn on_done(&mut self, who: usize, task: Task) {
        match task {
            Task::WriteCall => self.write(who),
            Task::CopiedIn(bytes) => {
                let host = &mut self.hosts[who];
                host.queued += u64::from(bytes);
                if let Process::Writing { remaining, .. } = &mut host.process {
                    *remaining -= bytes;
                }
                self.begin_output(who, Caller::Writer);
            }
            Task::Made(output, segment) => self.drive(who, output, segment),
            Task::Sent(output) if output.is_more => self.output(who, output),
            Task::Sent(output) => self.returned(who, output.caller),
            Task::Taken(segment) => {
                let cost = self.hosts[who].spec.costs.input.of(segment.bytes);
                self.submit(who, Level::Protocol, cost, Task::Input(segment));
            }
            Task::Input(segment) => self.input(who, &segment),
            Task::Lost => {}
            Task::ReadCall => {
                let room = self.hosts[who].spec.call_bytes;
                self.hosts[who].process = Process::Reading { room, is_asleep: false };
                self.read(who);
            }
            Task::CopiedOut(bytes) => self.copied_out(who, bytes),
            Task::Awake => match self.hosts[who].process {
                Process::Writing { .. } => self.write_on(who),
                Process::Reading { .. } => self.read(who),
                Process::Over => {}
            },
            Task::FastTimer => {
                if self.hosts[who].tcp.on_fast_timer() {
                    self.begin_output(who, Caller::Timer);
                }
            }
            Task::RetransmissionTimer => {
                self.hosts[who].tcp.on_retransmission_timer();
                self.begin_output(who, Caller::Timer);
            }
        }
    }

    /// The process begins a write call, or is done.
    fn write(&mut self, who: usize) {
        let host = &mut self.hosts[who];
        let left = host.spec.to_write_bytes - host.moved;
        let remaining = u32::try_from(left.min(u64::from(host.spec.call_bytes))).unwrap_or(u32::MAX);
        host.moved += u64::from(remaining);
        host.process = if remaining == 0 { Process::Over } else { Process::Writing { remaining, is_asleep: false } };
        self.write_on(who);
    }

    /// Copies the next piece of a write, sleeps, or returns from the call.
    fn write_on(&mut self, who: usize) {
        let host = &mut self.hosts[who];
        let Process::Writing { remaining, is_asleep } = &mut host.process else { return };
        if *remaining == 0 {
            let cost = host.spec.costs.write_call;
            return self.go_on(who, Level::Process, cost, Task::WriteCall);
        }
        match socket::to_copy(*remaining, host.queued, u64::from(host.spec.window_bytes)) {
            Some(bytes) => {
                let cost = host.spec.costs.copy_in.of(bytes);
                self.go_on(who, Level::Process, cost, Task::CopiedIn(bytes));
            }
            None => *is_asleep = true,
        }
    }

    fn read(&mut self, who: usize) {
        let host = &mut self.hosts[who];
        let Process::Reading { room, is_asleep } = &mut host.process else { return };
        let bytes = host.received.to_copy(*room);
        if bytes == 0 {
            *is_asleep = true;
            return;
        }
        let cost = host.spec.costs.copy_out.of(bytes);
        self.go_on(who, Level::Process, cost, Task::CopiedOut(bytes));
    }

    /// A read returns when the user's buffer is full or the socket's is empty, and then tells of the window.
    fn copied_out(&mut self, who: usize, bytes: u32) {
        let host = &mut self.hosts[who];
        host.received.take(bytes);
        host.moved += u64::from(bytes);
        self.still = 0;
        let Process::Reading { room, .. } = &mut host.process else { return };
        *room -= bytes;
        if *room == 0 || host.received.bytes == 0 {
            self.begin_output(who, Caller::Reader);
        } else {
            self.read(who);
        }
    }

    fn begin_output(&mut self, who: usize, caller: Caller) {
        let was_idle = self.hosts[who].tcp.is_idle();
        self.output(who, Output { caller, was_idle, is_more: false });
    }

    fn output(&mut self, who: usize, output: Output) {
        let host = &mut self.hosts[who];
        let buffers = host.buffers();
        let Some(sending) = host.tcp.output(output.was_idle, false, buffers) else {
            return self.returned(who, output.caller);
        };
        if sending.segment.bytes > 0 && host.retransmission_ticks == 0 {
            host.retransmission_ticks = RETRANSMISSION_TICKS;
        }
        let cost = host.spec.costs.output.of(sending.segment.bytes);
        self.go_on(who, Level::Protocol, cost, Task::Made(Output { is_more: sending.is_more, ..output }, sending.segment));
    }

    /// The driver writes the segment to the adapter; on the other host it can be taken while it comes, but
    /// not before all of it is there.
    fn drive(&mut self, who: usize, output: Output, segment: Segment) {
        let cost = self.hosts[who].chance.around(self.hosts[who].spec.costs.driver_send.of(segment.bytes));
        let arrival = self.lines[who].send(self.now, segment.bytes, cost);
        self.hosts[who].cpu.go_on(Level::Interrupt, cost, Task::Sent(output));
        let other = 1 - who;
        let taking = self.hosts[other].spec.costs.driver_receive.of(segment.bytes);
        let at = arrival.first.max(arrival.last.saturating_sub(taking));
        self.log.add(Entry { at: self.now, from: who, segment });
        self.agenda.plan(at, Event::Arrived(other, segment, arrival.last));
    }

    /// Whoever ran TCP's output goes on.
    fn returned(&mut self, who: usize, caller: Caller) {
        match caller {
            Caller::Writer => self.write_on(who),
            Caller::Reader => {
                let cost = self.hosts[who].spec.costs.read_call;
                self.go_on(who, Level::Process, cost, Task::ReadCall);
            }
            Caller::Input | Caller::Timer => {}
        }
    }

    fn input(&mut self, who: usize, segment: &Segment) {
        let host = &mut self.hosts[who];
        let arrived = host.tcp.input(segment);
        if arrived.acknowledged > 0 {
            host.queued -= arrived.acknowledged;
            host.retransmission_ticks = if host.tcp.is_idle() { 0 } else { RETRANSMISSION_TICKS };
        }
        if arrived.taken > 0 {
            host.received.append(arrived.taken, host.spec.pieces);
        }
        let is_wanted = match &mut host.process {
            Process::Writing { is_asleep, .. } => arrived.acknowledged > 0 && std::mem::take(is_asleep),
            Process::Reading { is_asleep, .. } => arrived.taken > 0 && std::mem::take(is_asleep),
            Process::Over => false,
        };
        if is_wanted {
            let cost = host.spec.costs.wake_up;
            self.submit(who, Level::Process, cost, Task::Awake);
        }
        let host = &self.hosts[who];
        if host.tcp.is_ack_due || (arrived.wants_output && host.queued > 0) {
            self.begin_output(who, Caller::Input);
        }
    }
}
