//! Calls that move bytes between the user and a socket's buffer while nothing is sent.

use std::thread;
use std::time::Instant;

use path::Testbed;

use crate::StepError;
use crate::joined::{Buffers, Joined};
use crate::sample::Sample;

/// Bytes of a call.
const SIZES_BYTES: [u32; 5] = [64, 512, 4_096, 16_384, 65_536];
/// Calls of a batch at most, and bytes.
const CALLS: u32 = 48;
const BATCH_BYTES: u32 = 1 << 20;

/// Writes into a send buffer that cannot be emptied, because the other host's window is closed.
///
/// # Errors
/// The connection could not be had, or broke.
pub fn writes(testbed: &Testbed) -> Result<Vec<Sample>, StepError> {
    let mut joined = Joined::open(testbed, Buffers { send_bytes: 16 << 20, receive_bytes: 4_096 })?;
    // Closes the window.
    joined.write(&vec![1; 65_536])?;
    let mut samples = Vec::new();
    for bytes in SIZES_BYTES {
        let piece = vec![1; bytes as usize];
        let calls = calls_of(bytes);
        let since = Instant::now();
        for _ in 0..calls {
            joined.write(&piece)?;
        }
        samples.push(Sample::of("write_held", bytes, calls.into(), since));
    }
    Ok(samples)
}

/// Reads of bytes that lie in the receive buffer, with no acknowledgment pending. `written_on` is another CPU whose
/// thread wrote them, so that they are in its caches and not in this one's.
///
/// # Errors
/// The connection could not be had, or broke.
pub fn reads(testbed: &Testbed, step: &'static str, written_on: Option<u32>) -> Result<Vec<Sample>, StepError> {
    let mut joined = Joined::open(testbed, Buffers { send_bytes: 4 << 20, receive_bytes: 16 << 20 })?;
    joined.warm_up()?;
    let mut samples = Vec::new();
    for bytes in SIZES_BYTES {
        let mut piece = vec![1; bytes as usize];
        let calls = calls_of(bytes);
        write_on(written_on, &mut joined, &vec![1; bytes as usize * calls as usize])?;
        joined.await_arrival()?;
        joined.set_quick_ack(true)?;
        let since = Instant::now();
        for _ in 0..calls {
            joined.read(&mut piece)?;
        }
        samples.push(Sample::of(step, bytes, calls.into(), since));
    }
    Ok(samples)
}

/// Writes from a thread on another CPU, or from this one.
fn write_on(cpu: Option<u32>, joined: &mut Joined, bytes: &[u8]) -> Result<(), StepError> {
    let Some(cpu) = cpu else { return joined.write(bytes) };
    thread::scope(|scope| {
        let writing = scope.spawn(|| -> Result<(), StepError> {
            load::thread::pin_this_thread(&[cpu])?;
            joined.write(bytes)
        });
        writing.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

fn calls_of(bytes: u32) -> u32 {
    CALLS.min(BATCH_BYTES / bytes)
}
