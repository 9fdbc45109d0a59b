/* How a program sees an object of the kernel by its address, and the task that runs. */
#pragma once

#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>

/* include/linux/sched.h. */
#define PF_IDLE 0x2
#define PF_KTHREAD 0x200000

/* include/net/tcp_states.h. */
#define TCP_SYN_SENT 2
#define TCP_TIME_WAIT 6
#define TCP_NEW_SYN_RECV 12

#define IPPROTO_TCP 6

/* What is done then is compiled out of the way of what is done for nearly all segments: the less code these go through, the
 * less of it is missing in the cache, which the copying of payload has filled.
 */
#define is_rare(condition) __builtin_expect(!!(condition), 0)

/* An object's address seen as its type, for reading only. Kernels before 6.2 cannot. */
#define seen_as(address, type) ((type *)bpf_rdonly_cast((const void *)(address), bpf_core_type_id_kernel(type)))
#define can_see_as bpf_ksym_exists(bpf_rdonly_cast)

/* Kernels before 5.11 give the task by its address only. */
static __always_inline __u32 task_flags(void)
{
	struct task_struct *task;

	if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_get_current_task_btf)) {
		task = bpf_get_current_task_btf();
		return task->flags;
	}
	task = (struct task_struct *)bpf_get_current_task();
	return BPF_CORE_READ(task, flags);
}

/* A sock that is not full stands for a connection of TCP; UDP may use the same ports. */
static __always_inline bool is_tcp(const struct sock *sk)
{
	unsigned char state = sk->__sk_common.skc_state;

	return state == TCP_NEW_SYN_RECV || state == TCP_TIME_WAIT || sk->sk_protocol == IPPROTO_TCP;
}

/* NULL where the sock stands for a request, or for a connection that is gone: it is not full. */
static __always_inline struct tcp_sock *tcp_sock_of(struct sock *sk)
{
	if (sk->__sk_common.skc_state == TCP_NEW_SYN_RECV || sk->__sk_common.skc_state == TCP_TIME_WAIT)
		return NULL;
	if (can_see_as)
		return seen_as(sk, struct tcp_sock);
	return (struct tcp_sock *)bpf_skc_to_tcp_sock(sk);
}
