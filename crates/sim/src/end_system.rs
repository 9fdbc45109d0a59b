//! An end system as the world sees it: it takes segments in, lets segments out, and says when it is
//! to be asked again. Everything else, its processors, rules and processes, is its own.
//!
//! The world asks [`EndSystem::next_at`] and calls [`EndSystem::advance`] at that instant, never later
//! and never with an instant before an earlier one. Calls at one instant come in a fixed order, so the
//! same seeds give the same run.

use crate::application::Executed;
use crate::calls::AtCall;
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

/// Levels of a processor of which the time is counted: process, protocol, interrupt.
pub const LEVELS: usize = 3;

/// The counts of an end system and what it holds, summed over its connections and processors.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EndState {
    /// Bytes that its processes wrote.
    pub written_bytes: u64,
    /// Bytes that its processes read.
    pub read_bytes: u64,
    /// Write calls that returned.
    pub write_calls: u64,
    /// Read calls that returned.
    pub read_calls: u64,
    /// Calls that its process has begun, writes and reads.
    pub calls_begun: u64,
    /// Times a process was woken.
    pub wake_ups: u64,
    /// Segments with payload that left, as on the line.
    pub data_segments: u64,
    /// Segments without payload that left.
    pub pure_acks: u64,
    /// Segments that arrived and reached TCP.
    pub segments_in: u64,
    /// Segments that left again.
    pub retransmitted_segments: u64,
    /// Segments that its adapter lost on receiving.
    pub lost_segments: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Time of its processors in each of the [`LEVELS`], in ps.
    pub busy: [Ps; LEVELS],
    /// Bytes in its send buffers.
    pub queued_bytes: u64,
    /// Bytes in its receive buffers.
    pub unread_bytes: u64,
    /// Bytes sent and not acknowledged.
    pub outstanding_bytes: u64,
    /// Bytes that the other host has acknowledged.
    pub acked_bytes: u64,
    /// Bytes that the other host's window allows.
    pub send_window_bytes: u64,
    /// Congestion window; `u64::MAX` where there is none.
    pub cwnd_bytes: u64,
    /// Slow-start threshold; `u64::MAX` where there is none.
    pub ssthresh_bytes: u64,
    /// Smoothed round trip, 0 where none was taken.
    pub srtt: Ps,
    /// Retransmission timeout.
    pub rto: Ps,
    /// Rate by which bursts are sized, and spread where the socket paces, in bytes a second; 0 where there is none.
    pub pacing_rate: u64,
    /// When its processes first and last read something; `None`: never.
    pub read_at: Option<(Ps, Ps)>,
}

impl EndState {
    /// A process read so many bytes at `now`.
    pub fn on_read(&mut self, now: Ps, bytes: u32) {
        self.read_bytes += u64::from(bytes);
        self.read_at = Some((self.read_at.map_or(now, |(first, _)| first), now));
    }

    /// Both together: counts, bytes and windows are added, of times of TCP the longest is taken.
    #[must_use]
    pub fn with(self, other: &Self) -> Self {
        let mut busy = self.busy;
        busy.iter_mut().zip(other.busy).for_each(|(time, more)| *time += more);
        let read_at = match (self.read_at, other.read_at) {
            (Some((first, last)), Some((too, also))) => Some((first.min(too), last.max(also))),
            (first, another) => first.or(another),
        };
        Self {
            written_bytes: self.written_bytes + other.written_bytes,
            read_bytes: self.read_bytes + other.read_bytes,
            write_calls: self.write_calls + other.write_calls,
            read_calls: self.read_calls + other.read_calls,
            calls_begun: self.calls_begun + other.calls_begun,
            wake_ups: self.wake_ups + other.wake_ups,
            data_segments: self.data_segments + other.data_segments,
            pure_acks: self.pure_acks + other.pure_acks,
            segments_in: self.segments_in + other.segments_in,
            retransmitted_segments: self.retransmitted_segments + other.retransmitted_segments,
            lost_segments: self.lost_segments + other.lost_segments,
            timeouts: self.timeouts + other.timeouts,
            busy,
            queued_bytes: self.queued_bytes + other.queued_bytes,
            unread_bytes: self.unread_bytes + other.unread_bytes,
            outstanding_bytes: self.outstanding_bytes + other.outstanding_bytes,
            acked_bytes: self.acked_bytes + other.acked_bytes,
            send_window_bytes: self.send_window_bytes.saturating_add(other.send_window_bytes),
            cwnd_bytes: self.cwnd_bytes.saturating_add(other.cwnd_bytes),
            ssthresh_bytes: self.ssthresh_bytes.saturating_add(other.ssthresh_bytes),
            srtt: self.srtt.max(other.srtt),
            rto: self.rto.max(other.rto),
            pacing_rate: self.pacing_rate.saturating_add(other.pacing_rate),
            read_at,
        }
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
