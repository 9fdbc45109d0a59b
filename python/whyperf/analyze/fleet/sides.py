"""Reads what only the analysis of a fleet needs, a trial at a time and a row for each side.

It is the one module of the package that touches files.

Tables of a fleet have a file for each of hundreds of ends. They are scanned lazily: memory holds the columns of one
table of one trial while they are summed.

When the hosts of a fleet began, by the controller's clock: common window, skew of first calls, stragglers.
"""

from collections.abc import Callable, Mapping
from statistics import median
from typing import Any

import polars as pl

from whyperf.analyze.fleet.inputs import COUNTS, DEVICES, GAPS, SOCKETS, WAITS, FleetInputs
from whyperf.plan import HostPair, Plan
from whyperf.record import LOST, Experiment, Manifest, sum_by_host

MIN_LATE_NS = 20_000_000
"""A host that begins so much later than the median of all is a straggler; about what a busy host's scheduler takes."""


def instants_of(
    manifest: Manifest,
    first_calls: Mapping[str, int],
    phases: Mapping[str, tuple[int, int]],
    pairs: tuple[HostPair, ...],
) -> dict[str, Any]:
    """Computes what a trial shows of instants: `window`, `skew` and `stragglers`, without those that cannot be known.

    Args:
        manifest: of the trial.
        first_calls: the first call of each side that sends, on its own clock in ns.
        phases: start and end of the measured phase of each side, on its own clock in ns.
        pairs: the hosts of each pair.
    """
    clocks = {name: end.clock for name, end in manifest.hosts.items() if end.clock is not None}
    start_ns = int(getattr(manifest, "start_mono_ns", 0) or 0)
    calls = {name: call - clocks[name].offset_ns - start_ns for name, call in first_calls.items() if name in clocks}
    windows = [
        (start - clocks[name].offset_ns, end - clocks[name].offset_ns)
        for name, (start, end) in phases.items()
        if name in clocks
    ]
    found: dict[str, Any] = {}
    if windows:
        start, stop = max(start for start, _ in windows), min(stop for _, stop in windows)
        if stop > start:
            found["window"] = {"start_ns": start, "stop_ns": stop}
    if len(calls) > 1:
        # Two clocks are compared with each other by the controller's: both errors count.
        errors = sorted((clocks[name].uncertainty_ns + abs(clocks[name].drift_ns) for name in calls), reverse=True)
        bound_ns = sum(errors[:2])
        found["skew"] = {"first_call_ns": calls, "bound_ns": bound_ns}
        usual = median(calls.values())
        found["stragglers"] = [
            {
                "host": pairs[pair][0] if name.startswith("near") else pairs[pair][1],
                "pair": pair + 1,
                "late_ns": round(call - usual),
                "reason": "it began later than the others",
            }
            for name, call in calls.items()
            if call - usual > MIN_LATE_NS + bound_ns
            and (pair := int(name.removeprefix("near").removeprefix("far") or 1) - 1) < len(pairs)
        ]
    return found


COUNTED = ("TcpExtTCPTimeouts", "cpu_quota", "cpu_period", "cpu_throttled", "qdisc_rate", "qdisc_dropped")
"""Counters of `host_counters` that are read."""


_CLOCKS = ("busy_ns", "rwnd_limited_ns", "send_buffer_limited_ns")


def read_fleet(experiment: Experiment, manifests: Mapping[str, Manifest]) -> FleetInputs | None:
    """The fleet of an experiment and what its measured trials show of it; None where none was planned, or one
    pair alone, which has nothing to be compared with.

    A table that cannot be read, or that an end lacks, shows nothing.

    Raises:
        RecordError: a table would take far more memory than its size allows.
    """
    plan: Plan = experiment.plan
    if plan.fleet is None or len(plan.pairs) == 1:
        return None
    ran = [trial for trial, manifest in manifests.items() if manifest.status not in LOST]

    def rows(
        table: str, schema: Mapping[str, pl.DataType], sums: Callable[[pl.LazyFrame], pl.LazyFrame]
    ) -> pl.DataFrame:
        found = [
            frame.with_columns(pl.lit(trial).alias("trial")).select(
                pl.col(each).cast(kind) for each, kind in schema.items()
            )
            for trial in ran
            if (frame := sum_by_host(experiment, table, trial, sums)) is not None
        ]
        return pl.concat(found) if found else pl.DataFrame(schema=dict(schema))

    return FleetInputs(
        pattern=plan.fleet.pattern,
        pairs=plan.pairs,
        groups=plan.fleet.groups,
        hosts=experiment.hosts(),
        documents={trial: _document(experiment, manifest) for trial, manifest in manifests.items()},
        sockets=rows("tcp_info", SOCKETS, _sockets),
        gaps=rows("intervals", GAPS, _gaps),
        counts=rows("host_counters", COUNTS, _counts),
        devices=rows("devices", DEVICES, _devices),
        waits=rows("threads", WAITS, _waits),
    )


