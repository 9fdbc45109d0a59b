//! The way into the kernel and back, and from one thread to another of the same CPU.

use std::hint::black_box;
use std::time::Instant;

use crate::sample::Sample;

const CALLS: u64 = 2_000;

/// A system call that does nothing.
pub fn sample() -> Sample {
    let since = Instant::now();
    for _ in 0..CALLS {
        black_box(nix::unistd::getppid());
    }
    Sample::of("call", 0, CALLS, since)
}
