"""The time of a stage against the size of what it handles: what it takes each time, and for each byte.

The points are mean times by size, or by class of sizes where there are many. The line is that of least squares of
relative errors, so that small sizes count as much as large ones. Where a size lies far from it, as one that needs
another page of memory, the line is that of Theil and Sen, the median of all slopes (P. K. Sen, JASA 63 (1968)
1379-1389).
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from whyperf.analyze.stages.intervals import MIN_BATCHES, Amount, amounts, batches_of, resampled_sums

Floats = NDArray[np.float64]

MAX_SIZES = 24
"""More sizes are put together to classes of about a factor of 1.4."""
MIN_ROWS = 30
"""A size with fewer rows is no point."""
MIN_SPAN = 1.5
"""Largest over smallest size, below which there is no line."""
MAX_MISFIT = 0.25
"""From this relative distance of a point on, the line is that of Theil and Sen."""
MAX_SPLIT_MISFIT = 0.5
"""From this relative distance of a point on, the times are on no line, and no mean is split by it."""
MIN_SEN_SIZES = 5
CLASSES_PER_OCTAVE = 2


@dataclass(frozen=True)
class Fit:
    """`fixed_ns` each time and `ns_per_byte`, between `smallest_bytes` and `largest_bytes`, by this many `sizes`.

    `misfit_ratio` is the largest distance of a point from the line, as a part of the point.
    """

    fixed_ns: Amount
    ns_per_byte: Amount
    smallest_bytes: float
    largest_bytes: float
    sizes: int
    method: Literal["least squares", "Theil-Sen"]
    misfit_ratio: float

    def at(self, size_bytes: float) -> float:
        """The time for a size, in ns."""
        return self.fixed_ns.value + self.ns_per_byte.value * size_bytes


@dataclass(frozen=True)
class Split:
    """The mean of a stage per packet as two parts: `fixed_ns`, and `ns_per_byte` times the bytes of a mean packet."""

    fixed_ns: float
    ns_per_byte: Amount


Unsplit = Literal["alike", "flat", "bent"]
"""Why a mean is not split: sizes are alike or few; larger ones take no longer; the times are on no straight line."""


def split_of(fit: Fit | None, mean_ns: float, packet_bytes: float, handled_ratio: float = 1.0) -> Split | Unsplit:
    """A mean split by the slope of the line: what the bytes do not explain is the fixed part, so both add up to it.

    A line of least squares goes through the mean of its points. So this is that line for the mean over all packets,
    where `fit` has a point for each size. Its own fixed time is that of each row, and many packets have no row of a
    stage or share one.

    Args:
        fit: the time of a row against its size.
        mean_ns: the stage's mean time per packet.
        packet_bytes: bytes of a packet, on average.
        handled_ratio: bytes of the stage's rows, as a part of the bytes of all packets.
    """
    if fit is None:
        return "alike"
    slope = fit.ns_per_byte.times(handled_ratio)
    if (slope.value if slope.low is None else slope.low) <= 0:
        return "flat"
    fixed_ns = mean_ns - slope.value * packet_bytes
    if fit.misfit_ratio > MAX_SPLIT_MISFIT or fixed_ns < 0:
        return "bent"
    return Split(fixed_ns, slope)


def fit_of(rows: pl.DataFrame) -> Fit | None:
    """The line of the CPU time of a stage's rows; None where their sizes are too much alike, or too few.

    `rows` has the columns `connection`, `sequence`, `payload_bytes`, `cpu_ns` and `order`.
    """
    # A stage may have several rows of one packet.
    rows = (
        rows.filter(pl.col("payload_bytes") > 0)
        .group_by("connection", "order", "sequence", maintain_order=True)
        .agg(pl.col("payload_bytes").first(), pl.col("cpu_ns").sum())
        .with_columns(size_classes("payload_bytes"))
    )
    rows = rows.filter(pl.len().over("class") >= MIN_ROWS)
    if rows.is_empty():
        return None
    sizes, place = np.unique(rows["class"].to_numpy(), return_inverse=True)
    batch = batches_of(rows["order"].to_numpy())
    batches = int(batch.max()) + 1
    shape = (len(sizes), batches)
    at = place * batches + batch
    cpu, payload = (rows[name].to_numpy().astype(np.float64) for name in ("cpu_ns", "payload_bytes"))
    sums, octets, counts = (
        np.bincount(at, weights=weights, minlength=shape[0] * shape[1]).reshape(shape)
        for weights in (cpu, payload, np.ones(len(cpu)))
    )
    size = octets.sum(axis=1) / counts.sum(axis=1)
    mean = sums.sum(axis=1) / counts.sum(axis=1)
    if len(sizes) < 2 or size.max() < MIN_SPAN * size.min() or (mean <= 0).any():
        return None
    line = _least_squares(size, mean, mean)
    misfit = _misfit(line, size, mean)
    if misfit > MAX_MISFIT and len(sizes) >= MIN_SEN_SIZES:
        return _theil_sen(size, mean)
    fixed, slope = (Amount(float(value)) for value in line)
    if batches >= MIN_BATCHES:
        fixed, slope = _amounts(line, sums.astype(np.float64), counts.astype(np.float64), size)
    return Fit(fixed, slope, float(size.min()), float(size.max()), len(sizes), "least squares", misfit)


def size_classes(column: str) -> pl.Expr:
    """The size class of each row, as `class`: its size where there are few, otherwise a number of its logarithm."""
    octets = pl.col(column).cast(pl.Float64)
    classes = (octets.log(2) * CLASSES_PER_OCTAVE).round()
    return pl.when(pl.col(column).n_unique() <= MAX_SIZES).then(octets).otherwise(classes).alias("class")


def _least_squares(size: Floats, mean: Floats, usual: Floats) -> Floats:
    """Fixed time and time per byte, along the first axis; `mean` may have resamples behind the sizes.

    The weight of a point is that of its relative error: 1 over its `usual` time squared.
    """
    weight, size = (part.reshape(-1, *([1] * (mean.ndim - 1))) for part in (1 / usual**2, size))
    w, wx, wy, wxx, wxy = (
        (weight * part).sum(axis=0) for part in (np.ones(mean.shape), size, mean, size**2, size * mean)
    )
    slope = (w * wxy - wx * wy) / np.maximum(w * wxx - wx**2, 1e-30)
    found: Floats = np.stack([(wy - slope * wx) / w, slope])
    return found


def _misfit(line: Floats, size: Floats, mean: Floats) -> float:
    return float(np.max(np.abs(line[0] + line[1] * size - mean) / mean))


def _amounts(line: Floats, sums: Floats, counts: Floats, size: Floats) -> list[Amount]:
    """Fixed time and time per byte with their intervals, over batches."""
    usual = sums.sum(axis=1) / counts.sum(axis=1)
    times, rows = (resampled_sums(samples, seed=0) for samples in (sums, counts))
    # A size that is in no batch of a resample keeps its mean.
    mean = np.where(rows > 0, times / np.maximum(rows, 1), usual.reshape(-1, 1))
    return amounts(line, _least_squares(size, mean, usual))


def _theil_sen(size: Floats, mean: Floats) -> Fit:
    from scipy import stats  # noqa: PLC0415 - takes a second to load

    slope, fixed, low, high = stats.theilslopes(mean, size)
    # The intercept for each end of the slope's interval, as the median of what the points leave.
    ends = sorted(float(np.median(mean - end * size)) for end in (low, high))
    line = np.array([fixed, slope])
    return Fit(
        fixed_ns=Amount(float(fixed), ends[0], ends[1]),
        ns_per_byte=Amount(float(slope), float(low), float(high)),
        smallest_bytes=float(size.min()),
        largest_bytes=float(size.max()),
        sizes=len(size),
        method="Theil-Sen",
        misfit_ratio=_misfit(line, size, mean),
    )
