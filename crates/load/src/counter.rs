//! Counters of one connection: written by its thread alone, read by the sampler at any time.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counts of one connection. A cache line of its own keeps threads out of each other's way; the
/// single writer needs no read-modify-write.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct Counter {
    payload_bytes: AtomicU64,
    calls_count: AtomicU64,
}

/// The numbers that a counter showed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Payload moved, in bytes.
    pub payload_bytes: u64,
    /// Send or receive calls that returned.
    pub calls_count: u64,
}

impl Counter {
    /// Shows new totals. For the connection's own thread.
    #[inline]
    pub fn show(&self, counts: Counts) {
        self.payload_bytes.store(counts.payload_bytes, Ordering::Relaxed);
        self.calls_count.store(counts.calls_count, Ordering::Relaxed);
    }

    /// Reads the totals. The two may be one call apart.
    pub fn read(&self) -> Counts {
        Counts { payload_bytes: self.payload_bytes.load(Ordering::Relaxed), calls_count: self.calls_count.load(Ordering::Relaxed) }
    }
}
