/* FAST for the kernel; its arithmetic is in fast.h. */
#include "control.h"
#include "fast.h"

static __always_inline void fast_start(struct fast *fast, struct tcp_sock *tp)
{
	fast->rtt_us_sum = 0;
	fast->rtt_us_count = 0;
	fast->rtt_us_least = 0;
	fast->queued_count = 0;
	fast->round_end = tp->snd_nxt;
	fast->gain = tp->snd_cwnd * (SEGMENT / 2);
	fast->alpha = FAST_LOW;
	fast->is_starting = 1;
}

SEC("struct_ops")
void BPF_PROG(fast_init, struct sock *sk)
{
	fast_start(kept_of(sk), tcp_of(sk));
}

/* The connection's state, begun where the kernel could not run fast_init (kept_of): alpha is never 0 then. */
static __always_inline struct fast *fast_of(struct sock *sk)
{
	struct fast *fast = kept_of(sk);

	if (fast->alpha == 0)
		fast_start(fast, tcp_of(sk));
	return fast;
}

/* Section IV-C: a loss is answered as by Reno. */
SEC("struct_ops")
__u32 BPF_PROG(fast_ssthresh, struct sock *sk)
{
	struct fast *fast = fast_of(sk);

	fast->is_starting = 0;
	fast->gain = 0;
	return reduced(tcp_of(sk)->snd_cwnd, 1, 2);
}

SEC("struct_ops")
void BPF_PROG(fast_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	__s32 rtt_us = sample->rtt_us;

	fast_on_rtt(fast_of(sk), tcp_of(sk)->snd_cwnd, rtt_us > 0 ? rtt_us : 0);
}

SEC("struct_ops")
void BPF_PROG(fast_cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	struct fast *fast = fast_of(sk);
	struct tcp_sock *tp = tcp_of(sk);

	if ((__s32)(ack - fast->round_end) > 0) {
		__u32 cwnd = fast_on_round(fast, larger_of(tp->snd_cwnd, 1), tp->mss_cache);

		fast->round_end = tp->snd_nxt;
		if (cwnd < tp->snd_cwnd)
			tp->snd_cwnd = cwnd;
		/* Slow start is only for what follows a timeout. */
		if (!fast->is_starting)
			tp->snd_ssthresh = smaller_of(tp->snd_ssthresh, larger_of(cwnd, MIN_WINDOW));
	}
	if (!fast->is_starting)
		acked = after_slow_start(tp, acked);
	else if (!may_grow(tp))
		return;
	if (acked)
		grow(tp, fast->gain, acked);
}

SEC(".struct_ops")
struct tcp_congestion_ops wp_fast = {
	.init = (void *)fast_init,
	.ssthresh = (void *)fast_ssthresh,
	.cong_avoid = (void *)fast_cong_avoid,
	.pkts_acked = (void *)fast_pkts_acked,
	.undo_cwnd = (void *)undo_cwnd,
	.name = "wp_fast",
};
