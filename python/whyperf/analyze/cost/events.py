"""How often what a class of cost does was done, per KByte of payload."""

import polars as pl

from whyperf.analyze.cost.budget import OCTETS_PER_KBYTE
from whyperf.analyze.measures.overlap import sum_within
from whyperf.analyze.read.assemble import on_controller_clock
from whyperf.analyze.read.inputs import Inputs
from whyperf.analyze.trials import Measured

_COUNTERS = ("data_out_packets", "data_in_packets", "acks_out_count", "acks_in_count")


def events_per_kbyte(
    inputs: Inputs, counters: pl.DataFrame, measured: Measured
) -> dict[tuple[str, str], dict[str, float]]:
    """By cell and role: `kbytes` (1), `calls`; where BPF counted them `data_packets_out`, `data_packets_in`, `acks`.

    Super-segments of GSO and GRO count once, as the kernel handles them. A quotient of sums over the cell's trials.
    """
    found: dict[tuple[str, str], dict[str, float]] = {}
    calls = inputs.flows.group_by("cell", "role").agg(
        pl.col("calls_count").cast(pl.Float64).sum(), pl.col("payload_bytes").cast(pl.Float64).sum()
    )
    for cell, role, count, payload in calls.select("cell", "role", "calls_count", "payload_bytes").iter_rows():
        found[cell, role] = {"kbytes": 1.0} | ({"calls": count * OCTETS_PER_KBYTE / payload} if payload else {})
    if counters.is_empty():
        return found
    windows = measured.trials.select("trial", "cell", "window_start_ns", "window_end_ns", "window_octets").drop_nulls()
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
    for row in sums.iter_rows(named=True):
        per = OCTETS_PER_KBYTE / row["window_octets"]
        found.setdefault((row["cell"], row["role"]), {"kbytes": 1.0}).update(
            data_packets_out=row["data_out_packets"] * per,
            data_packets_in=row["data_in_packets"] * per,
            acks=(row["acks_out_count"] + row["acks_in_count"]) * per,
        )
    return found
