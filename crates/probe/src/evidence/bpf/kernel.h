/* The kernel's types, as little of them as the probe reads.
 *
 * Field by field, by name: libbpf finds each one's place on the kernel that runs (CO-RE), so that
 * the object needs neither headers nor sources there, and order and neighbors do not matter here.
 */
#pragma once

#include <whyperf/types.h>

/* What bpf_helper_defs.h expects of a vmlinux.h. */
enum bpf_map_type {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_TASK_STORAGE = 29,
};
enum {
	BPF_F_NO_PREALLOC = 1,
	BPF_F_MMAPABLE = 1024,
	BPF_LOCAL_STORAGE_GET_F_CREATE = 1,
	BPF_ANY = 0,
	BPF_NOEXIST = 1,
};

/* A helper's number, for asking whether the kernel has it. */
enum bpf_func_id {
	BPF_FUNC_get_current_task_btf = 158,
};

struct bpf_pidns_info {
	__u32 pid;
	__u32 tgid;
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct ns_common {
	__u32 inum;
};

struct net {
	struct ns_common ns;
};

typedef struct {
	struct net *net;
} possible_net_t;

struct net_device {
	possible_net_t nd_net;
	unsigned long priv_flags : 32;
};

struct dst_entry {
	struct net_device *dev;
};

/* What a CPU asks another one to do. */
struct __call_single_data {
	void *func;
};

struct in6_addr {
	union {
		__be32 u6_addr32[4];
	} in6_u;
};

struct sock_common {
	__be32 skc_daddr;
	__be32 skc_rcv_saddr;
	__be16 skc_dport;
	__u16 skc_num;
	unsigned short skc_family;
	volatile unsigned char skc_state;
	possible_net_t skc_net;
	struct in6_addr skc_v6_daddr;
	struct in6_addr skc_v6_rcv_saddr;
};

typedef struct {
	int owned;
} socket_lock_t;

struct sk_buff;

struct sock {
	struct sock_common __sk_common;
	socket_lock_t sk_lock;
	struct {
		int len;
		struct sk_buff *head;
	} sk_backlog;
	unsigned long sk_pacing_rate;
	__u16 sk_protocol;
	struct dst_entry *sk_dst_cache;
};

struct rb_node;

struct rb_root {
	struct rb_node *rb_node;
};

struct tcp_options_received {
	__u16 snd_wscale : 4, rcv_wscale : 4;
};

struct inet_connection_sock {
	__u8 icsk_ca_state : 5;
	struct {
		__u16 rcv_mss;
	} icsk_ack;
};

struct tcp_sock {
	__u32 snd_una;
	__u32 snd_nxt;
	__u32 snd_wnd;
	__u32 snd_cwnd;
	__u32 snd_ssthresh;
	__u32 srtt_us;
	__u32 write_seq;
	__u32 rcv_nxt;
	__u32 copied_seq;
	struct rb_root out_of_order_queue;
	bool is_mptcp : 1;
	struct tcp_options_received rx_opt;
};

struct iov_iter {
	unsigned long count;
};

struct msghdr {
	struct iov_iter msg_iter;
};

/* What TCP keeps in `cb` of a packet. */
struct tcp_skb_cb {
	__u32 seq;
	__u32 end_seq;
	__u32 ack_seq;
};

struct sk_buff {
	struct sk_buff *next;
	struct sock *sk;
	char cb[48];
	struct net_device *dev;
	unsigned int len;
	unsigned int data_len;
	__be16 protocol;
	__u16 transport_header;
	unsigned char *head;
	unsigned char *data;
	unsigned int end;
	unsigned int truesize;
};

/* Headers, that are read at the offsets that their protocols give. */
struct tcphdr {
	__be16 source;
};

struct iphdr {
	__u8 protocol;
};

struct ipv6hdr {
	__u8 nexthdr;
};

struct skb_shared_info {
	unsigned short gso_size;
	unsigned short gso_segs;
};

struct task_struct {
	unsigned int flags;
	int pid;
	int tgid;
	char comm[16];
};

#pragma clang attribute pop

/* Missing on kernels before 6.2; then its address is 0. */
extern void *bpf_rdonly_cast(const void *object, __u32 type_id) __attribute__((weak, section(".ksyms")));
