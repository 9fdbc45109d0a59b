//! Everything that the threads of a load are given: the task of each, and the commands to start and to stop.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;
use workload::exchange::Exchange;
use workload::pace::Pace;
use workload::schedule::ActiveInterval;
use workload::stream::Transfer;

use crate::connection_result::Cut;
use crate::counter::Counter;
use crate::thread::sleep_until;
use crate::urgency::Urgent;

/// Everything a connection's thread needs.
pub(crate) struct StreamTask {
    pub number: u32,
    pub counter: Arc<Counter>,
    pub control: Arc<Control>,
    pub transfer: Transfer,
    /// Payload the connection is to carry; `None` when a clock ends it.
    pub planned_bytes: Option<u64>,
    /// When the next write is due; none: at once.
    pub pace: Option<Pace>,
    /// Where requests end and how long their replies are.
    pub exchange: Exchange,
    /// When it carries payload, after the load's start; none: all through.
    pub active: Option<ActiveInterval>,
    /// When the load began, on CLOCK_MONOTONIC in ns.
    pub begin_mono_ns: u64,
    /// Time from the start after which a receiver may see the end of a timed load, in ns.
    pub least_ns: u64,
    /// Lets a sender come to its first call on time; none from then on.
    pub urgent: Option<Urgent>,
}

/// Commands to all threads of a load.
#[derive(Debug, Default)]
pub(crate) struct Control {
    stop: AtomicBool,
    cut: AtomicU8,
    /// When the load begins, on CLOCK_MONOTONIC in ns; absent until that is known.
    start_mono_ns: Mutex<Option<u64>>,
    /// When both hosts were to begin: the other one may have done so when this one was late.
    planned_mono_ns: AtomicU64,
    changed: Condvar,
}

/// Time before the start at which a thread stops listening for a cut, and sleeps until the very instant.
const LAST_SLEEP_NS: u64 = 20_000_000;

/// Threads that come ahead of others at the start, at most.
const MAX_URGENT: u32 = 16;

impl Control {
    /// Lets the load begin at an instant of CLOCK_MONOTONIC, and notes the one that was planned.
    pub fn start(&self, planned_mono_ns: u64, start_mono_ns: u64) {
        self.planned_mono_ns.store(planned_mono_ns, Ordering::Release);
        *self.start_mono_ns.lock().unwrap_or_else(PoisonError::into_inner) = Some(start_mono_ns);
        self.changed.notify_all();
    }

    /// Ends everything.
    pub fn cut_all(&self, cut: Cut) {
        let code = match cut {
            Cut::Deadline => 1,
            Cut::Aborted => 2,
        };
        // The first reason stays.
        let _ = self.cut.compare_exchange(0, code, Ordering::AcqRel, Ordering::Acquire);
        self.stop.store(true, Ordering::Relaxed);
        // Under the lock, so that no thread is between its look at the cut and its sleep.
        drop(self.start_mono_ns.lock().unwrap_or_else(PoisonError::into_inner));
        self.changed.notify_all();
    }

    /// Like [`Control::await_start`], for one of so many threads that are to make their first calls at this instant.
    ///
    /// A few of them come ahead of ordinary threads until they have made it: hosts begin together only if their first
    /// calls do not wait for a CPU that another load has. Thousands would keep everything else from it.
    pub fn await_start_of_few(&self, threads_count: u32) -> (u64, Option<Urgent>) {
        let urgent = (threads_count <= MAX_URGENT).then(Urgent::this_thread);
        (self.await_start(), urgent)
    }

    /// Waits until it is known when the load begins, or until it is cut; returns that instant, or 0 after a cut.
    pub fn await_instant(&self) -> u64 {
        let mut start = self.start_mono_ns.lock().unwrap_or_else(PoisonError::into_inner);
        while start.is_none() && self.cut().is_none() {
            // Nobody polls: thousands of threads would keep the CPUs busy.
            start = self.changed.wait(start).unwrap_or_else(PoisonError::into_inner);
        }
        start.unwrap_or(0)
    }

    /// Sleeps until the load begins, or is cut before; returns the planned beginning.
    pub fn await_start(&self) -> u64 {
        let start_mono_ns = self.await_instant();
        let mut start = self.start_mono_ns.lock().unwrap_or_else(PoisonError::into_inner);
        while self.cut().is_none() {
            let left_ns = start_mono_ns.saturating_sub(probe::clock::mono_ns()).saturating_sub(LAST_SLEEP_NS);
            if left_ns == 0 {
                break;
            }
            start = self.changed.wait_timeout(start, Duration::from_nanos(left_ns)).unwrap_or_else(PoisonError::into_inner).0;
        }
        drop(start);
        if self.cut().is_none() {
            sleep_until(start_mono_ns);
        }
        start_mono_ns
    }

    /// Ends a timed load in order.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// True if a timed load is over.
    #[inline]
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// True if the load was to begin at least this long ago.
    pub fn has_run_for(&self, least_ns: u64) -> bool {
        let planned = self.start_mono_ns.lock().unwrap_or_else(PoisonError::into_inner).is_some();
        planned && probe::clock::mono_ns() >= self.planned_mono_ns.load(Ordering::Acquire).saturating_add(least_ns)
    }

    /// The way that the load was cut, if it was.
    pub fn cut(&self) -> Option<Cut> {
        match self.cut.load(Ordering::Acquire) {
            1 => Some(Cut::Deadline),
            2 => Some(Cut::Aborted),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_counts_from_the_planned_start_of_both_hosts() {
        let control = Control::default();
        assert!(!control.has_run_for(0), "nothing runs before the start is known");
        let now = probe::clock::mono_ns();
        // This host is late: the other one has run for a second when this one begins, an hour from now.
        control.start(now - 1_000_000_000, now + 3_600_000_000_000);
        assert!(control.has_run_for(1_000_000_000));
        assert!(!control.has_run_for(3_600_000_000_000));
    }
}
