//! Two end systems and the line between them, from the first call to the last: it moves time on and
//! carries segments, and knows no rule of any operating system.

use crate::application::Executed;
use crate::bus::Bus;
use crate::calls::{Call, Watch};
use crate::end_system::{Arrival, Departure, EndState, EndSystem, LEVELS, Outbox};
use crate::link::path::Path;
use crate::link::{Link, LinkSpec};
use crate::log::{Entry, Held, Log};
use crate::stages::Staged;
use crate::time::{Ps, S};
use emulate::ledger::Tally;
use std::collections::VecDeque;

/// The time without a read after which the protocol is held to have stopped for ever: longer than any
/// retransmission timeout of TCP (64 s in BSD, 120 s in Linux).
pub const STILL: Ps = 200 * S;

/// The demands on a run, in addition to its end systems.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorldSpec {
    /// The line, in both directions.
    pub link: LinkSpec,
    /// When the run ends at the latest; `None`: when the processes are done.
    pub until: Option<Ps>,
    /// Every segment is kept in the [`Log`], and every call.
    pub is_logged: bool,
}

/// The way that it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// The processes are done.
    Complete,
    /// The time asked for is over.
    TimeUp,
    /// Nothing moves any more; what each host waits for.
    Stuck(String),
}

/// The result.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// The way that it ended.
    pub end: End,
    /// From the first call to the last read, or to the time asked for.
    pub duration: Ps,
    /// The end systems at the end.
    pub states: [EndState; 2],
    /// Frames that the line lost and the path behind it, in the order of the end systems that sent them.
    pub lost_frames: [u64; 2],
    /// Counts of the path's intervals in both directions; empty without one.
    pub path: [Vec<Tally>; 2],
    /// Every segment as it left, where that was asked for.
    pub log: Log,
    /// By end system and connection, every call of the process in the order of their ends, where the log was asked for.
    pub calls: [Vec<Vec<Call>>; 2],
    /// By end system, the stages of segments, where it was to keep them.
    pub stages: [Vec<Staged>; 2],
    /// The end systems' connections at the end.
    pub connections: [Vec<EndState>; 2],
    /// Time of each of their processors in each level.
    pub processors: [Vec<[Ps; LEVELS]>; 2],
    /// Time for which the bus of each host moved something; `None` where it has no rate of its own.
    pub bus_busy: [Option<Ps>; 2],
    /// Time for which the processor on each host's adapter worked, for what leaves and for what arrives.
    pub adapter_busy: [[Ps; 2]; 2],
    /// The executions of a workload's transactions at each host.
    pub executed: [Vec<Executed>; 2],
}

/// The end systems at an instant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sample {
    /// The instant.
    pub at: Ps,
    /// As they stood then.
    pub states: [EndState; 2],
    /// Their connections.
    pub connections: [Vec<EndState>; 2],
    /// Time of each of their processors in each level.
    pub processors: [Vec<[Ps; LEVELS]>; 2],
}

impl Outcome {
    /// Bits a second that the processes of an end system read.
    pub fn goodput_bps(&self, who: usize) -> f64 {
        if self.duration == 0 { 0.0 } else { self.states[who].read_bytes as f64 * 8e12 / self.duration as f64 }
    }

    /// Share of the time that the processors of an end system were busy, in all levels; 1 is one processor.
    pub fn busy_share(&self, who: usize) -> f64 {
        if self.duration == 0 { 0.0 } else { self.states[who].busy.iter().sum::<Ps>() as f64 / self.duration as f64 }
    }
}

/// Runs two end systems to their end.
pub fn run<E: EndSystem>(spec: &WorldSpec, ends: [E; 2]) -> Outcome {
    World::new(spec, None, ends).run(&mut std::iter::empty()).0
}

/// As [`run`], with a path behind the line where there is one, and says how the end systems stood at instants, which
/// ascend, as long as the run lasted.
pub fn run_sampled<E: EndSystem>(
    spec: &WorldSpec,
    path: Option<Path>,
    ends: [E; 2],
    instants: &mut dyn Iterator<Item = Ps>,
) -> (Outcome, Vec<Sample>) {
    World::new(spec, path, ends).run(instants)
}

