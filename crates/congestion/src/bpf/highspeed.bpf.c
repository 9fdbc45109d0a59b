/* HighSpeed TCP for the kernel; its arithmetic is in highspeed.h. */
#include "control.h"
#include "highspeed.h"

SEC("struct_ops")
__u32 BPF_PROG(highspeed_ssthresh, struct sock *sk)
{
	return highspeed_kept(tcp_of(sk)->snd_cwnd);
}

SEC("struct_ops")
void BPF_PROG(highspeed_cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	struct tcp_sock *tp = tcp_of(sk);

	acked = after_slow_start(tp, acked);
	if (acked)
		grow(tp, highspeed_gain(tp->snd_cwnd), acked);
}

SEC(".struct_ops")
struct tcp_congestion_ops wp_highspeed = {
	.ssthresh = (void *)highspeed_ssthresh,
	.cong_avoid = (void *)highspeed_cong_avoid,
	.undo_cwnd = (void *)undo_cwnd,
	.name = "wp_highspeed",
};
