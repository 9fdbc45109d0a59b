/* BIC for the kernel; its arithmetic is in bic.h. */
#include "control.h"
#include "bic.h"

SEC("struct_ops")
void BPF_PROG(bic_init, struct sock *sk)
{
	struct bic *bic = kept_of(sk);

	bic->maximum = 0;
}

SEC("struct_ops")
__u32 BPF_PROG(bic_ssthresh, struct sock *sk)
{
	struct bic *bic = kept_of(sk);
	__u32 cwnd = tcp_of(sk)->snd_cwnd;

	bic_on_loss(bic, cwnd);
	return bic_kept(cwnd);
}

SEC("struct_ops")
void BPF_PROG(bic_cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	struct tcp_sock *tp = tcp_of(sk);

	acked = after_slow_start(tp, acked);
	if (acked)
		grow(tp, bic_gain(kept_of(sk), tp->snd_cwnd), acked);
}

SEC(".struct_ops")
struct tcp_congestion_ops wp_bic = {
	.init = (void *)bic_init,
	.ssthresh = (void *)bic_ssthresh,
	.cong_avoid = (void *)bic_cong_avoid,
	.undo_cwnd = (void *)undo_cwnd,
	.name = "wp_bic",
};
