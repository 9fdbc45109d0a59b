//! From thread to thread: one wakes the other and sleeps, on one CPU or across two.

use std::os::fd::AsFd;
use std::thread;
use std::time::Instant;

use nix::sys::eventfd::{EfdFlags, EventFd};

use crate::sample::Sample;
use crate::{StepError, refused};

/// There and back so often in a batch.
const ROUND_TRIPS: u64 = 500;

/// Times hops between this thread, on CPU `here`, and one on `there`. Each hop is an event written, a thread
/// that sleeps, one that wakes, and an event read.
///
/// # Errors
/// A CPU cannot be had.
pub fn sample(step: &'static str, here: u32, there: u32) -> Result<Sample, StepError> {
    let new = || EventFd::from_value_and_flags(0, EfdFlags::EFD_CLOEXEC).map_err(refused("making an event"));
    let (ask, answer) = (new()?, new()?);
    load::thread::pin_this_thread(&[here])?;
    thread::scope(|scope| {
        let other = scope.spawn(|| -> Result<(), StepError> {
            load::thread::pin_this_thread(&[there])?;
            // One round more than is timed: the first makes sure that both are where they should be.
            (0..=ROUND_TRIPS).try_for_each(|_| hop(&ask, &answer))
        });
        round_trip(&ask, &answer)?;
        let since = Instant::now();
        for _ in 0..ROUND_TRIPS {
            round_trip(&ask, &answer)?;
        }
        let sample = Sample::of(step, 0, 2 * ROUND_TRIPS, since);
        other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        Ok(sample)
    })
}

fn round_trip(ask: &EventFd, answer: &EventFd) -> Result<(), StepError> {
    notify(ask)?;
    listen(answer)
}

fn hop(ask: &EventFd, answer: &EventFd) -> Result<(), StepError> {
    listen(ask)?;
    notify(answer)
}

fn notify(event: &EventFd) -> Result<(), StepError> {
    nix::unistd::write(event.as_fd(), &1_u64.to_ne_bytes()).map(drop).map_err(refused("writing an event"))
}

fn listen(event: &EventFd) -> Result<(), StepError> {
    nix::unistd::read(event.as_fd(), &mut [0; 8]).map(drop).map_err(refused("reading an event"))
}
