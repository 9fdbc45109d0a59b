//! An emulated path behind the line: bottleneck, queue, loss and delay, by the model that the testbed's router has
//! (`crates/emulate`), so that a path does to simulated segments what it does to real ones.
//!
//! The router takes no time of its own here. Packets that came as one super-segment and are due at one instant leave as
//! one, as the router sends them.

use crate::end_system::Arrival;
use crate::segment::{Sack, Segment};
use crate::time::{NS, Ps};
use emulate::ledger::Tally;
use emulate::{Direction, Packet, PacketKind, Release, Segments};
use schema::path::{ETHERNET_HEADER_BYTES, PathSpec};
use std::collections::VecDeque;

/// Both directions, in the order of the end systems that send.
#[derive(Debug, Clone)]
pub struct Path {
    directions: [OneDirection; 2],
}

#[derive(Debug, Clone)]
struct OneDirection {
    direction: Direction,
    /// IP, TCP and Ethernet in front of each payload, in bytes.
    headers_bytes: u32,
    /// Payload of a whole segment, where a super-segment is cut.
    mss: u32,
    /// Segments inside, by the key under which the direction knows them.
    inside: Vec<Segment>,
    free: Vec<u64>,
    lost_count: u64,
}

/// Nothing is due.
const NEVER: Ps = Ps::MAX;

impl Path {
    /// A path that is valid ([`PathSpec::validate`]), between hosts whose packets have so many bytes of headers of IP and
    /// TCP, and segments of `mss` at most.
    pub fn new(spec: &PathSpec, headers_bytes: u32, mss: u32) -> Self {
        let emulate::Path { forward, backward } = emulate::Path::new(spec, 0);
        let way = |direction| OneDirection {
            direction,
            headers_bytes: headers_bytes + ETHERNET_HEADER_BYTES,
            mss: mss.max(1),
            inside: Vec::new(),
            free: Vec::new(),
            lost_count: 0,
        };
        Self { directions: [forward, backward].map(way) }
    }

    /// Takes what an end system sent into the path when its last bit has come.
    pub fn enter(&mut self, from: usize, arrival: &Arrival) {
        self.directions[from].enter(arrival);
    }

    /// When a packet may be due.
    pub fn due_at(&self) -> Ps {
        self.directions.iter().map(OneDirection::due_at).fold(NEVER, Ps::min)
    }

    /// Lets what is due by then leave for the other host systems, in order of time.
    pub fn release(&mut self, until: Ps, under_way: &mut [VecDeque<Arrival>; 2]) {
        for (from, way) in self.directions.iter_mut().enumerate() {
            way.release(until, &mut under_way[1 - from]);
        }
    }

    /// Packets that each direction lost.
    pub fn lost_counts(&self) -> [u64; 2] {
        [0, 1].map(|from: usize| self.directions[from].lost_count)
    }

    /// Counts of all intervals so far, the last as far as it has come.
    pub fn tallies(&mut self) -> [Vec<Tally>; 2] {
        [0, 1].map(|from: usize| {
            let direction = &mut self.directions[from].direction;
            let mut tallies: Vec<Tally> = std::iter::from_fn(|| direction.poll_tally()).collect();
            tallies.push(direction.current_tally());
            tallies
        })
    }
}

impl OneDirection {
    fn enter(&mut self, arrival: &Arrival) {
        let segment = arrival.segment;
        let key = self.free.pop().unwrap_or_else(|| {
            self.inside.push(segment);
            self.inside.len() as u64 - 1
        });
        self.inside[slot(key)] = segment;
        let (count, each) = (segment.wire_segments_count.max(1), self.each(&segment));
        let last_bytes = segment.bytes.saturating_sub(u32::from(count - 1) * each) + self.headers_bytes;
        let full_bytes = if count == 1 { last_bytes } else { each + self.headers_bytes };
        let kind = match (segment.bytes, segment.sack == Sack::default()) {
            (0, true) => PacketKind::PureAck,
            (0, false) => PacketKind::Other,
            _ => PacketKind::Data,
        };
        let segments = Segments { count, full_bytes, last_bytes };
        self.direction.handle_packet(&Packet {
            key,
            arrival_ns: arrival.last.div_ceil(NS),
            segments,
            kind,
            is_ecn_capable: segment.flags.is_ecn_capable,
        });
        self.forget_lost();
    }

    /// Payload of each packet of a super-segment but the last.
    fn each(&self, segment: &Segment) -> u32 {
        let count = u32::from(segment.wire_segments_count.max(1));
        if segment.bytes.div_ceil(self.mss).max(1) == count { self.mss } else { segment.bytes.div_ceil(count) }
    }

    fn due_at(&self) -> Ps {
        self.direction.next_due_ns().map_or(NEVER, |due_ns| due_ns.saturating_mul(NS))
    }

    fn release(&mut self, until: Ps, arrivals: &mut VecDeque<Arrival>) {
        while self.due_at() <= until {
            let due_ns = self.due_at() / NS;
            // What is decided at the departure is decided then: nothing that comes can change it.
            self.direction.handle_time(due_ns + 1);
            let mut run: Option<Run> = None;
            while let Some(release) = self.direction.poll_release(due_ns) {
                match &mut run {
                    Some(run) if run.takes(&release) => run.count += 1,
                    _ => {
                        self.leave(run.take(), arrivals);
                        run = Some(Run {
                            key: release.key,
                            first: release.segment,
                            count: 1,
                            due_ns: release.due_ns,
                            is_marked: release.is_marked,
                        });
                    }
                }
                if release.is_last {
                    self.leave(run.take(), arrivals);
                    self.free.push(release.key);
                }
            }
            self.leave(run.take(), arrivals);
            self.forget_lost();
        }
    }

