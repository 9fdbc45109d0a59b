/* The evidence taken in the kernel: one program a tracepoint, each a line here and its substance in
 * the header of its name.
 */
#include "calls.h"
#include "in.h"
#include "out.h"

char LICENSE[] SEC("license") = "GPL";

SEC("tp_btf/net_dev_queue")
int BPF_PROG(net_dev_queue, struct sk_buff *skb)
{
	on_out(skb);
	return 0;
}

SEC("tp_btf/netif_receive_skb")
int BPF_PROG(netif_receive_skb, struct sk_buff *skb)
{
	on_in(skb);
	return 0;
}

SEC("tp_btf/softirq_entry")
int BPF_PROG(softirq_entry, unsigned int vector)
{
	struct cpu *cpu = this_cpu();

	if (cpu) {
		cpu->running = vector + 1;
		cpu->entered_ns = constants.calls_mask || cpu->is_timed[LISTENING] | cpu->is_timed[CONNECTING] ? bpf_ktime_get_ns() : 0;
	}
	return 0;
}

SEC("tp_btf/softirq_exit")
int BPF_PROG(softirq_exit, unsigned int vector)
{
	struct cpu *cpu = this_cpu();

	if (cpu) {
		if (cpu->running == vector + 1 && cpu->entered_ns) {
			struct vector *of = &cpu->vectors[vector & (VECTORS - 1)];
			__u64 ns = bpf_ktime_get_ns() - cpu->entered_ns;
			__u32 bits;

			of->runs += 1;
			of->ns += ns;
			bits = runner_bits(cpu);
			if (bits & 1 << LISTENING)
				of->on_load_ns[LISTENING] += ns;
			if (bits & 1 << CONNECTING)
				of->on_load_ns[CONNECTING] += ns;
			if (constants.calls_mask && !(bits & RUNS_KERNEL))
				on_softirq(ns);
		}
		cpu->running = 0;
	}
	return 0;
}

SEC("tp_btf/sock_send_length")
int BPF_PROG(sock_send_length, struct sock *sk, int moved)
{
	watched_t which = moved > 0 || constants.calls_mask ? watched_sock(sk) : 0;
	struct connection *connection = which && moved > 0 ? connection_of(which) : NULL;

	if (connection)
		count_size(connection->writes, moved);
	if (constants.calls_mask && which)
		log_call(which, CALL_KIND_WRITE, moved);
	return 0;
}

/* The end of a read call, which has sent its ACK by then. */
SEC("tp_btf/sock_recv_length")
int BPF_PROG(sock_recv_length, struct sock *sk, int moved, int flags)
{
	watched_t which = moved > 0 || constants.calls_mask ? watched_sock(sk) : 0;
	struct connection *connection = which && moved > 0 ? connection_of(which) : NULL;
	struct tcp_sock *tp = connection ? tcp_sock_of(sk) : NULL;

	if (connection)
		count_size(connection->reads, moved);
	if (tp) {
		connection->reading.copied_seq = tp->copied_seq;
		connection->reading.has_read = 1;
	}
	if (constants.calls_mask && which && !(flags & (MSG_PEEK | MSG_ERRQUEUE)))
		log_call(which, CALL_KIND_READ, moved);
	return 0;
}

#if CHOOSES
SEC("tp_btf/sched_process_fork")
int BPF_PROG(sched_process_fork, struct task_struct *parent, struct task_struct *child)
{
	on_fork(parent->tgid, child->tgid);
	return 0;
}
#endif

SEC("tp_btf/sys_enter")
int BPF_PROG(sys_enter)
{
	on_system_call();
	return 0;
}

SEC("tp_btf/sched_waking")
int BPF_PROG(sched_waking, struct task_struct *woken)
{
	on_waking(woken);
	return 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(sched_switch, bool preempt, struct task_struct *left, struct task_struct *came, unsigned int state)
{
	on_switch(left, preempt || state == TASK_RUNNING, came);
	return 0;
}
