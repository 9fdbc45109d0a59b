//! The segment log of the model: what left an end system, and what came to the other's adapter.
//!
//! A segment that the adapter loses is among those that came: the log shows the line, `lost_segments` what became of it.
//! Sequence numbers begin at 1 in both directions, as if a handshake had been before. What the sockets held stands
//! there as it was when a segment had left, and when one began to come in.

use schema::simulation::Simulation;
use sim::end_system::Cause;
use sim::log::{Entry, Held};
use sim::time::NS;

use super::recorded::Folder;
use super::rows::{mss_bytes, role};
use super::trial::Ran;
use crate::segment_file::Row;

const ACK: u32 = 16;
const PSH: u32 = 8;

/// The slow-start threshold of a kernel that has seen no loss (`TCP_INFINITE_SSTHRESH`).
const NO_THRESHOLD: u32 = 0x7fff_ffff;

/// Writes both ends' logs; returns how many rows each has.
pub fn write(asked: &Simulation, ran: &Ran, folder: &Folder) -> anyhow::Result<[u64; 2]> {
    let outcome = &ran.outcome;
    let mut counts = [0, 0];
    for who in [0, 1] {
        let mss = mss_bytes(&ran.profiles[who]).unwrap_or(1).min(mss_bytes(&ran.profiles[1 - who]).unwrap_or(u32::MAX)).max(1);
        let mut sent = vec![Sent { end: 0, acknowledged: 0 }; outcome.connections[who].len()];
        let mut file = folder.log(who, role(asked, who))?;
        // What left and what came, each in the order of time.
        let mut left = outcome.log.entries.iter().filter(|entry| entry.from == who).peekable();
        let arrivals = outcome.log.entries.iter().chain(&outcome.log.came);
        let mut came = arrivals.filter(|entry| entry.from != who && entry.arrives <= outcome.duration).peekable();
        loop {
            let is_out = match (left.peek(), came.peek()) {
                (Some(out), Some(arrived)) => out.at <= arrived.arrives,
                (Some(_), None) => true,
                (None, Some(_)) => false,
                (None, None) => break,
            };
            let next = if is_out { left.next() } else { came.next() };
            if let Some(entry) = next {
                let sent = &mut sent[usize::from(entry.segment.connection)];
                sent.see(entry, is_out);
                file.push_row(&logged(entry, is_out, sent, u64::from(mss)))?;
                counts[who] += 1;
            }
        }
        folder.keep_log(who, file)?;
    }
    Ok(counts)
}

/// How far an end has sent on a connection, and how far that is acknowledged.
#[derive(Clone)]
struct Sent {
    end: u64,
    acknowledged: u64,
}

impl Sent {
    fn see(&mut self, entry: &Entry, is_out: bool) {
        if is_out {
            self.end = self.end.max(entry.segment.end());
        } else {
            self.acknowledged = self.acknowledged.max(entry.segment.acknowledgment);
        }
    }
}

fn logged(entry: &Entry, is_out: bool, sent: &Sent, mss: u64) -> Row {
    let segment = &entry.segment;
    let narrow = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
    let wrapped = |number: u64| Some(narrow((number + 1) & u64::from(u32::MAX)));
    let wire = u32::from(segment.wire_segments_count.max(1));
    let held = if is_out { Some(entry.at_sender) } else { entry.at_receiver };
    let state = |of: fn(&Held) -> u64| held.as_ref().map(of).map(narrow);
    let cwnd = held.map(|held| held.cwnd_bytes).filter(|&bytes| bytes != u64::MAX);
    let ssthresh = held.filter(|_| cwnd.is_some()).map(|held| held.ssthresh_bytes);
    let unacked = if is_out { entry.outstanding_bytes } else { sent.end.saturating_sub(sent.acknowledged) };
    Row {
        mono_ns: if is_out { entry.at } else { entry.arrives } / NS,
        direction: u8::from(!is_out),
        // What arrives is taken by the network's interrupt.
        context: if is_out { context(entry.cause) } else { 1 },
        is_ksoftirqd: false,
        retransmission: (is_out && segment.flags.is_retransmission).then(|| u8::from(entry.cause != Cause::Retransmission)),
        reason: (is_out && segment.bytes == 0).then(|| reason(entry.cause)),
        pacing_rate: held.map(|held| held.pacing_rate).filter(|&rate| rate > 0),
        numbers: [
            Some(u32::from(segment.connection)),
            wrapped(segment.sequence),
            wrapped(segment.acknowledgment),
            Some(segment.bytes),
            Some(if wire > 1 { segment.bytes.div_ceil(wire) } else { 0 }),
            Some(wire),
            Some(ACK | if segment.flags.is_push { PSH } else { 0 }),
            // As in a header whose window is not scaled; the model's has no other.
            Some(segment.window.min(0xffff)),
            Some(segment.window),
            Some(narrow(unacked)),
            state(|held| held.unsent_bytes),
            cwnd.map(|bytes| narrow(bytes / mss)),
            ssthresh.map(|bytes| if bytes == u64::MAX { NO_THRESHOLD } else { narrow(bytes / mss) }),
            held.map(|held| held.srtt / NS).filter(|&srtt_ns| srtt_ns > 0).map(narrow),
            state(|held| held.send_window_bytes),
            state(|held| held.unread_bytes),
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
