/* HighSpeed TCP Low Priority. A. Kuzmanovic, E. Knightly, R. L. Cottrell, "HSTCP-LP: A Protocol for
 * Low-Priority Bulk Data Transfer in High-Speed High-RTT Networks", PFLDnet 2004, which joins RFC 3649
 * and A. Kuzmanovic, E. Knightly, "TCP-LP: A Distributed Algorithm for Low Priority Data Transfer",
 * INFOCOM 2003 (cited as LP below).
 *
 * Grows as HighSpeed TCP while the path is free, and gives way as soon as the one-way delay shows a
 * queue, before a loss.
 *
 * Not modeled: clocks that drift apart, and time stamps whose ticks differ at the two ends; Linux
 * ticks in milliseconds. Without time stamps (RFC 7323) it is HighSpeed TCP.
 */
#pragma once

#include "highspeed.h"

/* LP section III.B: the queue counts from this share of the delays seen, in hundredths: delta = 0.15. */
#define HSLP_SHARE 15
/* LP section III.B: weight of a new delay, gamma = 1/8. */
#define HSLP_WEIGHT 8
/* LP section III.C: the inference phase lasts three round trips. */
#define HSLP_INFERENCE_ROUNDS 3

struct hslp {
	/* Until then it gives way; 0: it does not. */
	__u64 inference_end_us;
	/* An indication counts once a round trip. */
	__u64 indicated_us;
	/* Delay of the first ACK; the others are compared with it, because the clocks differ. */
	__u32 delay_first;
	/* In eighths of a tick. */
	__s32 delay_smoothed;
	__s32 delay_min;
	__s32 delay_max;
	__u32 has_delay;
};

enum hslp_answer {
	HSLP_GROW,
	/* Inference: neither grows nor shrinks. */
	HSLP_WAIT,
	HSLP_HALVE,
	/* LP section III.C: somebody else fills the queue, too. */
	HSLP_YIELD,
};

/* `delay` is the peer's time stamp less the echoed one of ours, in ticks. The ACK of a single segment shows
 * nothing: the peer may have kept it back for 40 ms and more (RFC 1122 section 4.2.3.2), which a window
 * of one segment would for ever take for a queue. */
static inline void hslp_on_delay(struct hslp *hslp, __u32 delay, __u32 acked)
{
	__s32 relative;

	if (acked < 2)
		return;
	if (!hslp->has_delay) {
		hslp->has_delay = 1;
		hslp->delay_first = delay;
	}
	relative = (__s32)(delay - hslp->delay_first) * HSLP_WEIGHT;
	/* An arithmetic shift is a division that rounds down, of negative numbers too. */
	hslp->delay_smoothed += (relative - hslp->delay_smoothed) >> 3;
	if (relative < hslp->delay_min)
		hslp->delay_min = relative;
	if (relative > hslp->delay_max)
		hslp->delay_max = relative;
}

/* Early congestion: d > d_min + (d_max - d_min) delta. */
static inline bool hslp_is_queued(const struct hslp *hslp)
{
	__s64 above = (__s64)hslp->delay_smoothed - hslp->delay_min;
	__s64 range = (__s64)hslp->delay_max - hslp->delay_min;

	/* One tick up and down is no queue. */
	return range > HSLP_WEIGHT && above * 100 > range * HSLP_SHARE;
}

static inline enum hslp_answer hslp_on_ack(struct hslp *hslp, __u64 now_us, __u32 rtt_us)
{
	bool is_inferring = now_us < hslp->inference_end_us;

	if (!hslp_is_queued(hslp) || now_us - hslp->indicated_us < rtt_us)
		return is_inferring ? HSLP_WAIT : HSLP_GROW;
	hslp->indicated_us = now_us;
	hslp->inference_end_us = now_us + HSLP_INFERENCE_ROUNDS * (__u64)rtt_us;
	if (!is_inferring)
		return HSLP_HALVE;
	/* Nothing of its own is queued from here on, and a window of one segment measures no delay. */
	hslp->delay_smoothed = hslp->delay_min;
	return HSLP_YIELD;
}
