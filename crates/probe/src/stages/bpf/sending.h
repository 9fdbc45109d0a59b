/* What leaves: from the write call, or from whatever else makes TCP send, to the driver. */
#pragma once

#include "sampling.h"

/* What the driver says when it takes a packet; include/linux/netdevice.h. */
#define NETDEV_TX_BUSY 0x10

/* At tcp:tcp_sendmsg_locked, before each copy of a write call. `write_seq` has grown by the copy before. */
static __always_inline void on_copy_in(struct sock *sk, const struct msghdr *message)
{
	struct stage_cpu *cpu = this_cpu();
	__u32 which = is_idle() ? 0 : which_sock(sk);
	struct stage_segment segment;
	struct tcp_sock *tp;
	struct run run;

	tp = which && cpu ? tcp_sock_of(sk) : NULL;
	if (!tp)
		return;
	name_segment(&segment, which, DIRECTION_OUT, tp->write_seq, 1, 0);
	segment.payload_bytes = 0;
	segment.wire_segments = 0;
	if (segment.is_sampled)
		pay_attention(cpu);
	else if (!cpu->attention)
		return;
	begin_at(&run, cpu, 0);
	if (segment.is_sampled)
		know_thread();
	if (run.level->stage == STAGE_COPY_IN && run.level->segment.which == which) {
		run.level->segment.payload_bytes = segment.sequence - run.level->segment.sequence;
		close_as(&run, STAGE_COPY_IN, &run.level->segment, run.level->segment.payload_bytes);
	} else if (run.level->stage == STAGE_CALL_ENTRY || run.level->stage == NO_STAGE) {
		segment.payload_bytes = message->msg_iter.count;
		close_as(&run, STAGE_CALL_ENTRY, &segment, 0);
		segment.payload_bytes = 0;
	} else {
		close(&run);
	}
	open_of(&run, STAGE_COPY_IN, &segment);
	end(&run);
}

/* What the copy before a transmission has copied. */
static __always_inline __u32 copied_before(const struct run *run, __u32 which, const struct tcp_sock *tp)
{
	if (run->level->stage != STAGE_COPY_IN || run->level->segment.which != which)
		return 0;
	return tp->write_seq - run->level->segment.sequence;
}

/* At net:net_dev_queue, under the socket's lock; snd_nxt still stands before the segment. */
static __always_inline void on_departure(struct sk_buff *skb)
{
	struct stage_cpu *cpu = this_cpu();
	struct sock *sk = is_idle() ? NULL : skb->sk;
	__u32 which = sk ? which_sock(sk) : 0;
	struct stage_segment segment;
	struct dst_entry *route;
	struct tcp_sock *tp;
	struct run run;

	tp = which && cpu ? tcp_sock_of(sk) : NULL;
	if (!tp || !read_departure(&segment, skb, which))
		return;
	if (segment.is_sampled)
		pay_attention(cpu);
	else if (!cpu->attention)
		return;
	start_run(&run, cpu);
	/* A packet passes here once a device; only the first one is the route's. */
	route = sk->sk_dst_cache;
	if (route && route->dev != skb->dev) {
		if (segment.is_sampled && segment.payload_bytes) {
			count_gap(which, STAGE_GAP_STACKED_DEVICE, 1);
			/* From the upper device's driver into the queue of the next. */
			if (run.level->stage == STAGE_DRIVER_OUT) {
				close(&run);
				open(&run, STAGE_QDISC_OUT);
				cpu->queued_packet = (__u64)skb;
			}
		}
		end(&run);
		return;
	}
	if (segment.payload_bytes) {
		if (segment.is_sampled && is_before(segment.sequence, tp->snd_nxt)) {
			segment.retransmission = retransmission_kind(tp, context_of(cpu->running));
			count_gap(which, STAGE_GAP_RETRANSMISSION, 1);
		}
		if (segment.is_sampled && cpu->running)
			count_gap(which, STAGE_GAP_SOFTIRQ_SENT, 1);
		close_as(&run, STAGE_TCP_OUT, &segment, copied_before(&run, which, tp));
		open_of(&run, STAGE_QDISC_OUT, &segment);
	} else {
		close(&run);
		run.level->before = run.level->segment;
		run.level->stage_before = run.level->stage == STAGE_COPY_OUT ? STAGE_CALL_EXIT : run.level->stage;
		open_of(&run, STAGE_ACK_OUT, &segment);
	}
	cpu->queued_packet = (__u64)skb;
	end(&run);
}

