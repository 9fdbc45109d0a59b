"""Use of a link of half duplex, which both directions share. Only hosts of the model have one.

The model has no counter of it, so it follows from what both hosts sent: segments by the kernel's count, and payload by
that of the other host. The links of several adapters are taken together.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import polars as pl

from whyperf.analyze.flow import FlowTrial
from whyperf.analyze.measures.adapters import model_link
from whyperf.explain.gather.table import read_columns
from whyperf.explain.host_limits import HALF_DUPLEX
from whyperf.explain.trial_facts import Facts

FRAME_BYTES = 90
"""Of a segment without its payload on Ethernet: TCP with time stamps 32, IP version 4 20, MAC header 14, check sequence
4, preamble and gap 20. A pure ACK is above the minimum of 64 bytes. Without time stamps 12 bytes less."""
TIME_STAMPS_BYTES = 12
ETHERNET = "ethernet"

_COLUMNS = ("connection", "sample_mono_ns", "segments_out", "bytes_received")


def with_link_use(
    facts: Facts, trial: FlowTrial, hosts: Mapping[str, Mapping[str, Any]], factors: Mapping[str, object]
) -> Facts:
    """The same, with the part of the time for which a link of half duplex was busy.

    Nothing is added for full duplex, or where the link is no Ethernet. `hosts` are the record's facts of each host, and
    `factors` those of the cell.

    Raises:
        RecordError: a table cannot be read.
    """
    links = [model_link(found, factors) or "" for found in hosts.values()]
    if factors.get("duplex") != "half" or not facts.link_bps or not all(map(_is_ethernet, links)):
        return facts
    frame_bytes = FRAME_BYTES if all(map(_has_time_stamps, hosts.values())) else FRAME_BYTES - TIME_STAMPS_BYTES
    bytes_per_s = 0.0
    for host in trial.ends:
        rows = read_columns(trial, "tcp_info", host, _COLUMNS)
        if rows is None or (rate := _bytes_per_s(rows, frame_bytes)) is None:
            return facts
        bytes_per_s += rate
    ratio = min(1.0, 8 * bytes_per_s / facts.link_bps)
    limits = replace(facts.sender.limits, parts={**facts.sender.limits.parts, HALF_DUPLEX: ratio})
    return replace(facts, sender=replace(facts.sender, limits=limits))


def _is_ethernet(link: str) -> bool:
    return link.startswith(ETHERNET)


def _has_time_stamps(host: Mapping[str, Any]) -> bool:
    """True where all systems of the host have time stamps, by their parameters."""
    values = [system.get("values", {}) for system in host.get("parameters", {}).values()]
    return all(found.get("time_stamps", {}).get("value", False) for found in values)


def _bytes_per_s(rows: pl.DataFrame, frame_bytes: int) -> float | None:
    """Headers of what a host sent, and payload that it received, from the first sample to the last."""
    sampled = rows.drop_nulls(["segments_out", "bytes_received"]).sort("sample_mono_ns")
    ends = sampled.group_by("connection").agg(pl.all().first().name.suffix("_first"), pl.all().last())
    moved = sum(
        factor * int((ends[name].cast(pl.Int64) - ends[f"{name}_first"].cast(pl.Int64)).sum())
        for name, factor in (("segments_out", frame_bytes), ("bytes_received", 1))
    )
    times = sampled["sample_mono_ns"]
    span = 0 if sampled.is_empty() else int(times[-1]) - int(times[0])
    return moved * 1e9 / span if span else None
