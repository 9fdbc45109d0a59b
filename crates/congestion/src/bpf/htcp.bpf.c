/* H-TCP for the kernel; its arithmetic is in htcp.h. */
#include "control.h"
#include "htcp.h"

static __always_inline void htcp_start(struct htcp *htcp, __u64 now_us)
{
	htcp->loss_us = now_us;
	htcp->round_us = now_us;
	htcp->rtt_us_min = 0;
	htcp->rtt_us_max = 0;
	htcp->round_segments = 0;
	htcp->rate = 0;
	htcp->rate_max = 0;
	htcp->rate_max_before = 0;
	htcp->beta = HTCP_BETA_LEAST;
	htcp->is_repairing = 0;
}

SEC("struct_ops")
void BPF_PROG(htcp_init, struct sock *sk)
{
	htcp_start(kept_of(sk), tcp_of(sk)->tcp_mstamp);
}

/* The connection's state, begun where the kernel could not run htcp_init (kept_of): beta is never 0 then. */
static __always_inline struct htcp *htcp_of(struct sock *sk)
{
	struct htcp *htcp = kept_of(sk);

	if (htcp->beta == 0)
		htcp_start(htcp, tcp_of(sk)->tcp_mstamp);
	return htcp;
}

SEC("struct_ops")
__u32 BPF_PROG(htcp_ssthresh, struct sock *sk)
{
	struct tcp_sock *tp = tcp_of(sk);

	return htcp_on_loss(htcp_of(sk), tp->snd_cwnd, tp->tcp_mstamp);
}

/* The time since the loss counts from the end of its repair. */
SEC("struct_ops")
void BPF_PROG(htcp_set_state, struct sock *sk, __u8 state)
{
	struct htcp *htcp = htcp_of(sk);

	if (state == TCP_CA_OPEN && htcp->is_repairing) {
		htcp->is_repairing = 0;
		htcp->loss_us = tcp_of(sk)->tcp_mstamp;
	}
}

SEC("struct_ops")
void BPF_PROG(htcp_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct tcp_sock *tp = tcp_of(sk);
	__s32 rtt_us = sample->rtt_us;

	htcp_on_acked(htcp_of(sk), sample->pkts_acked, tp->snd_cwnd, rtt_us > 0 ? rtt_us : 0, tp->tcp_mstamp);
}

SEC("struct_ops")
void BPF_PROG(htcp_cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	struct htcp *htcp = htcp_of(sk);
	struct tcp_sock *tp = tcp_of(sk);

	acked = after_slow_start(tp, acked);
	if (acked)
		grow(tp, htcp_gain(tp->tcp_mstamp - htcp->loss_us, htcp->rtt_us_min, htcp->beta), acked);
}

SEC(".struct_ops")
struct tcp_congestion_ops wp_htcp = {
	.init = (void *)htcp_init,
	.ssthresh = (void *)htcp_ssthresh,
	.cong_avoid = (void *)htcp_cong_avoid,
	.set_state = (void *)htcp_set_state,
	.pkts_acked = (void *)htcp_pkts_acked,
	.undo_cwnd = (void *)undo_cwnd,
	.name = "wp_htcp",
};
