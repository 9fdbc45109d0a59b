"""Every limit, and what all of them find in a trial."""

from collections.abc import Callable

from whyperf.explain.limits import acks, application, costs, cpu, losses, path, windows
from whyperf.explain.limits.limit import LIMIT_FROM, Ask, Limit
from whyperf.explain.trial_facts import Facts

LIMITS: tuple[Ask, ...] = (
    windows.receive_buffer,
    windows.send_buffer,
    windows.window_scaling,
    windows.write_window_mismatch,
    windows.pacing_rate,
    windows.slow_start,
    windows.memory_limit,
    acks.delayed_ack,
    acks.nagle_delayed_ack,
    acks.quick_ack,
    acks.ack_thinning,
    acks.ack_path,
    application.slow_writer,
    application.think_time,
    application.round_trip,
    application.connection_setup,
    application.slow_reader,
    application.tiny_writes,
    application.read_size,
    path.bottleneck,
    path.shared_bottleneck,
    path.policer,
    path.local_queue,
    path.asked_rate,
    losses.small_queue,
    losses.random_loss,
    losses.burst_loss,
    losses.path_loss,
    losses.reordering,
    losses.receiver_loss,
    cpu.sender_cpu,
    cpu.receiver_cpu,
    cpu.shared_cpu,
    cpu.other_load,
    cpu.cpu_quota,
    cpu.pause,
    cpu.many_connections,
    cpu.small_mtu,
    cpu.offloads_off,
    cpu.capacity,
    costs.packet_filters,
    costs.other_bpf,
    costs.call_checks,
    costs.software_checksums,
    costs.memory_pressure,
    costs.lock_contention,
    costs.mitigations,
)
"""All limits. Their order says nothing."""


def found_in(facts: Facts, on_fault: Callable[[str], None] | None = None) -> list[Limit]:
    """Every limit that takes some of the trial; `on_fault` gets a sentence about one that fails, and else it is
    raised."""
    found = []
    for ask in LIMITS:
        try:
            limit = ask(facts)
        except Exception as error:
            if on_fault is None:
                raise
            name, why = getattr(ask, "__name__", "a cause").replace("_", " "), f"{type(error).__name__}: {error}"
            on_fault(f"The limit {name} failed ({why.rstrip(': ')}); this cause was not checked. Please report it.")
            continue
        if limit is not None and limit.share >= LIMIT_FROM:
            found.append(limit)
    return found
