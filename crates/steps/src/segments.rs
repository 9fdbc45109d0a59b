//! Calls that send. Without packet steering the calling thread also carries what it sends through the TCP
//! of the other side, in a softirq of its own; with steering to another CPU it stops at handing it over.

use std::time::{Duration, Instant};

use path::Testbed;

use crate::StepError;
use crate::joined::{Buffers, Joined};
use crate::sample::Sample;

/// Bytes of a call: a small segment, one full one at an MTU of 1500, super-segments.
const SIZES_BYTES: [u32; 5] = [64, 1_448, 8_192, 32_768, 65_160];
const CALLS: u32 = 32;
/// So long a processor has nothing to do before the next call, and sleeps.
const IDLE: Duration = Duration::from_micros(200);
const BATCH_BYTES: u32 = 1 << 20;
/// Acknowledgments of a batch.
const ACKS: u32 = 64;

/// The names of the two steps, by whether steering is on.
#[derive(Debug, Clone, Copy)]
pub struct Names {
    /// Writes that send.
    pub send: &'static str,
    /// Acknowledgments that are let go.
    pub ack: &'static str,
}

/// Writes of several sizes that each leave at once, and acknowledgments that leave on request.
///
/// # Errors
/// The connection could not be had, or broke.
pub fn samples(testbed: &Testbed, names: Names) -> Result<Vec<Sample>, StepError> {
    let mut joined = Joined::open(testbed, Buffers { send_bytes: 4 << 20, receive_bytes: 16 << 20 })?;
    joined.warm_up()?;
    let mut samples = SIZES_BYTES.into_iter().map(|bytes| sends(&mut joined, names.send, bytes)).collect::<Result<Vec<_>, _>>()?;
    samples.push(acks(&mut joined, names.ack)?);
    Ok(samples)
}

fn sends(joined: &mut Joined, step: &'static str, bytes: u32) -> Result<Sample, StepError> {
    let piece = vec![1; bytes as usize];
    let calls = CALLS.min(BATCH_BYTES / bytes);
    joined.set_quick_ack(false)?;
    let before = joined.segments()?;
    let since = Instant::now();
    for _ in 0..calls {
        joined.write(&piece)?;
    }
    let sample = Sample::of(step, bytes, calls.into(), since);
    joined.await_arrival()?;
    let [data, acks] = joined.segments()?;
    joined.drain()?;
    Ok(Sample { data_segments: data - before[0], pure_acks_segments: acks - before[1], ..sample })
}

/// Writes that each find the other CPU asleep: the caller has to wake it (`net_rps_send_ipi`, net/core/dev.c).
///
/// # Errors
/// The connection could not be had, or broke.
pub fn to_idle(steered: &Testbed, step: &'static str) -> Result<Vec<Sample>, StepError> {
    let mut joined = Joined::open(steered, Buffers { send_bytes: 4 << 20, receive_bytes: 16 << 20 })?;
    joined.warm_up()?;
    SIZES_BYTES.into_iter().map(|bytes| sends_to_idle(&mut joined, step, bytes)).collect()
}

fn sends_to_idle(joined: &mut Joined, step: &'static str, bytes: u32) -> Result<Sample, StepError> {
    let piece = vec![1; bytes as usize];
    joined.set_quick_ack(false)?;
    let before = joined.segments()?;
    let mut timed = Duration::ZERO;
    for _ in 0..CALLS {
        joined.await_arrival()?;
        std::thread::sleep(IDLE);
        let since = Instant::now();
        joined.write(&piece)?;
        timed += since.elapsed();
        joined.drain()?;
    }
    let [data, acks] = joined.segments()?;
    let duration_ns = u64::try_from(timed.as_nanos()).unwrap_or(u64::MAX);
    let [data_segments, pure_acks_segments] = [data - before[0], acks - before[1]];
    Ok(Sample { step, round: 0, bytes, calls_count: CALLS.into(), duration_ns, data_segments, pure_acks_segments })
}

/// A byte is sent and read and its acknowledgment held back; what is timed is letting it go. Linux lets none
/// go early while bytes are unread (`__tcp_cleanup_rbuf`, net/ipv4/tcp.c).
fn acks(joined: &mut Joined, step: &'static str) -> Result<Sample, StepError> {
    let [_, before] = joined.segments()?;
    let mut timed = Duration::ZERO;
    for _ in 0..ACKS {
        joined.set_quick_ack(false)?;
        joined.write(&[1])?;
        joined.drain()?;
        let since = Instant::now();
        joined.set_quick_ack(true)?;
        timed += since.elapsed();
    }
    let [_, after] = joined.segments()?;
    let duration_ns = u64::try_from(timed.as_nanos()).unwrap_or(u64::MAX);
    Ok(Sample { step, round: 0, bytes: 0, calls_count: ACKS.into(), duration_ns, data_segments: 0, pure_acks_segments: after - before })
}
