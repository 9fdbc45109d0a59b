/* BIC. L. Xu, K. Harfoush, I. Rhee, "Binary Increase Congestion Control for Fast Long-Distance
 * Networks", INFOCOM 2004.
 *
 * After a loss the window is searched for by halving the distance to where the loss was; beyond that
 * it is felt for, slowly at first.
 *
 * The form is the paper's. The parameters are those of the same authors' module in Linux, so that the
 * name means the same on every kernel: the paper's simulations take S_max = 32 and beta = 0.125.
 */
#pragma once

#include "window.h"

/* Section III: below this many segments BIC is Reno. */
#define BIC_LOW_WINDOW 14
/* S_max: the most a window gains in a round trip, in segments. */
#define BIC_MOST 16
/* S_min: the least, in 128ths: 0.2 segments. */
#define BIC_LEAST (SEGMENT / 5)
/* Distance to the maximum at which the steps are the least, in segments. */
#define BIC_NEAR 4
/* Beyond the maximum a round trip adds this part of the distance. */
#define BIC_BEYOND 3
/* 1 - beta = 0.8. */
#define BIC_KEPT 4
#define BIC_OF 5

struct bic {
	/* The window in whose place the search ends; 0: not known, there was no loss. */
	__u32 maximum;
};

static inline __u32 bic_gain(const struct bic *bic, __u32 cwnd)
{
	__u32 distance;

	if (cwnd < BIC_LOW_WINDOW)
		return SEGMENT;
	if (bic->maximum == 0)
		return BIC_MOST * SEGMENT;
	if (cwnd < bic->maximum) {
		distance = bic->maximum - cwnd;
		/* Section III.A: half of the distance, but not by more than S_max (additive increase). */
		if (distance > BIC_NEAR)
			return smaller_of(BIC_MOST * SEGMENT, distance * (SEGMENT / 2));
	} else {
		distance = cwnd - bic->maximum;
		/* Section III.B: a new maximum is felt for in growing steps. */
		if (distance >= BIC_NEAR)
			return smaller_of(BIC_MOST * SEGMENT, distance * SEGMENT / BIC_BEYOND);
	}
	return BIC_LEAST;
}

static inline __u32 bic_kept(__u32 cwnd)
{
	return cwnd < BIC_LOW_WINDOW ? reduced(cwnd, 1, 2) : reduced(cwnd, BIC_KEPT, BIC_OF);
}

static inline void bic_on_loss(struct bic *bic, __u32 cwnd)
{
	/* Section III.C, fast convergence: who lost below its last maximum makes room. */
	if (cwnd < bic->maximum)
		bic->maximum = (cwnd + bic_kept(cwnd)) / 2;
	else
		bic->maximum = cwnd;
}
