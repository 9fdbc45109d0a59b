"""Which class of cost functions belong to."""

import pytest

from whyperf.analyze.cost.classes import HELPER, TRACEPOINT, Function, base_name, claimed, classes

KERNEL_FUNCTIONS = {
    "entry_SYSCALL_64_after_hwframe": "system_calls",
    "__x64_sys_sendto": "system_calls",
    "do_syscall_64": "system_calls",
    "_copy_from_iter": "copy",
    # What zero copy left in the sender's memory, copied for a receiver on the same host.
    "skb_copy_ubufs": "copy",
    "__check_object_size": "copy",
    "rep_movs_alternative": None,
    "tcp_sendmsg_locked": "transmit",
    "__tcp_transmit_skb": "transmit",
    "udp_sendmsg": "transmit",
    "tcp_v4_rcv": "receive",
    "tcp_recvmsg_locked": "receive",
    "udp_recvmsg": "receive",
    "tcp_ack": "acks",
    "tcp_clean_rtx_queue": "acks",
    "__tcp_send_ack.part.0": "acks",
    "cubictcp_cong_avoid": "acks",
    "tcp_rate_skb_sent": "transmit",
    "tcp_rate_skb_delivered": "acks",
    "skb_segment": "segmentation",
    "dev_gro_receive": "segmentation",
    "tcp4_gro_receive": "segmentation",
    "ip_finish_output2": "ip",
    "__ip_queue_xmit": "ip",
    "fib_table_lookup": "ip",
    "nft_do_chain": "filter_rules",
    "nf_hook_slow": "filter_rules",
    "tcf_classify": "filter_rules",
    "__dev_queue_xmit": "devices",
    "veth_xmit": "devices",
    "sch_direct_xmit": "devices",
    "process_backlog": "devices",
    "handle_softirqs": "interrupts",
    "asm_sysvec_apic_timer_interrupt": "interrupts",
    "__local_bh_enable_ip": "interrupts",
    "native_write_msr": "hypervisor",
    "kmem_cache_free": "memory",
    "__alloc_skb": "memory",
    "skb_release_data": "memory",
    "asm_exc_page_fault": "memory",
    "shrink_lruvec": "memory_pressure",
    "native_queued_spin_lock_slowpath": "contention",
    "__pv_queued_spin_lock_slowpath": "contention",
    "try_to_wake_up": "scheduling",
    "finish_task_switch.isra.0": "scheduling",
    "sock_def_readable": "scheduling",
    "ep_send_events": "events",
    "io_submit_sqes": "events",
    "csum_partial": "checksums",
    "security_socket_sendmsg": "security_modules",
    "audit_filter_syscall": "security_modules",
    "srso_alias_return_thunk": "mitigations",
    "filemap_read": "files",
    "aesni_gcm_enc": "encryption",
    # What everybody uses costs whoever calls it.
    "_raw_spin_lock_bh": None,
    "_raw_spin_unlock_irqrestore": None,
    "__rcu_read_lock": None,
    "__list_del_entry_valid_or_report": None,
    "rb_erase": None,
    "ktime_get": None,
    "read_tsc": None,
    "memcpy": None,
    # What BPF programs call, or hang on, costs whose they are.
    "bpf_map_lookup_elem": HELPER,
    "bpf_ktime_get_ns": HELPER,
    "copy_from_kernel_nofault": HELPER,
    "bpf_trace_run3": TRACEPOINT,
    "__traceiter_softirq_entry": TRACEPOINT,
}


@pytest.mark.parametrize(("name", "expected"), KERNEL_FUNCTIONS.items())
def test_functions_of_the_kernel_belong_to_what_they_do(name: str, expected: str | None) -> None:
    assert claimed(Function(name, "kernel")) == expected


def test_a_module_of_a_driver_is_the_driver_whatever_its_functions_are_called() -> None:
    assert claimed(Function("mystery_tx", "kernel", "mlx5_core")) == "devices"
    assert claimed(Function("mystery_tx", "kernel", "somebodys_module")) is None


def test_programs_and_bpf_programs_cost_whose_they_are() -> None:
    assert claimed(Function("tcp_sendmsg", "program", "/usr/bin/server")) == "application"
    assert claimed(Function("[unknown]", "program")) == "application"
    assert claimed(Function("rustls::record_layer::encrypt", "program")) == "encryption"
    assert claimed(Function("bpf_prog_1_sys_enter", "bpf")) == "other_bpf"
    assert claimed(Function("bpf_prog_1_sys_enter", "own_bpf")) == "own_tracing"


def test_what_a_compiler_appends_does_not_count() -> None:
    assert base_name("finish_task_switch.isra.0") == "finish_task_switch"
    assert base_name("do_softirq.part.0.cold") == "do_softirq"
    assert base_name("core::fmt::write") == "core::fmt::write"


def test_classes_have_names_of_their_own_and_titles_that_fit_a_terminal() -> None:
    names, titles = [entry.name for entry in classes()], [entry.title for entry in classes()]
    assert len(set(names)) == len(names)
    assert len(set(titles)) == len(titles)
    assert max(map(len, titles)) <= 42
