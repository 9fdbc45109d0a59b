/* Lists what programs have set of their TCP sockets, as far as sock_diag does not say it. Reads, and changes nothing. */
#include "layout.h"

/* What bpf_helper_defs.h expects of a vmlinux.h. */
enum bpf_map_type {
	BPF_MAP_TYPE_HASH = 1,
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

typedef struct {
	__s64 counter;
} atomic64_t;

struct sock_common {
	atomic64_t skc_cookie;
};

struct sock {
	struct sock_common __sk_common;
	__u8 sk_userlocks : 4;
};

struct tcp_sock {
	__u32 window_clamp;
	__u8 nonagle : 4;
};

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
};

struct bpf_iter__tcp {
	struct bpf_iter_meta *meta;
	struct sock_common *sk_common;
};

#pragma clang attribute pop

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

char LICENSE[] SEC("license") = "GPL";

SEC("iter/tcp")
int list_settings(struct bpf_iter__tcp *context)
{
	struct sock_common *common = context->sk_common;
	struct socket_settings settings = {};
	struct tcp_sock *tp;
	struct sock *sk;

	/* NULL at the end of the list, and of what stands for a request or for a connection that is gone. */
	tp = common ? bpf_skc_to_tcp_sock(common) : NULL;
	if (!tp)
		return 0;
	sk = (struct sock *)tp;
	settings.cookie = sk->__sk_common.skc_cookie.counter;
	settings.window_clamp_bytes = tp->window_clamp;
	settings.buffer_locks = BPF_CORE_READ_BITFIELD(sk, sk_userlocks);
	settings.nagle = BPF_CORE_READ_BITFIELD(tp, nonagle);
	if (settings.cookie)
		bpf_seq_write(context->meta->seq, &settings, sizeof(settings));
	return 0;
}
