//! Rows of the logs that BPF programs write: of a segment, and of a call.

use probe::evidence::{Call, Record};
use schema::table::{AckReason, CallKind, CallOutcome, CallRow, Context, Retransmission, SegmentDirection, SegmentRow};
use schema::trial::Role;

/// The row of a segment.
#[inline]
pub fn segment<'a>(host: &'a str, role: Role, connection: u32, cpu: u32, record: &Record) -> SegmentRow<'a> {
    let state = |value: u32| (record.has_state != 0).then_some(value);
    SegmentRow {
        host,
        connection,
        role,
        direction: if record.direction == 0 { SegmentDirection::Out } else { SegmentDirection::In },
        segment_mono_ns: record.mono_ns,
        sequence: record.sequence,
        acknowledgment: record.acknowledgment,
        payload_bytes: record.payload_bytes,
        gso_size_bytes: u32::from(record.gso_size),
        wire_segments: u32::from(record.wire_segments),
        flags: u32::from(record.flags),
        window_field: u32::from(record.window_field),
        window_bytes: record.window_bytes,
        unacked_bytes: state(record.unacked_bytes),
        unsent_bytes: state(record.unsent_bytes),
        cwnd_segments: state(record.cwnd),
        ssthresh_segments: state(record.ssthresh),
        // From eighths of a microsecond.
        srtt_ns: state(record.srtt.saturating_mul(125)),
        send_window_bytes: state(record.send_window_bytes),
        pacing_rate_bytes_per_second: (record.has_state != 0).then_some(record.pacing_rate),
        receive_queue_bytes: state(record.receive_queue_bytes),
        context: Context::of_code(record.context).unwrap_or(Context::Other),
        ksoftirqd: record.ksoftirqd != 0,
        cpu,
        retransmission: Retransmission::of_code(record.retransmission),
        ack_reason: AckReason::of_code(record.reason),
    }
}

/// The row of a call. The hooks say whether softirqs are timed.
pub fn call<'a>(host: &'a str, role: Role, connection: u32, cpu: u32, call: &Call, times_softirqs: bool) -> CallRow<'a> {
    let known = |time: u64| (call.start_ns != 0).then_some(time);
    let softirqs = |time: u64| known(time).filter(|_| times_softirqs);
    CallRow {
        host,
        connection,
        role,
        thread: call.thread,
        call: if call.kind == 0 { CallKind::Write } else { CallKind::Read },
        start_mono_ns: known(call.start_ns),
        end_mono_ns: call.end_ns,
        moved_bytes: call.moved_bytes,
        outcome: CallOutcome::of_code(call.outcome).unwrap_or(CallOutcome::Failed),
        blocked_ns: known(call.asleep_ns),
        preempted_ns: known(call.runnable_ns),
        softirq_ns: softirqs(call.softirq_ns),
        waited_before_ns: known(call.asleep_before_ns),
        runnable_before_ns: known(call.runnable_before_ns),
        softirq_before_ns: softirqs(call.softirq_before_ns),
        cpu,
    }
}
