/* What arrives: from the interrupt to the reader's copy. */
#pragma once

#include "sampling.h"

/* Segments that a copy takes at most, each with a row of its waiting. */
#define MAX_SEGMENTS_OF_COPY 8

/* What the receive processing that runs waited for, and its interrupt: both are the first sampled segment's. */
static __always_inline void give_waits(struct run *run, const struct stage_segment *segment, bool has_waited)
{
	struct stage_cpu *cpu = run->cpu;
	struct span span = {};

	if (cpu->waited_ns && !has_waited) {
		span.start_ns = cpu->waited_from_ns;
		span.wall_ns = cpu->waited_ns;
		write_row(run, segment, STAGE_SOFTIRQ_WAIT, &span);
		cpu->waited_ns = 0;
	}
	if (cpu->interrupt_ns) {
		span.start_ns = cpu->interrupt_start_ns;
		span.wall_ns = cpu->interrupt_ns;
		span.cpu_ns = cpu->interrupt_ns;
		span.probes = 1;
		write_row(run, segment, STAGE_INTERRUPT, &span);
		cpu->interrupt_ns = 0;
	}
}

/* The stage in front of a packet is the driver's, or of a packet before it. */
static __always_inline void close_before(struct run *run, const struct stage_segment *segment)
{
	if (run->level->stage == STAGE_DRIVER_IN || run->level->stage == STAGE_HANDOVER)
		close_as(run, STAGE_DRIVER_IN, segment, 0);
	else
		close(run);
}

/* At net:netif_rx: into the backlog of a CPU, often on top of the sender's driver. */
static __always_inline void on_backlog(struct sk_buff *skb)
{
	struct stage_cpu *cpu = this_cpu();
	struct waiting waiting = {};
	__u64 key = (__u64)skb;
	struct run run;

	if (!cpu || !cpu->attention || is_idle() || !read_arrival(&waiting.segment, skb) || !waiting.segment.is_sampled)
		return;
	start_run(&run, cpu);
	waiting.since_ns = run.now_ns;
	bpf_map_update_elem(&waiting_packets, &key, &waiting, BPF_ANY);
	__sync_fetch_and_add(&stage_control.waiting_count, 1);
	end(&run);
}

/* At net:napi_gro_receive_entry. */
static __always_inline void on_gro(struct sk_buff *skb)
{
	struct stage_cpu *cpu = this_cpu();
	struct stage_segment segment = {};
	bool is_ours = !is_idle() && cpu && read_arrival(&segment, skb);
	struct run run;

	if (!cpu)
		return;
	if (is_ours && segment.is_sampled)
		pay_attention(cpu);
	else if (!cpu->attention)
		return;
	start_run(&run, cpu);
	cpu->has_gro = 1;
	if (segment.is_sampled)
		give_waits(&run, &segment, false);
	close_before(&run, &segment);
	open_of(&run, STAGE_GRO, &segment);
	end(&run);
}

/* At net:napi_gro_receive_exit: back in the driver. */
static __always_inline void on_gro_end(void)
{
	struct stage_cpu *cpu = this_cpu();
	struct run run;

	if (!cpu || !cpu->attention)
		return;
	start_run(&run, cpu);
	close(&run);
	open(&run, STAGE_DRIVER_IN);
	end(&run);
}

/* At net:netif_receive_skb, where the device's receive processing hands a packet to the protocols. */
static __always_inline void on_arrival(struct sk_buff *skb)
{
	struct stage_cpu *cpu = this_cpu();
	struct stage_segment segment = {}, waited;
	bool has_waited = false;
	struct run run;

	if (!cpu || is_idle())
		return;
	if (read_arrival(&segment, skb) && segment.is_sampled)
		pay_attention(cpu);
	else if (!cpu->attention)
		return;
	start_run(&run, cpu);
	if (segment.is_sampled) {
		has_waited = end_wait(&run, skb, STAGE_SOFTIRQ_WAIT, &waited);
		give_waits(&run, &segment, has_waited);
		if (cpu->has_gro && segment.wire_segments > 1)
			count_gap(segment.which, STAGE_GAP_MERGED, segment.wire_segments);
	}
	close_before(&run, &segment);
	open_of(&run, STAGE_IP_IN, &segment);
	end(&run);
}

