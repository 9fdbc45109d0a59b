//! Reads a log, of segments or of calls: one an end and CPU, filled by programs, emptied here.

use std::marker::PhantomData;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use super::layout::LogHead;
use super::mapped::Mapped;

/// The reading end of the log. There must be one only.
pub struct LogReader<R> {
    logs: Mapped<LogHead>,
    /// This end's logs among them, by CPU.
    own: Range<usize>,
    slots: u64,
    records: PhantomData<R>,
}

impl<R: Copy> LogReader<R> {
    pub(crate) fn new(logs: Mapped<LogHead>, own: Range<usize>, slots: u32) -> Self {
        Self { logs, own, slots: u64::from(slots), records: PhantomData }
    }

    /// Takes what has come since, CPU after CPU, in the order of time for each; at most `most`
    /// records a CPU. Returns how many were taken.
    pub fn drain(&self, most: u64, mut take: impl FnMut(u32, &R)) -> u64 {
        let mut taken = 0;
        for (cpu, number) in self.own.clone().zip(0u32..) {
            let (head, tail) = (self.word(cpu, HEAD).load(Ordering::Acquire), self.word(cpu, TAIL).load(Ordering::Relaxed));
            let end = head.min(tail.saturating_add(most));
            for position in tail..end {
                take(number, &self.record(cpu, position % self.slots));
            }
            self.word(cpu, TAIL).store(end, Ordering::Release);
            taken += end - tail;
        }
        taken
    }

    /// The fill level of the fullest log, from 0 to 1.
    pub fn fullness(&self) -> f64 {
        let waiting = |cpu| self.word(cpu, HEAD).load(Ordering::Acquire) - self.word(cpu, TAIL).load(Ordering::Relaxed);
        self.own.clone().map(waiting).max().unwrap_or(0) as f64 / self.slots as f64
    }

    /// Records lost since the log was emptied last, by CPU.
    pub fn lost(&self) -> Vec<u64> {
        self.own.clone().map(|cpu| self.word(cpu, LOST).load(Ordering::Relaxed)).collect()
    }

    /// Records written since the log was emptied last, those lost not among them.
    pub fn written(&self) -> u64 {
        self.own.clone().map(|cpu| self.word(cpu, HEAD).load(Ordering::Relaxed)).sum()
    }

    /// Throws away what is there and counts from 0 again. No watched connection may exist.
    pub(crate) fn clear(&self) {
        for cpu in self.own.clone() {
            for word in [HEAD, LOST, TAIL] {
                self.word(cpu, word).store(0, Ordering::SeqCst);
            }
        }
    }

    fn word(&self, cpu: usize, offset: usize) -> &AtomicU64 {
        // SAFETY: `pointer` is within the mapping, whose first `size_of::<LogHead>()` bytes are there;
        // the words are aligned, and programs and this end change them atomically.
        unsafe { &*self.logs.pointer(cpu).cast::<u8>().add(offset).cast() }
    }

    fn record(&self, cpu: usize, slot: u64) -> R {
        let records = self.logs.pointer(cpu).wrapping_add(1).cast::<R>();
        // SAFETY: the value of a CPU is its head and `slots` records, and `slot` is below that; the
        // program does not write a record between head and tail.
        unsafe { records.add(usize::try_from(slot).unwrap_or(0)).read_volatile() }
    }
}

const HEAD: usize = std::mem::offset_of!(LogHead, head);
const LOST: usize = std::mem::offset_of!(LogHead, lost);
const TAIL: usize = std::mem::offset_of!(LogHead, tail);
