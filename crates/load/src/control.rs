//! What the threads of a load are told while they run.

use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

use crate::life::Cut;
use crate::thread::sleep_until;

/// What the threads are told while they run.
#[derive(Debug, Default)]
pub(crate) struct Control {
    stop: AtomicBool,
    cut: AtomicU8,
    /// When the load begins, on CLOCK_MONOTONIC in ns; absent until that is known.
    start_mono_ns: Mutex<Option<u64>>,
    changed: Condvar,
}

/// How often a thread that waits for a distant start looks whether the load was cut.
const CUT_CHECK_NS: u64 = 50_000_000;

impl Control {
    /// Lets the load begin at an instant of CLOCK_MONOTONIC.
    pub fn begin(&self, start_mono_ns: u64) {
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

    /// Sleeps until the load begins, or is cut before; returns the planned beginning.
    pub fn await_start(&self) -> u64 {
        let mut start = self.start_mono_ns.lock().unwrap_or_else(PoisonError::into_inner);
        while start.is_none() && self.cut().is_none() {
            start = self.changed.wait(start).unwrap_or_else(PoisonError::into_inner);
        }
        let start_mono_ns = start.unwrap_or(0);
        drop(start);
        let mut now = probe::clock::mono_ns();
        while now < start_mono_ns && self.cut().is_none() {
            sleep_until(start_mono_ns.min(now.saturating_add(CUT_CHECK_NS)));
            now = probe::clock::mono_ns();
        }
        start_mono_ns
    }

    /// Ends a timed load in order.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Whether a timed load is over.
    #[inline]
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Whether the load began at least this long ago.
    pub fn has_run_for(&self, least_ns: u64) -> bool {
        let start = *self.start_mono_ns.lock().unwrap_or_else(PoisonError::into_inner);
        start.is_some_and(|start| probe::clock::mono_ns() >= start.saturating_add(least_ns))
    }

    /// How the load was cut, if it was.
    pub fn cut(&self) -> Option<Cut> {
        match self.cut.load(Ordering::Acquire) {
            1 => Some(Cut::Deadline),
            2 => Some(Cut::Aborted),
            _ => None,
        }
    }
}
