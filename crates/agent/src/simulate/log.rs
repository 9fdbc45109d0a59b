//! The segment log of the model: what left an end system, and what came to the other's adapter.
//!
//! A segment that the adapter loses is among those that came: the log shows the line, `lost_segments` what became of it.
//! Sequence numbers begin at 1 in both directions, as if a handshake had been before.

use schema::simulation::Simulation;
use sim::end_system::Cause;
use sim::log::Entry;
use sim::time::NS;
use sim::world::Outcome;

use super::recorded::Folder;
use super::rows::role;
use crate::segment_file::Row;

const ACK: u32 = 16;
const PSH: u32 = 8;

/// Writes both ends' logs; returns how many rows each has.
pub fn write(asked: &Simulation, outcome: &Outcome, folder: &Folder) -> anyhow::Result<[u64; 2]> {
    let mut counts = [0, 0];
    for who in [0, 1] {
        let mut file = folder.log(who, role(asked, who))?;
        // What left and what came, each in the order of time.
        let mut left = outcome.log.entries.iter().filter(|entry| entry.from == who).peekable();
        let mut came = outcome.log.entries.iter().filter(|entry| entry.from != who && entry.arrives <= outcome.duration).peekable();
        loop {
            let is_out = match (left.peek(), came.peek()) {
                (Some(out), Some(arrived)) => out.at <= arrived.arrives,
                (Some(_), None) => true,
                (None, Some(_)) => false,
                (None, None) => break,
            };
            let next = if is_out { left.next() } else { came.next() };
            if let Some(entry) = next {
                file.push_row(&logged(entry, is_out))?;
                counts[who] += 1;
            }
        }
        folder.keep_log(who, file)?;
    }
    Ok(counts)
}

fn logged(entry: &Entry, is_out: bool) -> Row {
    let segment = &entry.segment;
    let wrapped = |number: u64| Some(u32::try_from((number + 1) & u64::from(u32::MAX)).unwrap_or(0));
    let wire = u32::from(segment.wire_segments_count.max(1));
    let known = |number: u64| u32::try_from(number).ok().filter(|_| is_out);
    Row {
        mono_ns: if is_out { entry.at } else { entry.arrives } / NS,
        direction: u8::from(!is_out),
        // What arrives is taken by the network's interrupt.
        context: if is_out { context(entry.cause) } else { 1 },
        is_ksoftirqd: false,
        retransmission: (is_out && segment.flags.is_retransmission).then(|| u8::from(entry.cause != Cause::Retransmission)),
        reason: (is_out && segment.bytes == 0).then(|| reason(entry.cause)),
        pacing_rate: None,
        numbers: [
            Some(0),
            wrapped(segment.sequence),
            wrapped(segment.acknowledgment),
            Some(segment.bytes),
            Some(if wire > 1 { segment.bytes.div_ceil(wire) } else { 0 }),
            Some(wire),
            Some(ACK | if segment.flags.is_push { PSH } else { 0 }),
            // As in a header whose window is not scaled; the model's has no other.
            Some(segment.window.min(0xffff)),
            Some(segment.window),
            known(entry.outstanding_bytes),
            None,
            None,
            None,
            None,
            None,
            None,
            Some(0),
        ],
    }
}

/// Position in `CONTEXTS`: process, `net_rx`, timer, hrtimer, worker.
fn context(cause: Cause) -> u8 {
    match cause {
        Cause::WriteCall | Cause::ReadCall => 0,
        Cause::Arrival | Cause::SecondSegment | Cause::QuickAck | Cause::OutOfOrder => 1,
        Cause::DelayedAck | Cause::Retransmission | Cause::WindowProbe => 2,
        Cause::Pacing => 3,
        Cause::Deferred => 4,
    }
}

/// Position in `ACK_REASONS`.
fn reason(cause: Cause) -> u8 {
    match cause {
        Cause::DelayedAck => 0,
        Cause::ReadCall => 1,
        Cause::SecondSegment => 2,
        Cause::QuickAck => 3,
        Cause::OutOfOrder => 4,
        Cause::WindowProbe => 5,
        Cause::WriteCall | Cause::Arrival | Cause::Retransmission | Cause::Pacing | Cause::Deferred => 8,
    }
}
