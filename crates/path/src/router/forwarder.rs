//! The router's thread: takes frames in at both sides, lets the model decide, lets packets go when
//! they are due.
//!
//! Time is that of the arrival stamps, so a thread that wakes late changes no decision of the
//! model; it only lets go late, and says so. A packet waits in the kernel until the thread comes
//! by, which it does in time for the shorter of both delays.

use std::ops::RangeInclusive;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError};
use std::time::Duration;

use emulate::{Direction, Packet, PacketKind, Path, PathDirection, Segments};
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::eventfd::EventFd;
use nix::sys::time::TimeSpec;
use schema::path::{DirectionSpec, LossSpec, PathAudit, PathImplementation, PathSpec};

use super::anatomy::{Anatomy, Transport};
use super::audit::{Auditor, Departed};
use super::frames::Frames;
use super::pace::{Pace, mono_ns, realtime_ahead_ns};
use super::release::Departures;
use super::socket::{BATCH, Inbox, PacketSocket, Received};

/// The time within which what is due leaves together, in ns: half of it before the thread wakes, half after.
const QUANTUM_NS: u64 = 60_000;
/// The same on a path of a rate in [`FAST_BPS`]. Nearly half of what the router costs there is waking itself and, by an
/// interrupt for each frame, the CPU that processes for the receiving end.
const FAST_QUANTUM_NS: u64 = 120_000;
/// Below, the shorter quantum costs a third of a CPU; above, the longer one was not seen to save anything. In bit/s.
const FAST_BPS: RangeInclusive<u64> = 1_000_000_001..=5_000_000_000;
/// The thread comes by at least this often while anything is under way, in ns.
const LONGEST_SLEEP_NS: u64 = 2_000_000;
/// With a shorter way than this through the path the thread is woken by each arrival, in ns.
const SHORT_WAY_NS: u64 = 300_000;
/// Longest lag of the model behind the clock, in ns.
const LONGEST_LAG_NS: u64 = 1_000_000;
/// The time that the thread waits for a frame while nothing is under way, in ns.
const IDLE_WAIT_NS: u64 = 500_000_000;
/// Length of the intervals that nobody asks for, in ns.
const IDLE_INTERVAL_NS: u64 = 60_000_000_000;
/// Batches taken in at one side before the other side has its turn.
const BATCHES: usize = 4;

/// Orders to the thread.
#[derive(Debug)]
pub(super) enum Order {
    /// Be this path from now on, without its losses; lateness beyond the budget in ns is counted.
    Carry(Box<PathSpec>, u64, SyncSender<()>),
    /// From this instant on (`CLOCK_MONOTONIC`, ns) be all of it, and count.
    Begin(u64, SyncSender<()>),
    /// Let everything pass again and report what was.
    End(SyncSender<Carried>),
}

/// All that was carried from the start to the end.
#[derive(Debug)]
pub struct Carried {
    /// The path that was, with its counts.
    pub path: Path,
    /// The packets that left, forward and backward.
    pub departed: [Departed; 2],
    /// The audit of how well the router did.
    pub audit: PathAudit,
}

/// The thread's belongings.
#[derive(Debug)]
pub(super) struct Forwarder {
    /// The side of the near host and that of the far host.
    sockets: [PacketSocket; 2],
    inbox: Inbox,
    arrivals: Vec<Arrival>,
    frames: Frames,
    departures: Departures,
    path: Path,
    /// The packets that a path before still holds.
    fading: Option<Path>,
    /// The path as it was asked for, and when it begins.
    asked: Option<PathSpec>,
    budget_ns: u64,
    begins_mono_ns: Option<u64>,
    /// The shortest way through the path, in ns.
    shortest_way_ns: u64,
    /// The time within which what is due leaves together, in ns.
    quantum_ns: u64,
    /// True if several packets were due within the last quantum.
    is_loaded: bool,
    auditor: Auditor,
    pace: Pace,
}

#[derive(Debug, Clone, Copy)]
struct Arrival {
    mono_ns: u64,
    way: PathDirection,
    frame: u32,
}

impl Forwarder {
    /// Takes over the calling thread's place: `cpu`, and precedence where it may have it.
    pub fn new(sockets: [PacketSocket; 2], cpu: Option<u32>) -> Self {
        let (spec, now_ns, pace) = (open_path(), mono_ns(), Pace::take(cpu));
        let auditor = Auditor::new(now_ns, spec.interval_ns, 0, &sockets, &pace);
        Self {
            sockets,
            inbox: Inbox::new(),
            arrivals: Vec::with_capacity(2 * BATCHES * BATCH),
            frames: Frames::default(),
            departures: Departures::default(),
            path: Path::new(&spec, now_ns),
            fading: None,
            asked: None,
            budget_ns: 0,
            begins_mono_ns: None,
            shortest_way_ns: 0,
            quantum_ns: QUANTUM_NS,
            is_loaded: false,
            auditor,
            pace,
        }
    }

