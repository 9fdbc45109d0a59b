//! The quality of the router's work: what the kernel loses on the path, what leaves late, what it
//! costs.

use emulate::PathDirection;
use hdrhistogram::Histogram;
use schema::path::PathAudit;

use super::pace::{Pace, mono_ns, thread_cpu_ns};
use super::socket::PacketSocket;

/// Latest that the histogram separates, in ns; later counts as this.
const LATEST_NS: u64 = 10_000_000_000;
/// Significant digits of the histogram.
const DIGITS: u8 = 2;

/// The packets that left in one interval.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Released {
    /// Packets.
    pub packets: u64,
    /// Their lateness together, in ns.
    pub lateness_ns_sum: u64,
    /// The lateness of the latest of them, in ns.
    pub lateness_ns_max: u64,
}

/// The packets that left in one direction.
#[derive(Debug, Clone)]
pub struct Departed {
    /// By interval of the path's table.
    pub intervals: Vec<Released>,
    /// The lateness of packets, in ns; absent where a histogram could not be made.
    pub lateness: Option<Histogram<u64>>,
}

impl Departed {
    fn new() -> Self {
        Self { intervals: Vec::new(), lateness: Histogram::new_with_bounds(1, LATEST_NS, DIGITS).ok() }
    }
}

/// Counts from one begin to the end.
#[derive(Debug)]
pub(super) struct Auditor {
    begin_ns: u64,
    interval_ns: u64,
    departed: [Departed; 2],
    audit: PathAudit,
    cpu_from_ns: u64,
    yielded_before_count: u64,
}

impl Auditor {
    /// Begins to count at `begin_ns`.
    pub fn new(begin_ns: u64, interval_ns: u64, budget_ns: u64, sockets: &[PacketSocket; 2], pace: &Pace) -> Self {
        // What was lost before is not this trial's.
        let _ = dropped(sockets);
        Self {
            begin_ns,
            interval_ns: interval_ns.max(1),
            departed: [Departed::new(), Departed::new()],
            audit: PathAudit { budget_ns, late_packets: Some(0), lateness_ns_max: Some(0), ..PathAudit::default() },
            cpu_from_ns: thread_cpu_ns(),
            yielded_before_count: pace.yielded_count,
        }
    }

    /// A packet that was due at `due_ns` left at `now_ns`.
    pub fn on_released(&mut self, way: PathDirection, due_ns: u64, now_ns: u64) {
        let late_ns = now_ns.saturating_sub(due_ns);
        self.audit.released_packets += 1;
        *self.audit.late_packets.get_or_insert_default() += u64::from(late_ns > self.audit.budget_ns);
        self.audit.lateness_ns_max = self.audit.lateness_ns_max.max(Some(late_ns));
        let departed = &mut self.departed[way as usize];
        if let Some(lateness) = &mut departed.lateness {
            lateness.saturating_record(late_ns);
        }
        let index = usize::try_from(now_ns.saturating_sub(self.begin_ns) / self.interval_ns).unwrap_or(0);
        if departed.intervals.len() <= index {
            departed.intervals.resize(index + 1, Released::default());
        }
        let interval = &mut departed.intervals[index];
        interval.packets += 1;
        interval.lateness_ns_sum += late_ns;
        interval.lateness_ns_max = interval.lateness_ns_max.max(late_ns);
    }

    /// The kernel refused this many frames.
    pub fn on_refused(&mut self, count: u64) {
        self.audit.refused_frames += count;
    }

    /// A frame came without a stamp.
    pub fn on_unstamped(&mut self) {
        self.audit.unstamped_frames += 1;
    }

    /// The counts, with what is known at the end.
    pub fn ended(self, sockets: &[PacketSocket; 2], pace: &Pace) -> (PathAudit, [Departed; 2]) {
        let audit = PathAudit {
            socket_dropped_frames: dropped(sockets),
            cpu_ns: thread_cpu_ns().saturating_sub(self.cpu_from_ns),
            wall_ns: mono_ns().saturating_sub(self.begin_ns),
            has_precedence: pace.runs_ahead(),
            yielded_count: pace.yielded_count - self.yielded_before_count,
            ..self.audit
        };
        (audit, self.departed)
    }
}

fn dropped(sockets: &[PacketSocket; 2]) -> u64 {
    sockets.iter().map(|socket| socket.drops().map_or(0, u64::from)).sum()
}
