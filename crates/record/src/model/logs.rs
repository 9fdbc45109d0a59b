//! The logs of the model. Of segments: what left an end system, and what came to the other's adapter.
//!
//! A segment that the adapter loses is among those that came: the log shows the line, `lost_segments` what became of it.
//! Sequence numbers begin at 1 in both directions, as if a handshake had been before. What the sockets held stands
//! there as it was when a segment had left, and when one began to come in.
//!
//! Of calls: each connection has a process, which is the thread of its number, and a host has no others: `softirq_ns` is
//! protocol work of others on its processor while it was awake, and `preempted_ns` the time from being woken until
//! the process runs. A call that the end of the trial cut ends there, with what it had
//! moved.

use schema::table::{AckReason, CallKind, CallOutcome, CallRow, Context, Retransmission, SegmentDirection, SegmentRow, Simulated};
use schema::trial::Role;
use sim::calls::Call;
use sim::end_system::Cause;
use sim::log::{Entry, Held};
use sim::time::NS;
use std::fs::File;

use super::run::{HOSTS, RunOutput, mss_bytes};
use super::tables::Tables;
use crate::log::Log;
use crate::table::RecordError;

const ACK: u32 = 16;
const PSH: u32 = 8;

/// The slow-start threshold of a kernel that has seen no loss (`TCP_INFINITE_SSTHRESH`).
const NO_THRESHOLD: u32 = 0x7fff_ffff;

/// Writes an end's log; returns the file and how many rows it has.
///
/// # Errors
/// The log cannot be written.
pub fn write_segments(run: &RunOutput, who: usize) -> Result<(File, u64), RecordError> {
    let outcome = &run.outcome;
    let mss = mss_bytes(&run.profiles[who]).unwrap_or(1).min(mss_bytes(&run.profiles[1 - who]).unwrap_or(u32::MAX)).max(1);
    let mut sent = vec![Sent { end: 0, acknowledged: 0 }; outcome.connections[who].len()];
    let (mut log, mut count) = (Log::<SegmentRow<'_>>::create()?, 0);
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
            log.push(segment(run, who, entry, is_out, sent, u64::from(mss)))?;
            count += 1;
        }
    }
    Ok((log.finish()?, count))
}

/// Positions up to which an end has sent on a connection, and up to which that is acknowledged.
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

fn segment<'a>(run: &RunOutput, who: usize, entry: &Entry, is_out: bool, sent: &Sent, mss: u64) -> SegmentRow<'a> {
    let segment = &entry.segment;
    let narrow = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
    let wrapped = |number: u64| narrow((number + 1) & u64::from(u32::MAX));
    let wire = u32::from(segment.wire_segments_count.max(1));
    let held = if is_out { Some(entry.at_sender) } else { entry.at_receiver };
    let state = |of: fn(&Held) -> u64| held.as_ref().map(of).map(narrow);
    let cwnd = held.map(|held| held.cwnd_bytes).filter(|&bytes| bytes != u64::MAX);
    let ssthresh = held.filter(|_| cwnd.is_some()).map(|held| held.ssthresh_bytes);
    let unacked = if is_out { entry.outstanding_bytes } else { sent.end.saturating_sub(sent.acknowledged) };
    let again = if entry.cause == Cause::Retransmission { Retransmission::Timeout } else { Retransmission::Fast };
    SegmentRow {
        host: HOSTS[who],
        connection: u32::from(segment.connection),
        role: run.role(who),
        direction: if is_out { SegmentDirection::Out } else { SegmentDirection::In },
        segment_mono_ns: if is_out { entry.at } else { entry.arrives } / NS,
        sequence: wrapped(segment.sequence),
        acknowledgment: wrapped(segment.acknowledgment),
        payload_bytes: segment.bytes,
        gso_size_bytes: if wire > 1 { segment.bytes.div_ceil(wire) } else { 0 },
        wire_segments: wire,
        flags: ACK | if segment.flags.is_push { PSH } else { 0 },
        // As in a header whose window is not scaled; the model's has no other.
        window_field: segment.window.min(0xffff),
        window_bytes: segment.window,
        unacked_bytes: Some(narrow(unacked)),
        unsent_bytes: state(|held| held.unsent_bytes),
        cwnd_segments: cwnd.map(|bytes| narrow(bytes / mss)),
        ssthresh_segments: ssthresh.map(|bytes| if bytes == u64::MAX { NO_THRESHOLD } else { narrow(bytes / mss) }),
        srtt_ns: held.map(|held| held.srtt / NS).filter(|&srtt_ns| srtt_ns > 0).map(narrow),
        send_window_bytes: state(|held| held.send_window_bytes),
        pacing_rate_bytes_per_second: held.map(|held| held.pacing_rate).filter(|&rate| rate > 0),
        receive_queue_bytes: state(|held| held.unread_bytes),
        // What arrives is taken by the network's interrupt.
        context: if is_out { context(entry.cause) } else { Context::NetRx },
        ksoftirqd: false,
        cpu: 0,
        retransmission: (is_out && segment.flags.is_retransmission).then_some(again),
        ack_reason: (is_out && segment.bytes == 0).then(|| reason(entry.cause)),
    }
}

/// Who sent it, as the kernel's programs say it.
fn context(cause: Cause) -> Context {
    match cause {
        Cause::WriteCall | Cause::ReadCall => Context::Process,
        Cause::Arrival | Cause::SecondSegment | Cause::QuickAck | Cause::OutOfOrder => Context::NetRx,
        Cause::DelayedAck | Cause::Retransmission | Cause::WindowProbe => Context::Timer,
        Cause::Pacing => Context::Hrtimer,
        Cause::Deferred => Context::Worker,
    }
}

fn reason(cause: Cause) -> AckReason {
    match cause {
        Cause::DelayedAck => AckReason::DelayedTimer,
        Cause::ReadCall => AckReason::ReadCall,
        Cause::SecondSegment => AckReason::SecondSegment,
        Cause::QuickAck => AckReason::Quick,
        Cause::OutOfOrder => AckReason::OutOfOrder,
        Cause::WindowProbe => AckReason::WindowProbe,
        Cause::WriteCall | Cause::Arrival | Cause::Retransmission | Cause::Pacing | Cause::Deferred => AckReason::Other,
    }
}

/// Appends the calls of both hosts.
pub fn push_calls(run: &RunOutput, hosts: &mut [Tables; 2]) {
    for (who, (connections, tables)) in run.outcome.calls.iter().zip(hosts).enumerate() {
        for (connection, calls) in (0u32..).zip(connections) {
            for made in calls {
                tables.calls.push_of(&run.asked.trial, call(who, connection, run.role(who), made));
            }
        }
    }
}

fn call<'a>(who: usize, connection: u32, role: Role, call: &Call) -> CallRow<'a, Simulated> {
    let kind = CallKind::ALL[call.kind as usize];
    CallRow {
        host: Some(HOSTS[who]),
        connection: Some(connection),
        role: Some(role),
        thread: Some(connection),
        call: Some(kind),
        start_mono_ns: Some(call.from / NS),
        end_mono_ns: Some(call.to / NS),
        moved_bytes: Some(u32::try_from(call.moved_bytes).unwrap_or(u32::MAX)),
        outcome: Some(CallOutcome::Done),
        blocked_ns: Some(call.inside.asleep / NS),
        preempted_ns: Some(call.inside.runnable / NS),
        softirq_ns: Some(call.inside.displaced / NS),
        waited_before_ns: Some(call.before.asleep / NS),
        runnable_before_ns: Some(call.before.runnable / NS),
        softirq_before_ns: Some(call.before.displaced / NS),
        cpu: Some(0),
    }
}
