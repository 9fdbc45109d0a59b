//! Waking in time: sleeping to an instant less what waking usually takes, on a CPU that is kept
//! from deep sleep, ahead of ordinary threads as long as that leaves them some of the CPU.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};

use nix::errno::Errno;
use nix::sched::{CpuSet, sched_setaffinity};
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, ClockNanosleepFlags, clock_gettime, clock_nanosleep};
use nix::unistd::Pid;

/// A wake-up that took longer shows a stall, not of what waking takes, in ns.
const STALL_NS: u64 = 200_000;
/// Weight of a new wake-up in what is learned: one part in this.
const LEARNED_PARTS: u64 = 32;
/// Sleeping for less than this is not worth the call, in ns.
const MIN_SLEEP_NS: u64 = 3_000;
/// Length of the stretches over which the thread's share of its CPU is watched, in ns.
const WATCHED_NS: u64 = 100_000_000;
/// Above this share, in percent, the thread gives up its precedence: the kernel takes the CPU from
/// threads with precedence at 95 % (`sched_rt_runtime_us`), for whole 50 ms.
const HIGHEST_SHARE_PERCENT: u64 = 85;
const NS_PER_S: u64 = 1_000_000_000;
/// Precedence over all ordinary threads, below the kernel's own of that kind.
const PRIORITY: libc::c_int = 10;

/// `CLOCK_MONOTONIC` in ns.
pub(crate) fn mono_ns() -> u64 {
    clock_ns(ClockId::CLOCK_MONOTONIC)
}

/// `CLOCK_REALTIME` less `CLOCK_MONOTONIC` in ns, with an error of what reading a clock takes.
pub(super) fn realtime_ahead_ns() -> u64 {
    let before = mono_ns();
    let realtime = clock_ns(ClockId::CLOCK_REALTIME);
    realtime.saturating_sub(before.midpoint(mono_ns()))
}

/// CPU time of the calling thread in ns.
pub(crate) fn thread_cpu_ns() -> u64 {
    clock_ns(ClockId::CLOCK_THREAD_CPUTIME_ID)
}

fn clock_ns(clock: ClockId) -> u64 {
    clock_gettime(clock).map_or(0, |time| {
        let whole = |number: i64| u64::try_from(number).unwrap_or(0);
        whole(time.tv_sec()) * NS_PER_S + whole(time.tv_nsec())
    })
}

/// The standing of the router's thread with the scheduler.
#[derive(Debug)]
pub(super) struct Pace {
    /// Held open: while it is, CPUs do not sleep deeply (kernel: `power/pm_qos_interface`).
    _latency: Option<File>,
    has_precedence: bool,
    is_allowed_precedence: bool,
    usual_wake_ns: u64,
    watched_from: (u64, u64),
    /// Stretches without precedence.
    pub yielded_count: u64,
}

impl Pace {
    /// Prepares the calling thread. What the host does not allow is done without.
    pub fn take(cpu: Option<u32>) -> Self {
        if let Some(cpu) = cpu {
            let mut set = CpuSet::new();
            // A CPU that went offline is no reason not to run.
            let _ = set.set(cpu as usize).and_then(|()| sched_setaffinity(Pid::from_raw(0), &set));
        }
        let latency = OpenOptions::new().write(true).open("/dev/cpu_dma_latency").and_then(|mut file| {
            file.write_all(&0_i32.to_ne_bytes())?;
            Ok(file)
        });
        let has_precedence = set_precedence(true).is_ok();
        Self {
            _latency: latency.ok(),
            has_precedence,
            is_allowed_precedence: has_precedence,
            usual_wake_ns: 0,
            watched_from: (mono_ns(), thread_cpu_ns()),
            yielded_count: 0,
        }
    }

    /// Sleeps until `due_mono_ns`, or a little less.
    pub fn sleep_until(&mut self, due_mono_ns: u64) {
        let target = due_mono_ns.saturating_sub(self.usual_wake_ns);
        if target <= mono_ns() + MIN_SLEEP_NS {
            return;
        }
        let whole = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        let until = TimeSpec::new(whole(target / NS_PER_S), whole(target % NS_PER_S));
        if clock_nanosleep(ClockId::CLOCK_MONOTONIC, ClockNanosleepFlags::TIMER_ABSTIME, &until) != Err(Errno::EINTR) {
            self.on_woken(mono_ns().saturating_sub(target));
        }
    }

    fn on_woken(&mut self, late_ns: u64) {
        if late_ns < STALL_NS {
            self.usual_wake_ns = (self.usual_wake_ns * (LEARNED_PARTS - 1) + late_ns) / LEARNED_PARTS;
        }
    }

    /// Gives precedence up while the thread takes too much of its CPU, and takes it back later.
    pub fn watch(&mut self, now_mono_ns: u64) {
        let (from, cpu_from) = self.watched_from;
        let passed_ns = now_mono_ns.saturating_sub(from);
        if passed_ns < WATCHED_NS || !self.is_allowed_precedence {
            return;
        }
        let cpu_ns = thread_cpu_ns();
        let is_modest = (cpu_ns - cpu_from) * 100 < passed_ns * HIGHEST_SHARE_PERCENT;
        if is_modest != self.has_precedence && set_precedence(is_modest).is_ok() {
            self.has_precedence = is_modest;
            self.yielded_count += u64::from(!is_modest);
        }
        self.watched_from = (now_mono_ns, cpu_ns);
    }

    /// True if the thread runs ahead of ordinary ones, where its share of the CPU allows it.
    pub fn runs_ahead(&self) -> bool {
        self.is_allowed_precedence
    }
}

fn set_precedence(on: bool) -> io::Result<()> {
    let (policy, priority) = if on { (libc::SCHED_FIFO, PRIORITY) } else { (libc::SCHED_OTHER, 0) };
    let parameters = libc::sched_param { sched_priority: priority };
    // SAFETY: the pointer is to a `sched_param`; 0 is the calling thread.
    match unsafe { libc::sched_setscheduler(0, policy, &raw const parameters) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
