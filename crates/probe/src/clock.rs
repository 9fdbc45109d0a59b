//! The clocks of the record. The only place of the measuring crates that reads them.

use nix::time::{ClockId, clock_gettime};

/// CLOCK_MONOTONIC in ns.
pub fn mono_ns() -> u64 {
    read_ns(ClockId::CLOCK_MONOTONIC)
}

/// CLOCK_REALTIME in ns since the epoch.
pub fn realtime_ns() -> u64 {
    read_ns(ClockId::CLOCK_REALTIME)
}

/// CPU time of this thread in ns.
pub fn thread_cpu_ns() -> u64 {
    read_ns(ClockId::CLOCK_THREAD_CPUTIME_ID)
}

/// Reads a clock that every Linux has and that is never before its epoch; 0 otherwise.
fn read_ns(clock: ClockId) -> u64 {
    clock_gettime(clock)
        .ok()
        .and_then(|now| Some(u64::try_from(now.tv_sec()).ok()? * 1_000_000_000 + u64::try_from(now.tv_nsec()).ok()?))
        .unwrap_or(0)
}
