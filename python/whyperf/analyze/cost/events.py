"""The number of times that the work of a class of cost was done, per KByte of payload."""

from collections.abc import Mapping

import polars as pl

from whyperf.analyze.cost.budget import OCTETS_PER_KBYTE
from whyperf.analyze.measures.windows import sum_within
from whyperf.analyze.read.assemble import on_controller_clock
from whyperf.analyze.read.inputs import Cell, Inputs
from whyperf.analyze.trials import Measured

COPIED_KBYTES = "copied_kbytes"
"""KBytes that were copied between the program and the kernel; the only event that may be 0."""

_COUNTERS = ("data_out_packets", "data_in_packets", "acks_out_count", "acks_in_count")
#: Ways to send that copy nothing.
_SENDS_WITHOUT_COPY = frozenset({"sendfile", "splice"})


def events_per_kbyte(
    inputs: Inputs, counters: pl.DataFrame, measured: Measured
) -> dict[tuple[str, str], dict[str, float]]:
    """By cell and role: `kbytes` (1), `copied_kbytes` (1 or 0), `calls`; where they were counted `context_switches` to
    the load's threads and, on CPUs that the side has alone, `softirqs`; where BPF counted them `data_packets_out`,
    `data_packets_in`, `acks`.

    Super-segments of GSO and GRO count once, as the kernel handles them. A quotient of sums over the cell's trials.
    """
    found: dict[tuple[str, str], dict[str, float]] = {}
    own = [cell for cell in inputs.cells if cell.watched is None]
    # How another program makes its calls is not known.
    copied = {(cell.id, role): _copied(cell, role) for cell in own for role in ("sender", "receiver")}
    calls = inputs.flows.group_by("cell", "role").agg(
        pl.col("calls_count").cast(pl.Float64).sum(), pl.col("payload_bytes").cast(pl.Float64).sum()
    )
    for cell, role, count, payload in calls.select("cell", "role", "calls_count", "payload_bytes").iter_rows():
        found[cell, role] = {"kbytes": 1.0}
        found[cell, role] |= {COPIED_KBYTES: copied[cell, role]} if (cell, role) in copied else {}
        found[cell, role] |= {"calls": count * OCTETS_PER_KBYTE / payload} if payload else {}
    windows = measured.trials.select("trial", "cell", "window_start_ns", "window_end_ns", "window_octets").drop_nulls()
    for key, each in [*_of_cpus(measured, windows), *_of_packets(inputs, counters, windows)]:
        found.setdefault(key, {"kbytes": 1.0}).update(each)
    return found


Counts = list[tuple[tuple[str, str], Mapping[str, float]]]


def _of_cpus(measured: Measured, windows: pl.DataFrame) -> Counts:
    """Context switches and softirqs by cell and role, as far as all hosts of the side counted them."""
    names = {"scheduled_count": "context_switches", "softirqs_count": "softirqs"}
    alone = pl.when("exclusive").then("softirqs_count").alias("softirqs_count")
    sides = (
        measured.ends_cpu.with_columns(alone)
        .group_by("trial", "role")
        .agg(
            pl.when(pl.col(name).null_count() == 0).then((pl.col(name) * pl.col("payload_ratio")).sum())
            for name in names
        )
        .join(windows, on="trial", how="inner")
        .group_by("cell", "role")
        .agg(
            *(pl.when(pl.col(name).null_count() == 0).then(pl.col(name).sum()) for name in names),
            pl.col("window_octets").sum(),
        )
        .filter(pl.col("window_octets") > 0)
    )
    return [
        (
            (row["cell"], row["role"]),
            {
                event: row[name] * OCTETS_PER_KBYTE / row["window_octets"]
                for name, event in names.items()
                if row[name] is not None
            },
        )
        for row in sides.iter_rows(named=True)
    ]


def _of_packets(inputs: Inputs, counters: pl.DataFrame, windows: pl.DataFrame) -> Counts:
    """Packets and ACKs by cell and role, where programs in the kernel counted them."""
    if counters.is_empty():
        return []
    sums = (
        sum_within(
            on_controller_clock(counters, inputs.ends).filter(pl.col("phase") == "measure"),
            windows,
            list(_COUNTERS),
            ["trial", "role"],
        )
        .join(windows, on="trial", how="inner")
        .group_by("cell", "role")
        .agg(*(pl.col(name).sum() for name in _COUNTERS), pl.col("window_octets").sum())
        .filter(pl.col("window_octets") > 0)
    )
    found: Counts = []
    for row in sums.iter_rows(named=True):
        per = OCTETS_PER_KBYTE / row["window_octets"]
        each = {
            "data_packets_out": row["data_out_packets"] * per,
            "data_packets_in": row["data_in_packets"] * per,
            "acks": (row["acks_out_count"] + row["acks_in_count"]) * per,
        }
        found.append(((row["cell"], row["role"]), each))
    return found


def _copied(cell: Cell, role: str) -> float:
    """KBytes that a side copies of each KByte: none where the setting spares it.

    The kernel may copy all the same what was sent without copying, as over the loopback; a note of the trial says so.
    """
    factors = cell.factors
    if role == "sender":
        is_spared = factors.get("zero_copy") is True or factors.get("send_call") in _SENDS_WITHOUT_COPY
    else:
        is_spared = factors.get("truncate") is True
    return 0.0 if is_spared else 1.0
