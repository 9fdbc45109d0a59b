"""Processing times of a calibrated model, next to those measured: what its costs make of a packet of each size."""

from collections.abc import Mapping, Sequence
from statistics import median

from whyperf.analyze.stages import SizePoint
from whyperf.calibrate import CalibratedHost
from whyperf.report.stages.figure import ModelPoint

US = 1000.0
FIXED: Mapping[str, tuple[str, ...]] = {
    "out": ("write_call_us", "copy_in_us", "new_buffer_us", "output_us", "transmit_us"),
    "in": ("softirq_us", "input_us", "wake_up_us", "read_call_us", "copy_out_us"),
}
"""Costs of the model for each packet that leaves and arrives, in an exchange of single packets. Not the interrupt that
a virtual device does not have, nor the switch to the reader, which is in no stage."""
PER_BYTE: Mapping[str, tuple[str, ...]] = {
    "out": ("copy_in_ns_per_byte",),
    "in": ("softirq_ns_per_byte", "copy_out_ns_per_byte"),
}
DRIVER: Mapping[str, tuple[str, ...]] = {"out": ("transmit_us",), "in": ()}
"""The driver's part; of what arrives, the model has the driver, GRO and IP in one cost."""


def model_points(host: CalibratedHost, sizes: Sequence[float]) -> dict[str, Sequence[ModelPoint]]:
    """The points of both directions for packets of these sizes: medians over the ensemble of costs."""
    return {
        direction: [
            ModelPoint(size, *(median(_time(costs, direction, size)[part] for costs in host.sets) for part in (0, 1)))
            for size in sizes
        ]
        for direction in FIXED
    }


def _time(costs: Mapping[str, float], direction: str, size: float) -> tuple[float, float]:
    """CPU time of a packet in ns, and the driver's part."""
    fixed = US * sum(costs.get(key, 0.0) for key in FIXED[direction])
    per_byte = sum(costs.get(key, 0.0) for key in PER_BYTE[direction])
    return fixed + per_byte * size, US * sum(costs.get(key, 0.0) for key in DRIVER[direction])


def differences(points: Sequence[SizePoint], model: Mapping[str, Sequence[ModelPoint]]) -> dict[str, float]:
    """The largest relative difference of the model's time from that of the host, by direction, over all sizes."""
    found: dict[str, float] = {}
    for point in points:
        own = min(
            model.get(point.direction, ()), key=lambda near: abs(near.packet_bytes - point.packet_bytes), default=None
        )
        if own is not None and point.cpu_ns.value > 0:
            apart = own.cpu_ns / point.cpu_ns.value - 1
            if abs(apart) >= abs(found.get(point.direction, 0.0)):
                found[point.direction] = apart
    return found
