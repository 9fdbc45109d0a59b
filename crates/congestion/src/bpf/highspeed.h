/* HighSpeed TCP. S. Floyd, RFC 3649.
 *
 * Large windows gain more a round trip and lose less at a loss, so that they need fewer losses than
 * no network can promise.
 */
#pragma once

#include "window.h"

/* RFC 3649 section 5, Low_Window: up to here it is Reno. */
#define HIGHSPEED_LOW_WINDOW 38
/* RFC 3649 appendix B. */
#define HIGHSPEED_ROWS 73

struct highspeed_row {
	/* From this window on a(w) is the row's number, counted from 1. */
	__u32 window;
	/* b(w) in hundredths. */
	__u32 loss;
};

static const struct highspeed_row highspeed_rows[HIGHSPEED_ROWS] = {
	{ 38, 50 }, { 118, 44 }, { 221, 41 }, { 347, 38 }, { 495, 37 }, { 663, 35 }, { 851, 34 },
	{ 1058, 33 }, { 1284, 32 }, { 1529, 31 }, { 1793, 30 }, { 2076, 29 }, { 2378, 28 }, { 2699, 28 },
	{ 3039, 27 }, { 3399, 27 }, { 3778, 26 }, { 4177, 26 }, { 4596, 25 }, { 5036, 25 }, { 5497, 24 },
	{ 5979, 24 }, { 6483, 23 }, { 7009, 23 }, { 7558, 22 }, { 8130, 22 }, { 8726, 22 }, { 9346, 21 },
	{ 9991, 21 }, { 10661, 21 }, { 11358, 20 }, { 12082, 20 }, { 12834, 20 }, { 13614, 19 },
	{ 14424, 19 }, { 15265, 19 }, { 16137, 19 }, { 17042, 18 }, { 17981, 18 }, { 18955, 18 },
	{ 19965, 17 }, { 21013, 17 }, { 22101, 17 }, { 23230, 17 }, { 24402, 16 }, { 25618, 16 },
	{ 26881, 16 }, { 28193, 16 }, { 29557, 15 }, { 30975, 15 }, { 32450, 15 }, { 33986, 15 },
	{ 35586, 14 }, { 37253, 14 }, { 38992, 14 }, { 40808, 14 }, { 42707, 13 }, { 44694, 13 },
	{ 46776, 13 }, { 48961, 13 }, { 51258, 13 }, { 53677, 12 }, { 56230, 12 }, { 58932, 12 },
	{ 61799, 12 }, { 64851, 11 }, { 68113, 11 }, { 71617, 11 }, { 75401, 10 }, { 79517, 10 },
	{ 84035, 10 }, { 89053, 10 }, { 94717, 9 },
};

/* The row of a window; the first one for those below. */
static inline __u32 highspeed_row(__u32 cwnd)
{
	__u32 row = 0;
	__u32 step;

	for (step = 64; step; step /= 2) {
		__u32 next = row + step;

		if (next < HIGHSPEED_ROWS && highspeed_rows[next].window <= cwnd)
			row = next;
	}
	return row;
}

/* a(w), in 128ths. */
static inline __u32 highspeed_gain(__u32 cwnd)
{
	return (highspeed_row(cwnd) + 1) * SEGMENT;
}

/* (1 - b(w)) w. */
static inline __u32 highspeed_kept(__u32 cwnd)
{
	__u32 row = highspeed_row(cwnd);

	return row < HIGHSPEED_ROWS ? reduced(cwnd, 100 - highspeed_rows[row].loss, 100) : cwnd;
}