/* At qdisc:qdisc_enqueue. */
static __always_inline void on_enqueue(struct sk_buff *skb)
{
	struct stage_cpu *cpu = this_cpu();
	struct waiting waiting = {};
	__u64 key = (__u64)skb;
	struct run run;

	if (!cpu || !cpu->attention)
		return;
	start_run(&run, cpu);
	if (is_leaving(run.level) && run.level->segment.is_sampled && cpu->queued_packet == key) {
		waiting.since_ns = run.now_ns;
		waiting.segment = run.level->segment;
		waiting.cpu = bpf_get_smp_processor_id();
		bpf_map_update_elem(&waiting_packets, &key, &waiting, BPF_ANY);
		__sync_fetch_and_add(&stage_control.waiting_count, 1);
	}
	end(&run);
}

/* At qdisc:qdisc_dequeue. Of several packets that come out together this is the first. */
static __always_inline void on_dequeue(struct sk_buff *skb)
{
	struct stage_cpu *cpu = this_cpu();
	struct stage_segment segment;
	__u64 key = (__u64)skb;
	struct run run;

	if (!cpu || !skb || (__s32)stage_control.waiting_count <= 0)
		return;
	if (!cpu->attention) {
		if (!bpf_map_lookup_elem(&waiting_packets, &key))
			return;
		pay_attention(cpu);
	}
	start_run(&run, cpu);
	if (end_wait(&run, skb, STAGE_QDISC_WAIT, &segment) && !(is_leaving(run.level) && cpu->queued_packet == (__u64)skb)) {
		pay_attention(cpu);
		close(&run);
		open_of(&run, segment.payload_bytes ? STAGE_QDISC_OUT : STAGE_ACK_OUT, &segment);
		run.level->stage_before = NO_STAGE;
		cpu->queued_packet = (__u64)skb;
	}
	end(&run);
}

/* At net:net_dev_start_xmit: of a super-segment that the device does not cut, for each part. */
static __always_inline void on_driver(struct sk_buff *skb)
{
	struct stage_cpu *cpu = this_cpu();
	struct stage_segment segment;
	__u64 key = (__u64)skb;
	bool is_known = false;
	struct sock *sk;
	struct run run;
	__u32 which;

	if (!cpu || (!cpu->attention && (__s32)stage_control.waiting_count <= 0))
		return;
	sk = skb->sk;
	which = sk ? which_sock(sk) : 0;
	if (!which)
		return;
	if (!cpu->attention) {
		if (!bpf_map_lookup_elem(&waiting_packets, &key))
			return;
		pay_attention(cpu);
	}
	start_run(&run, cpu);
	if (is_leaving(run.level) && cpu->queued_packet == (__u64)skb) {
		segment = run.level->segment;
		is_known = true;
	} else if (end_wait(&run, skb, STAGE_QDISC_WAIT, &segment)) {
		is_known = true;
	} else if (read_departure(&segment, skb, which)) {
		is_known = true;
		if (segment.is_sampled && segment.payload_bytes && run.level->segment.which == which) {
			segment.retransmission = run.level->segment.retransmission;
			count_gap(which, STAGE_GAP_SPLIT, 1);
		}
	}
	if (is_known) {
		if (segment.is_sampled)
			pay_attention(cpu);
		if (segment.payload_bytes) {
			close_as(&run, STAGE_QDISC_OUT, &segment, 0);
			open_of(&run, STAGE_DRIVER_OUT, &segment);
		} else if (run.level->stage != STAGE_ACK_OUT) {
			close(&run);
			open_of(&run, STAGE_ACK_OUT, &segment);
			run.level->stage_before = NO_STAGE;
		}
		cpu->driver_packet = (__u64)skb;
	}
	end(&run);
}

/* At net:net_dev_xmit; the packet may be gone, its address alone is looked at. */
static __always_inline void on_transmitted(struct sk_buff *skb, int outcome)
{
	struct stage_cpu *cpu = this_cpu();
	struct run run;

	if (!cpu || !cpu->attention || cpu->driver_packet != (__u64)skb)
		return;
	cpu->driver_packet = 0;
	start_run(&run, cpu);
	if (outcome == NETDEV_TX_BUSY && run.level->segment.is_sampled)
		count_gap(run.level->segment.which, STAGE_GAP_REQUEUED, 1);
	if (run.level->stage == STAGE_ACK_OUT) {
		close(&run);
		open(&run, run.level->stage_before);
	} else if (run.level->stage == STAGE_DRIVER_OUT) {
		close(&run);
		open(&run, STAGE_TCP_OUT);
	}
	cpu->handed = run.level->segment;
	end(&run);
}
