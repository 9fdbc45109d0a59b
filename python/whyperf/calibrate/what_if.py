"""The what-if: the model's answer with a change and without, by every member of a calibrated host's ensemble."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from whyperf.calibrate.errors import QuestionError
from whyperf.calibrate.grid import AXES
from whyperf.calibrate.host_file import CalibratedHost
from whyperf.calibrate.simulator import Answer, Model, question


@dataclass(frozen=True)
class Range:
    """The ensemble's answer: its median, and its least and most."""

    median: float
    low: float
    high: float


@dataclass(frozen=True)
class WhatIf:
    """A cell as it is and changed: goodput in bit/s, CPU use of sender and receiver, and the gain as a ratio less 1.

    The gain is taken member by member: what the costs leave open of both falls out of it.
    """

    factors: Mapping[str, Any]
    changed: Mapping[str, Any]
    before_bps: Range
    after_bps: Range
    gain: Range
    busy_before: tuple[Range, Range]
    busy_after: tuple[Range, Range]
    extrapolates: tuple[str, ...]


def ask_what_if(
    host: CalibratedHost, model: Model, cells: Sequence[Mapping[str, Any]], changes: Mapping[str, Any]
) -> list[WhatIf]:
    """The answer for each cell.

    Raises:
        QuestionError: the change changes nothing, the model cannot make it, or nothing moves with it.
    """
    unchanged = [cell for cell in cells if all(cell.get(name) == level for name, level in changes.items())]
    if len(unchanged) == len(cells):
        levels = ", ".join(f"{name}={level}" for name, level in changes.items())
        raise QuestionError(f"--what-if: {levels} is how it is already")
    both = [(cell, {**cell, **changes}) for cell in cells]
    questions = [question(host.profile, costs, cell) for pair in both for cell in pair for costs in host.sets]
    answers = model.answers(questions)
    size = len(host.sets)
    found = []
    for number, (cell, changed) in enumerate(both):
        start = number * 2 * size
        before, after = answers[start : start + size], answers[start + size : start + 2 * size]
        found.append(_what_if(host, cell, changed, before, after))
    return found


def extrapolates(host: CalibratedHost, factors: Mapping[str, Any]) -> tuple[str, ...]:
    """Why the calibration does not cover these factors, in words; empty where it does."""
    reasons = []
    for axis in AXES:
        level, levels = factors.get(axis), host.levels.get(axis, [host.fixed.get(axis)])
        known = [level for level in levels if isinstance(level, int)]
        if not isinstance(level, int):
            reasons.append(f"{axis}={level} was not measured")
        elif known and not min(known) <= level <= max(known):
            reasons.append(f"{axis}={level:,} lies outside of the grid, {min(known):,} to {max(known):,}")
    for name, level in factors.items():
        if name in AXES or name not in _MATTERS:
            continue
        varied = host.levels.get(name)
        if varied is not None and level not in varied:
            reasons.append(f"{name}={level} was not measured")
        elif varied is None and name in host.fixed and host.fixed[name] != level:
            reasons.append(f"{name} was never varied, always {host.fixed[name]}")
        elif varied is None and name not in host.fixed and level not in {"default", "none"}:
            reasons.append(f"{name} was never set")
    return tuple(reasons)


#: Factors without which the same costs may do other work.
_MATTERS = frozenset({
    "read_size_bytes", "no_delay", "quick_ack", "congestion_control", "mss_bytes", "mtu_bytes", "connections",
    "tso", "gso", "gro", "path_rtt_ms", "send_buffer_bytes", "receive_buffer_bytes",
    "pacing_rate_bps",
})  # fmt: skip


def _what_if(
    host: CalibratedHost,
    cell: Mapping[str, Any],
    changed: Mapping[str, Any],
    before: Sequence[Answer | None],
    after: Sequence[Answer | None],
) -> WhatIf:
    pairs = [
        (earlier, other)
        for earlier, other in zip(before, after, strict=True)
        if earlier is not None and other is not None and earlier.goodput_bps > 0
    ]
    if not pairs:
        raise QuestionError("--what-if: nothing moves in the model with these factors")
    reasons = dict.fromkeys([*extrapolates(host, cell), *extrapolates(host, changed)])
    return WhatIf(
        factors=cell,
        changed=changed,
        before_bps=_range([earlier.goodput_bps for earlier, _ in pairs]),
        after_bps=_range([other.goodput_bps for _, other in pairs]),
        gain=_range([other.goodput_bps / earlier.goodput_bps - 1 for earlier, other in pairs]),
        busy_before=_busy([earlier for earlier, _ in pairs]),
        busy_after=_busy([other for _, other in pairs]),
        extrapolates=tuple(reasons),
    )


def _busy(answers: Sequence[Answer]) -> tuple[Range, Range]:
    return _range([answer.busy[0] for answer in answers]), _range([answer.busy[1] for answer in answers])


def _range(values: Sequence[float]) -> Range:
    return Range(float(np.median(values)), float(np.min(values)), float(np.max(values)))
