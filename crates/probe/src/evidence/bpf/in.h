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

/* Bytes of the headers of IP without options; RFC 791 section 3.1 and RFC 8200 section 3. */
#define IPV4_BYTES 20
#define IPV6_BYTES 40

static __always_inline void copy_address(__u32 *address, const void *header, int offset)
{
	int i;

#pragma unroll
	for (i = 0; i < 4; i++)
		address[i] = field_at(header, offset + 4 * i, __be32);
}

/* Reads the TCP header behind IP, and where sockets are chosen the addresses; returns the bytes of header and payload, 0
 * when it is not TCP. A length field of 0 is that of a packet above 64 KB (BIG TCP). Kernels that let no program look at an
 * address copy both headers by one call.
 */
static __always_inline __u32 read_arrival(struct tcp_header *header, struct tuple *tuple, const struct sk_buff *skb)
{
	__u8 copied[IPV6_BYTES + TCP_BYTES] __attribute__((aligned(8)));
	const void *ip = copied;

	if (skb->protocol == bpf_htons(ETH_P_IP)) {
		__u32 ip_bytes, length;

		if (can_see_as)
			ip = seen_as(skb->data, struct iphdr);
		else if (bpf_probe_read_kernel(copied, IPV4_BYTES + TCP_BYTES, skb->data))
			return 0;
		if (field_at(ip, 9, __u8) != IPPROTO_TCP)
			return 0;
		ip_bytes = (field_at(ip, 0, __u8) & 15) * 4;
		length = field_at(ip, 2, __be16);
		length = length ? bpf_ntohs(length) : skb->len;
		if (CHOOSES) {
			map_ipv4(tuple->local, field_at(ip, 16, __be32));
			map_ipv4(tuple->remote, field_at(ip, 12, __be32));
		}
		if (!can_see_as && ip_bytes == IPV4_BYTES)
			copy_tcp_header(header, copied + IPV4_BYTES);
		else if (!read_tcp_header(header, skb->data + ip_bytes))
			return 0;
		return length - ip_bytes;
	}
	if (skb->protocol == bpf_htons(ETH_P_IPV6)) {
		__be16 length;

		if (can_see_as)
			ip = seen_as(skb->data, struct ipv6hdr);
		else if (bpf_probe_read_kernel(copied, IPV6_BYTES + TCP_BYTES, skb->data))
			return 0;
		if (field_at(ip, 6, __u8) != IPPROTO_TCP)
			return 0;
		length = field_at(ip, 4, __be16);
		if (CHOOSES) {
			copy_address(tuple->local, ip, 24);
			copy_address(tuple->remote, ip, 8);
		}
		if (!can_see_as)
			copy_tcp_header(header, copied + IPV6_BYTES);
		else
			read_tcp_header(header, skb->data + IPV6_BYTES);
		return length ? bpf_ntohs(length) : skb->len - IPV6_BYTES;
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
	if (!connection)
		return;
	read_segment(&segment, &header, tcp_bytes);
	read_gso(&segment, skb);
	count_in(connection, &segment);
	count_duplicate(connection, &segment, which);
	if (constants.log_mask) {
		struct cpu *cpu = this_cpu();
		__u32 running = cpu ? cpu->running : 0;

		log_segment(&segment, socket_of(connection, which), which, bpf_ktime_get_ns(), DIRECTION_IN, context_here(running), running && cpu && runner_bits(cpu) & RUNS_KSOFTIRQD, NONE,
			    NONE);
	}
}
