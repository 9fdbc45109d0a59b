"""One turn: a tool at work, its own goodput and the kernel's counters over the same time."""

import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from bench import counters
from bench.namespaces import Ends
from bench.plan import Setting, Turn

LEAD_S = 0.1
TAIL_S = 0.3
"""The counters are read this much after the measurement began and before it ends: when a tool sends
its first byte is known to a few hundredths of a second only."""
LOADED_BYTES = 1 << 20
"""The load counts as started when the far end has received this much."""
START_TIMEOUT_S = 15


class Running(Protocol):
    """A tool at work."""

    def goodput_bps(self) -> float:
        """Waits for the end; the receiver's goodput after the warm-up."""
        ...


Start = Callable[[Ends, Turn, Setting], contextlib.AbstractContextManager[Running]]


@dataclass(frozen=True)
class Sample:
    """What one turn gave. Times per KByte are per 1024 bytes of payload."""

    turn: Turn
    goodput_bps: float
    """The tool's own figure, at the receiver."""
    counted_bps: float
    """The same from the far device's counters: a check of the tool's figure."""
    cpu_ns_per_kbyte: float
    """CPU time of all tasks at both ends and of ksoftirqd."""
    busy_ns_per_kbyte: float
    """Time in which the machine's CPUs were not idle; idle CPUs' soft interrupts and everybody else are in it."""
    retransmitted_segments: int


def take(start: Start, turn: Turn, ends: Ends, setting: Setting) -> Sample:
    """Runs a tool once.

    Raises:
        TimeoutError: the tool does not begin to send.
        peers.ToolError: the tool failed.
        LookupError: the tool ended early.
    """
    idle_bytes = counters.received_bytes(ends.far)
    with start(ends, turn, setting) as running:
        _wait_for_load(ends, idle_bytes, turn.tool)
        time.sleep(setting.warmup_s + LEAD_S)
        before = counters.read(ends)
        time.sleep(setting.measure_s - LEAD_S - TAIL_S)
        used = counters.used(before, counters.read(ends))
        goodput_bps = running.goodput_bps()
    return Sample(
        turn=turn,
        goodput_bps=goodput_bps,
        counted_bps=used.goodput_bps,
        cpu_ns_per_kbyte=used.per_kbyte(used.tasks_ns),
        busy_ns_per_kbyte=used.per_kbyte(used.busy_ns),
        retransmitted_segments=used.retransmitted_segments,
    )


def _wait_for_load(ends: Ends, idle_bytes: int, tool: str) -> None:
    deadline = time.monotonic() + START_TIMEOUT_S
    while counters.received_bytes(ends.far) - idle_bytes < LOADED_BYTES:
        if time.monotonic() > deadline:
            raise TimeoutError(f"{tool} did not begin to send within {START_TIMEOUT_S} s")
        time.sleep(0.02)
