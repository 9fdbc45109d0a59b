"""The figures that are compared, trial by trial. The table `QUANTITIES` names them for `--fail-if`, too."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import polars as pl

from whyperf.analyze.measures.costs import cell_calls
from whyperf.analyze.measures.cpu import cell_cpu
from whyperf.analyze.measures.latency import CLOSED, OPEN, PERCENTILES, merged, percentiles, probe_requests
from whyperf.analyze.read.inputs import Inputs
from whyperf.analyze.trials import Measured
from whyperf.compare.comparison import Better

ENDS = ("sender", "receiver")

TABLES = (
    *("flows", "intervals", "tcp_info", "cpu", "softirqs", "threads", "transactions", "latencies", "datagrams"),
    *("transport_info", "round_trips"),
)
"""Tables of the record that the figures come from."""


@dataclass(frozen=True)
class Quantity:
    """A figure of a trial: its title, unit, and which direction is better."""

    name: str
    title: str
    unit: str
    better: Better


def _quantities() -> Iterator[Quantity]:
    yield Quantity("goodput", "Goodput", "bit/s", "higher")
    yield Quantity("wire_rate", "Rate on the link", "bit/s", "higher")
    yield Quantity("link_share", "Share of the link", "ratio", "higher")
    yield Quantity("transactions", "Transactions", "1/s", "higher")
    for kind, title in (("latency", "Latency"), ("connect", "Connect time"), ("rtt", "RTT under load")):
        for field in PERCENTILES:
            level = field.removesuffix("_ns").removeprefix("p").replace("_", ".")
            yield Quantity(f"{kind}_p{level}", f"{title}, {level} %", "ns", "lower")
    yield Quantity("datagrams", "Datagrams received", "1/s", "higher")
    yield Quantity("lost_datagrams", "Datagrams lost", "ratio", "lower")
    yield Quantity("jitter", "Jitter", "ns", "lower")
    for role in ENDS:
        yield Quantity(f"cycles_{role}", f"Cycles/KB, {role}", "cycles/KByte", "lower")
    for role in ENDS:
        yield Quantity(f"transaction_cycles_{role}", f"Cycles/transaction, {role}", "cycles/transaction", "lower")
    for role in ENDS:
        yield Quantity(f"load_cpu_{role}", f"CPU of the load, {role}", "ratio", "neither")
        yield Quantity(f"cpu_{role}", f"CPU of the host, {role}", "ratio", "neither")
    for role in ENDS:
        yield Quantity(f"calls_{role}", f"Calls/KB, {role}", "1/KByte", "neither")
    yield Quantity("segments", "Data segments", "1/s", "neither")
    yield Quantity("retransmitted", "Retransmitted", "ratio", "lower")
    yield Quantity("fairness", "Fairness (Jain)", "ratio", "higher")


QUANTITIES: Mapping[str, Quantity] = {quantity.name: quantity for quantity in _quantities()}

Values = dict[str, dict[str, dict[str, float]]]
"""By cell, by quantity, by trial."""


@dataclass(frozen=True)
class TrialFigures:
    """All figures of an experiment, and the unit that its cycles have by cell."""

    values: Values
    cycles_unit: Mapping[str, str]
    #: Width of the bins that latencies are counted in, as a part of the value.
    bin_ratio: float


def trial_figures(inputs: Inputs, measured: Measured) -> TrialFigures:
    """The figures of all trials that did not fail."""
    values: Values = defaultdict(lambda: defaultdict(dict))
    usable = measured.trials.filter(pl.col("goodput_bps").is_not_null())
    for name, frame, column in _frames(inputs, measured, usable):
        rows = frame.filter(pl.col(column).is_not_null()).select("cell", "trial", pl.col(column).cast(pl.Float64))
        for cell, trial, value in rows.iter_rows():
            values[cell][name][trial] = value
    counted = {cell.id: cell.counted_as is not None for cell in inputs.cells}
    for cell, by_name in values.items():
        # The number of calls of a stream says nothing.
        if not counted.get(cell, False):
            for name in ("transactions", "transaction_cycles_sender", "transaction_cycles_receiver"):
                by_name.pop(name, None)
    bin_ratio = 0.0
    for cell, trial, kind, found in _percentiles(inputs, measured, usable):
        for field, value in found.items():
            values[cell][f"{kind}_p{field.removesuffix('_ns').removeprefix('p').replace('_', '.')}"][trial] = value
    if not inputs.latencies.is_empty():
        widths = inputs.latencies.filter(pl.col("latency_ns_low") > 0).select(
            ((pl.col("latency_ns_high").cast(pl.Float64) + 1) / pl.col("latency_ns_low").cast(pl.Float64) - 1).max()
        )
        bin_ratio = float(widths.item() or 0.0)
    units = dict(measured.cycles.select("cell", "unit").unique("cell").iter_rows())
    return TrialFigures(values, units, bin_ratio)


def _frames(inputs: Inputs, measured: Measured, usable: pl.DataFrame) -> Iterator[tuple[str, pl.DataFrame, str]]:
    """Frames with `cell`, `trial` and a column, by the name of the quantity."""
    yield "goodput", usable, "goodput_bps"
    yield "fairness", usable, "fairness"
    yield "transactions", measured.transactions.filter(pl.col("transactions_count") > 0), "transactions_per_s"
    arrived = measured.datagrams.with_columns(
        (pl.col("lost_count") / (pl.col("received_count") + pl.col("lost_count"))).alias("lost_ratio")
    )
    yield "datagrams", arrived, "received_per_s"
    yield "lost_datagrams", arrived.filter(pl.col("lost_ratio").is_not_nan()), "lost_ratio"
    yield "jitter", arrived, "jitter_ns_median"
    of_trials = measured.trials.select("trial", "cell")
    cpu = _by_trial(cell_cpu(measured.ends_cpu.with_columns(pl.col("trial").alias("cell"))), of_trials)
    # Nobody counts the calls of another program.
    flows = inputs.flows if all(cell.watched is None for cell in inputs.cells) else inputs.flows.clear()
    calls = _by_trial(cell_calls(flows.with_columns(pl.col("trial").alias("cell"))), of_trials)
    for role in ENDS:
        is_role = pl.col("role") == role
        yield f"cycles_{role}", measured.cycles.filter(is_role), "cycles_per_kbyte"
        yield f"transaction_cycles_{role}", measured.costs.filter(is_role), "cycles"
        yield f"load_cpu_{role}", cpu.filter(is_role), "load_threads_ratio"
        yield f"cpu_{role}", cpu.filter(is_role), "busy_ratio"
        yield f"calls_{role}", calls.filter(is_role), "per_kbyte"
    # Nobody sends a datagram again.
    streams = measured.segments.join(measured.datagrams.select("trial"), on="trial", how="anti")
    again = streams.filter(pl.col("data_segments") > 0).with_columns(
        (pl.col("retransmitted_segments") / pl.col("data_segments")).alias("again_ratio")
    )
    yield "segments", measured.segment_rates, "segments_per_s"
    yield "retransmitted", again, "again_ratio"


def _by_trial(pooled: pl.DataFrame, trials: pl.DataFrame) -> pl.DataFrame:
    """The figures that were pooled over each trial as if it were a cell, with its cell."""
    return pooled.rename({"cell": "trial"}).join(trials, on="trial", how="inner")


def _percentiles(
    inputs: Inputs, measured: Measured, usable: pl.DataFrame
) -> Iterator[tuple[str, str, str, dict[str, float]]]:
    """Cell, trial, kind (latency, connect, rtt) and percentiles of each trial."""
    cells = dict(measured.trials.select("trial", "cell").iter_rows())
    counted = inputs.latencies.join(measured.transactions.select("trial"), on="trial", how="semi")
    by_trial = merged(counted, ("trial",)).partition_by("trial", "kind", as_dict=True)
    for (trial, kind), histogram in by_trial.items():
        # From the intended start where there is one.
        if kind == CLOSED and (trial, OPEN) in by_trial:
            continue
        name = {OPEN: "latency", CLOSED: "latency", "connect": "connect"}.get(str(kind))
        if name is not None:
            yield cells[str(trial)], str(trial), name, _known(histogram)
    answered = probe_requests(inputs, usable).filter((pl.col("state") == "load") & pl.col("rtt_ns").is_not_null())
    for (trial,), rows in answered.partition_by("trial", as_dict=True).items():
        value = pl.col("rtt_ns").cast(pl.Int64)
        histogram = rows.group_by(value.alias("low")).len("count").sort("low").with_columns(pl.col("low").alias("high"))
        yield cells[str(trial)], str(trial), "rtt", _known(histogram)


def _known(histogram: pl.DataFrame) -> dict[str, float]:
    found = percentiles(histogram) or {}
    return {name: float(value) for name in PERCENTILES if (value := found.get(name)) is not None}
