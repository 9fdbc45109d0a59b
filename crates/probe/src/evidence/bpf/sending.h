/* Who makes the kernel send, and why a segment leaves again. */
#pragma once

#include "sight.h"
#include <whyperf/codes.h>

/* Vectors; include/linux/interrupt.h. */
#define TIMER_SOFTIRQ 1
#define NET_RX_SOFTIRQ 3
#define TASKLET_SOFTIRQ 6
#define HRTIMER_SOFTIRQ 8

/* enum tcp_ca_state; include/uapi/linux/tcp.h. */
#define TCP_CA_RECOVERY 3
#define TCP_CA_LOSS 4

/* The context of a softirq that runs, by its vector + 1; 0: none does. */
static __always_inline __u8 context_of(__u32 running)
{
	switch (running) {
	case 0:
		return CONTEXT_PROCESS;
	case NET_RX_SOFTIRQ + 1:
		return CONTEXT_NET_RX;
	case TIMER_SOFTIRQ + 1:
		return CONTEXT_TIMER;
	case HRTIMER_SOFTIRQ + 1:
		return CONTEXT_HRTIMER;
	case TASKLET_SOFTIRQ + 1:
	case 1: /* bottom-half workqueues of high priority run there */
		return CONTEXT_WORKER;
	}
	return CONTEXT_OTHER;
}

/* The same, where a thread of the kernel counts as a worker: of a workqueue, or one that polls a device (threaded NAPI). */
static __always_inline __u8 context_here(__u32 running)
{
	__u8 context = context_of(running);

	return context == CONTEXT_PROCESS && task_flags() & PF_KTHREAD ? CONTEXT_WORKER : context;
}

/* The states in which a segment below snd_nxt leaves: RFC 6298 timeout, RFC 6675 and RFC 8985
 * recovery, and the tail loss probe of RFC 8985 section 7, which a timer sends in any other state.
 */
static __always_inline __u8 retransmission_kind(struct tcp_sock *tp, __u8 context)
{
	struct inet_connection_sock *icsk = (void *)tp;
	__u8 state = BPF_CORE_READ_BITFIELD(icsk, icsk_ca_state);

	if (state == TCP_CA_LOSS)
		return RETRANSMISSION_TIMEOUT;
	if (state == TCP_CA_RECOVERY)
		return RETRANSMISSION_FAST;
	return context == CONTEXT_TIMER ? RETRANSMISSION_PROBE : RETRANSMISSION_OTHER;
}
