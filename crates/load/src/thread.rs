//! The dealings of a load's thread with itself: where it runs, what it used up, how it waits.

use nix::sched::{CpuSet, sched_setaffinity};
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, ClockNanosleepFlags, clock_nanosleep};
use nix::unistd::Pid;
use probe::threads::{ThreadProbe, ThreadSample};

use crate::LoadError;

/// Binds the calling thread to `cpus`; an empty list binds nothing.
///
/// # Errors
/// A CPU does not exist or may not be used.
pub fn pin_this_thread(cpus: &[u32]) -> Result<(), LoadError> {
    if cpus.is_empty() {
        return Ok(());
    }
    let mut set = CpuSet::new();
    for &cpu in cpus {
        set.set(cpu as usize).map_err(|error| LoadError::host(format!("pinning to CPU {cpu}"), error.into(), ""))?;
    }
    sched_setaffinity(Pid::from_raw(0), &set)
        .map_err(|error| LoadError::host(format!("pinning to CPUs {cpus:?}"), error.into(), "; `whyperf doctor` lists the CPUs of a host"))
}

/// The calling thread's own account: once it has ended nobody can ask for it.
pub(crate) fn account() -> Option<(u64, ThreadSample)> {
    let thread = u32::try_from(nix::unistd::gettid().as_raw()).ok()?;
    let sample = ThreadProbe::open(thread).ok()?.sample()?;
    Some((probe::clock::mono_ns(), sample))
}

/// Sleeps until an instant of CLOCK_MONOTONIC.
pub(crate) fn sleep_until(mono_ns: u64) {
    let seconds = i64::try_from(mono_ns / 1_000_000_000).unwrap_or(0);
    let nanoseconds = i64::try_from(mono_ns % 1_000_000_000).unwrap_or(0);
    let request = TimeSpec::new(seconds, nanoseconds);
    while clock_nanosleep(ClockId::CLOCK_MONOTONIC, ClockNanosleepFlags::TIMER_ABSTIME, &request) == Err(nix::errno::Errno::EINTR) {}
}
