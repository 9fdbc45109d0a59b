//! The quality of a path's carriage, in counts. The controller decides what they mean for a trial.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The implementation that carried out a path from its start to its end, and how well it did.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PathAudit {
    /// Packets that it let go; 0 where it counts none.
    pub released_packets: u64,
    /// Those it let go later than the budget after they were due; absent where it is not counted.
    pub late_packets: Option<u64>,
    /// The budget, in ns.
    pub budget_ns: u64,
    /// The lateness of the latest of all, in ns; absent where it is not counted.
    pub lateness_ns_max: Option<u64>,
    /// Frames that the kernel could not keep until the router came by (`PACKET_STATISTICS`).
    pub socket_dropped_frames: u64,
    /// Packets that devices of the testbed dropped, because the CPU behind them did not keep up, or
    /// the delay had no room for.
    pub device_dropped_packets: u64,
    /// Frames that the kernel refused to give or to take.
    pub refused_frames: u64,
    /// Frames that came without the kernel's stamp, and count as arriving when the router saw them.
    pub unstamped_frames: u64,
    /// CPU time of the router's thread, in ns, without the soft interrupts that hand it its frames; of
    /// netem that of the thread that reads its counts.
    pub cpu_ns: u64,
    /// Time from the start to the end, in ns.
    pub wall_ns: u64,
    /// True if the thread ran ahead of ordinary ones (`SCHED_FIFO`).
    pub has_precedence: bool,
    /// Stretches of 100 ms in which it did not, because it took more than 85 % of its CPU.
    pub yielded_count: u64,
    /// The things that could not be audited and why, a sentence each.
    #[serde(default)]
    pub unaudited: Vec<String>,
}
