/* Which segments are sampled: those of every Nth block of the sequence space, by a hash of connection, direction and block. Both
 * hosts find the same, whatever they make of the segments.
 */
#pragma once

#include "clock.h"
#include "../../evidence/bpf/header.h"

/* A device under another of these: the packet comes by again, on the upper device. */
#define IFF_MACVLAN_PORT (1 << 8)
#define IFF_BRIDGE_PORT (1 << 9)
#define IFF_OVS_DATAPATH (1 << 10)

/* Headers of IP, as far as they are needed. */
struct ipv4_header {
	__u8 version;
	__u8 service;
	__be16 length;
	__u8 unused[5];
	__u8 protocol;
	__u8 unused_too[10];
};

struct ipv6_header {
	__be32 flow;
	__be16 length;
	__u8 next;
	__u8 hop_limit;
	__u8 addresses[32];
};

static __always_inline bool is_sampled_by(enum end_number end, __u32 netns, __u16 port)
{
	return port != 0 && stage_control.ends[end].port == port && stage_control.ends[end].netns == netns;
}

static __always_inline bool is_idle(void)
{
	return !(stage_control.ends[LISTENING].port | stage_control.ends[CONNECTING].port);
}

static __always_inline __u32 which_of(enum end_number end, __u16 port)
{
	return (__u32)end << 16 | port;
}

/* Over the loopback both sides share a namespace; the ports show which side a sock belongs to. 0: none of the trial. */
static __always_inline __u32 which_sock(const struct sock *sk)
{
	__u16 remote = bpf_ntohs(sk->__sk_common.skc_dport);
	__u16 local = sk->__sk_common.skc_num;
	__u32 netns;

	if (stage_control.ends[LISTENING].port != local && stage_control.ends[CONNECTING].port != remote)
		return 0;
	if (!is_tcp(sk))
		return 0;
	netns = sk->__sk_common.skc_net.net->ns.inum;
	if (is_sampled_by(LISTENING, netns, local))
		return which_of(LISTENING, remote);
	if (is_sampled_by(CONNECTING, netns, remote))
		return which_of(CONNECTING, local);
	return 0;
}

/* Whether the block of a byte is sampled. The data's sender is this end where it leaves, otherwise the other. */
static __always_inline bool is_block_sampled(__u32 which, __u32 sequence, bool leaves)
{
	__u64 sender = (which >> 16 ^ !leaves) & 1;
	__u64 hash = (sender << 16 | port_of(which)) << 32 | sequence >> (stage_control.block_shift & 31);

	/* The finalizer of MurmurHash3 (public domain): each bit of the key changes half of the hash's. */
	hash = (hash ^ hash >> 33) * 0xff51afd7ed558ccdULL;
	hash = (hash ^ hash >> 33) * 0xc4ceb9fe1a85ec53ULL;
	return !((hash >> 33) & stage_control.sample_mask);
}

/* A segment, or without payload an ACK: that is sampled with the last byte that it acknowledges. */
static __always_inline void name_segment(struct stage_segment *segment, __u32 which, __u8 direction, __u32 sequence, __u32 payload_bytes,
					 __u32 acknowledgment)
{
	bool leaves = direction == DIRECTION_OUT;

	segment->which = which;
	segment->direction = direction;
	segment->payload_bytes = payload_bytes;
	segment->wire_segments = 1;
	segment->retransmission = NONE;
	segment->unused[0] = segment->unused[1] = segment->unused[2] = 0;
	if (payload_bytes) {
		segment->sequence = sequence;
		segment->is_sampled = is_block_sampled(which, sequence, leaves);
	} else {
		segment->sequence = acknowledgment;
		segment->is_sampled = is_block_sampled(which, acknowledgment - 1, !leaves);
	}
}

/* A packet that arrives, its data at the header of IP; whether it is of the trial. */
static __always_inline bool read_arrival(struct stage_segment *segment, const struct sk_buff *skb)
{
	struct net_device *device = skb->dev;
	__u32 netns = device->nd_net.net->ns.inum;
	__u32 ip_bytes, length, which;
	struct tcp_header header;
	struct segment read;

	if (netns != stage_control.ends[LISTENING].netns && netns != stage_control.ends[CONNECTING].netns)
		return false;
	if (skb->protocol == bpf_htons(ETH_P_IP)) {
		struct {
			struct ipv4_header ip;
			struct tcp_header tcp;
		} packet;

		if (bpf_probe_read_kernel(&packet, sizeof(packet), skb->data) || packet.ip.protocol != IPPROTO_TCP)
			return false;
		ip_bytes = (packet.ip.version & 15) * 4;
		length = packet.ip.length ? bpf_ntohs(packet.ip.length) : skb->len;
		header = packet.tcp;
		if (ip_bytes != 20 && bpf_probe_read_kernel(&header, sizeof(header), skb->data + ip_bytes))
			return false;
		length -= ip_bytes;
	} else if (skb->protocol == bpf_htons(ETH_P_IPV6)) {
		struct {
			struct ipv6_header ip;
			struct tcp_header tcp;
		} packet;

		if (bpf_probe_read_kernel(&packet, sizeof(packet), skb->data) || packet.ip.next != IPPROTO_TCP)
			return false;
		header = packet.tcp;
		length = packet.ip.length ? bpf_ntohs(packet.ip.length) : skb->len - 40;
	} else {
		return false;
	}
	if (is_sampled_by(LISTENING, netns, bpf_ntohs(header.destination)))
		which = which_of(LISTENING, bpf_ntohs(header.source));
	else if (is_sampled_by(CONNECTING, netns, bpf_ntohs(header.source)))
		which = which_of(CONNECTING, bpf_ntohs(header.destination));
	else
		return false;
	if (BPF_CORE_READ_BITFIELD(device, priv_flags) & (IFF_BRIDGE_PORT | IFF_MACVLAN_PORT | IFF_OVS_DATAPATH))
		return false;
	read_segment(&read, &header, length);
	name_segment(segment, which, DIRECTION_IN, read.sequence, read.payload_bytes, read.acknowledgment);
	if (read.flags & SYN)
		segment->is_sampled = 0;
	if (segment->is_sampled) {
		read_gso(&read, skb);
		segment->wire_segments = read.wire_segments;
	}
	return true;
}

/* A packet that leaves, of a socket of the trial. */
static __always_inline bool read_departure(struct stage_segment *segment, const struct sk_buff *skb, __u32 which)
{
	__u32 offset = skb->transport_header;
	struct tcp_header header;
	struct segment read;
	__u64 before;

	if (bpf_probe_read_kernel(&header, sizeof(header), skb->head + offset))
		return false;
	/* Addresses are subtracted whole: a verifier wants no half of one. */
	before = (__u64)(skb->head + offset) - (__u64)skb->data;
	barrier_var(before);
	read_segment(&read, &header, skb->len - before);
	name_segment(segment, which, DIRECTION_OUT, read.sequence, read.payload_bytes, read.acknowledgment);
	if (read.flags & SYN)
		segment->is_sampled = 0;
	if (segment->is_sampled) {
		read_gso(&read, skb);
		segment->wire_segments = read.wire_segments;
	}
	return true;
}
