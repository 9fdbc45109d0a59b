"""Processing time of a packet against its size: all stages together, and the driver's alone.

The figure of K. Moldeklev, E. Klovning and Ø. Kure's study of TCP over ATM: time from the write call until the driver
is done, and from the interrupt to the return of the read call. What a stage did for a packet is found by its bytes.
"""

from dataclasses import dataclass

import numpy as np
import polars as pl

from whyperf.analyze.stages.fits import MIN_ROWS, size_classes
from whyperf.analyze.stages.intervals import Amount, batches_of, ratios
from whyperf.analyze.stages.kinds import BY_DIRECTION, CAUSED_BY_SOME, stage_of
from whyperf.analyze.stages.of_host import HostStages
from whyperf.analyze.stages.ranges import streams_of
from whyperf.analyze.stages.totals import reference


@dataclass(frozen=True)
class SizePoint:
    """CPU time of packets of about one size at a host, in ns a packet; `direction` is `out` for sending.

    Without the time for ACKs, which belong to no packet of their own.
    """

    host: str
    direction: str
    packet_bytes: float
    packets: int
    cpu_ns: Amount
    driver_ns: Amount


def by_size(host: HostStages) -> list[SizePoint]:
    """The points of both directions, the smallest packets first."""
    return [point for direction in BY_DIRECTION for point in _points(host, direction)]


def _points(host: HostStages, direction: str) -> list[SizePoint]:
    packets = _packets(host, direction)
    if packets is None:
        return []
    packets = packets.with_columns(size_classes("packet_bytes"))
    batch = batches_of(packets["order"].to_numpy())
    packets = packets.with_columns(pl.Series("batch", batch))
    batches = int(batch.max()) + 1
    found = []
    for (_,), rows in sorted(packets.partition_by("class", as_dict=True).items()):
        if rows.height < MIN_ROWS:
            continue
        places = rows["batch"].to_numpy()
        over = np.array(
            [np.bincount(places, weights=rows[name].to_numpy(), minlength=batches) for name in ("cpu_ns", "driver_ns")]
        )
        counts = np.bincount(places, minlength=batches).astype(np.float64)
        cpu, driver = ratios(over, np.array([counts, counts]))
        size = float(rows["packet_bytes"].mean() or 0)  # type: ignore[arg-type]
        found.append(SizePoint(host.host, direction, size, rows.height, cpu, driver))
    return found


def _packets(host: HostStages, direction: str) -> pl.DataFrame | None:
    """A row for each packet: `packet_bytes`, `order`, `cpu_ns`, `driver_ns`."""
    name = reference(host.frame, direction)
    found = []
    for _, _, stages in streams_of(host.frame.filter(pl.col("direction") == direction)):
        packets = stages.get(name)
        if packets is None:
            continue
        octets = (packets.end - packets.start).astype(np.float64)
        cpu, driver = np.zeros(len(octets)), np.zeros(len(octets))
        for stage, rows in stages.items():
            kind = stage_of(direction, stage)
            if kind is None or kind.is_wait or kind.layer == "acks":
                continue
            handled = rows.handled(packets.start, packets.end)
            covered = handled.bytes.sum() / octets.sum()
            # A stage that every byte passes counts as if all its rows were there.
            times = handled.cpu_ns / (covered if covered and stage not in CAUSED_BY_SOME else 1.0)
            cpu += times
            if kind.layer == "driver":
                driver += times
        found.append(
            pl.DataFrame(
                {
                    "packet_bytes": octets,
                    "order": packets.order,
                    "cpu_ns": cpu,
                    "driver_ns": driver,
                }
            )
        )
    return pl.concat(found) if found else None