def _document(experiment: Experiment, manifest: Manifest) -> Mapping[str, Any]:
    """Collects what a trial shows of the fleet: window, skew, stragglers, and as `lost` the pairs that were lost."""
    lost = [pair.model_dump() for pair in manifest.lost_pairs]
    if manifest.status in LOST:
        return {"lost": lost}
    calls = _by_host(
        experiment,
        "flows",
        manifest.trial,
        lambda flows: flows.filter(pl.col("role") == "sender").group_by("host").agg(pl.col("first_call_mono_ns").min()),
    )
    phases = _by_host(
        experiment,
        "intervals",
        manifest.trial,
        lambda intervals: (
            intervals.filter(pl.col("phase") == "measure")
            .group_by("host")
            .agg(pl.col("start_mono_ns").min(), pl.col("end_mono_ns").max())
        ),
    )
    # A schedule starts flows at different times.
    is_scheduled = bool(experiment.plan.cell(manifest.cell).schedule)
    first_calls = {str(host): int(call) for host, call in calls if call is not None and not is_scheduled}
    measured = {str(host): (int(start), int(end)) for host, start, end in phases}
    return {**instants_of(manifest, first_calls, measured, experiment.plan.pairs), "lost": lost}


def _by_host(
    experiment: Experiment, table: str, trial: str, sums: Callable[[pl.LazyFrame], pl.LazyFrame]
) -> list[tuple[Any, ...]]:
    """Sums of a table of a trial; none where it cannot be read."""
    found = sum_by_host(experiment, table, trial, sums)
    return [] if found is None else found.rows()


def _grown(name: str) -> pl.Expr:
    """By how much a count that only grows did."""
    return (pl.col(name).cast(pl.Int64).max() - pl.col(name).cast(pl.Int64).min()).alias(name)


def _sockets(samples: pl.LazyFrame) -> pl.LazyFrame:
    measured = samples.filter((pl.col("role") == "sender") & (pl.col("phase") == "measure"))
    trip = pl.col("rtt_ns").cast(pl.Float64)
    each = measured.group_by("host", "connection").agg(
        trip.filter(trip > 0).median(),
        pl.col("rtt_ns_min").filter(pl.col("rtt_ns_min") > 0).min(),
        *(_grown(name) for name in _CLOCKS),
        _grown("sample_mono_ns").alias("span_ns"),
        _grown("retransmitted_segments"),
        _grown("data_segments_out").alias("data_segments"),
        pl.col("send_mss_bytes").cast(pl.Float64).median().alias("mss_bytes"),
    )
    return each.group_by("host").agg(
        pl.col("rtt_ns").median(),
        pl.col("rtt_ns_min").min(),
        pl.col("mss_bytes").median(),
        *(pl.col(name).sum() for name in (*_CLOCKS, "span_ns", "retransmitted_segments", "data_segments")),
    )


def _gaps(intervals: pl.LazyFrame) -> pl.LazyFrame:
    measured = intervals.filter((pl.col("role") == "receiver") & (pl.col("phase") == "measure"))
    start, end = (pl.col(name).cast(pl.Int64) for name in ("start_mono_ns", "end_mono_ns"))
    # All connections of an end have the intervals of its sampler.
    each = measured.group_by("host", "interval").agg(
        start.min().alias("start"), end.max().alias("end"), pl.col("payload_bytes").sum()
    )
    length, is_idle = pl.col("end") - pl.col("start"), pl.col("payload_bytes") == 0
    runs = each.sort("host", "interval").with_columns(is_idle.rle_id().over("host").alias("run"))
    spells = runs.group_by("host", "run").agg(length.sum().alias("length"), is_idle.first().alias("is_idle"))
    idle = pl.when("is_idle").then(pl.col("length")).otherwise(0)
    return spells.group_by("host").agg(
        (idle.sum() / pl.col("length").sum()).alias("idle_ratio"), idle.max().alias("idle_ns_max")
    )


def _counts(counters: pl.LazyFrame) -> pl.LazyFrame:
    before, after = (pl.col(name).cast(pl.Int64) for name in ("value_at_start", "value_at_end"))
    return (
        counters.filter(pl.col("counter").is_in(list(COUNTED)) & after.is_not_null())
        .group_by("host", "counter", "subject", "kind")
        .agg((after - before.fill_null(0)).clip(0).sum().alias("counted"), after.last().alias("value"))
    )


def _devices(devices: pl.LazyFrame) -> pl.LazyFrame:
    packets = pl.col("tx_packets").cast(pl.Int64) + pl.col("rx_packets").cast(pl.Int64)
    return devices.group_by("host").agg(pl.col("device").sort_by(packets, "device").last())


def _waits(threads: pl.LazyFrame) -> pl.LazyFrame:
    start, end = (pl.col(name).cast(pl.Int64) for name in ("start_mono_ns", "end_mono_ns"))
    each = (
        threads.filter(pl.col("phase") == "measure")
        .group_by("host", "thread")
        .agg((pl.col("run_queue_ns").cast(pl.Int64).sum() / (end - start).sum()).alias("waited_ratio"))
    )
    return each.group_by("host").agg(pl.col("waited_ratio").max())
