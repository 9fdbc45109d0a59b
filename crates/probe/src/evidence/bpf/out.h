/* What leaves TCP: at net:net_dev_queue, synchronous inside the transmit path and under the
 * socket's lock; __tcp_transmit_skb has stamped the header, snd_nxt still stands before the segment.
 */
#pragma once

#include "log.h"
#include "sending.h"

/* Packets that may wait in a backlog at most; TCP merges those that follow on each other. */
#define BACKLOG_MOST 64

/* Whether the process that holds a socket is processing its backlog: __release_sock (net/core/sock.c) takes the list of what
 * waits away, and counts its bytes among those that wait until all are processed.
 */
static __always_inline bool is_in_backlog(const struct sock *sk)
{
	const struct sk_buff *waiting = sk->sk_backlog.head;
	int i, bytes = sk->sk_backlog.len;

	for (i = 0; i < BACKLOG_MOST && waiting && bytes > 0; i++) {
		bytes -= waiting->truesize;
		waiting = waiting->next;
	}
	return bytes > 0;
}

/* Whether a process that sends an ACK does so for itself instead of for an arrival that it processes. MPTCP reads from its
 * subflows without holding them.
 */
static __always_inline bool sends_for_itself(struct tcp_sock *tp)
{
	const struct sock *sk = (const struct sock *)tp;

	if (sk->sk_lock.owned)
		return !is_in_backlog(sk);
	return bpf_core_field_exists(tp->is_mptcp) && BPF_CORE_READ_BITFIELD(tp, is_mptcp);
}

/* Why a pure ACK leaves. When it reaches the device the socket has already forgotten, so it is derived
 * from what the segments before it said and from who is sending:
 * - a number below snd_una is that of a probe or keepalive (tcp_xmit_probe_skb);
 * - the delayed-ACK timer and the timer of compressed ACKs have softirqs of their own;
 * - a process sends for a segment that waited in the backlog while it held the socket, or for one that it
 *   fetched itself, by busy polling, before it held the socket, or in a read call, from tcp_cleanup_rbuf;
 *   between two read calls it is asked to, by TCP_QUICKACK;
 * - receive processing sends for the segment just arrived (__tcp_ack_snd_check).
 */
static __always_inline __u8 reason_of(const struct connection *connection, struct tcp_sock *tp, const struct segment *segment, __u8 context, bool connects)
{
	struct inet_connection_sock *icsk = (void *)tp;
	bool is_first = !connection->out.has_acknowledged && connection->out.data_packets == 0;
	/* Chosen in mid-life: what it had acknowledged before is not known. */
	bool is_unknown = CHOOSES && !connection->out.port;
	__u32 unacknowledged = segment->acknowledgment - connection->out.last_acknowledgment;

	if (!tp)
		return connection->arrived.fin ? ACK_REASON_FIN : ACK_REASON_OTHER;
	if (is_before(segment->sequence, tp->snd_una))
		return ACK_REASON_WINDOW_PROBE;
	if (is_first && connects)
		return ACK_REASON_HANDSHAKE;
	if (connection->arrived.fin && segment->acknowledgment == connection->arrived.fin_next && unacknowledged)
		return ACK_REASON_FIN;
	if (context == CONTEXT_TIMER)
		return ACK_REASON_DELAYED_TIMER;
	if (context == CONTEXT_HRTIMER || tp->out_of_order_queue.rb_node)
		return ACK_REASON_OUT_OF_ORDER;
	if (context == CONTEXT_PROCESS && sends_for_itself(tp) &&
	    !(connection->reading.has_read && connection->reading.copied_seq == tp->copied_seq))
		return ACK_REASON_READ_CALL;
	if (is_unknown)
		return ACK_REASON_OTHER;
	if (unacknowledged == 0)
		return ACK_REASON_OUT_OF_ORDER;
	return unacknowledged > icsk->icsk_ack.rcv_mss ? ACK_REASON_SECOND_SEGMENT : ACK_REASON_QUICK;
}

static __always_inline void on_out(struct sk_buff *skb)
{
	struct sock *sk = skb->sk;
	struct tcp_header header;
	struct segment segment;
	struct connection *connection;
	struct tcp_sock *tp;
	struct cpu *cpu;
	struct dst_entry *route;
	__u8 context, ksoftirqd, retransmission = NONE, reason = NONE;
	__u64 before;
	__u32 offset;
	watched_t which;

	if (!sk)
		return;
	which = watched_sock(sk);
	if (CHOOSES && !which)
		which = picked_sock(sk);
	if (!which)
		return;
	tp = tcp_sock_of(sk);
	/* A packet passes here once a device; only the first one is the route's. */
	route = tp ? sk->sk_dst_cache : NULL;
	if (route && route->dev != skb->dev)
		return;
	connection = connection_of(which);
	cpu = this_cpu();
	if (!connection || !cpu)
		return;
	offset = skb->transport_header;
	if (!read_tcp_header(&header, skb->head + offset))
		return;
	/* Addresses are subtracted whole: a verifier wants no half of one. */
	before = (__u64)(skb->head + offset) - (__u64)skb->data;
	barrier_var(before);
	read_segment(&segment, &header, skb->len - before);
	read_gso(&segment, skb);
	context = context_here(cpu->running);
	ksoftirqd = cpu->running && runner_bits(cpu) & RUNS_KSOFTIRQD;

	/* What takes a place in the sequence leaves a second time; a probe takes none. */
	if (segment.end != segment.sequence && tp && is_before(segment.sequence, tp->snd_nxt))
		retransmission = retransmission_kind(tp, context);
	if (segment.payload_bytes) {
		connection->out.retransmitted_packets += retransmission != NONE;
		connection->out.data_packets += 1;
		connection->out.data_segments += segment.wire_segments;
		connection->out.data_bytes += segment.payload_bytes;
		connection->out.ksoftirqd_packets += ksoftirqd;
		connection->out.by_context[context] += 1;
		count_size(connection->out.sizes, segment.payload_bytes);
	} else if (!(segment.flags & (SYN | FIN | RST))) {
		reason = reason_of(connection, tp, &segment, context, which >> 16 == CONNECTING);
		connection->out.by_reason[reason] += 1;
		connection->out.has_acknowledged = 1;
	}
	if (segment.flags & FIN)
		connection->out.fin = 1;
	if (tp)
		connection->out.sock = (__u64)sk;
	connection->out.port = port_of(which);
	connection->out.last_acknowledgment = segment.acknowledgment;
	if (constants.log_mask)
		log_segment(&segment, tp, which, bpf_ktime_get_ns(), DIRECTION_OUT, context, ksoftirqd, retransmission, reason);
}
