/* Arithmetic of windows that all algorithms share. Pure functions of integers: the BPF programs and
 * the tests in user space compile the same lines.
 *
 * Windows are in segments. A gain is what a window grows in one round trip, in 128ths of a segment.
 */
#pragma once

#include <whyperf/types.h>

/* A segment, in 128ths. */
#define SEGMENT 128
/* RFC 5681 section 3.1 equation 4: the least that remains after a loss. */
#define MIN_WINDOW 2
#define US_PER_S 1000000

static inline __u32 smaller_of(__u32 first, __u32 other)
{
	return first < other ? first : other;
}

static inline __u32 larger_of(__u32 first, __u32 other)
{
	return first > other ? first : other;
}

static inline __u32 within(__u32 value, __u32 least, __u32 most)
{
	return larger_of(least, smaller_of(value, most));
}

/* `gain / cwnd` for each of `acked` segments; `credit` keeps what is not yet a segment. */
static inline __u32 grown(__u32 cwnd, __u32 gain, __u32 acked, __u32 *credit)
{
	__u64 price = (__u64)cwnd * SEGMENT;
	__u64 sum = *credit + (__u64)gain * acked;
	__u64 segments = sum / price;

	*credit = sum - segments * price;
	return cwnd + segments;
}

/* What is kept of a window of which `kept` of `of` parts remain. */
static inline __u32 reduced(__u32 cwnd, __u32 kept, __u32 of)
{
	return larger_of((__u64)cwnd * kept / of, MIN_WINDOW);
}
