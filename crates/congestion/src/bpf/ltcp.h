/* Layered TCP. S. Bhandarkar, S. Jain, A. L. N. Reddy, "LTCP: Improving the Performance of TCP in
 * Highspeed Networks", ACM SIGCOMM CCR 36(1), 2006; draft-bhandarkar-ltcp-01.
 *
 * A connection behaves as K virtual ones: it gains K segments a round trip. K grows with the window.
 *
 * Not modeled: the optional factor K_R, which evens out round-trip times. Whoever lets flows of
 * different round-trip times compete would notice.
 */
#pragma once

#include "window.h"

/* The window of the second layer, W_T: below it LTCP is Reno. */
#define LTCP_SECOND_LAYER 50
/* A loss takes 15 %, chosen so that a connection loses at most one of up to 19 layers: 3 / (19 + 1). */
#define LTCP_KEPT 85
#define LTCP_OF 100
/* More layers than the largest window has. */
#define LTCP_LAYERS 128

/* The window from which there are `layers` of them: W_K = W_T (K + 1) K (K - 1) / 6. */
static inline __u32 ltcp_layer_window(__u32 layers)
{
	return LTCP_SECOND_LAYER * ((layers + 1) * layers * (layers - 1) / 6);
}

static inline __u32 ltcp_layers(__u32 cwnd)
{
	__u32 layers = 1;

	while (layers < LTCP_LAYERS && ltcp_layer_window(layers + 1) <= cwnd)
		layers++;
	return layers;
}

static inline __u32 ltcp_gain(__u32 cwnd)
{
	return ltcp_layers(cwnd) * SEGMENT;
}

static inline __u32 ltcp_kept(__u32 cwnd)
{
	return cwnd < LTCP_SECOND_LAYER ? reduced(cwnd, 1, 2) : reduced(cwnd, LTCP_KEPT, LTCP_OF);
}