    fn leave(&mut self, run: Option<Run>, arrivals: &mut VecDeque<Arrival>) {
        let Some(run) = run else { return };
        let whole = self.inside[slot(run.key)];
        let each = self.each(&whole);
        let start = (u32::from(run.first) * each).min(whole.bytes);
        let end = if run.first + run.count >= whole.wire_segments_count { whole.bytes } else { start + u32::from(run.count) * each };
        let mut segment = whole;
        segment.sequence += u64::from(start);
        segment.bytes = end - start;
        segment.wire_segments_count = run.count;
        segment.flags.is_push &= end == whole.bytes;
        // The first of them alone says that the window was reduced (RFC 3168 6.1.2).
        segment.flags.is_window_reduced &= start == 0;
        segment.flags.is_congestion_experienced |= run.is_marked;
        let at = run.due_ns * NS;
        arrivals.push_back(Arrival { first: at, last: at, segment });
    }

    fn forget_lost(&mut self) {
        while let Some(loss) = self.direction.poll_loss() {
            self.lost_count += u64::from(!loss.is_duplicate);
            if loss.is_last {
                self.free.push(loss.key);
            }
        }
    }
}

/// Packets of one super-segment that leave together.
#[derive(Debug, Clone, Copy)]
struct Run {
    key: u64,
    first: u16,
    count: u16,
    due_ns: u64,
    is_marked: bool,
}

impl Run {
    fn takes(&self, release: &Release) -> bool {
        release.key == self.key
            && release.segment == self.first + self.count
            && release.due_ns == self.due_ns
            && release.is_marked == self.is_marked
    }
}

/// Keys are counted from 0, and there are no more of them than segments in memory.
fn slot(key: u64) -> usize {
    usize::try_from(key).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::{MS, US};
    use schema::path::{DirectionSpec, LossSpec, PathImplementation, QueueLimit, QueueSpec};

    fn path(forward: DirectionSpec) -> Path {
        let spec = PathSpec {
            implementation: PathImplementation::Auto,
            seed: 1,
            forward,
            backward: DirectionSpec::default(),
            interval_ns: 1_000_000,
        };
        spec.validate(1500).expect("it can be");
        Path::new(&spec, 52, 1448)
    }

    fn burst(count: u16) -> Arrival {
        let segment = Segment { wire_segments_count: count, ..Segment::data(0, u32::from(count - 1) * 1448 + 100) };
        Arrival { first: 0, last: 10 * US, segment }
    }

    fn left(path: &mut Path, until: Ps) -> Vec<(Ps, u64, u32, u16)> {
        let mut under_way = [VecDeque::new(), VecDeque::new()];
        path.release(until, &mut under_way);
        under_way[1]
            .iter()
            .map(|arrival| (arrival.last, arrival.segment.sequence, arrival.segment.bytes, arrival.segment.wire_segments_count))
            .collect()
    }

    #[test]
    fn a_delay_alone_keeps_super_segments_whole() {
        let mut path = path(DirectionSpec { delay_ns: 5_000_000, ..DirectionSpec::default() });
        path.enter(0, &burst(3));
        assert_eq!(path.due_at(), 5 * MS + 10 * US);
        assert_eq!(left(&mut path, 5 * MS), []);
        assert_eq!(left(&mut path, 6 * MS), [(5 * MS + 10 * US, 0, 2 * 1448 + 100, 3)]);
        assert_eq!(path.due_at(), NEVER);
    }

    #[test]
    fn a_bottleneck_sends_packet_after_packet_with_their_ethernet_headers() {
        // 1514 bytes take 121.12 us at 100 Mbit/s, and the last 166 bytes 13.28 us.
        let mut path = path(DirectionSpec {
            rate_bps: Some(100_000_000),
            queue: QueueSpec { limit: QueueLimit::Bytes { bytes: 10_000 }, ..QueueSpec::default() },
            ..DirectionSpec::default()
        });
        path.enter(0, &burst(3));
        let frame = 121_120 * NS;
        let sent = [(10 * US + frame, 0, 1448, 1), (10 * US + 2 * frame, 1448, 1448, 1), (10 * US + 2 * frame + 13_280 * NS, 2896, 100, 1)];
        assert_eq!(left(&mut path, MS), sent);
        // Six whole packets fit into the queue; of ten that come at once four are lost, and the last is one of them.
        path.enter(0, &Arrival { last: 2 * MS, ..burst(10) });
        assert_eq!(left(&mut path, 10 * MS).len(), 7);
        assert_eq!(path.lost_counts(), [3, 0]);
    }

    #[test]
    fn a_script_loses_segments_with_payload() {
        let loss = LossSpec::Scripted { segments: vec![2] };
        let mut path = path(DirectionSpec { delay_ns: 1_000_000, loss, ..DirectionSpec::default() });
        path.enter(0, &burst(3));
        let at = MS + 10 * US;
        assert_eq!(left(&mut path, 2 * MS), [(at, 0, 1448, 1), (at, 2896, 100, 1)]);
        let tallies = path.tallies();
        let sum = |count: fn(&Tally) -> u64| tallies[0].iter().map(count).sum::<u64>();
        assert_eq!((sum(|counts| counts.arrived_packets), sum(|counts| counts.lost_scripted_packets)), (3, 1));
    }
}
