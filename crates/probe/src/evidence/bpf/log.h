/* Writes a record of the log. An end's log of a CPU has one writer: the hooks that log segments run with
 * softirqs off, and no two of them nest. Those that log calls may be interrupted by them, and have a log
 * of their own.
 */
#pragma once

#include "state.h"
#include "header.h"
#include "ring.h"

static __always_inline struct log_head *log_of_this_cpu(watched_t which)
{
	__u32 number = end_of(which)->logs_first + bpf_get_smp_processor_id();

	return bpf_map_lookup_elem(&logs, &number);
}

static __always_inline void log_segment(const struct segment *segment, struct tcp_sock *tp, watched_t which, __u64 now,
					__u8 direction, __u8 context, __u8 ksoftirqd, __u8 retransmission, __u8 reason)
{
	struct log_head *log = log_of_this_cpu(which);
	struct record *record = log ? next_record(log, constants.log_mask, sizeof(struct record)) : NULL;

	if (!record)
		return;
	record->mono_ns = now;
	record->sequence = segment->sequence;
	record->acknowledgment = segment->acknowledgment;
	record->payload_bytes = segment->payload_bytes;
	record->window_field = segment->window_field;
	record->window_bytes = segment->window_field;
	record->port = port_of(which);
	record->gso_size = segment->gso_size;
	record->wire_segments = segment->wire_segments;
	record->direction = direction;
	record->flags = segment->flags;
	record->context = context;
	record->ksoftirqd = ksoftirqd;
	record->retransmission = retransmission;
	record->reason = reason;
	record->has_state = tp != NULL;
	if (tp) {
		__u32 una = tp->snd_una, next = tp->snd_nxt, written = tp->write_seq;
		__u32 received = tp->rcv_nxt;

		if (direction == DIRECTION_OUT) {
			if (is_before(next, segment->end))
				next = segment->end;
		} else if (segment->flags & ACK && is_before(una, segment->acknowledgment) &&
			   !is_before(next, segment->acknowledgment)) {
			una = segment->acknowledgment;
		}
		record->unacked_bytes = next - una;
		record->unsent_bytes = is_before(next, written) ? written - next : 0;
		record->cwnd = tp->snd_cwnd;
		record->ssthresh = tp->snd_ssthresh;
		record->srtt = tp->srtt_us;
		record->send_window_bytes = tp->snd_wnd;
		record->receive_queue_bytes = received - tp->copied_seq;
		record->pacing_rate = ((struct sock *)tp)->sk_pacing_rate;
		/* The window of a SYN is never scaled (RFC 7323 section 2.2). */
		if (!(segment->flags & SYN)) {
			if (direction == DIRECTION_OUT)
				record->window_bytes <<= BPF_CORE_READ_BITFIELD(tp, rx_opt.rcv_wscale);
			else
				record->window_bytes <<= BPF_CORE_READ_BITFIELD(tp, rx_opt.snd_wscale);
		}
	}
	commit_record(log);
}
