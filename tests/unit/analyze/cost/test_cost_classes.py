"""Which class of cost functions belong to."""

import pytest

from whyperf.analyze.cost.classes import HELPER, TRACEPOINT, Function, base_name, claimed

KERNEL_FUNCTIONS = {
    "entry_SYSCALL_64_after_hwframe": "system_calls",
    "_copy_from_iter": "copy",
    # What zero copy left in the sender's memory, copied for a receiver on the same host.
    "skb_copy_ubufs": "copy",
    "rep_movs_alternative": None,
    "tcp_sendmsg_locked": "transmit",
    "__tcp_transmit_skb": "transmit",
    "tcp_v4_rcv": "receive",
    "tcp_ack": "acks",
    "__tcp_send_ack.part.0": "acks",
    "tcp_rate_skb_sent": "transmit",
    "tcp_rate_skb_delivered": "acks",
    "skb_segment": "segmentation",
    "tcp4_gro_receive": "segmentation",
    "ip_finish_output2": "ip",
    "nft_do_chain": "filter_rules",
    "__dev_queue_xmit": "devices",
    "handle_softirqs": "interrupts",
    "__local_bh_enable_ip": "interrupts",
    "native_write_msr": "hypervisor",
    "kmem_cache_free": "memory",
    "asm_exc_page_fault": "memory",
    "shrink_lruvec": "memory_pressure",
    "native_queued_spin_lock_slowpath": "contention",
    "try_to_wake_up": "scheduling",
    "finish_task_switch.isra.0": "scheduling",
    "ep_send_events": "events",
    "csum_partial": "checksums",
    "security_socket_sendmsg": "security_modules",
    "srso_alias_return_thunk": "mitigations",
    "filemap_read": "files",
    "aesni_gcm_enc": "encryption",
    # What everybody uses costs whoever calls it.
    "_raw_spin_lock_bh": None,
    "read_tsc": None,
    # What BPF programs call, or hang on, costs whose they are.
    "bpf_map_lookup_elem": HELPER,
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
