"""The micro-measurements of `whyperf-agent steps`, and what they say of single costs.

A call's time against its bytes is a straight line: what it costs each time, and for each byte. What a step costs in
addition to another one is the difference of both, taken round by round, so that what else the host does cancels.
"""

import json
import subprocess
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from whyperf.analyze.bootstrap import median_intervals
from whyperf.calibrate.errors import CalibrationError
from whyperf.run.agents.pipes import agent_binary

ROUNDS = 15
_NS_PER_US = 1000.0
_TIMEOUT_S = 300


@dataclass(frozen=True)
class Measured:
    """A quantity over the rounds: its median and the median's 95 % interval, in us or ns/byte as its name says."""

    name: str
    value: float
    low: float
    high: float
    rounds: int


@dataclass(frozen=True)
class Steps:
    """The timings on a host: its facts, and the quantities by name."""

    host: Mapping[str, Any]
    mtu_bytes: int
    measured: Mapping[str, Measured]


@dataclass(frozen=True)
class _Round:
    """Time of a call in us by step and bytes, in one round."""

    calls: Mapping[tuple[str, int], float]

    def call_us(self, step: str) -> float:
        """Time of a call with at most one size; KeyError where it was not timed."""
        return next(us for (name, _), us in self.calls.items() if name == step)

    def line(self, step: str) -> tuple[float, float]:
        """Time of a call each time in us, and for each byte in ns: least squares of relative errors."""
        points = [(size, us) for (name, size), us in self.calls.items() if name == step]
        sizes, times = (np.array(column, dtype=np.float64) for column in zip(*points, strict=True))
        (fixed, per_byte), *_ = np.linalg.lstsq(np.column_stack([1 / times, sizes / times]), np.ones(len(times)))
        return float(fixed), float(per_byte) * _NS_PER_US


def _fixed(step: str) -> "_Quantity":
    return lambda done: done.line(step)[0]


def _per_byte(step: str) -> "_Quantity":
    return lambda done: done.line(step)[1]


def _beyond(step: str, other: str) -> "_Quantity":
    return lambda done: done.line(step)[0] - done.line(other)[0]


_Quantity = Callable[[_Round], float]

QUANTITIES: Mapping[str, tuple[str, _Quantity]] = {
    "call_us": ("a system call that does nothing", lambda done: done.call_us("call")),
    "write_call_us": ("a write while the window is closed, each time", _fixed("write_held")),
    # Into memory that is new for every byte: what a full send buffer costs, not what a moving one does.
    "write_new_ns_per_byte": ("and for each byte, into new memory", _per_byte("write_held")),
    "write_ns_per_byte": ("a write that sends, for each byte", _per_byte("send_here")),
    "read_call_us": ("a read of what is there, each time", _fixed("read_held")),
    "read_ns_per_byte": ("and for each byte", _per_byte("read_held")),
    "read_across_us": ("a read of what another CPU wrote, each time", _fixed("read_across")),
    "read_across_ns_per_byte": ("and for each byte", _per_byte("read_across")),
    "send_us": ("a write that sends, compared with one that does not", _beyond("send_steered", "write_held")),
    # On a virtual machine waking a processor that sleeps takes an exit to the hypervisor.
    "send_to_idle_us": ("and where the other CPU sleeps", _beyond("send_to_idle", "write_held")),
    "take_us": ("taking in what was sent, in the same thread", _beyond("send_here", "send_steered")),
    "ack_us": (
        "an acknowledgment, sent and taken in by one thread",
        lambda done: done.call_us("ack_here") - done.call_us("call"),
    ),
    "other_cpu_us": ("and the other CPU woken for it", lambda done: done.call_us("ack_steered") - done.call_us("call")),
    "hop_here_us": ("from thread to thread on one CPU", lambda done: done.call_us("hop_here")),
    "hop_across_us": ("from thread to thread across CPUs", lambda done: done.call_us("hop_across")),
    "copy_hot_ns_per_byte": (
        "a copy of bytes in the cache",
        lambda done: done.call_us("copy_hot") * _NS_PER_US / _COPY_BYTES,
    ),
    "copy_cold_ns_per_byte": (
        "a copy of bytes that are not",
        lambda done: done.call_us("copy_cold") * _NS_PER_US / _COPY_BYTES,
    ),
}
"""The quantities derived from the steps: words, and how from one round."""

#: Bytes of a copy (crates/steps, memory.rs).
_COPY_BYTES = 65_536


def time_steps(rounds: int = ROUNDS, mtu_bytes: int = 1500) -> Steps:
    """Times the steps on this host.

    Raises:
        CalibrationError: the agent cannot, with its reason.
    """
    argv = [str(agent_binary()), "steps", "--rounds", str(rounds), "--mtu", str(mtu_bytes)]
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired:
        raise CalibrationError(
            f"timing the steps took over {_TIMEOUT_S} s; calibrate when less runs on this host"
        ) from None
    if done.returncode != 0:
        reason = done.stderr.strip().splitlines()[-1:] or [f"status {done.returncode}"]
        raise CalibrationError(reason[0].removeprefix("whyperf-agent: "))
    return read_steps(json.loads(done.stdout))


def read_steps(document: Mapping[str, Any]) -> Steps:
    """Reads the agent's answer: medians over its rounds."""
    rounds: dict[int, dict[tuple[str, int], float]] = defaultdict(dict)
    for sample in document["samples"]:
        us = sample["duration_ns"] / sample["calls_count"] / _NS_PER_US
        rounds[sample["round"]][sample["step"], sample["bytes"]] = us
    all_rounds = [_Round(calls) for calls in rounds.values()]
    measured = {name: values for name in QUANTITIES if (values := _values(name, all_rounds))}
    intervals = median_intervals(list(measured.values()), seed=0)
    return Steps(
        host=document["host"],
        mtu_bytes=document["mtu_bytes"],
        measured={
            name: Measured(
                name, float(np.median(values)), *_or_value(interval, float(np.median(values))), rounds=len(values)
            )
            for (name, values), interval in zip(measured.items(), intervals, strict=True)
        },
    )


def _or_value(interval: tuple[float | None, float | None], value: float) -> tuple[float, float]:
    low, high = interval
    return value if low is None else low, value if high is None else high


def _values(name: str, rounds: Sequence[_Round]) -> list[float]:
    """The quantity in each round; none where a step was not timed, as on a host with one CPU."""
    _, quantity = QUANTITIES[name]
    try:
        return [quantity(done) for done in rounds]
    except (StopIteration, ValueError):
        return []