/* At tcp:tcp_probe: what arrives on an open connection, before it is processed. */
static __always_inline void on_tcp(struct sock *sk, struct sk_buff *skb)
{
	struct stage_cpu *cpu = this_cpu();
	struct stage_segment segment = {};
	struct arrival_key key;
	struct arrival arrival = {};
	struct tcp_skb_cb *cb;
	__u32 which;
	struct run run;

	if (!cpu || is_idle() || (cpu->running && !cpu->attention))
		return;
	which = which_sock(sk);
	if (which) {
		cb = (struct tcp_skb_cb *)skb->cb;
		name_segment(&segment, which, DIRECTION_IN, cb->seq, cb->end_seq - cb->seq, cb->ack_seq);
	}
	if (segment.is_sampled)
		pay_attention(cpu);
	else if (!cpu->attention)
		return;
	start_run(&run, cpu);
	if (run.level->stage == STAGE_IP_IN && run.level->segment.sequence == segment.sequence)
		segment.wire_segments = run.level->segment.wire_segments;
	close(&run);
	if (segment.is_sampled && segment.payload_bytes) {
		key.which = which;
		key.sequence = segment.sequence;
		arrival.since_ns = run.now_ns;
		arrival.payload_bytes = segment.payload_bytes;
		bpf_map_update_elem(&arrivals, &key, &arrival, BPF_ANY);
	}
	if (segment.is_sampled && !cpu->running)
		count_gap(which, STAGE_GAP_SOCKET_BACKLOG, 1);
	open_of(&run, segment.payload_bytes ? STAGE_TCP_IN : STAGE_ACK_IN, &segment);
	end(&run);
}

/* At sock:sk_data_ready. */
static __always_inline void on_data_ready(void)
{
	struct stage_cpu *cpu = this_cpu();
	struct run run;

	if (!cpu || !cpu->attention)
		return;
	start_run(&run, cpu);
	if (run.level->stage == STAGE_TCP_IN) {
		close(&run);
		open(&run, STAGE_WAKEUP);
	}
	end(&run);
}

/* At sched:sched_waking: of a reader, while it is notified. */
static __always_inline void on_waking(struct task_struct *task)
{
	struct stage_cpu *cpu = this_cpu();
	struct woken woken = {};
	struct arrival_key key;
	struct arrival *arrival;
	__u32 thread;
	struct run run;

	if (!cpu || !cpu->attention)
		return;
	start_run(&run, cpu);
	/* Before Linux 6.2 nothing shows when the reader is notified. */
	if ((run.level->stage == STAGE_WAKEUP || run.level->stage == STAGE_TCP_IN) && run.level->segment.is_sampled) {
		thread = task->pid;
		woken.since_ns = run.now_ns;
		woken.segment = run.level->segment;
		bpf_map_update_elem(&woken_readers, &thread, &woken, BPF_ANY);
		__sync_fetch_and_add(&stage_control.waiting_count, 1);
		key.which = woken.segment.which;
		key.sequence = woken.segment.sequence;
		arrival = bpf_map_lookup_elem(&arrivals, &key);
		if (arrival)
			arrival->has_woken = 1;
	}
	end(&run);
}

/* Ends the waiting of all segments that a copy takes: TCP may have put some together. Those that woke their reader have
 * waited for its CPU instead.
 */
static __noinline void end_socket_waits(struct run *run, const struct stage_segment *copy)
{
	struct stage_segment segment = *copy;
	struct arrival_key key = {.which = copy->which, .sequence = copy->sequence};
	__u32 left = copy->payload_bytes, i;
	struct arrival *known, rest;

	for (i = 0; i < MAX_SEGMENTS_OF_COPY && left; i++) {
		known = bpf_map_lookup_elem(&arrivals, &key);
		if (!known) {
			if (i == 0)
				count_gap(copy->which, STAGE_GAP_NO_ARRIVAL, 1);
			return;
		}
		rest = *known;
		bpf_map_delete_elem(&arrivals, &key);
		segment.sequence = key.sequence;
		segment.payload_bytes = rest.payload_bytes;
		/* One of a window before may be of other data with the same number. */
		if (!rest.has_woken && is_of_window(rest.since_ns))
			write_wait(run, STAGE_SOCKET_WAIT, &segment, rest.since_ns);
		if (rest.payload_bytes > left) {
			key.sequence += left;
			rest.payload_bytes -= left;
			bpf_map_update_elem(&arrivals, &key, &rest, BPF_ANY);
			return;
		}
		key.sequence += rest.payload_bytes;
		left -= rest.payload_bytes;
	}
}

/* At skb:skb_copy_datagram_iovec: a read call copies from a packet of the socket's queue. */
static __always_inline void on_copy_out(struct sk_buff *skb, int bytes)
{
	struct stage_cpu *cpu = this_cpu();
	struct stage_segment segment;
	struct tcp_sock *tp;
	struct sock *sk;
	struct run run;
	__u32 which;

	if (!cpu || is_idle())
		return;
	sk = skb->sk;
	which = sk ? which_sock(sk) : 0;
	tp = which ? tcp_sock_of(sk) : NULL;
	if (!tp)
		return;
	name_segment(&segment, which, DIRECTION_IN, tp->copied_seq, bytes > 0 ? bytes : 1, 0);
	segment.wire_segments = 0;
	if (segment.is_sampled)
		pay_attention(cpu);
	else if (!cpu->attention)
		return;
	begin_at(&run, cpu, 0);
	if (segment.is_sampled) {
		know_thread();
		end_socket_waits(&run, &segment);
	}
	if (run.level->stage == STAGE_CALL_ENTRY || run.level->stage == NO_STAGE)
		close_as(&run, STAGE_CALL_ENTRY, &segment, 0);
	else
		close(&run);
	open_of(&run, STAGE_COPY_OUT, &segment);
	end(&run);
}
