/* Scalable TCP. T. Kelly, "Scalable TCP: Improving Performance in Highspeed Wide Area Networks",
 * ACM SIGCOMM CCR 33(2), 2003.
 *
 * The time to recover from a loss is the same number of round trips at every window: a loss takes
 * b = 1/8, every acknowledged segment gives a = 0.01.
 */
#pragma once

#include "window.h"

/* Section 3: a = 0.01 for each acknowledged segment, so 1 % of the window a round trip. */
#define SCALABLE_PARTS 100
/* Section 3: b = 0.125. */
#define SCALABLE_KEPT 7
#define SCALABLE_OF 8

/* The paper goes over from Reno's growth at 16 segments, where its own is the smaller one up to 100;
 * here, as in Linux's module, the larger of the two counts.
 */
static inline __u32 scalable_gain(__u32 cwnd)
{
	return larger_of(SEGMENT, (__u64)cwnd * SEGMENT / SCALABLE_PARTS);
}

static inline __u32 scalable_kept(__u32 cwnd)
{
	return reduced(cwnd, SCALABLE_KEPT, SCALABLE_OF);
}
