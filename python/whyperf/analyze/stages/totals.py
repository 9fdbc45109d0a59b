"""The CPU and time of a host that each stage takes, per packet and per byte, and the sum of all.

A stage that every byte passes is counted by the bytes of its own rows, so that one whose rows are missing in part is
not taken for a cheap one. What only some packets cause, as a wake-up, is counted by all bytes that were followed.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from whyperf.analyze.stages.fits import Fit, Split, Unsplit, fit_of, split_of
from whyperf.analyze.stages.intervals import Amount, batches_of, ratios, sums_by_batch
from whyperf.analyze.stages.kinds import BY_DIRECTION, CAUSED_BY_SOME, READ_ENTRY, REFERENCE, Stage
from whyperf.analyze.stages.of_host import HostStages
from whyperf.analyze.stages.ranges import streams_of

Floats = NDArray[np.float64]

COVERED_RATIO = 0.98
"""A stage whose rows have fewer of the followed bytes is named as incomplete."""


@dataclass(frozen=True)
class StageTotal:
    """A stage of one direction at a host, per packet as TCP and the device exchange it.

    `cpu_ns` and `waiting_ns` are per packet: processing, and time in which nothing was processed. `cpu_ns_per_byte` is
    the same per byte of payload. `covered_ratio` is how many of the followed bytes its rows have. `fit` is the time of
    a row against its size, and `split` the time per packet in two parts, or why not; None of a stage that waits.
    """

    stage: Stage
    rows: int
    cpu_ns: Amount
    waiting_ns: Amount
    cpu_ns_per_byte: float
    covered_ratio: float
    fit: Fit | None
    split: Split | Unsplit | None

    @property
    def is_complete(self) -> bool:
        """True if it has nearly all bytes that were followed; what only some packets cause need not have them."""
        return self.stage.name in CAUSED_BY_SOME or self.covered_ratio >= COVERED_RATIO


@dataclass(frozen=True)
class DirectionTotals:
    """All stages of the payload that leaves or arrives at a host.

    `packets` were followed, with `segments` on the wire and `bytes` of payload; they stand for `weight` packets of the
    trial. `driver_ratio` is the part of the CPU
    time that the driver's stages have.
    """

    host: str
    direction: str
    packets: int
    segments: int
    bytes: int
    stages: Sequence[StageTotal]
    cpu_ns: Amount
    driver_ns: Amount
    waiting_ns: Amount
    driver_ratio: Amount
    weight: float = 0.0

    @property
    def packet_bytes(self) -> float:
        """Payload of a packet, on average."""
        return self.bytes / self.packets

    @property
    def missing(self) -> list[Stage]:
        """Stages of this direction that every packet passes and no row has."""
        there = {total.stage.name for total in self.stages} | CAUSED_BY_SOME
        return [stage for stage in BY_DIRECTION[self.direction] if not stage.is_between and stage.name not in there]

    def stage(self, name: str) -> StageTotal | None:
        """The stage of that name."""
        return next((total for total in self.stages if total.stage.name == name), None)


def totals(host: HostStages) -> list[DirectionTotals]:
    """Totals of the stages of payload that left, and of payload that arrived; only directions with payload."""
    found = (_direction(host, direction) for direction in BY_DIRECTION)
    return [total for total in found if total is not None]


def reference(frame: pl.DataFrame, direction: str) -> str:
    """The stage whose rows are the packets of a direction; empty where there is none."""
    there = set(frame.filter((pl.col("direction") == direction) & (pl.col("payload_bytes") > 0))["stage"].unique())
    return next((name for name in REFERENCE[direction] if name in there), "")


def _direction(host: HostStages, direction: str) -> DirectionTotals | None:
    name = reference(host.frame, direction)
    if not name:
        return None
    rows = host.frame.filter(pl.col("direction") == direction)
    batch = pl.Series("batch", batches_of(rows["order"].to_numpy()))
    rows = rows.with_columns(batch)
    batches = int(batch.max() or 0) + 1  # type: ignore[arg-type]
    packets = _once(rows.filter(pl.col("stage") == name))
    followed = _sums(packets, "payload_bytes", batches)
    if not followed.sum():
        return None
    size = followed.sum() / packets["weight"].sum()
    covered = _covered(rows, name)
    known = [stage for stage in BY_DIRECTION[direction] if not rows.filter(pl.col("stage") == stage.name).is_empty()]
    cpu, waiting, under, handled = [], [], [], []
    for stage in known:
        own = rows.filter(pl.col("stage") == stage.name)
        cpu.append(_sums(own, "cpu_ns", batches) if not stage.is_wait else np.zeros(batches))
        # A read call that waits for what has not come yet holds nothing up.
        is_waiting = stage is not READ_ENTRY
        waiting.append((_sums(own, "wall_ns", batches) - cpu[-1]) * is_waiting)
        own_bytes = _sums(_once(own), "payload_bytes", batches)
        all_bytes = followed if stage.name in CAUSED_BY_SOME else own_bytes
        under.append(all_bytes if all_bytes.sum() else followed)
        handled.append(own_bytes.sum() / under[-1].sum())
    # Each stage as if it had been followed for all bytes, so that sums of stages are ratios to the same bytes.
    scale = [followed.sum() / own.sum() for own in under]
    whole = np.array([times * factor for times, factor in zip(cpu, scale, strict=True)])
    is_driver = np.array([stage.layer == "driver" for stage in known])
    is_payload = np.array([stage.layer != "acks" for stage in known])
    waits = np.array([times * factor for times, factor in zip(waiting, scale, strict=True)])
    together = np.array([whole[is_payload].sum(axis=0), whole[is_driver].sum(axis=0), waits.sum(axis=0)])
    of_stages = ratios(np.array([*cpu, *waiting]), np.array([*under, *under]))
    of_sums = ratios(together, np.array([followed] * len(together)))
    share = ratios(together[1:2], together[:1])[0]
    per_packet = [amount.times(size) for amount in of_stages]
    fits = [None if stage.is_wait else fit_of(rows.filter(pl.col("stage") == stage.name)) for stage in known]
    return DirectionTotals(
        host=host.host,
        direction=direction,
        packets=packets.height,
        segments=int(packets["wire_segments"].sum()),
        bytes=int(packets["payload_bytes"].sum()),
        stages=tuple(
            StageTotal(
                stage=stage,
                rows=int((rows["stage"] == stage.name).sum()),
                cpu_ns=per_packet[at],
                waiting_ns=per_packet[len(known) + at],
                cpu_ns_per_byte=of_stages[at].value,
                covered_ratio=covered.get(stage.name, 0.0),
                fit=fits[at],
                split=None if stage.is_wait else split_of(fits[at], per_packet[at].value, size, handled[at]),
            )
            for at, stage in enumerate(known)
        ),
        cpu_ns=of_sums[0].times(size),
        driver_ns=of_sums[1].times(size),
        waiting_ns=of_sums[2].times(size),
        driver_ratio=share,
        weight=float(packets["weight"].sum()),
    )


def _once(rows: pl.DataFrame) -> pl.DataFrame:
    """A row for each packet or copy with payload: a stage may have several, and retransmissions carry nothing new."""
    first = rows.filter((pl.col("payload_bytes") > 0) & ~pl.col("is_again"))
    return first.unique(["connection", "sequence"], keep="first", maintain_order=True)


def _sums(rows: pl.DataFrame, column: str, batches: int) -> Floats:
    values = (rows[column] * rows["weight"]).to_numpy().astype(np.float64)
    return sums_by_batch(values, rows["batch"].to_numpy(), batches)


def _covered(rows: pl.DataFrame, name: str) -> dict[str, float]:
    """The part of the bytes of the packets that each stage handled."""
    handled: dict[str, float] = {}
    all_bytes = 0.0
    for _, _, stages in streams_of(rows):
        packets = stages.get(name)
        if packets is None:
            continue
        all_bytes += float((packets.end - packets.start).sum())
        for stage, own in stages.items():
            handled[stage] = handled.get(stage, 0.0) + float(own.handled(packets.start, packets.end).bytes.sum())
    return {stage: count / all_bytes for stage, count in handled.items()} if all_bytes else {}