struct World<E> {
    spec: WorldSpec,
    ends: [E; 2],
    /// The times that the end systems want, asked again only after something was done to them.
    next_at: [Ps; 2],
    /// By the end system that sends, a line for each of its adapters.
    links: [Vec<Link>; 2],
    buses: [Option<Bus>; 2],
    /// Departures that leave both hosts later, and share a bus or a line with what comes before, in order.
    leaving: [VecDeque<Departure>; 2],
    /// Arrivals that cross the bus of either host, in the order in which they come out.
    crossing: [VecDeque<Arrival>; 2],
    path: Option<Path>,
    /// Arrivals under way to each of the end systems, in the order in which they come.
    under_way: [VecDeque<Arrival>; 2],
    outbox: Outbox,
    log: Log,
    /// The calls of the processes, where they are kept.
    watches: Option<[Vec<Watch>; 2]>,
    now: Ps,
    delivered: [u64; 2],
    taken: [u64; 2],
    read_at: Ps,
    is_complete: [bool; 2],
}

/// Connections that a finding lists.
const MAX_LISTED_CONNECTIONS: u16 = 4;
/// An instant that never comes.
const NEVER: Ps = Ps::MAX;

/// The next event of an end system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    /// An action of its own.
    Own,
    /// Something that was to leave later.
    Departure,
    /// Something comes.
    Arrival,
}

impl<E: EndSystem> World<E> {
    fn new(spec: &WorldSpec, path: Option<Path>, mut ends: [E; 2]) -> Self {
        let hellos = [ends[0].hello(), ends[1].hello()];
        ends[0].open(&hellos[1]);
        ends[1].open(&hellos[0]);
        let next_at = [0, 1].map(|who: usize| ends[who].next_at().unwrap_or(NEVER));
        let is_complete = [0, 1].map(|who: usize| ends[who].is_complete());
        let watch = |end: &E| (0..end.connections_count()).map(|number| Watch::new(end.at_call(number))).collect();
        let watches = spec.is_logged.then(|| [watch(&ends[0]), watch(&ends[1])]);
        Self {
            spec: *spec,
            ends,
            next_at,
            links: [0, 1].map(|from: usize| (0..spec.link.adapters_count.max(1)).map(|_| Link::new(spec.link, from)).collect()),
            buses: spec.link.bus_bytes_per_s.map(|rate| (rate > 0).then(|| Bus::new(rate, spec.link.headers_bytes))),
            leaving: Default::default(),
            crossing: Default::default(),
            path,
            under_way: Default::default(),
            outbox: Outbox::default(),
            log: Log::default(),
            watches,
            now: 0,
            delivered: [0, 0],
            taken: [0, 0],
            read_at: 0,
            is_complete,
        }
    }

    fn run(mut self, instants: &mut dyn Iterator<Item = Ps>) -> (Outcome, Vec<Sample>) {
        let mut samples = Vec::new();
        let mut sample_at = instants.next().unwrap_or(NEVER);
        let until = self.spec.until.unwrap_or(NEVER);
        let end = loop {
            if self.is_complete == [true, true] {
                break End::Complete;
            }
            self.release();
            let (next, who, what) = self.next();
            while sample_at < next.min(until).min(self.read_at.saturating_add(STILL)) {
                samples.push(self.sample(sample_at));
                sample_at = instants.next().unwrap_or(NEVER);
            }
            if next > until {
                self.now = until;
                break End::TimeUp;
            }
            if next > self.read_at.saturating_add(STILL) {
                break End::Stuck(format!("first: {}; second: {}", self.waits_for(0), self.waits_for(1)));
            }
            self.now = next;
            match what {
                Next::Arrival => self.arrive(who),
                Next::Departure => self.leave(who),
                Next::Own => {
                    // As long as nothing else comes before, this host system goes on: what another would do has not changed.
                    let before = self.others_at(who).min(until).min(sample_at).min(self.read_at.saturating_add(STILL));
                    while self.advance(who) && self.next_at[who] < before && !self.is_complete[who] {
                        self.now = self.next_at[who];
                    }
                }
            }
        };
        let duration = if end == End::TimeUp { self.now } else { self.read_at };
        let Sample { states, connections, processors, .. } = self.sample(self.now);
        let on_path = self.path.as_ref().map_or([0, 0], Path::lost_counts);
        let lost_frames = [0, 1].map(|from: usize| self.links[from].iter().map(Link::lost_count).sum::<u64>() + on_path[from]);
        let path = self.path.as_mut().map_or_else(Default::default, Path::tallies);
        let stages = [0, 1].map(|who: usize| self.ends[who].stages());
        let executed = [0, 1].map(|who: usize| self.ends[who].executed());
        let finish = |watches: Vec<Watch>| watches.into_iter().map(|watch| watch.finish(duration)).collect();
        let calls = self.watches.map_or_else(Default::default, |watches| watches.map(finish));
        let bus_busy = self.buses.map(|bus| bus.map(|bus| bus.busy));
        let adapter_busy = [0, 1].map(|who: usize| self.ends[who].adapter_busy());
        let outcome = Outcome {
            end,
            duration,
            states,
            lost_frames,
            path,
            log: self.log,
            calls,
            stages,
            connections,
            processors,
            bus_busy,
            adapter_busy,
            executed,
        };
        (outcome, samples)
    }

