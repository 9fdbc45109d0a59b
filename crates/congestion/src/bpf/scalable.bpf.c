/* Scalable TCP for the kernel; its arithmetic is in scalable.h. */
#include "control.h"
#include "scalable.h"

SEC("struct_ops")
__u32 BPF_PROG(scalable_ssthresh, struct sock *sk)
{
	return scalable_kept(tcp_of(sk)->snd_cwnd);
}

SEC("struct_ops")
void BPF_PROG(scalable_cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	struct tcp_sock *tp = tcp_of(sk);

	acked = after_slow_start(tp, acked);
	if (acked)
		grow(tp, scalable_gain(tp->snd_cwnd), acked);
}

SEC(".struct_ops")
struct tcp_congestion_ops wp_scalable = {
	.ssthresh = (void *)scalable_ssthresh,
	.cong_avoid = (void *)scalable_cong_avoid,
	.undo_cwnd = (void *)undo_cwnd,
	.name = "wp_scalable",
};
