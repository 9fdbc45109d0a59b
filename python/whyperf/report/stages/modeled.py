"""Processing times of a calibrated model, next to those measured: what its costs make of a packet of each size."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from statistics import mean, median

from whyperf.analyze.stages import SizePoint, TrialStages
from whyperf.calibrate import CalibratedHost
from whyperf.report.stages.figure import ModelPoint

US = 1000.0
FIXED: Mapping[str, tuple[str, ...]] = {
    "out": ("write_call_us", "copy_in_us", "new_buffer_us", "output_us", "transmit_us"),
    "in": ("softirq_us", "input_us", "wake_up_us", "switch_us", "read_call_us", "copy_out_us"),
}
"""Costs of the model for each packet that leaves and arrives, in an exchange of single packets. The entry of
a read call that sleeps has the switch of threads. Not the interrupt that a virtual device does not have, nor work for
ACKs."""
PER_BYTE: Mapping[str, tuple[str, ...]] = {
    "out": ("copy_in_ns_per_byte",),
    "in": ("softirq_ns_per_byte", "copy_out_ns_per_byte"),
}
DRIVER: Mapping[str, tuple[str, ...]] = {"out": ("transmit_us",), "in": ()}
"""The driver's part; of what arrives, the model has the driver, GRO and IP in one cost."""


HANDOVER = "handover_us"
"""The additional cost of a packet that leaves where the other host's CPU is not at work for it already."""
MIN_SEGMENTS = 2.0
"""From so many segments in a packet on its receiver sends an ACK at once (RFC 5681, 4.2), before it answers."""
Pair = tuple[SizePoint, ModelPoint]


def modeled(host: CalibratedHost, cells: Sequence[TrialStages]) -> list[Pair]:
    """Each point of these cells with the model's: medians over the ensemble of costs.

    A host that sends an ACK for what it received has interrupted the other one with it. So that ACK, and not the packet
    that follows, takes the time for handing over.
    """
    pairs = []
    for found in cells:
        at_once = {
            total.host: total.segments / total.packets >= MIN_SEGMENTS
            for total in found.totals
            if total.direction == "out"
        }
        for point in found.sizes:
            others = [sends_ack for name, sends_ack in at_once.items() if name != point.host]
            hands_over = point.direction == "out" and not any(others)
            times = [_time(costs, point.direction, point.packet_bytes, hands_over=hands_over) for costs in host.sets]
            cpu_ns, driver_ns = (median(time[part] for time in times) for part in (0, 1))
            pairs.append((point, ModelPoint(point.packet_bytes, cpu_ns, driver_ns)))
    return pairs


def lines(pairs: Sequence[Pair]) -> dict[str, list[ModelPoint]]:
    """The model's points by direction, those of one size together, in the order of sizes."""
    found: dict[str, list[ModelPoint]] = {}
    for (direction, size), group in groupby(sorted(pairs, key=_place), key=_place):
        alike = [point for _, point in group]
        times = [mean(getattr(point, name) for point in alike) for name in ("cpu_ns", "driver_ns")]
        found.setdefault(direction, []).append(ModelPoint(size, *times))
    return found


def _place(pair: Pair) -> tuple[str, int]:
    """Direction and size of a pair."""
    return pair[0].direction, round(pair[0].packet_bytes)


def differences(pairs: Sequence[Pair]) -> dict[str, tuple[float, float]]:
    """Differences of the model's times from the host's, by direction, as ratios: the median without signs, and the
    largest with its sign.
    """
    found = {}
    for direction in FIXED:
        apart = [
            own.cpu_ns / point.cpu_ns.value - 1
            for point, own in pairs
            if point.direction == direction and point.cpu_ns.value > 0
        ]
        if apart:
            found[direction] = median(abs(ratio) for ratio in apart), max(apart, key=abs)
    return found


def _time(costs: Mapping[str, float], direction: str, size: float, *, hands_over: bool) -> tuple[float, float]:
    """CPU time of a packet in ns, and the driver's part."""
    keys = (*FIXED[direction], HANDOVER) if hands_over else FIXED[direction]
    fixed = US * sum(costs.get(key, 0.0) for key in keys)
    per_byte = sum(costs.get(key, 0.0) for key in PER_BYTE[direction])
    return fixed + per_byte * size, US * sum(costs.get(key, 0.0) for key in DRIVER[direction])
