"""`--csv`: a row for each cell, with its factors and figures; names of columns end with the unit. Of a fleet a row for
each pair of hosts follows that of the cell.
"""

import csv
import io
import sys
from collections.abc import Iterator
from typing import TextIO

from whyperf.analyze.spread import Spread
from whyperf.analyze.summary import CellResult, Latency, Summary
from whyperf.analyze.text import ENDS

Value = object
#: Of a latency, in ns.
LATENCIES = ("p50_ns", "p90_ns", "p99_ns", "p99_9_ns", "max_ns")


def print_csv(summary: Summary, stream: TextIO | None = None) -> None:
    """Prints the cells as CSV (RFC 4180, with lines that end in a line feed); what is not known is empty.

    A factor that a cell does not have is empty, too. The columns depend only on the factors of the plan; a watched
    result has `connection` in their place, and columns of its own at the end. So has a fleet: in the rows of its pairs
    `pair`, `near` and `far` are not empty.
    """
    writer = csv.writer(stream or sys.stdout, lineterminator="\n")
    writer.writerows(_table(summary))


def parquet_bytes(summary: Summary) -> bytes:
    """The same rows as a Parquet file: numbers, or texts where a column has levels that are no numbers."""
    import polars as pl  # noqa: PLC0415 - CSV needs none

    names, *rows = _table(summary)
    columns = {str(name): [row[at] for row in rows] for at, name in enumerate(names)}
    for name, values in columns.items():
        if any(isinstance(value, str) for value in values):
            columns[name] = [None if value is None else str(value) for value in values]
    written = io.BytesIO()
    pl.DataFrame(columns, strict=False, infer_schema_length=None).write_parquet(written)
    return written.getvalue()


def _table(summary: Summary) -> list[list[Value]]:
    """The names of the columns and all rows."""
    rows = [(cell, row) for cell in summary.cells for row in _rows(cell)]
    own = {"cell", "sweep", "workload"}
    factors = [
        *summary.varied,
        *dict.fromkeys(name for cell in summary.cells for name in cell.factors if name not in summary.varied),
    ]
    factors = [name for name in factors if name not in own]
    names = list(dict.fromkeys(name for _, row in rows for name in row))
    table: list[list[Value]] = [["cell", "sweep", "workload", *factors, *names]]
    for cell, row in rows:
        levels = [_text(cell.factors.get(name)) for name in factors]
        table.append([cell.id, cell.sweep, cell.workload, *levels, *(_text(row.get(name)) for name in names)])
    return table


def _text(value: Value) -> Value:
    """Switches as a profile has them."""
    return str(value).lower() if isinstance(value, bool) else value


def _rows(cell: CellResult) -> Iterator[dict[str, Value]]:
    """The row of a cell, then those of its pairs of hosts."""
    own = dict(_figures(cell))
    if cell.fleet is None:
        yield own
        return
    yield dict.fromkeys(_OF_PAIRS) | own
    for pair in cell.fleet.pairs:
        yield {
            "metric": cell.metric,
            "trials_count": pair.trials,
            **dict(_spread("goodput_bps", pair.goodput_bps)),
            **dict(_spread("transactions_per_s", pair.transactions_per_s)),
            "retransmitted_ratio": pair.retransmitted_ratio,
            **{name: getattr(pair, name) for name in _OF_PAIRS},
        }


_OF_PAIRS = (
    *("pair", "near", "far", "sender", "receiver", "rtt_ns", "rtt_ns_min", "queue_ns", "timeouts", "idle_ratio"),
    *("idle_ns_max", "limited_by", "limited_ratio"),
)


def _figures(cell: CellResult) -> Iterator[tuple[str, Value]]:
    """Names and values, the same names for every cell."""
    yield "metric", cell.metric
    for name in ("trials", "failed_trials", "deadline_trials", "unusable_trials", "unsteady_trials"):
        yield f"{name}_count", getattr(cell, name)
    yield from _spread("goodput_bps", cell.goodput_bps)
    yield "whole_window_goodput_bps", None if cell.cut is None else cell.cut.whole_window_bps
    transactions, datagrams, probe = cell.transactions, cell.datagrams, cell.rtt_probe
    yield from _spread("transactions_per_s", Spread() if transactions is None else transactions.per_s)
    yield from _latency("latency", None if transactions is None else transactions.latency)
    yield from _latency("rtt_load", None if probe is None else probe.load)
    yield from _latency("rtt_idle", None if probe is None else probe.idle)
    yield "rtt_ns", None if cell.rtt is None else cell.rtt.rtt_ns
    yield "rtt_ns_min", None if cell.rtt is None else cell.rtt.rtt_ns_min
    for end in ENDS:
        cpu, calls = getattr(cell.cpu, end), getattr(cell.calls, end)
        yield f"cpu_{end}_load_threads_ratio", None if cpu is None else cpu.load_threads_ratio
        yield f"cpu_{end}_host_ratio", None if cpu is None else cpu.busy_ratio
        yield f"cpu_{end}_in_use_cpus", None if cpu is None else cpu.in_use_cpus
        yield f"cpu_{end}_per_adapter_cpus", None if cpu is None else cpu.per_adapter_cpus
        yield f"cycles_{end}_per_kbyte", getattr(cell.cycles_per_kbyte, end)
        yield f"calls_{end}_per_kbyte", None if calls is None else calls.per_kbyte
    shared, window = cell.cpu.shared, cell.needed_window
    yield "cpu_not_attributed_cpus", None if shared is None else shared.not_attributed_cpus
    yield "cycles_unit", cell.cycles_per_kbyte.unit
    announced = cell.window.announced_bytes
    yield "advertised_window_bytes_median", None if announced is None else announced.median
    yield "advertised_window_bytes_max", None if announced is None else announced.max
    needed = window.rates[0] if window is not None else None
    yield "needed_window_rate_bps", None if needed is None else needed.rate_bps
    yield "needed_window_one_way_bytes", None if needed is None else needed.one_way_bytes
    yield "needed_window_round_trip_bytes", None if needed is None else needed.round_trip_bytes
    again = cell.retransmitted_segments
    yield "retransmitted_count_median", again.median
    yield "retransmitted_ratio", again.ratio
    yield "retransmitted_unit", again.unit
    yield "data_segments_per_s", cell.data_segments_per_s
    yield "fairness_ratio", None if cell.connections is None else cell.connections.fairness
    yield "datagrams_received_per_s", None if datagrams is None else datagrams.received_per_s.median
    yield "datagrams_lost_ratio", None if datagrams is None else datagrams.lost_ratio
    yield "datagrams_jitter_ns", None if datagrams is None else datagrams.jitter_ns
    if (watched := cell.watched) is not None:
        for name in ("program", "process", "local", "remote", "direction", "watched_s", "sent_bps", "received_bps"):
            yield name, getattr(watched, name)
        yield "hosts", " ".join(watched.hosts)
        yield "whole", watched.is_whole
        yield "closed", watched.is_closed


def _spread(name: str, spread: Spread) -> Iterator[tuple[str, Value]]:
    for part in ("median", "low", "high", "mean", "stdev"):
        yield f"{name}_{part}", getattr(spread, part)


def _latency(name: str, latency: Latency | None) -> Iterator[tuple[str, Value]]:
    for part in LATENCIES:
        yield f"{name}_{part}", None if latency is None else getattr(latency, part)
