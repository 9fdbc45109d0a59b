"""One run: a tool at work, its own goodput and the kernel's counters over the same time."""

import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from lab.bench import counters
from lab.bench.namespaces import Ends
from lab.bench.plan import Setting, ToolRun

LEAD_S = 0.1
TAIL_S = 0.3
"""The counters are read this much after the measurement began and before it ends: when a tool sends
its first byte is known to a few hundredths of a second only."""
LOADED_BYTES, LOADED_PACKETS = 1 << 20, 1000
"""The load counts as started when the far side has received this much, one or the other."""
START_TIMEOUT_S = 15


class Running(Protocol):
    """A tool at work."""

    def rate(self) -> float:
        """Waits for the end; what the tool did after the warm-up: bit/s at the receiver, or transactions a second."""
        ...


Start = Callable[[Ends, ToolRun, Setting], contextlib.AbstractContextManager[Running]]


@dataclass(frozen=True)
class Sample:
    """The measurements of one run. A unit is 1024 bytes of payload, or a transaction."""

    run: ToolRun
    rate: float
    """The tool's own figure: goodput at the receiver in bit/s, or transactions a second."""
    counted_bps: float | None
    """Goodput of a stream from the far device's counters: a check of the tool's figure."""
    cpu_ns_per_unit: float
    """CPU time of all tasks on both sides and of ksoftirqd."""
    busy_ns_per_unit: float
    """Time in which the machine's CPUs were not idle; idle CPUs' soft interrupts and everybody else are in it."""
    retransmitted_segments: int


def take(start: Start, run: ToolRun, ends: Ends, setting: Setting) -> Sample:
    """Runs a tool once.

    Raises:
        TimeoutError: the tool does not begin to send.
        ToolError: the tool failed.
        LookupError: the tool ended early.
    """
    idle = counters.received(ends.far)
    with start(ends, run, setting) as running:
        _wait_for_load(ends, idle, run.tool)
        time.sleep(setting.warmup_s + LEAD_S)
        before = counters.read(ends)
        time.sleep(setting.measure_s - LEAD_S - TAIL_S)
        used = counters.used(before, counters.read(ends))
        rate = running.rate()
    # Streams by what the device counted in the same time; of other loads it does not count the payload.
    is_counted = run.cell.workload in {"stream", "small"}
    counted_bps = used.goodput_bps if is_counted else None
    units_per_s = rate if run.cell.counts_transactions else (counted_bps or rate) / 8 / 1024
    return Sample(
        run=run,
        rate=rate,
        counted_bps=counted_bps,
        cpu_ns_per_unit=used.per_unit(used.tasks_ns, units_per_s),
        busy_ns_per_unit=used.per_unit(used.busy_ns, units_per_s),
        retransmitted_segments=used.retransmitted_segments,
    )


def _wait_for_load(ends: Ends, idle: tuple[int, int], tool: str) -> None:
    deadline = time.monotonic() + START_TIMEOUT_S
    while True:
        now = counters.received(ends.far)
        if now[0] - idle[0] >= LOADED_BYTES or now[1] - idle[1] >= LOADED_PACKETS:
            return
        if time.monotonic() > deadline:
            raise TimeoutError(f"{tool} did not begin to send within {START_TIMEOUT_S} s")
        time.sleep(0.02)
