/* What arrives: at net:netif_receive_skb, where the device's receive processing hands a packet to
 * the protocols, after GRO and before the socket. There is no socket yet; the headers name the connection.
 */
#pragma once

#include "log.h"
#include "out.h"

/* A device under another of these: the packet comes by again, on the upper device. */
#define IFF_MACVLAN_PORT (1 << 8)
#define IFF_BRIDGE_PORT (1 << 9)
#define IFF_OVS_DATAPATH (1 << 10)

struct ipv4_tcp {
	__u8 version;
	__u8 service;
	__be16 length;
	__be16 identification;
	__be16 fragment;
	__u8 time_to_live;
	__u8 protocol;
	__be16 checksum;
	__be32 source;
	__be32 destination;
	struct tcp_header tcp;
};

struct ipv6_tcp {
	__be32 flow;
	__be16 length;
	__u8 next;
	__u8 hop_limit;
	__u8 source[16];
	__u8 destination[16];
	struct tcp_header tcp;
};

/* Reads the TCP header behind IP, and where sockets are chosen the addresses; returns the bytes of header and payload, 0
 * when it is not TCP. A length field of 0 is that of a packet above 64 KB (BIG TCP).
 */
static __always_inline __u32 read_arrival(struct tcp_header *header, struct tuple *tuple, const struct sk_buff *skb)
{
	if (skb->protocol == bpf_htons(ETH_P_IP)) {
		struct ipv4_tcp packet;
		__u32 ip_bytes, length;

		if (bpf_probe_read_kernel(&packet, sizeof(packet), skb->data) || packet.protocol != IPPROTO_TCP)
			return 0;
		ip_bytes = (packet.version & 15) * 4;
		length = packet.length ? bpf_ntohs(packet.length) : skb->len;
		*header = packet.tcp;
		if (CHOOSES) {
			map_ipv4(tuple->local, packet.destination);
			map_ipv4(tuple->remote, packet.source);
		}
		if (ip_bytes != 20 && bpf_probe_read_kernel(header, sizeof(*header), skb->data + ip_bytes))
			return 0;
		return length - ip_bytes;
	}
	if (skb->protocol == bpf_htons(ETH_P_IPV6)) {
		struct ipv6_tcp packet;

		if (bpf_probe_read_kernel(&packet, sizeof(packet), skb->data) || packet.next != IPPROTO_TCP)
			return 0;
		*header = packet.tcp;
		if (CHOOSES) {
			__builtin_memcpy(tuple->local, packet.destination, sizeof(tuple->local));
			__builtin_memcpy(tuple->remote, packet.source, sizeof(tuple->remote));
		}
		return packet.length ? bpf_ntohs(packet.length) : skb->len - 40;
	}
	return 0;
}

/* The connection's socket, when it has sent already and is still there. */
static __always_inline struct tcp_sock *socket_of(const struct connection *connection, watched_t which)
{
	struct sock *sk;

	if (!can_see_as || !connection->out.sock)
		return NULL;
	sk = seen_as(connection->out.sock, struct sock);
	if (sk->__sk_common.skc_state == TCP_TIME_WAIT || watched_sock(sk) != which)
		return NULL;
	return seen_as(connection->out.sock, struct tcp_sock);
}

static __always_inline void count_in(struct connection *connection, const struct segment *segment)
{
	if (segment->payload_bytes) {
		if (connection->arrived.has_next && segment->sequence != connection->arrived.next)
			connection->arrived.out_of_order_packets += 1;
		connection->arrived.data_packets += 1;
		connection->arrived.data_segments += segment->wire_segments;
		connection->arrived.data_bytes += segment->payload_bytes;
		count_size(connection->arrived.sizes, segment->payload_bytes);
	} else if (!(segment->flags & (SYN | FIN | RST))) {
		connection->arrived.acks += 1;
	}
	if (segment->flags & FIN) {
		connection->arrived.fin = 1;
		connection->arrived.fin_next = segment->end;
	}
	if (!connection->arrived.has_next || is_before(connection->arrived.next, segment->end)) {
		connection->arrived.next = segment->end;
		connection->arrived.has_next = 1;
	}
}

/* RFC 5681 section 2: no payload, the same number and window, while data is outstanding. The one
 * before may still wait in the backlog, so that snd_una is behind. The socket is looked up only for
 * what may be one: nearly no segment is.
 */
static __always_inline void count_duplicate(struct connection *connection, const struct segment *segment, watched_t which)
{
	bool is_pure = !segment->payload_bytes && !(segment->flags & (SYN | FIN | RST));

	if (is_pure && segment->acknowledgment == connection->arrived.last_acknowledgment &&
	    segment->window_field == connection->arrived.last_window) {
		struct tcp_sock *tp = socket_of(connection, which);

		if (tp && !is_before(segment->acknowledgment, tp->snd_una) && is_before(segment->acknowledgment, tp->snd_nxt))
			connection->arrived.duplicate_acks += 1;
	}
	connection->arrived.last_acknowledgment = segment->acknowledgment;
	connection->arrived.last_window = segment->window_field;
}

static __always_inline void on_in(struct sk_buff *skb)
{
	struct net_device *device = skb->dev;
	struct tcp_header header;
	struct segment segment;
	struct connection *connection;
	struct tuple tuple;
	struct cpu *cpu;
	__u32 tcp_bytes;
	__u16 source, destination;
	watched_t which;
	__u32 netns;

	if (!(control.ends[LISTENING].port | control.ends[CONNECTING].port))
		return;
	netns = device->nd_net.net->ns.inum;
	if (netns != control.ends[LISTENING].netns && netns != control.ends[CONNECTING].netns &&
	    !(CHOOSES && control.ends[LISTENING].netns == SEVERAL_NAMESPACES))
		return;
	tcp_bytes = read_arrival(&header, &tuple, skb);
	if (tcp_bytes == 0)
		return;
	source = bpf_ntohs(header.source);
	destination = bpf_ntohs(header.destination);
	if (CHOOSES) {
		tuple.netns = netns;
		tuple.local_port = destination;
		tuple.remote_port = source;
		which = may_be_chosen(destination, source) ? chosen(&tuple) : 0;
		if (!which && (header.flags & (SYN | ACK)) == SYN && is_armed(destination))
			which = pick(&tuple, LISTENING);
		if (!which)
			return;
	} else if (is_watched(LISTENING, netns, destination))
		which = watched(LISTENING, source);
	else if (is_watched(CONNECTING, netns, source))
		which = watched(CONNECTING, destination);
	else
		return;
	if (BPF_CORE_READ_BITFIELD(device, priv_flags) & (IFF_BRIDGE_PORT | IFF_MACVLAN_PORT | IFF_OVS_DATAPATH))
		return;
	connection = connection_of(which);
	cpu = this_cpu();
	if (!connection || !cpu)
		return;
	read_segment(&segment, &header, tcp_bytes);
	read_gso(&segment, skb);
	count_in(connection, &segment);
	count_duplicate(connection, &segment, which);
	if (constants.log_mask)
		log_segment(&segment, socket_of(connection, which), which, bpf_ktime_get_ns(), DIRECTION_IN, context_of(cpu->running), cpu->running && is_ksoftirqd(), NONE,
			    NONE);
}
