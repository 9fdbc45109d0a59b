"""Tables of the levels below the log, by hand."""

from collections.abc import Mapping, Sequence

import polars as pl

from tests.unit.analyze.flow.traces import MS, START_NS
from whyperf.analyze.flow.tables import COLUMNS


def counters(*intervals: Mapping[str, int], phases: Sequence[str] = (), connection: int = 0) -> pl.DataFrame:
    """The table `counters`: an interval of 100 ms for each mapping, zeros where it says nothing."""
    rows = []
    for number, counts in enumerate(intervals):
        start = START_NS + number * 100 * MS
        span = {"start_mono_ns": start, "end_mono_ns": start + 100 * MS, "interval": number}
        phase = phases[number] if phases else "measure"
        rows.append({"connection": connection, "role": "", "phase": phase, **span, **counts})
    return pl.DataFrame(rows, schema=dict(COLUMNS["counters"])).with_columns(pl.col(pl.UInt64).fill_null(0))


def sizes(*rows: tuple[str, int, int, int], phase: str = "measure") -> pl.DataFrame:
    """The table `sizes`: what, class, count, bytes."""
    names = ("what", "class_bytes", "sizes_count", "sizes_bytes")
    keys = {"connection": 0, "role": "", "interval": 0, "phase": phase}
    found = [{**keys, **dict(zip(names, row, strict=True))} for row in rows]
    return pl.DataFrame(found, schema=dict(COLUMNS["sizes"]))


def tcp_info(*samples: tuple[str, Mapping[str, int | None]], connection: int = 0) -> pl.DataFrame:
    """The table `tcp_info`: phase and counts of samples 100 ms apart; zeros where they say nothing."""
    zeros = {name: 0 for name, kind in COLUMNS["tcp_info"].items() if kind == pl.UInt64()}
    rows = []
    for number, (phase, counts) in enumerate(samples, start=1):
        at = {"sample_mono_ns": START_NS + number * 100 * MS, "connection": connection, "role": "", "phase": phase}
        at |= {"final": number == len(samples)}
        rows.append({**zeros, **at, **counts})
    return pl.DataFrame(rows, schema=dict(COLUMNS["tcp_info"]))


def calls(payload_bytes: int, calls_count: int) -> pl.DataFrame:
    """The table `intervals` with calls in one interval."""
    span = {"start_mono_ns": START_NS, "end_mono_ns": START_NS + 1000 * MS}
    row = {"connection": 0, "role": "", "phase": "measure", **span}
    row |= {"payload_bytes": payload_bytes, "calls_count": calls_count}
    return pl.DataFrame([row], schema=dict(COLUMNS["intervals"]))
