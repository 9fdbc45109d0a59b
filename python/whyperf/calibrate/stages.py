"""Costs of the model that stage times show directly: what each stage of a packet takes on this host under load.

A step that is timed in a loop has warm caches, and several costs of the model are one step of it. The stages of real
packets are cut where the model's costs are, so each is an observation of its own.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from whyperf.analyze.stages import Amount
from whyperf.analyze.stages.experiment import CellStages, StageLine, copies_of, each_of, lines_over
from whyperf.calibrate.steps import Measured

_NS_PER_US = 1000.0
_OUT, _IN = "out", "in"


@dataclass(frozen=True)
class _Source:
    """A cost of the model and the stages that it is: their fixed time (`us`), or their time for each byte."""

    key: str
    direction: str
    stages: tuple[str, ...]
    #: Counted by rows, such as by calls, and not by packets.
    is_each: bool = False
    #: Of calls that did not sleep: waking up is another cost.
    is_awake: bool = False
    #: Only of packets that have this stage, too.
    behind: str = ""


SOURCES: Sequence[_Source] = (
    _Source("write_call_us", _OUT, ("call_entry", "call_exit"), is_each=True),
    _Source("copy_in_ns_per_byte", _OUT, ("copy_in",)),
    _Source("output_us", _OUT, ("tcp_out",)),
    _Source("transmit_us", _OUT, ("qdisc_out", "driver_out")),
    _Source("handover_us", _OUT, ("handover",), is_each=True),
    _Source("interrupt_us", _IN, ("interrupt",), is_each=True),
    _Source("softirq_us", _IN, ("driver_in", "gro", "ip_in")),
    _Source("softirq_ns_per_byte", _IN, ("driver_in", "gro", "ip_in")),
    _Source("input_us", _IN, ("tcp_in",)),
    _Source("ack_input_us", _OUT, ("ack_in",), is_each=True),
    _Source("wake_up_us", _IN, ("wakeup",), is_each=True, behind="wakeup_wait"),
    _Source("read_call_us", _IN, ("call_entry", "call_exit"), is_each=True, is_awake=True),
    _Source("copy_out_us", _IN, ("copy_out",)),
    _Source("copy_out_ns_per_byte", _IN, ("copy_out",)),
)
"""The model's costs that stages show. The rest are no stage of their own: a buffer's memory, a switch of threads."""

COMPARED: Mapping[str, tuple[str, ...]] = {
    "write_call_us": ("write_call_us",),
    "write_ns_per_byte": ("copy_in_ns_per_byte",),
    "send_us": ("output_us", "transmit_us"),
    "other_cpu_us": ("handover_us",),
    "take_us": ("softirq_us", "input_us"),
    "read_across_us": ("read_call_us",),
    "read_across_ns_per_byte": ("copy_out_ns_per_byte",),
}
"""Timed steps, and the costs whose sum should be the same: what is read in a transfer was written by another
CPU. In a transfer the other host's CPU sleeps at some sends, whose cost lies between `send_us` and `send_to_idle_us`.
"""


@dataclass(frozen=True)
class StepCheck:
    """A timed step next to what stages show of the same, in the unit of the step's name."""

    step: str
    timed: float
    staged: float

    @property
    def difference_ratio(self) -> float:
        """Stages over the timed step, less 1."""
        return self.staged / self.timed - 1


def stage_costs(cells: Sequence[CellStages]) -> dict[str, Measured]:
    """The costs by key that these cells' stage times show, with 95 % intervals; only those above 0."""
    lines = {(line.direction, line.stage): line for line in lines_over(cells)}
    found = {}
    for source in SOURCES:
        amounts = _each(cells, source) if source.is_each else _of_lines(lines, source)
        if source.key == "copy_in_ns_per_byte" and (copies := copies_of(cells)):
            # The hosts of a pair are one machine: any of them stands for both.
            amounts = [copies[0].ns_per_byte]
        cost = _sum(amounts) if amounts else None
        if cost is not None and cost.value > 0:
            unit = 1.0 if source.key.endswith("_ns_per_byte") else _NS_PER_US
            low, high = (cost.value if end is None else end for end in cost[1:])
            found[source.key] = Measured(source.key, cost.value / unit, low / unit, high / unit, len(cells))
    return found


def step_checks(measured: Mapping[str, Measured], staged: Mapping[str, Measured]) -> list[StepCheck]:
    """The timed steps that stages show, too."""
    return [
        StepCheck(step, measured[step].value, sum(staged[key].value for key in keys))
        for step, keys in COMPARED.items()
        if step in measured and measured[step].value > 0 and all(key in staged for key in keys)
    ]


def _each(cells: Sequence[CellStages], source: _Source) -> list[Amount]:
    found = [
        each_of(cells, source.direction, stage, awake_only=source.is_awake, behind=source.behind)
        for stage in source.stages
    ]
    known = [amount for amount in found if amount is not None]
    return known if len(known) == len(found) or not source.is_awake else []


def _of_lines(lines: Mapping[tuple[str, str], StageLine], source: _Source) -> list[Amount]:
    found = [lines[source.direction, stage].fit for stage in source.stages if (source.direction, stage) in lines]
    is_per_byte = source.key.endswith("_ns_per_byte")
    return [line.ns_per_byte if is_per_byte else line.fixed_ns for line in found]


def _sum(amounts: Sequence[Amount]) -> Amount:
    """The sum; its interval adds the squares of the parts'."""
    value = sum(amount.value for amount in amounts)
    if any(amount.low is None or amount.high is None for amount in amounts):
        return Amount(value)
    below = math.sqrt(sum((amount.value - (amount.low or 0.0)) ** 2 for amount in amounts))
    above = math.sqrt(sum(((amount.high or 0.0) - amount.value) ** 2 for amount in amounts))
    return Amount(value, value - below, value + above)