    /// Carries until `stop`, or until nobody can give orders any more.
    pub fn run(&mut self, orders: &Receiver<Order>, alarm: &EventFd, stop: &Arc<AtomicBool>) {
        while !stop.load(Ordering::Relaxed) {
            match orders.try_recv() {
                Ok(order) => self.obey(order),
                Err(TryRecvError::Empty) => {}
                Err(TryRecvError::Disconnected) => return,
            }
            self.take_in();
            let now_ns = mono_ns();
            self.let_go(now_ns + self.quantum_ns / 2);
            self.pace.watch(now_ns);
            self.rest(alarm);
        }
    }

    fn obey(&mut self, order: Order) {
        match order {
            Order::Carry(spec, budget_ns, done) => {
                self.shortest_way_ns = spec.forward.delay_ns.min(spec.backward.delay_ns);
                self.quantum_ns = quantum_ns(&spec);
                self.become_path(&without_losses(&spec), mono_ns());
                self.budget_ns = budget_ns;
                self.asked = Some(*spec);
                let _ = done.send(());
            }
            Order::Begin(at_mono_ns, done) => {
                self.begins_mono_ns = self.asked.is_some().then_some(at_mono_ns);
                let _ = done.send(());
            }
            Order::End(done) => {
                self.begins_mono_ns = None;
                self.asked = None;
                self.shortest_way_ns = 0;
                self.quantum_ns = QUANTUM_NS;
                let now_ns = mono_ns();
                let mut path = std::mem::replace(&mut self.path, Path::new(&open_path(), now_ns));
                for way in PathDirection::ALL {
                    path.direction(way).handle_time(now_ns);
                }
                self.fading = None;
                self.frames = Frames::default();
                let (audit, departed) = self.begin_audit(now_ns, IDLE_INTERVAL_NS).ended(&self.sockets, &self.pace);
                let _ = done.send(Carried { path, departed, audit });
            }
        }
    }

    /// Begins to count anew, and returns what was counted.
    fn begin_audit(&mut self, begin_ns: u64, interval_ns: u64) -> Auditor {
        let auditor = Auditor::new(begin_ns, interval_ns, self.budget_ns, &self.sockets, &self.pace);
        std::mem::replace(&mut self.auditor, auditor)
    }

    /// Goes over to another path; what the old one holds still leaves when it is due.
    fn become_path(&mut self, spec: &PathSpec, begin_mono_ns: u64) {
        self.fading = Some(std::mem::replace(&mut self.path, Path::new(spec, begin_mono_ns)));
    }

    /// Takes in what has arrived at both sides and gives it to the model, in the order of the stamps.
    fn take_in(&mut self) {
        let begin_ns = mono_ns();
        let ahead_ns = realtime_ahead_ns();
        for (way, socket) in PathDirection::ALL.into_iter().zip(&self.sockets) {
            for _ in 0..BATCHES {
                let (frames, arrivals, auditor) = (&mut self.frames, &mut self.arrivals, &mut self.auditor);
                let taken = self.inbox.receive(socket, |received| {
                    if received.stamp_realtime_ns.is_none() {
                        auditor.on_unstamped();
                    }
                    let mono_ns = received.stamp_realtime_ns.map_or(begin_ns, |stamp_ns| stamp_ns.saturating_sub(ahead_ns));
                    let Received { buffer, length, notes, .. } = received;
                    arrivals.push(Arrival { mono_ns, way, frame: frames.keep(buffer, length, notes) });
                });
                match taken {
                    Ok(count) if count == BATCH => {}
                    Ok(_) => break,
                    Err(_) => {
                        auditor.on_refused(1);
                        break;
                    }
                }
            }
        }
        // Two CPUs may hand over what they stamped in the other order.
        self.arrivals.sort_by_key(|arrival| arrival.mono_ns);
        let mut arrivals = std::mem::take(&mut self.arrivals);
        for arrival in arrivals.drain(..) {
            self.decide(arrival);
        }
        self.arrivals = arrivals;
        for path in self.fading.iter_mut().chain([&mut self.path]) {
            for way in PathDirection::ALL {
                let direction = path.direction(way);
                // A CPU may still hold what it stamped a moment ago, so the model lags behind where it may.
                let lag_ns = direction.slack_ns().map_or(LONGEST_LAG_NS, |slack_ns| (slack_ns / 2).min(LONGEST_LAG_NS));
                direction.handle_time(begin_ns.saturating_sub(lag_ns));
            }
        }
        self.forget_lost();
    }

    fn decide(&mut self, arrival: Arrival) {
        if let Some(at_mono_ns) = self.begins_mono_ns
            && arrival.mono_ns >= at_mono_ns
            && let Some(spec) = self.asked.take()
        {
            self.begins_mono_ns = None;
            self.become_path(&spec, at_mono_ns);
            self.begin_audit(at_mono_ns, spec.interval_ns);
        }
        let Some(frame) = self.frames.get(arrival.frame) else { return };
        let packet = Packet {
            key: u64::from(arrival.frame),
            arrival_ns: arrival.mono_ns,
            segments: segments(&frame.anatomy),
            kind: kind(&frame.anatomy),
            is_ecn_capable: frame.anatomy.is_ecn_capable,
        };
        self.path.direction(arrival.way).handle_packet(&packet);
    }

