//! The places in the kernel where stages begin and end.

use schema::evidence::Evidence;

use crate::evidence::hooks::Place;

const fn place(group: &'static str, program: &'static str, gives: &'static str) -> Place {
    Place { program, group, gives, is_essential: false, level: Evidence::Counters, is_for_chosen: false }
}

const fn essential(group: &'static str, program: &'static str, gives: &'static str) -> Place {
    Place { is_essential: true, ..place(group, program, gives) }
}

/// All places.
pub const PLACES: [Place; 27] = [
    place("raw_syscalls", "sys_enter", "stages call_entry and application"),
    place("raw_syscalls", "sys_exit", "the end of call_exit, the cost of a probe"),
    place("tcp", "tcp_sendmsg_locked", "stage copy_in, apart from call_entry and tcp_out"),
    place("sock", "sock_send_length", "stage call_exit of writes"),
    essential("net", "net_dev_queue", "stage tcp_out"),
    place("qdisc", "qdisc_enqueue", "stage qdisc_wait"),
    place("qdisc", "qdisc_dequeue", "the end of qdisc_wait"),
    place("net", "net_dev_start_xmit", "stage driver_out, apart from qdisc_out"),
    place("net", "net_dev_xmit", "the end of driver_out and ack_out"),
    place("irq", "irq_handler_entry", "stage interrupt; interrupts apart from other stages"),
    place("irq", "irq_handler_exit", "the end of interrupt"),
    place("csd", "csd_queue_cpu", "stage handover of what a softirq has sent, apart from wakeup and tcp_out"),
    place("csd", "csd_function_entry", "interrupts of other CPUs apart from other stages"),
    place("csd", "csd_function_exit", "the end of such an interrupt"),
    place("irq", "softirq_raise", "stage softirq_wait of devices with NAPI"),
    essential("irq", "softirq_entry", "softirqs apart from threads"),
    essential("irq", "softirq_exit", "softirqs apart from threads; the end of handover"),
    place("net", "netif_rx", "stage softirq_wait of packets in a CPU's backlog"),
    place("net", "napi_gro_receive_entry", "stage gro, apart from driver_in"),
    place("net", "napi_gro_receive_exit", "the end of gro"),
    essential("net", "netif_receive_skb", "stages driver_in and ip_in"),
    place("tcp", "tcp_probe", "stages tcp_in and ack_in, apart from ip_in"),
    place("sock", "sk_data_ready", "stage wakeup, apart from tcp_in"),
    place("sched", "sched_waking", "stage wakeup_wait"),
    essential("sched", "sched_switch", "threads apart from each other"),
    place("skb", "skb_copy_datagram_iovec", "stage copy_out"),
    place("sock", "sock_recv_length", "stage call_exit of reads"),
];
