/* H-TCP. D. Leith, R. Shorten, "H-TCP: TCP Congestion Control for High Bandwidth-Delay Product Paths",
 * draft-leith-tcp-htcp; the same authors, "H-TCP: TCP for high-speed and long-distance networks",
 * PFLDnet 2004.
 *
 * The gain grows with the time since the last loss; what a loss takes follows how full the queue was.
 */
#pragma once

#include "window.h"

/* Delta_L: so long after a loss the gain is Reno's. */
#define HTCP_RENO_US US_PER_S
/* Beyond that, no loss in this time is as good as none for ever; keeps the square below within 64 bits. */
#define HTCP_LONGEST_MS 1000000
/* Round-trip time at which the gain is what the formula says; scaled in proportion, so that flows of
 * different round-trip times gain alike.
 */
#define HTCP_REFERENCE_US 100000
#define HTCP_SCALED_US_LEAST 10000
#define HTCP_SCALED_US_MOST 200000
/* beta between 0.5 and 0.8, in 128ths. */
#define HTCP_BETA_LEAST 64
#define HTCP_BETA_MOST 102
/* A throughput that has changed by more than 20 % since the loss before: the path has changed. */
#define HTCP_CHANGE_PARTS 5

struct htcp {
	/* When the last loss was repaired. */
	__u64 loss_us;
	/* Start of the round in which arrivals are counted. */
	__u64 round_us;
	__u32 rtt_us_min;
	/* Since the last loss. */
	__u32 rtt_us_max;
	__u32 round_segments;
	/* Segments a second: of the last rounds, smoothed; its maximum since the last loss and before. */
	__u32 rate;
	__u32 rate_max;
	__u32 rate_max_before;
	__u32 beta;
	__u32 is_repairing;
};

/* alpha(Delta) = 1 + 10 (Delta - Delta_L) + ((Delta - Delta_L) / 2)^2, in 128ths. */
static inline __u32 htcp_alpha(__u64 since_loss_us)
{
	__u64 past_ms;

	if (since_loss_us <= HTCP_RENO_US)
		return SEGMENT;
	past_ms = (since_loss_us - HTCP_RENO_US) / 1000;
	if (past_ms > HTCP_LONGEST_MS)
		past_ms = HTCP_LONGEST_MS;
	return SEGMENT + 10 * SEGMENT * past_ms / 1000 + SEGMENT / 4 * past_ms * past_ms / US_PER_S;
}

/* alpha <- 2 (1 - beta) alpha, which keeps the mean of a flow in the Reno regime that of Reno. */
static inline __u32 htcp_gain(__u64 since_loss_us, __u32 rtt_us_min, __u32 beta)
{
	__u64 alpha = htcp_alpha(since_loss_us);

	if (rtt_us_min)
		alpha = alpha * within(rtt_us_min, HTCP_SCALED_US_LEAST, HTCP_SCALED_US_MOST) / HTCP_REFERENCE_US;
	if (alpha < SEGMENT)
		alpha = SEGMENT;
	return larger_of(alpha * 2 * (SEGMENT - beta) / SEGMENT, 1);
}

/* beta = RTT_min / RTT_max, which empties the queue and no more, while the throughput is steady. */
static inline __u32 htcp_beta(__u32 rate, __u32 rate_before, __u32 rtt_us_min, __u32 rtt_us_max)
{
	__u32 change = rate > rate_before ? rate - rate_before : rate_before - rate;

	if (rate_before == 0 || (__u64)change * HTCP_CHANGE_PARTS > rate_before || rtt_us_max == 0)
		return HTCP_BETA_LEAST;
	return within((__u64)rtt_us_min * SEGMENT / rtt_us_max, HTCP_BETA_LEAST, HTCP_BETA_MOST);
}

static inline void htcp_on_acked(struct htcp *htcp, __u32 segments, __u32 cwnd, __u32 rtt_us, __u64 now_us)
{
	__u64 passed_us = now_us - htcp->round_us;

	if (rtt_us && (htcp->rtt_us_min == 0 || rtt_us < htcp->rtt_us_min))
		htcp->rtt_us_min = rtt_us;
	if (htcp->is_repairing) {
		htcp->round_us = now_us;
		htcp->round_segments = 0;
		return;
	}
	htcp->rtt_us_max = larger_of(htcp->rtt_us_max, rtt_us);
	htcp->round_segments += segments;
	if (htcp->round_segments < cwnd || passed_us < htcp->rtt_us_min || passed_us == 0)
		return;
	/* The draft leaves the averaging open: a quarter of the new. */
	if (htcp->rate == 0)
		htcp->rate = (__u64)htcp->round_segments * US_PER_S / passed_us;
	else
		htcp->rate = (3 * (__u64)htcp->rate + (__u64)htcp->round_segments * US_PER_S / passed_us) / 4;
	htcp->rate_max = larger_of(htcp->rate_max, htcp->rate);
	htcp->round_us = now_us;
	htcp->round_segments = 0;
}

/* What is kept of the window. */
static inline __u32 htcp_on_loss(struct htcp *htcp, __u32 cwnd, __u64 now_us)
{
	htcp->beta = htcp_beta(htcp->rate_max, htcp->rate_max_before, htcp->rtt_us_min, htcp->rtt_us_max);
	htcp->rate_max_before = htcp->rate_max;
	htcp->rate_max = 0;
	htcp->rate = 0;
	htcp->rtt_us_max = 0;
	htcp->loss_us = now_us;
	htcp->is_repairing = 1;
	return reduced(cwnd, htcp->beta, SEGMENT);
}