    fn sample(&self, at: Ps) -> Sample {
        let connections = |end: &E| (0..end.connections_count()).map(|number| end.connection_state(at, number)).collect();
        let [first, second] = &self.ends;
        Sample {
            at,
            states: [first.state(at), second.state(at)],
            connections: [connections(first), connections(second)],
            processors: [first.processors(), second.processors()],
        }
    }

    /// The thing that an end system's connections wait for; of many the first.
    fn waits_for(&self, who: usize) -> String {
        let end = &self.ends[who];
        match end.connections_count() {
            1 => end.waits_for(0),
            count => {
                let shown = (0..count.min(MAX_LISTED_CONNECTIONS)).map(|number| format!("connection {number}: {}", end.waits_for(number)));
                shown.collect::<Vec<_>>().join("; ") + if count > MAX_LISTED_CONNECTIONS { "; and more" } else { "" }
            }
        }
    }

    /// The next event: when, to whom, and what. At one instant the first end system comes before the second, what
    /// leaves before what they do, and that before what arrives.
    fn next(&self) -> (Ps, usize, Next) {
        let own = usize::from(self.next_at[1] < self.next_at[0]);
        let arrivals = [0, 1].map(|who: usize| self.arrives_at(who));
        let to = usize::from(arrivals[1] < arrivals[0]);
        let leaves = [0, 1].map(|who: usize| self.leaves_at(who));
        let from = usize::from(leaves[1] < leaves[0]);
        let own_at = self.next_at[own];
        if leaves[from] != NEVER && leaves[from] <= own_at.min(arrivals[to]) {
            (leaves[from], from, Next::Departure)
        } else if arrivals[to] < own_at {
            (arrivals[to], to, Next::Arrival)
        } else {
            (own_at, own, Next::Own)
        }
    }

    /// When something leaves an end system that was to leave later.
    fn leaves_at(&self, who: usize) -> Ps {
        self.leaving[who].front().map_or(NEVER, |departure| departure.at)
    }

    /// When something comes to an end system next: from the line, or out of its bus.
    fn arrives_at(&self, who: usize) -> Ps {
        [&self.under_way[who], &self.crossing[who]]
            .into_iter()
            .map(|coming| coming.front().map_or(NEVER, |arrival| arrival.first))
            .fold(NEVER, Ps::min)
    }

    /// When anything happens that an end system does not do of itself.
    fn others_at(&self, who: usize) -> Ps {
        let those = [0, 1].map(|either: usize| self.arrives_at(either).min(self.leaves_at(either)));
        those.into_iter().fold(self.next_at[1 - who].min(self.path_at()), Ps::min)
    }

    /// When the path lets something go.
    fn path_at(&self) -> Ps {
        self.path.as_ref().map_or(NEVER, Path::due_at)
    }

    /// Puts what the path lets go before anything else happens under way to the end systems.
    fn release(&mut self) {
        loop {
            let at = self.path_at();
            if at == NEVER || at > self.next().0 {
                return;
            }
            // What CoDel has not decided yet may turn out to be due later.
            if let Some(path) = &mut self.path {
                path.release(at, &mut self.under_way);
            }
        }
    }

    /// Handles what comes next: a frame that is in the adapter crosses the bus first, where that takes time.
    fn arrive(&mut self, who: usize) {
        let is_crossed = self.crossing[who].front().is_some_and(|arrival| arrival.first <= self.now);
        let came = if is_crossed { self.crossing[who].pop_front() } else { self.under_way[who].pop_front() };
        if let (Some(arrival), Some(bus), false) = (came, &mut self.buses[who], is_crossed) {
            let at = bus.cross(self.now, &arrival.segment).max(arrival.last);
            let crossing = &mut self.crossing[who];
            // One whose last bit comes late does not hold back what is there before it.
            let place = crossing.partition_point(|before| before.first <= at);
            crossing.insert(place, Arrival { first: at, last: at, ..arrival });
        } else if let Some(arrival) = came {
            if self.spec.is_logged {
                let held = Held::from(&self.ends[who].connection_state(self.now, arrival.segment.connection));
                if self.is_reordered() {
                    self.log.on_path_arrival(who, &arrival, held);
                } else {
                    self.log.on_arrival(who, held);
                }
            }
            self.ends[who].arrive(self.now, &arrival);
            self.next_at[who] = self.ends[who].next_at().unwrap_or(NEVER);
        }
    }

