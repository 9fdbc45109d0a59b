//! An end system as the world sees it: it takes segments in, lets segments out, and says when it is
//! to be asked again. Everything else, its processors, rules and processes, is its own.
//!
//! The world asks [`EndSystem::next_at`] and calls [`EndSystem::advance`] at that instant, never later
//! and never with an instant before an earlier one. Calls at one instant come in a fixed order, so the
//! same seeds give the same run.

use crate::application::Executed;
use crate::calls::AtCall;
pub use crate::end_state::{EndState, LEVELS};
use crate::segment::Segment;
use crate::stages::Staged;
use crate::time::Ps;

/// The announcement of each host to the other when the connections were opened; the handshake itself takes no time here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hello {
    /// Largest payload of a segment that this host accepts, in bytes.
    pub mss: u32,
    /// Its receive window, in bytes.
    pub window_bytes: u32,
    /// It understands selective acknowledgments.
    pub has_sack: bool,
    /// It understands ECN.
    pub has_ecn: bool,
}

/// The cause that made an end system send a segment: the log shows it as context and reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// The process, in a write call.
    WriteCall,
    /// The process, in or behind a read call: the window has opened.
    ReadCall,
    /// A segment that arrived: it acknowledged, or opened the window.
    Arrival,
    /// As much arrived as is not left without an acknowledgment.
    SecondSegment,
    /// Data that arrived is acknowledged at once, without a second segment.
    QuickAck,
    /// Data that arrived was not the next in sequence.
    OutOfOrder,
    /// The timer of delayed acknowledgments.
    DelayedAck,
    /// The retransmission timer.
    Retransmission,
    /// The persist timer.
    WindowProbe,
    /// A timer that spreads segments over time.
    Pacing,
    /// Work that was put off: TCP small queues, service threads.
    Deferred,
}

/// A segment that an end system gives to the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Departure {
    /// When its first bit may leave: now, or later where an adapter needs time of its own.
    pub at: Ps,
    /// Time over which it is handed to the line from `at` on, of which the line may use less: with
    /// programmed I/O the driver's pace, with DMA the adapter's, 0 where it is there at once.
    pub pace: Ps,
    /// The segment.
    pub segment: Segment,
    /// Bytes of its connection that are sent and not acknowledged, this segment included.
    pub outstanding_bytes: u64,
    /// The congestion window of its connection, in bytes; `u64::MAX` where there is none.
    pub cwnd_bytes: u64,
    /// The cause that made it leave.
    pub cause: Cause,
}

/// When a segment lies before the other host system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// Its first cell or, on a line that knows no cells, the instant from which it comes in.
    pub first: Ps,
    /// Its last bit.
    pub last: Ps,
    /// The segment.
    pub segment: Segment,
}

/// Segments that leave during one call of [`EndSystem::advance`].
#[derive(Debug, Clone, Default)]
pub struct Outbox {
    departures: Vec<Departure>,
}

impl Outbox {
    /// Gives a segment to the line.
    pub fn send(&mut self, departure: Departure) {
        self.departures.push(departure);
    }

    /// The departures that were given, in order.
    pub fn departures(&self) -> &[Departure] {
        &self.departures
    }

    pub(crate) fn clear(&mut self) {
        self.departures.clear();
    }
}

/// One of the two.
pub trait EndSystem {
    /// Its announcement to the other host when the connections are opened.
    fn hello(&self) -> Hello;

    /// The connections are open; called once, at 0, before anything else.
    fn open(&mut self, peer: &Hello);

    /// When it next has something to do of itself: work that is done, a timer, an adapter. `None`: never,
    /// unless a segment arrives.
    fn next_at(&self) -> Option<Ps>;

    /// Does what is due at `now`, which is [`EndSystem::next_at`]; what leaves goes to the outbox.
    fn advance(&mut self, now: Ps, out: &mut Outbox);

    /// The line has taken a departure of the last [`EndSystem::advance`] and is done with it at `left`:
    /// what an adapter with a completion interrupt waits for.
    fn on_accepted(&mut self, departure: &Departure, left: Ps) {
        let _ = (departure, left);
    }

    /// Frames with payload that it took out of its adapter so far, and of which connection the last were. Only where
    /// frames are handed over in memory does the other host hear of it, by [`EndSystem::on_peer_took`].
    fn taken_frames(&self) -> (u64, u16) {
        (0, 0)
    }

    /// The other host has taken so many frames more of a connection.
    fn on_peer_took(&mut self, now: Ps, connection: u16, frames: u64) {
        let _ = (now, connection, frames);
    }

    /// True if it is at its adapter for a connection, so that a frame that is handed over in memory interrupts nobody.
    fn is_taking(&self, connection: u16) -> bool {
        let _ = connection;
        false
    }

    /// The last departure of a connection found the other host not at its adapter: where frames are handed over in memory,
    /// this host's processor interrupts the other one.
    fn on_interrupting(&mut self, now: Ps, connection: u16) {
        let _ = (now, connection);
    }

    /// A segment begins to come in: `now` is its [`Arrival::first`].
    fn arrive(&mut self, now: Ps, arrival: &Arrival);

    /// Bytes that its processes read so far: what the world takes for progress.
    fn delivered_bytes(&self) -> u64;

    /// Its processes are done: everything that they were to write is written, and everything that they were
    /// to read is read.
    fn is_complete(&self) -> bool;

    /// Its connections, each with a process of its own; as many as the other host has.
    fn connections_count(&self) -> u16 {
        1
    }

    /// Keeps the stages of its segments, where it has any; called before it runs.
    fn keep_stages(&mut self) {}

    /// The stages that it kept, in the order of their ends.
    fn stages(&mut self) -> Vec<Staged> {
        Vec::new()
    }

    /// The point that a connection's process is at, for the log of its calls.
    fn at_call(&self, connection: u16) -> AtCall;

    /// Time that each of its processors has spent in each of the [`LEVELS`], in ps.
    fn processors(&self) -> Vec<[Ps; LEVELS]>;

    /// Time for which the processor on its adapter worked, for what leaves and for what arrives, in ps.
    fn adapter_busy(&self) -> [Ps; 2] {
        [0; 2]
    }

    /// The counts of a connection and what it holds at `now`, without the time of processors.
    fn connection_state(&self, now: Ps, connection: u16) -> EndState;

    /// Its counts and what it holds at `now`, over all connections.
    fn state(&self, now: Ps) -> EndState {
        let connections = (0..self.connections_count()).map(|number| self.connection_state(now, number));
        let state = connections.reduce(|state, other| state.with(&other)).unwrap_or_default();
        let mut busy = [0; LEVELS];
        for processor in self.processors() {
            busy.iter_mut().zip(processor).for_each(|(time, more)| *time += more);
        }
        EndState { busy, ..state }
    }

    /// The executions of a workload's transactions that its processes have ended, in order.
    fn executed(&self) -> Vec<Executed>;

    /// The thing that a connection waits for, in words: the finding when nothing moves any more.
    fn waits_for(&self, connection: u16) -> String;
}