    /// Forgets frames of which nothing is left because their last packet was lost.
    fn forget_lost(&mut self) {
        for path in self.fading.iter_mut().chain([&mut self.path]) {
            for way in PathDirection::ALL {
                while let Some(loss) = path.direction(way).poll_loss() {
                    if loss.is_last {
                        self.frames.forget(u32::try_from(loss.key).unwrap_or(u32::MAX));
                    }
                }
            }
        }
    }

    /// Lets go what is due until `until_ns`.
    fn let_go(&mut self, until_ns: u64) {
        let mut most = 0;
        for (way, side) in [(PathDirection::Forward, 1), (PathDirection::Backward, 0)] {
            for path in self.fading.iter_mut().chain([&mut self.path]) {
                while let Some(release) = path.direction(way).poll_release(until_ns) {
                    self.departures.add(&release);
                }
            }
            most = most.max(self.departures.due_ns.len());
            let refused_count = self.departures.send(&self.sockets[side], &mut self.frames);
            self.auditor.on_refused(refused_count);
            let now_ns = mono_ns();
            for due_ns in self.departures.due_ns.drain(..) {
                self.auditor.on_released(way, due_ns, now_ns);
            }
        }
        if self.fading.as_ref().is_some_and(|path| next_due_ns(path).is_none()) {
            self.fading = None;
        }
        if most > 0 {
            self.is_loaded = most > 1;
        }
        self.forget_lost();
    }

    /// Sleeps until something is due, or until the next look at what has arrived.
    fn rest(&mut self, alarm: &EventFd) {
        let next_due_ns = self.fading.iter().chain([&self.path]).filter_map(next_due_ns).min();
        let Some(due_ns) = next_due_ns else {
            self.wait_for_frames(alarm, IDLE_WAIT_NS);
            return;
        };
        // Under load the packets after the first are waited for, so that the quantum lies around its center.
        let due_ns = if self.is_loaded { due_ns + self.quantum_ns / 2 } else { due_ns };
        let now_ns = mono_ns();
        if self.shortest_way_ns < SHORT_WAY_NS {
            self.wait_for_frames(alarm, due_ns.saturating_sub(now_ns));
        } else {
            let look_ns = now_ns + (self.shortest_way_ns / 2).min(LONGEST_SLEEP_NS);
            self.pace.sleep_until(due_ns.min(look_ns));
        }
    }

    fn wait_for_frames(&self, alarm: &EventFd, longest_ns: u64) {
        let [near, far] = &self.sockets;
        let mut heard = [near.as_fd(), far.as_fd(), alarm.as_fd()].map(|file| PollFd::new(file, PollFlags::POLLIN));
        let longest = TimeSpec::from_duration(Duration::from_nanos(longest_ns.min(IDLE_WAIT_NS)));
        // Whatever ends the wait, the thread looks for itself.
        if ppoll(&mut heard, Some(longest), None).is_ok() && heard[2].any() == Some(true) {
            let _ = alarm.read();
        }
    }
}

/// When the next packet of either direction may be due.
fn next_due_ns(path: &Path) -> Option<u64> {
    [&path.forward, &path.backward].into_iter().filter_map(Direction::next_due_ns).min()
}

/// The time within which what is due on a path leaves together, in ns.
fn quantum_ns(spec: &PathSpec) -> u64 {
    let fastest_bps = spec.forward.rate_bps.max(spec.backward.rate_bps);
    if fastest_bps.is_some_and(|rate_bps| FAST_BPS.contains(&rate_bps)) { FAST_QUANTUM_NS } else { QUANTUM_NS }
}

/// The path between two trials: everything passes at once.
fn open_path() -> PathSpec {
    PathSpec {
        implementation: PathImplementation::Router,
        seed: 0,
        forward: DirectionSpec::default(),
        backward: DirectionSpec::default(),
        interval_ns: IDLE_INTERVAL_NS,
    }
}

/// The path while connections open: its delay, rate and queue, and nothing that loses packets or
/// counts them.
fn without_losses(spec: &PathSpec) -> PathSpec {
    let opening = |direction: &DirectionSpec| DirectionSpec {
        loss: LossSpec::None,
        reorder_per_billion: 0,
        duplicate_per_billion: 0,
        ack_thinning: 0,
        cross_traffic: Vec::new(),
        ..direction.clone()
    };
    PathSpec { forward: opening(&spec.forward), backward: opening(&spec.backward), ..spec.clone() }
}

fn segments(anatomy: &Anatomy) -> Segments {
    let bytes = |index| u32::try_from(anatomy.bytes_of(index)).unwrap_or(u32::MAX);
    let count = u16::try_from(anatomy.packets).unwrap_or(u16::MAX);
    Segments { count, full_bytes: bytes(0), last_bytes: bytes(u32::from(count) - 1) }
}

fn kind(anatomy: &Anatomy) -> PacketKind {
    match anatomy.transport {
        Transport::Tcp if anatomy.payload_bytes > 0 => PacketKind::Data,
        Transport::Tcp if anatomy.is_pure_ack && !anatomy.has_sack => PacketKind::PureAck,
        _ => PacketKind::Other,
    }
}
