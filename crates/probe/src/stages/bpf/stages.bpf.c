/* Stage times of sampled segments: one program a tracepoint, each a line here and its substance in the header that says
 * what it is for.
 */
#include "receiving.h"
#include "sending.h"
#include "threads.h"

struct pt_regs;
struct Qdisc;
struct netdev_queue;

char LICENSE[] SEC("license") = "GPL";

SEC("tp_btf/sys_enter")
int BPF_PROG(sys_enter, struct pt_regs *registers, long call)
{
	on_enter(call);
	return 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(sys_exit)
{
	on_exit();
	return 0;
}

SEC("tp_btf/tcp_sendmsg_locked")
int BPF_PROG(tcp_sendmsg_locked, struct sock *sk, struct msghdr *message)
{
	on_copy_in(sk, message);
	return 0;
}

SEC("tp_btf/sock_send_length")
int BPF_PROG(sock_send_length, struct sock *sk, int moved)
{
	on_socket_done(sk, moved, true);
	return 0;
}

SEC("tp_btf/net_dev_queue")
int BPF_PROG(net_dev_queue, struct sk_buff *skb)
{
	on_departure(skb);
	return 0;
}

SEC("tp_btf/qdisc_enqueue")
int BPF_PROG(qdisc_enqueue, struct Qdisc *qdisc, const struct netdev_queue *queue, struct sk_buff *skb)
{
	on_enqueue(skb);
	return 0;
}

SEC("tp_btf/qdisc_dequeue")
int BPF_PROG(qdisc_dequeue, struct Qdisc *qdisc, const struct netdev_queue *queue, int packets, struct sk_buff *skb)
{
	on_dequeue(skb);
	return 0;
}

SEC("tp_btf/net_dev_start_xmit")
int BPF_PROG(net_dev_start_xmit, struct sk_buff *skb)
{
	on_driver(skb);
	return 0;
}

SEC("tp_btf/net_dev_xmit")
int BPF_PROG(net_dev_xmit, struct sk_buff *skb, int outcome)
{
	on_transmitted(skb, outcome);
	return 0;
}

SEC("tp_btf/irq_handler_entry")
int BPF_PROG(irq_handler_entry)
{
	on_interrupt();
	return 0;
}

SEC("tp_btf/irq_handler_exit")
int BPF_PROG(irq_handler_exit)
{
	on_interrupt_end();
	return 0;
}

SEC("tp_btf/csd_queue_cpu")
int BPF_PROG(csd_queue_cpu, unsigned int asked, unsigned long callsite, void *function, struct __call_single_data *call)
{
	on_asked(call);
	return 0;
}

SEC("tp_btf/csd_function_entry")
int BPF_PROG(csd_function_entry)
{
	on_interrupt();
	return 0;
}

SEC("tp_btf/csd_function_exit")
int BPF_PROG(csd_function_exit)
{
	on_interrupt_end();
	return 0;
}

SEC("tp_btf/softirq_raise")
int BPF_PROG(softirq_raise, unsigned int vector)
{
	on_raise(vector);
	return 0;
}

SEC("tp_btf/softirq_entry")
int BPF_PROG(softirq_entry, unsigned int vector)
{
	on_softirq(vector);
	return 0;
}

SEC("tp_btf/softirq_exit")
int BPF_PROG(softirq_exit)
{
	on_softirq_end();
	return 0;
}

SEC("tp_btf/netif_rx")
int BPF_PROG(netif_rx, struct sk_buff *skb)
{
	on_backlog(skb);
	return 0;
}

SEC("tp_btf/napi_gro_receive_entry")
int BPF_PROG(napi_gro_receive_entry, struct sk_buff *skb)
{
	on_gro(skb);
	return 0;
}

SEC("tp_btf/napi_gro_receive_exit")
int BPF_PROG(napi_gro_receive_exit)
{
	on_gro_end();
	return 0;
}

SEC("tp_btf/netif_receive_skb")
int BPF_PROG(netif_receive_skb, struct sk_buff *skb)
{
	on_arrival(skb);
	return 0;
}

SEC("tp_btf/tcp_probe")
int BPF_PROG(tcp_probe, struct sock *sk, struct sk_buff *skb)
{
	on_tcp(sk, skb);
	return 0;
}

SEC("tp_btf/sk_data_ready")
int BPF_PROG(sk_data_ready)
{
	on_data_ready();
	return 0;
}

SEC("tp_btf/sched_waking")
int BPF_PROG(sched_waking, struct task_struct *woken)
{
	on_waking(woken);
	return 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(sched_switch, bool preempt, struct task_struct *left, struct task_struct *came)
{
	on_switch(left, came);
	return 0;
}

SEC("tp_btf/skb_copy_datagram_iovec")
int BPF_PROG(skb_copy_datagram_iovec, struct sk_buff *skb, int bytes)
{
	on_copy_out(skb, bytes);
	return 0;
}

SEC("tp_btf/sock_recv_length")
int BPF_PROG(sock_recv_length, struct sock *sk, int moved)
{
	on_socket_done(sk, moved, false);
	return 0;
}
