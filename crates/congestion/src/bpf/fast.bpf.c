/* FAST for the kernel; its arithmetic is in fast.h. */
#include "control.h"
#include "fast.h"

SEC("struct_ops")
void BPF_PROG(fast_init, struct sock *sk)
{
	struct fast *fast = kept_of(sk);
	struct tcp_sock *tp = tcp_of(sk);

	fast->rtt_us_sum = 0;
	fast->rtt_us_count = 0;
	fast->rtt_us_least = 0;
	fast->round_us_least = 0;
	fast->round_end = tp->snd_nxt;
	fast->gain = tp->snd_cwnd * (SEGMENT / 2);
	fast->alpha = FAST_LOW;
	fast->is_starting = 1;
}

/* Section IV-C: a loss is answered as by Reno. */
SEC("struct_ops")
__u32 BPF_PROG(fast_ssthresh, struct sock *sk)
{
	struct fast *fast = kept_of(sk);

	fast->is_starting = 0;
	fast->gain = 0;
	return reduced(tcp_of(sk)->snd_cwnd, 1, 2);
}

SEC("struct_ops")
void BPF_PROG(fast_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	__s32 rtt_us = sample->rtt_us;

	fast_on_rtt(kept_of(sk), rtt_us > 0 ? rtt_us : 0);
}

SEC("struct_ops")
void BPF_PROG(fast_cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	struct fast *fast = kept_of(sk);
	struct tcp_sock *tp = tcp_of(sk);

	if ((__s32)(ack - fast->round_end) > 0) {
		__u32 cwnd = fast_on_round(fast, larger_of(tp->snd_cwnd, 1), tp->mss_cache);

		fast->round_end = tp->snd_nxt;
		if (cwnd < tp->snd_cwnd)
			tp->snd_cwnd = cwnd;
		/* Slow start is only for what follows a timeout. */
		if (!fast->is_starting)
			tp->snd_ssthresh = smaller_of(tp->snd_ssthresh, larger_of(cwnd, LEAST_WINDOW));
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
