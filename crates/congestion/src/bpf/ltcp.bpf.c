/* Layered TCP for the kernel; its arithmetic is in ltcp.h. */
#include "control.h"
#include "ltcp.h"

SEC("struct_ops")
__u32 BPF_PROG(ltcp_ssthresh, struct sock *sk)
{
	return ltcp_kept(tcp_of(sk)->snd_cwnd);
}

SEC("struct_ops")
void BPF_PROG(ltcp_cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	struct tcp_sock *tp = tcp_of(sk);

	acked = after_slow_start(tp, acked);
	if (acked)
		grow(tp, ltcp_gain(tp->snd_cwnd), acked);
}

SEC(".struct_ops")
struct tcp_congestion_ops wp_ltcp = {
	.ssthresh = (void *)ltcp_ssthresh,
	.cong_avoid = (void *)ltcp_cong_avoid,
	.undo_cwnd = (void *)undo_cwnd,
	.name = "wp_ltcp",
};
