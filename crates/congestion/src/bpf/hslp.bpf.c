/* HighSpeed TCP Low Priority for the kernel; its arithmetic is in hslp.h. */
#include "control.h"
#include "hslp.h"

SEC("struct_ops")
void BPF_PROG(hslp_init, struct sock *sk)
{
	struct hslp *hslp = kept_of(sk);

	hslp->inference_end_us = 0;
	hslp->indicated_us = 0;
	hslp->delay_first = 0;
	hslp->delay_smoothed = 0;
	hslp->delay_min = 0;
	hslp->delay_max = 0;
	hslp->has_delay = 0;
}

SEC("struct_ops")
__u32 BPF_PROG(hslp_ssthresh, struct sock *sk)
{
	return highspeed_kept(tcp_of(sk)->snd_cwnd);
}

SEC("struct_ops")
void BPF_PROG(hslp_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct tcp_sock *tp = tcp_of(sk);

	if (BPF_CORE_READ_BITFIELD(tp, rx_opt.saw_tstamp) && tp->rx_opt.rcv_tsecr)
		hslp_on_delay(kept_of(sk), tp->rx_opt.rcv_tsval - tp->rx_opt.rcv_tsecr, sample->pkts_acked);
}

SEC("struct_ops")
void BPF_PROG(hslp_cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	struct tcp_sock *tp = tcp_of(sk);

	/* The kernel keeps eight times the smoothed round-trip time. */
	switch (hslp_on_ack(kept_of(sk), tp->tcp_mstamp, tp->srtt_us >> 3)) {
	case HSLP_GROW:
		acked = after_slow_start(tp, acked);
		if (acked)
			grow(tp, highspeed_gain(tp->snd_cwnd), acked);
		break;
	case HSLP_WAIT:
		break;
	case HSLP_HALVE:
		tp->snd_ssthresh = reduced(tp->snd_cwnd, 1, 2);
		tp->snd_cwnd = tp->snd_ssthresh;
		break;
	case HSLP_YIELD:
		tp->snd_ssthresh = MIN_WINDOW;
		tp->snd_cwnd = 1;
		break;
	}
}

SEC(".struct_ops")
struct tcp_congestion_ops wp_hslp = {
	.init = (void *)hslp_init,
	.ssthresh = (void *)hslp_ssthresh,
	.cong_avoid = (void *)hslp_cong_avoid,
	.pkts_acked = (void *)hslp_pkts_acked,
	.undo_cwnd = (void *)undo_cwnd,
	.name = "wp_hslp",
};
