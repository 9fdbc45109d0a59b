/* FAST. C. Jin, D. X. Wei, S. H. Low, "FAST TCP: Motivation, Architecture, Algorithms, Performance",
 * INFOCOM 2004.
 *
 * Keeps alpha segments of its own in the path's queues, which the round-trip time above the least one
 * shows, and so needs no loss.
 *
 * Differs: the round-trip time is the mean of a round, where the paper smooths it with a weight of
 * 3 / w, which reaches about as far back; growth is spread over the round by its ACKs instead of by a
 * timer. Whoever looks at windows within one round trip would notice.
 */
#pragma once

#include "window.h"

/* alpha, in segments: section IV-C of the paper takes 200 at 1 Gbit/s and 20 at 100 Mbit/s; here it is not
 * less than 8. The thresholds are apart, so that a rate at one of them stays.
 */
#define FAST_LOW 8
#define FAST_MEDIUM 20
#define FAST_HIGH 200
#define FAST_MEDIUM_BYTES_PER_S 1500000
#define FAST_HIGH_BYTES_PER_S 15000000
/* Parts in six of a threshold below which it counts as left. */
#define FAST_LEFT 5
#define FAST_OF 6

struct fast {
	__u64 rtt_us_sum;
	__u32 rtt_us_count;
	__u32 rtt_us_least;
	/* Of the round's samples, those with a queue of half of alpha and more. */
	__u32 queued_count;
	/* The round ends when this sequence number is acknowledged. */
	__u32 round_end;
	__u32 gain;
	__u32 alpha;
	/* Until a queue is seen, the window grows by a half each round. */
	__u32 is_starting;
};

static inline __u32 fast_alpha(__u32 alpha, __u64 bytes_per_s)
{
	if (bytes_per_s > FAST_HIGH_BYTES_PER_S)
		return FAST_HIGH;
	if (alpha == FAST_HIGH && bytes_per_s * FAST_OF > (__u64)FAST_HIGH_BYTES_PER_S * FAST_LEFT)
		return FAST_HIGH;
	if (bytes_per_s > FAST_MEDIUM_BYTES_PER_S)
		return FAST_MEDIUM;
	if (alpha >= FAST_MEDIUM && bytes_per_s * FAST_OF > (__u64)FAST_MEDIUM_BYTES_PER_S * FAST_LEFT)
		return FAST_MEDIUM;
	return FAST_LOW;
}

/* The paper's equation 9 with gamma = 1/2: w <- min(2w, (1 - gamma) w + gamma (baseRTT / RTT w + alpha)). */
static inline __u32 fast_window(__u32 cwnd, __u32 rtt_us_least, __u32 rtt_us, __u32 alpha)
{
	__u64 aim = ((__u64)cwnd + (__u64)cwnd * rtt_us_least / rtt_us + alpha) / 2;

	return larger_of(smaller_of(aim, 2 * cwnd), MIN_WINDOW);
}

/* Segments of the window that wait in queues. */
static inline __u32 fast_queued(__u32 cwnd, __u32 rtt_us_least, __u32 rtt_us)
{
	return cwnd - (__u64)cwnd * rtt_us_least / rtt_us;
}

static inline void fast_on_rtt(struct fast *fast, __u32 cwnd, __u32 rtt_us)
{
	if (rtt_us == 0)
		return;
	if (fast->rtt_us_least == 0 || rtt_us < fast->rtt_us_least)
		fast->rtt_us_least = rtt_us;
	fast->queued_count += fast_queued(cwnd, fast->rtt_us_least, rtt_us) > fast->alpha / 2;
	fast->rtt_us_sum += rtt_us;
	fast->rtt_us_count += 1;
}

/* A round has ended: returns the window to go to at once, and sets the gain for the next round. */
static inline __u32 fast_on_round(struct fast *fast, __u32 cwnd, __u32 mss_bytes)
{
	__u32 rtt_us, aim;
	int is_queued;

	if (fast->rtt_us_count == 0)
		return cwnd;
	rtt_us = larger_of(fast->rtt_us_sum / fast->rtt_us_count, 1);
	/* A sender that paused finds the queue empty with its first segments, and one whose host paused finds a queue
	 * that is not there with some: what most of a round shows is right.
	 */
	is_queued = 4 * fast->queued_count >= 3 * fast->rtt_us_count;
	fast->rtt_us_sum = 0;
	fast->rtt_us_count = 0;
	fast->queued_count = 0;
	fast->alpha = fast_alpha(fast->alpha, (__u64)cwnd * mss_bytes * US_PER_S / rtt_us);
	if (fast->is_starting) {
		/* Section IV-C: with no queue, alpha is the window itself, hence half of it a round. */
		if (!is_queued) {
			fast->gain = cwnd * (SEGMENT / 2);
			return cwnd;
		}
		fast->is_starting = 0;
	}
	aim = fast_window(cwnd, fast->rtt_us_least, rtt_us, fast->alpha);
	fast->gain = aim > cwnd ? (aim - cwnd) * SEGMENT : 0;
	return smaller_of(aim, cwnd);
}
