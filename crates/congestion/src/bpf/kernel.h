/* The kernel's types, as little of them as a congestion control reads or writes; field by field, by
 * name: libbpf finds each one's place on the kernel that runs (CO-RE).
 */
#pragma once

#include <whyperf/types.h>

/* What bpf_helper_defs.h expects of a vmlinux.h. */
enum bpf_map_type {
	BPF_MAP_TYPE_ARRAY = 2,
};

/* include/net/tcp.h, enum tcp_ca_state of include/uapi/linux/tcp.h. */
#define TCP_CA_OPEN 0

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

/* A body, if not of interest: libbpf compares the kernel's functions by it. */
struct sock {
	int sk_sndbuf;
};

struct inet_connection_sock {
	__u64 icsk_ca_priv[13];
};

struct tcp_options_received {
	__u32 rcv_tsval;
	__u32 rcv_tsecr;
	__u16 saw_tstamp : 1;
};

struct tcp_sock {
	__u32 snd_una;
	__u32 snd_nxt;
	__u32 snd_cwnd;
	__u32 snd_cwnd_cnt;
	__u32 snd_cwnd_clamp;
	__u32 snd_ssthresh;
	__u32 max_packets_out;
	__u32 mss_cache;
	__u32 srtt_us;
	__u64 tcp_mstamp;
	__u8 is_cwnd_limited : 1;
	struct tcp_options_received rx_opt;
};

struct ack_sample {
	__u32 pkts_acked;
	__s32 rtt_us;
};

#pragma clang attribute pop

/* What a congestion control gives the kernel; libbpf matches the members by name. */
struct tcp_congestion_ops {
	__u32 (*ssthresh)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, __u32 ack, __u32 acked);
	void (*set_state)(struct sock *sk, __u8 state);
	void (*pkts_acked)(struct sock *sk, const struct ack_sample *sample);
	__u32 (*undo_cwnd)(struct sock *sk);
	char name[16];
	void (*init)(struct sock *sk);
};

/* Standard slow start: the window grows by what was acknowledged up to ssthresh; returns the rest. */
extern __u32 tcp_slow_start(struct tcp_sock *tp, __u32 acked) __attribute__((section(".ksyms")));
/* The window before a loss that was none. */
extern __u32 tcp_reno_undo_cwnd(struct sock *sk) __attribute__((section(".ksyms")));
