/* Sockets of any program that are watched because the reader has chosen them, one by one. Which they are is in a hash map;
 * nearly all traffic of a host is none of theirs, and is found out by a bit.
 */
#pragma once

#include "maps.h"

/* include/linux/socket.h. */
#define AF_INET 2
#define AF_INET6 10

/* include/net/tcp_states.h. */
#define TCP_TIME_WAIT 6
#define TCP_NEW_SYN_RECV 12

#define IPPROTO_TCP 6

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

/* A sock that is not full stands for a connection of TCP; UDP may use the same ports. */
static __always_inline bool is_tcp(const struct sock *sk)
{
	unsigned char state = sk->__sk_common.skc_state;

	return state == TCP_NEW_SYN_RECV || state == TCP_TIME_WAIT || sk->sk_protocol == IPPROTO_TCP;
}

static __always_inline watched_t chosen_sock(const struct sock *sk)
{
	__u16 remote = bpf_ntohs(sk->__sk_common.skc_dport);
	__u16 local = sk->__sk_common.skc_num;
	struct tuple tuple;
	__u16 family;

	if (!may_be_chosen(local, remote) || !is_tcp(sk))
		return 0;
	family = sk->__sk_common.skc_family;
	if (family == AF_INET) {
		map_ipv4(tuple.local, sk->__sk_common.skc_rcv_saddr);
		map_ipv4(tuple.remote, sk->__sk_common.skc_daddr);
	} else if (family == AF_INET6 && bpf_core_field_exists(sk->__sk_common.skc_v6_daddr)) {
		int i;

#pragma unroll
		for (i = 0; i < 4; i++) {
			tuple.local[i] = sk->__sk_common.skc_v6_rcv_saddr.in6_u.u6_addr32[i];
			tuple.remote[i] = sk->__sk_common.skc_v6_daddr.in6_u.u6_addr32[i];
		}
	} else {
		return 0;
	}
	tuple.netns = sk->__sk_common.skc_net.net->ns.inum;
	tuple.local_port = local;
	tuple.remote_port = remote;
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
