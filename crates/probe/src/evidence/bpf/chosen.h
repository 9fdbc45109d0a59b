/* Sockets of any program that are watched because the reader has chosen them, one by one. Which they are is in a hash map;
 * nearly all traffic of a host is none of theirs, and is found out by a bit.
 */
#pragma once

#include "maps.h"
#include "sight.h"

/* include/linux/socket.h. */
#define AF_INET 2
#define AF_INET6 10

/* Inode of the initial PID namespace (PROC_PID_INIT_INO, include/linux/proc_ns.h). */
#define INITIAL_PID_NAMESPACE 0xEFFFFFFCU

/* One end of a watched connection: the connecting end's port, and above it the number of the end that is meant. Of a
 * chosen socket its number is in the place of the port, and the end is the one that the socket is. 0: none.
 */
typedef __u32 watched_t;

/* Whether a socket with these ports may be chosen. */
static __always_inline bool may_be_chosen(__u16 local, __u16 remote)
{
	__u64 bit = local ^ remote;

	/* Verifiers before 6.18 do not see that bpf_ntohs leaves 16 bits. */
	asm volatile("%0 &= 0xffff" : "+r"(bit));
	return control.chosen_bits[bit / 64] >> (bit % 64) & 1;
}

static __always_inline watched_t chosen(const struct tuple *tuple)
{
	const __u32 *which = bpf_map_lookup_elem(&chosen_sockets, tuple);

	return which ? *which : 0;
}

/* An address of IPv4 as one of IPv6 (RFC 4291 section 2.5.5.2). */
static __always_inline void map_ipv4(__u32 *address, __be32 ipv4)
{
	address[0] = 0;
	address[1] = 0;
	address[2] = bpf_htonl(0xffff);
	address[3] = ipv4;
}

/* Whether there is a tuple of it. */
static __always_inline bool tuple_of(struct tuple *tuple, const struct sock *sk)
{
	__u16 family = sk->__sk_common.skc_family;

	if (!is_tcp(sk))
		return false;
	if (family == AF_INET) {
		map_ipv4(tuple->local, sk->__sk_common.skc_rcv_saddr);
		map_ipv4(tuple->remote, sk->__sk_common.skc_daddr);
	} else if (family == AF_INET6 && bpf_core_field_exists(sk->__sk_common.skc_v6_daddr)) {
		int i;

#pragma unroll
		for (i = 0; i < 4; i++) {
			tuple->local[i] = sk->__sk_common.skc_v6_rcv_saddr.in6_u.u6_addr32[i];
			tuple->remote[i] = sk->__sk_common.skc_v6_daddr.in6_u.u6_addr32[i];
		}
	} else {
		return false;
	}
	tuple->netns = sk->__sk_common.skc_net.net->ns.inum;
	tuple->local_port = sk->__sk_common.skc_num;
	tuple->remote_port = bpf_ntohs(sk->__sk_common.skc_dport);
	return true;
}

static __always_inline watched_t chosen_sock(const struct sock *sk)
{
	struct tuple tuple;

	if (!may_be_chosen(sk->__sk_common.skc_num, bpf_ntohs(sk->__sk_common.skc_dport)) || !tuple_of(&tuple, sk))
		return 0;
	return chosen(&tuple);
}

/* The number that the process which runs has in the agent's PID namespace; 0 where it has none there. */
static __always_inline __u32 process_here(const struct end *end)
{
	struct bpf_pidns_info here = {};

	if (end->namespace_inode == INITIAL_PID_NAMESPACE)
		return bpf_get_current_pid_tgid() >> 32;
	bpf_get_ns_current_pid_tgid(end->namespace_device, end->namespace_inode, &here, sizeof(here));
	return here.tgid;
}

/* Whether a process has chosen sockets, by its number in the initial PID namespace. Known only where the agent is in that
 * one, too.
 */
static __always_inline bool has_chosen(__u32 process)
{
	struct load_thread key = {.end = LISTENING, .thread = process};

	if (!(control.process_bits[process / 64 % PROCESS_WORDS] >> (process % 64) & 1))
		return false;
	return bpf_map_lookup_elem(&load_threads, &key) != NULL;
}

/* Whether connections with this port are chosen at their SYN. */
static __always_inline bool is_armed(__u16 port)
{
	__u64 bit = port;

	asm volatile("%0 &= 0xffff" : "+r"(bit));
	return control.armed_bits[bit / 64] >> (bit % 64) & 1;
}

/* Whether those are that a process opens, by its number in the initial PID namespace. */
static __always_inline bool is_opener(__u32 process)
{
	struct load_thread key = {.end = CONNECTING, .thread = process};

	if (!(control.opener_bits[process / 64 % PROCESS_WORDS] >> (process % 64) & 1))
		return false;
	return bpf_map_lookup_elem(&load_threads, &key) != NULL;
}

/* Chooses a socket at its SYN, in a place that the reader has offered; 0 where none is left. */
static __always_inline watched_t pick(const struct tuple *tuple, __u32 end)
{
#ifdef HAS_FETCH
	__u64 bit = tuple->local_port ^ tuple->remote_port;
	__u32 position, which;
	struct pick *pick;

	if ((__s32)(control.picks_offered - control.picks_taken) <= SPARE_PICKS)
		return 0;
	position = __sync_fetch_and_add(&control.picks_taken, 1);
	pick = &control.picks[position % PICKS];
	which = end << 16 | pick->number;
	if (bpf_map_update_elem(&chosen_sockets, tuple, &which, BPF_NOEXIST))
		which = 0;
	pick->socket = *tuple;
	pick->which = which;
	/* In this order for the reader, too. */
	__sync_lock_test_and_set(&pick->taken, position + 1);
	asm volatile("%0 &= 0xffff" : "+r"(bit));
	if (which)
		__sync_fetch_and_or(&control.chosen_bits[bit / 64], 1ULL << (bit % 64));
	return which;
#else
	return 0;
#endif
}

/* A socket that connects, chosen by its remote port or by the process that opens it. */
static __always_inline watched_t picked_sock(const struct sock *sk)
{
	struct tuple tuple;

	if (sk->__sk_common.skc_state != TCP_SYN_SENT || !control.picks_offered)
		return 0;
	if (!is_armed(bpf_ntohs(sk->__sk_common.skc_dport)) && !is_opener(bpf_get_current_pid_tgid() >> 32))
		return 0;
	return tuple_of(&tuple, sk) ? pick(&tuple, CONNECTING) : 0;
}

/* What such a process starts is one, too. */
static __always_inline void on_fork(__u32 parent, __u32 child)
{
	struct load_thread key = {.end = CONNECTING, .thread = child};
	__u8 is_there = 1;

	if (parent == child || !is_opener(parent))
		return;
	bpf_map_update_elem(&load_threads, &key, &is_there, BPF_ANY);
#ifdef HAS_FETCH
	__sync_fetch_and_or(&control.opener_bits[child / 64 % PROCESS_WORDS], 1ULL << (child % 64));
#endif
}
