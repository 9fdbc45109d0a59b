/* Reads the headers of a packet. */
#pragma once

#include "sight.h"

#define ETH_P_IP 0x0800
#define ETH_P_IPV6 0x86DD

#define FIN 1
#define SYN 2
#define RST 4
#define ACK 16

/* RFC 9293 section 3.1, as far as it is read. */
struct tcp_header {
	__be16 source;
	__be16 destination;
	__be32 sequence;
	__be32 acknowledgment;
	__u8 offset;
	__u8 flags;
	__be16 window;
} __attribute__((aligned(4)));

struct segment {
	__u32 sequence;
	__u32 acknowledgment;
	__u32 payload_bytes;
	__u32 end;          /* sequence number behind the segment, SYN and FIN included */
	__u16 window_field;
	__u16 gso_size;
	__u16 wire_segments;
	__u8 flags;
};

static __always_inline bool is_before(__u32 first, __u32 other)
{
	return (__s32)(first - other) < 0;
}

/* As much of it in bytes. */
#define TCP_BYTES 16

/* A field at an offset that the protocol gives, in a header that is in memory, or that the kernel describes as a type. */
#define field_at(header, offset, type) (*(const type *)((const void *)(header) + (offset)))

static __always_inline void copy_tcp_header(struct tcp_header *header, const void *seen)
{
	header->source = field_at(seen, 0, __be16);
	header->destination = field_at(seen, 2, __be16);
	header->sequence = field_at(seen, 4, __be32);
	header->acknowledgment = field_at(seen, 8, __be32);
	*(__u32 *)&header->offset = field_at(seen, 12, __u32);
}

/* Without a call where the kernel lets a program look at an address, field by field; returns whether it could be read. */
static __always_inline bool read_tcp_header(struct tcp_header *header, const unsigned char *address)
{
	if (!can_see_as)
		return !bpf_probe_read_kernel(header, TCP_BYTES, address);
	copy_tcp_header(header, seen_as(address, struct tcphdr));
	return true;
}

/* `tcp_bytes` counts header and payload. */
static __always_inline void read_segment(struct segment *segment, const struct tcp_header *header, __u32 tcp_bytes)
{
	__u32 header_bytes = (header->offset >> 4) * 4;

	segment->flags = header->flags;
	segment->sequence = bpf_ntohl(header->sequence);
	segment->acknowledgment = header->flags & ACK ? bpf_ntohl(header->acknowledgment) : 0;
	segment->window_field = bpf_ntohs(header->window);
	segment->payload_bytes = tcp_bytes > header_bytes ? tcp_bytes - header_bytes : 0;
	segment->end = segment->sequence + segment->payload_bytes + !!(header->flags & SYN) + !!(header->flags & FIN);
}

/* How a super-segment is cut; include/linux/skbuff.h, struct skb_shared_info. */
static __always_inline void read_gso(struct segment *segment, const struct sk_buff *skb)
{
	const unsigned char *shared = skb->head + skb->end;

	segment->gso_size = 0;
	segment->wire_segments = 1;
	if (segment->payload_bytes == 0)
		return;
	if (can_see_as) {
		struct skb_shared_info *info = seen_as(shared, struct skb_shared_info);

		segment->gso_size = info->gso_size;
		if (segment->gso_size)
			segment->wire_segments = info->gso_segs;
	} else {
		struct skb_shared_info *info = (void *)shared;

		segment->gso_size = BPF_CORE_READ(info, gso_size);
		if (segment->gso_size)
			segment->wire_segments = BPF_CORE_READ(info, gso_segs);
	}
	/* Not every way in fills in the number of segments. */
	if (is_rare(segment->gso_size && segment->wire_segments == 0))
		segment->wire_segments = (segment->payload_bytes + segment->gso_size - 1) / segment->gso_size;
}