    /// True if segments come in another order, or at other times, than the line takes them.
    fn is_reordered(&self) -> bool {
        self.path.is_some() || self.links[0].len() > 1 || self.buses.iter().any(Option::is_some)
    }

    /// Gives a segment to the line of its connection's adapter, over the bus; returns when the line is done with it.
    fn send(&mut self, who: usize, departure: &Departure) -> Ps {
        let number = usize::from(departure.segment.connection) % self.links[who].len();
        let at = self.buses[who].as_mut().map_or(departure.at, |bus| bus.cross(departure.at, &departure.segment));
        let left = self.links[who][number].send(&Departure { at, ..*departure }, &mut self.under_way[1 - who]);
        if self.spec.link.is_half_duplex {
            self.links[1 - who][number].hold(left);
        }
        if self.links[who].len() > 1 {
            self.under_way[1 - who].make_contiguous().sort_by_key(|arrival| arrival.first);
        }
        left
    }

    /// Sends what was to leave later.
    fn leave(&mut self, who: usize) {
        if let Some(departure) = self.leaving[who].pop_front() {
            self.depart(who, &departure);
            self.next_at[who] = self.ends[who].next_at().unwrap_or(NEVER);
        }
    }

    fn depart(&mut self, who: usize, departure: &Departure) {
        let before = self.under_way[1 - who].len();
        let left = self.send(who, departure);
        if let Some(path) = &mut self.path {
            self.under_way[1 - who].drain(before..).for_each(|arrival| path.enter(who, &arrival));
        }
        if self.spec.is_logged {
            let &Departure { at, segment, outstanding_bytes, cwnd_bytes, cause, .. } = departure;
            let pieces = self.under_way[1 - who].range(before..);
            let arrives = pieces.clone().last().map_or(NEVER, |arrival| arrival.last);
            // What comes in another order is logged as it comes.
            let (count, arrives) = if self.is_reordered() { (0, NEVER) } else { (pieces.len(), arrives) };
            let at_sender = Held::from(&self.ends[who].connection_state(self.now, segment.connection));
            let entry = Entry { at, from: who, segment, outstanding_bytes, cwnd_bytes, cause, arrives, at_sender, at_receiver: None };
            self.log.add(entry, count);
        }
        self.ends[who].on_accepted(departure, left);
        // What is under way already has interrupted the other host; a path takes frames by itself.
        let connection = departure.segment.connection;
        if before == 0 && self.path.is_none() && !self.ends[1 - who].is_taking(connection) {
            self.ends[who].on_interrupting(self.now, connection);
            self.next_at[who] = self.ends[who].next_at().unwrap_or(NEVER);
        }
    }

    /// Lets an end system do what is due; whether nothing left it, and nothing was done to the other one.
    fn advance(&mut self, who: usize) -> bool {
        self.outbox.clear();
        self.ends[who].advance(self.now, &mut self.outbox);
        let mut is_quiet = self.outbox.departures().is_empty();
        let outbox = std::mem::take(&mut self.outbox);
        let is_shared = self.spec.link.is_half_duplex || self.buses[who].is_some();
        for departure in outbox.departures() {
            if is_shared && departure.at > self.now {
                // Until then the bus or the line is free for others.
                self.leaving[who].push_back(*departure);
            } else {
                self.depart(who, departure);
            }
        }
        self.outbox = outbox;
        let (taken, connection) = self.ends[who].taken_frames();
        if taken != self.taken[who] {
            let more = taken - std::mem::replace(&mut self.taken[who], taken);
            is_quiet = false;
            self.ends[1 - who].on_peer_took(self.now, connection, more);
            self.next_at[1 - who] = self.ends[1 - who].next_at().unwrap_or(NEVER);
        }
        self.next_at[who] = self.ends[who].next_at().unwrap_or(NEVER);
        let delivered = self.ends[who].delivered_bytes();
        if delivered != self.delivered[who] {
            self.delivered[who] = delivered;
            self.read_at = self.now;
        }
        self.is_complete[who] = self.ends[who].is_complete();
        if let Some(watches) = &mut self.watches {
            for (number, watch) in (0..).zip(&mut watches[who]) {
                watch.look(self.now, self.ends[who].at_call(number));
            }
        }
        is_quiet
    }
}
