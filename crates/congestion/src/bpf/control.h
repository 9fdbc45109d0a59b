/* What the algorithms share on the kernel's side. */
#pragma once

#include "kernel.h"
#include "window.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "GPL";

/* The kernel passes its own tcp_sock where the operation says sock. */
static __always_inline struct tcp_sock *tcp_of(struct sock *sk)
{
	return (struct tcp_sock *)sk;
}

/* What an algorithm keeps of a connection: at most 104 bytes, zero when the connection begins (net/ipv4/tcp_cong.c).
 * Some sandboxes run no program of BPF on top of their own processes, which may be what a segment interrupts: an
 * algorithm whose state may not begin as zero must not rely on its init alone.
 */
static __always_inline void *kept_of(struct sock *sk)
{
	return ((struct inet_connection_sock *)sk)->icsk_ca_priv;
}

static __always_inline bool is_in_slow_start(struct tcp_sock *tp)
{
	return tp->snd_cwnd < tp->snd_ssthresh;
}

/* RFC 7661: a window that is not used does not grow. In slow start it may be half unused. */
static __always_inline bool may_grow(struct tcp_sock *tp)
{
	if (BPF_CORE_READ_BITFIELD(tp, is_cwnd_limited))
		return true;
	return is_in_slow_start(tp) && tp->snd_cwnd < 2 * tp->max_packets_out;
}

/* Segments that are left for congestion avoidance when slow start has had its share. */
static __always_inline __u32 after_slow_start(struct tcp_sock *tp, __u32 acked)
{
	if (!may_grow(tp))
		return 0;
	return is_in_slow_start(tp) ? tcp_slow_start(tp, acked) : acked;
}

static __always_inline void grow(struct tcp_sock *tp, __u32 gain, __u32 acked)
{
	__u32 credit = tp->snd_cwnd_cnt;
	__u32 cwnd = grown(larger_of(tp->snd_cwnd, 1), gain, acked, &credit);

	tp->snd_cwnd_cnt = credit;
	tp->snd_cwnd = smaller_of(cwnd, tp->snd_cwnd_clamp);
}

/* All but those that watch more than losses undo as Reno does. */
SEC("struct_ops")
__u32 BPF_PROG(undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}
