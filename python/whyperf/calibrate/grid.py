"""The live grid: what was measured of each cell, and which cells are held out of every fit."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from whyperf.analyze import summarize
from whyperf.analyze.summary import EndCpu
from whyperf.calibrate.errors import CalibrationError
from whyperf.record import Experiment, read_table

#: The factors that span the grid.
WINDOW = "window_bytes"
WRITE_SIZE = "write_size_bytes"
AXES = (WINDOW, WRITE_SIZE)
#: Fewer cells say nothing that a fit could be held to.
FEWEST_CELLS = 8


@dataclass(frozen=True)
class Point:
    """A cell of the grid as it was measured, or simulated.

    `goodput_bps` is a median over trials, `low_bps` and `high_bps` its interval; `busy` the CPU use of sender and
    receiver, 0 to 1; `packet_bytes` the payload of what the sender handed to the device at once, and `bytes_per_ack`
    the payload for each acknowledgment that came back. None: not known.
    """

    factors: Mapping[str, Any]
    goodput_bps: float
    low_bps: float | None = None
    high_bps: float | None = None
    busy: tuple[float | None, float | None] = (None, None)
    packet_bytes: float | None = None
    bytes_per_ack: float | None = None

    @property
    def place(self) -> tuple[int, int]:
        """Window and write size in bytes."""
        return int(self.factors[WINDOW]), int(self.factors[WRITE_SIZE])


def read_grid(experiment: Experiment) -> list[Point]:
    """The points of an experiment over windows and write sizes; others, such as with offloads off, too.

    Raises:
        CalibrationError: too few cells have a goodput.
    """
    summary = summarize(experiment)
    evidence = _evidence(experiment)
    points = []
    for cell in summary.cells:
        median = cell.goodput_bps.median
        if median is None or not all(isinstance(cell.factors.get(axis), int) for axis in AXES):
            continue
        packet_bytes, bytes_per_ack = evidence.get(cell.id, (None, None))
        points.append(
            Point(
                factors=cell.factors,
                goodput_bps=median,
                low_bps=cell.goodput_bps.low,
                high_bps=cell.goodput_bps.high,
                busy=(_busy(cell.cpu.sender), _busy(cell.cpu.receiver)),
                packet_bytes=packet_bytes,
                bytes_per_ack=bytes_per_ack,
            )
        )
    if len(points) < FEWEST_CELLS:
        raise CalibrationError(
            f"{experiment.folder} has {len(points)} cells with a window, a write size and a goodput; a calibration "
            f"needs {FEWEST_CELLS} and more: whyperf run calibration"
        )
    return points


def held_out(points: Sequence[Point], seed: int) -> list[bool]:
    """Which points no fit may see: every other one in both directions, as on a checkerboard; the seed says which color.

    Each held-out point lies between fitted ones, and each row and column has both kinds.
    """
    windows, sizes = (sorted({point.place[axis] for point in points}) for axis in (0, 1))
    color = int(np.random.default_rng(seed).integers(2))
    return [
        (windows.index(window) + sizes.index(size) + color) % 2 == 0
        for window, size in (point.place for point in points)
    ]


def _evidence(experiment: Experiment) -> dict[str, tuple[float | None, float | None]]:
    """Payload of a packet and for each ACK in bytes, by cell, where the kernel was watched."""
    columns = ["role", "phase", "data_out_packets", "data_out_bytes", "acks_in_count"]
    frame = read_table(experiment, "counters", columns=columns, trials=experiment.trials().measured).frame
    if frame.is_empty() or not set(columns) <= set(frame.columns):
        return {}
    sums = (
        frame.filter((pl.col("role") == "sender") & (pl.col("phase") == "measure"))
        .group_by("cell")
        .agg(pl.col("data_out_packets", "data_out_bytes", "acks_in_count").sum())
    )
    return {
        cell: (_ratio(sent_bytes, packets), _ratio(sent_bytes, acks))
        for cell, packets, sent_bytes, acks in sums.iter_rows()
    }


def _busy(end: EndCpu | None) -> float | None:
    return None if end is None else end.busy_ratio


def _ratio(over: float, under: float) -> float | None:
    return over / under if over and under else None
