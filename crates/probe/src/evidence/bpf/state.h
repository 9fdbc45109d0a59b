/* How a program finds what it works on. */
#pragma once

#include "chosen.h"
#include "sight.h"

static __always_inline struct cpu *this_cpu(void)
{
	__u32 number = bpf_get_smp_processor_id();

	return bpf_map_lookup_elem(&cpus, &number);
}

/* Bits of the ends of whose load the thread is, by its place in their agents' PID namespaces. Where sockets are chosen, all
 * threads of the processes that have them are.
 */
static __always_inline __u32 load_bits(void)
{
	struct bpf_pidns_info here = {};
	struct load_thread key = {};
	__u64 looked_in = 0;
	__u32 number, bits = 0;

	if (CHOOSES) {
		struct end *end = &control.ends[LISTENING];

		key.thread = end->agent ? process_here(end) : 0;
		return key.thread && bpf_map_lookup_elem(&load_threads, &key) ? 1 << LISTENING : 0;
	}
#pragma unroll
	for (number = 0; number < ENDS; number++) {
		struct end *end = &control.ends[number];

		if (!end->agent)
			continue;
		/* Mostly both sides are in one namespace. A thread of another one has no number there: 0. */
		if (looked_in != end->namespace_inode)
			bpf_get_ns_current_pid_tgid(end->namespace_device, end->namespace_inode, &here, sizeof(here));
		looked_in = end->namespace_inode;
		if (here.tgid != end->agent)
			continue;
		key.end = number;
		key.thread = here.pid;
		if (bpf_map_lookup_elem(&load_threads, &key))
			bits |= 1 << number;
	}
	return bits;
}

/* Threads of the kernel, such as ksoftirqd, are never the load; nor is the idle task, at the end of an interrupt. */
static __always_inline __u32 look_up_runner(void)
{
	__u32 flags = task_flags();
	char name[16];

	if (!(flags & (PF_KTHREAD | PF_IDLE)))
		return load_bits();
	if (flags & PF_IDLE)
		return RUNS_KERNEL;
	bpf_get_current_comm(name, sizeof(name));
	if (name[0] == 'k' && name[1] == 's' && name[2] == 'o' && name[3] == 'f' && name[4] == 't' && name[8] == 'd')
		return RUNS_KERNEL | RUNS_KSOFTIRQD;
	return RUNS_KERNEL;
}

/* What the thread is on top of which a softirq runs. It is looked up when that is another one than the last time, or when a
 * reader has changed what is of its load: the look-up takes longer than all else that is done about a softirq.
 */
static __always_inline __u32 runner_bits(struct cpu *cpu)
{
	__u64 runner = bpf_get_current_pid_tgid();
	/* Before the look-up: what a reader changes meanwhile is looked up the next time. */
	__u32 changes = *(volatile __u32 *)&cpu->changes;

	if (is_rare(cpu->runner != runner || cpu->runner_changes != changes)) {
		cpu->runner_bits = look_up_runner();
		cpu->runner = runner;
		cpu->runner_changes = changes;
	}
	return cpu->runner_bits;
}

static __always_inline watched_t watched(enum end_number end, __u16 port)
{
	return (__u32)end << 16 | port;
}

static __always_inline __u16 port_of(watched_t which)
{
	return which;
}

static __always_inline struct end *end_of(watched_t which)
{
	__u64 number = which >> 16;

	/* As below: a verifier must see the bound. */
	asm volatile("%0 &= 1" : "+r"(number));
	return &control.ends[number];
}

/* The end's connection, and a new one when there is none. */
static __always_inline struct connection *connection_of(watched_t which)
{
	struct end *end = end_of(which);
	__u64 place = which;
	__u32 number;

	/* Verifiers before 6.18 do not see that bpf_ntohs leaves 16 bits. */
	asm volatile("%0 &= 0x1ffff" : "+r"(place));
	number = control.slot_of_port[place];
	if (is_rare(number == 0)) {
#ifdef HAS_FETCH
		number = __sync_fetch_and_add(&end->connections_count, 1);
#else
		number = end->connections_count++;
#endif
		if (number >= constants.connections_most) {
			end->connections_count = constants.connections_most;
			end->connections_refused += 1;
			return NULL;
		}
		control.slot_of_port[place] = number + 1;
	} else {
		number -= 1;
	}
	number += end->connections_first;
	return bpf_map_lookup_elem(&connections, &number);
}

/* Whether an end of this namespace watches this port of the listening end, which is never 0. */
static __always_inline bool is_watched(enum end_number end, __u32 netns, __u16 port)
{
	return port != 0 && control.ends[end].port == port && control.ends[end].netns == netns;
}

/* Over the loopback both sides share a namespace; the ports show which side a sock belongs to. */
static __always_inline watched_t watched_sock(const struct sock *sk)
{
	__u16 remote = bpf_ntohs(sk->__sk_common.skc_dport);
	__u16 local = sk->__sk_common.skc_num;
	__u32 netns;

	if (CHOOSES)
		return chosen_sock(sk);
	if (control.ends[LISTENING].port != local && control.ends[CONNECTING].port != remote)
		return 0;
	netns = sk->__sk_common.skc_net.net->ns.inum;
	if (is_watched(LISTENING, netns, local))
		return watched(LISTENING, remote);
	if (is_watched(CONNECTING, netns, remote))
		return watched(CONNECTING, local);
	return 0;
}

/* Class 0: nothing. Class n: from 2^(n-1) to 2^n - 1 bytes. */
static __always_inline __u32 size_class(__u32 bytes)
{
	__u32 class = 0;

	if (bytes >= 1 << 16) {
		class += 16;
		bytes >>= 16;
	}
	if (bytes >= 1 << 8) {
		class += 8;
		bytes >>= 8;
	}
	if (bytes >= 1 << 4) {
		class += 4;
		bytes >>= 4;
	}
	if (bytes >= 1 << 2) {
		class += 2;
		bytes >>= 2;
	}
	if (bytes >= 2)
		class += 2;
	else if (bytes == 1)
		class += 1;
	return class < SIZE_CLASSES ? class : SIZE_CLASSES - 1;
}

static __always_inline void count_size(struct sized *sizes, __u32 bytes)
{
	__u32 class = size_class(bytes);

	/* The verifier of older kernels forgets the bound above. */
	barrier_var(class);
	if (class < SIZE_CLASSES) {
		sizes[class].count += 1;
		sizes[class].bytes += bytes;
	}
}
