//! Copies in user memory, of bytes that the cache holds and of bytes that it cannot hold.

use std::hint::black_box;
use std::time::Instant;

use crate::sample::Sample;

/// A piece that every second-level cache holds twice.
const PIECE_BYTES: usize = 65_536;
/// More than caches hold.
const EXTENT_BYTES: usize = 256 << 20;
/// Copies of a batch.
const COPIES: usize = 64;

/// Memory to copy from and to.
pub struct Memory {
    extent: Vec<u8>,
    piece: Vec<u8>,
    /// Where the next copy of cold bytes begins.
    next: usize,
}

impl Default for Memory {
    fn default() -> Self {
        // Written once: untouched pages are all one page of zeros.
        let mut extent = vec![0_u8; EXTENT_BYTES];
        extent.iter_mut().step_by(4096).for_each(|byte| *byte = 1);
        Self { extent, piece: vec![1; PIECE_BYTES], next: 0 }
    }
}

impl Memory {
    /// Both kinds of copies, a batch each.
    pub fn samples(&mut self) -> [Sample; 2] {
        [self.batch("copy_hot", false), self.batch("copy_cold", true)]
    }

    fn batch(&mut self, step: &'static str, goes_on: bool) -> Sample {
        // The target of a hot copy, too, has to be in the cache.
        self.copy(0);
        let since = Instant::now();
        for _ in 0..COPIES {
            let at = if goes_on { self.next } else { 0 };
            self.copy(at);
            self.next = (self.next + PIECE_BYTES) % (EXTENT_BYTES - PIECE_BYTES);
        }
        Sample::of(step, 65_536, COPIES as u64, since)
    }

    fn copy(&mut self, at: usize) {
        self.piece.copy_from_slice(&self.extent[at..at + PIECE_BYTES]);
        black_box(&self.piece);
    }
}
