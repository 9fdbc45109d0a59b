"""The stage times of one host of a trial: the tables `stages` and `stage_gaps`, and what the manifest says of them.

Where the copies of write calls are: those inside TCP's own rows have no sequence number of their own.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from whyperf.analyze.flow.relative import stream_of, unwrap
from whyperf.analyze.flow.trial import FlowTrial, read_lazily, read_manifest, reported_unreadable
from whyperf.analyze.stages.kinds import OUT
from whyperf.analyze.stages.probe_cost import ProbeCost, probe_cost

if TYPE_CHECKING:
    from whyperf.analyze.stages.copies import CopyCost
    from whyperf.wire import StageLimit


ENTRY = "call_entry"
_CALL = ("connection", "thread", "call")


def with_copies_placed(frame: pl.DataFrame) -> pl.DataFrame:
    """The rows with `copied_from`, the first byte of a row's copy; null of rows without a copy, and of reads.

    A thread makes the copies of a call one after another before it enters another call. A copy inside `tcp_out`, whose
    packet may have waited while others were written, begins where the copy before it ended; without the call's entry it
    is taken for the end of the packet. `frame` has columns of `HostStages.frame`, in the order of time.
    """
    is_entry, is_copy_in = pl.col("stage") == ENTRY, pl.col("stage") == "copy_in"
    is_copy = is_copy_in | ((pl.col("stage") == "tcp_out") & (pl.col("copied_bytes") > 0))
    packet_end = pl.col("sequence") + pl.col("payload_bytes")
    copied_before = pl.col("copied_bytes").cum_sum().over(_CALL) - pl.col("copied_bytes")
    rows = (
        frame.filter((pl.col("direction") == OUT) & (is_entry | (is_copy & ~pl.col("is_again"))))
        .with_columns(is_entry.cum_sum().over("connection", "thread").alias("call"))
        .with_columns((pl.col("sequence").first().over(_CALL) + copied_before).alias("next"))
        # Behind a copy that was not followed begins another call, whose entry was not either.
        .with_columns((is_copy_in & (pl.col("sequence") != pl.col("next"))).cum_sum().over(_CALL).alias("apart"))
        .filter(~is_entry)
    )
    is_known = (pl.col("call") > 0) & (pl.col("apart") == 0)
    copied_from = (
        pl.when(is_copy_in).then("sequence").when(is_known).then("next").otherwise(packet_end - pl.col("copied_bytes"))
    )
    found = rows.select("row", copied_from.alias("copied_from"))
    return frame.join(found, on="row", how="left", maintain_order="left")


TABLE = "stages"
COLUMNS: Mapping[str, pl.DataType] = {
    "connection": pl.UInt32(),
    "direction": pl.String(),
    "stage": pl.String(),
    "sequence": pl.UInt32(),
    "payload_bytes": pl.Int64(),
    "wire_segments": pl.Int64(),
    "start_mono_ns": pl.Int64(),
    "wall_ns": pl.Float64(),
    "cpu_ns": pl.Float64(),
    "probes_count": pl.Int64(),
    "copied_bytes": pl.Int64(),
    "thread": pl.UInt32(),
    "context": pl.String(),
    "retransmission": pl.String(),
    "one_in_count": pl.Int64(),
    "cpu": pl.UInt32(),
}
"""Columns of the table that are read; one that an older agent did not write is null."""


@dataclass(frozen=True)
class StagesReport:
    """The worth of the stage times of a host (`StagesReport` in crates/schema/src/evidence.rs).

    One block of `block_bytes` in `one_in` was followed, the number that held for most rows. `empty_pair_ns` is the cost
    of a probe, which is taken off each row for each of its probes; `probe` says how it was found. `missing` are hooks
    that this kernel lacks, with what they give; `limits` is what else keeps stages from being shown.
    `own_ns` is the time that the programs took, on all CPUs.
    """

    reason: str | None = None
    missing: Mapping[str, str] = field(default_factory=dict)
    limits: "tuple[StageLimit, ...]" = ()
    block_bytes: int = 0
    one_in: int = 0
    empty_pair_ns: int = 0
    rows: int = 0
    lost: int = 0
    own_ns: int = 0
    broken_off: str | None = None
    probe: ProbeCost | None = None


@dataclass(frozen=True)
class HostStages:
    """The stages at one host, on the controller's clock.

    `frame` has a row for each stage of each followed packet, in the order of time: `row` (its number), `connection`,
    `direction`, `stage`, `sequence` (Int64, unwrapped), `payload_bytes` (of a write call's entry what it is to write),
    `wire_segments`, `time_ns` (start, after the start of the load), `wall_ns` and `cpu_ns` without the probes,
    `copied_bytes` and `copied_from` (of rows with a copy in), `weight` (blocks that a followed one stands for), `order`
    (a number in the order of time, one for all rows of a packet), `thread`, `context`, `cpu`, `is_again` (of a
    retransmission). `gaps` counts by reason what was not followed. `clock_hz` is the rate of the time stamp counter.
    `copies` says by what copies were taken out of other stages (`copies.with_copies_apart`).
    """

    host: str
    role: str
    frame: pl.DataFrame
    report: StagesReport = field(default_factory=StagesReport)
    gaps: Mapping[str, int] = field(default_factory=dict)
    clock_hz: int | None = None
    copies: "CopyCost | None" = None

    def of(self, connection: int) -> "HostStages":
        """Those of one connection."""
        own = self.frame.filter(pl.col("connection") == connection)
        return replace(self, frame=own)


def has_stages(trial: FlowTrial) -> bool:
    """True where a host of the trial has stage times."""
    return any(trial.table(TABLE, host) is not None for host in trial.ends)


def read_stages(trial: FlowTrial, host: str, usual_probe_ns: int | None = None) -> HostStages | None:
    """The stage times of the end at `host`, in the measured phase; None without its table.

    Args:
        trial: the trial.
        host: `near` or `far`.
        usual_probe_ns: the cost of a probe there in all trials of the result (`probe_cost.costs_by_host`).

    Raises:
        RecordError: a table cannot be read.
    """
    source = trial.table(TABLE, host)
    if source is None:
        return None
    end = trial.ends[host]
    with reported_unreadable(source.path):
        there = source.rows.collect_schema().names()
        columns = [
            (pl.col(name) if name in there else pl.lit(None)).cast(kind).alias(name) for name, kind in COLUMNS.items()
        ]
        rows = source.rows.select(columns).collect()
    manifest = read_manifest(trial.folder).get("hosts", {}).get(host, {})
    report = report_of((manifest.get("evidence") or {}).get("stages") or {}, rows["one_in_count"])
    cost = probe_cost(report.empty_pair_ns, usual_probe_ns, rows)
    report = replace(report, empty_pair_ns=cost.used_ns, probe=cost)
    frame = prepared(rows, report, shift_ns=end.offset_ns + trial.zero_mono_ns)
    window = end.window_ns or trial.window_ns
    if window is not None:
        frame = frame.filter(pl.col("time_ns").is_between(*window, closed="left"))
    if "gro" in frame["stage"]:
        # Tunnels receive by a NAPI without a number.
        report = replace(report, limits=tuple(limit for limit in report.limits if limit["kind"] != "no_napi"))
    gaps = gaps_of(trial.folder, host) | moved_packets(frame)
    return HostStages(host, end.role, frame, report, gaps, manifest.get("tsc_hz"))


def report_of(found: Mapping[str, Any], one_in: pl.Series | None = None) -> StagesReport:
    """The report of a manifest; `one_in` is of the rows."""
    most = pl.Series(dtype=pl.Int64) if one_in is None else one_in.drop_nulls().mode()
    asked = [int(change["one_in_count"]) for change in found.get("sampling", ())]
    return StagesReport(
        reason=found.get("reason"),
        missing={str(hook["name"]): str(hook.get("gives", "")) for hook in found.get("missing", ())},
        limits=tuple(found.get("limits", ())),
        block_bytes=int(found.get("block_bytes") or 0),
        # Without rows, what was asked for.
        one_in=int(most.max() if len(most) else max(asked, default=0)),  # type: ignore[arg-type]
        empty_pair_ns=int(found.get("empty_pair_ns") or 0),
        rows=int(found.get("rows_count") or 0),
        lost=sum(int(lost["count"]) for lost in found.get("lost_rows_count", ())),
        own_ns=int(found.get("own_ns") or 0),
        broken_off=found.get("broken_off"),
    )


def prepared(rows: pl.DataFrame, report: StagesReport, shift_ns: int) -> pl.DataFrame:
    """The rows of the table as `HostStages.frame` has them; `shift_ns` is taken off their times."""
    rows = rows.sort("start_mono_ns", maintain_order=True)
    probes = pl.col("probes_count").fill_null(0) * report.empty_pair_ns
    frame = rows.select(
        "connection",
        _direction().alias("direction"),
        _stage().alias("stage"),
        pl.Series("sequence", _unwrapped(rows)),
        pl.col("payload_bytes").fill_null(0),
        pl.col("wire_segments").fill_null(0),
        (pl.col("start_mono_ns") - shift_ns).alias("time_ns"),
        # Waiting has no probes of its own. A row may come out below 0: cut off, its mean would be too high.
        (pl.col("wall_ns") - probes).alias("wall_ns"),
        (pl.col("cpu_ns") - probes).alias("cpu_ns"),
        pl.col("copied_bytes").fill_null(0),
        pl.col("one_in_count").fill_null(1).alias("weight"),
        "thread",
        "context",
        "cpu",
        pl.col("retransmission").is_not_null().alias("is_again"),
    ).with_row_index("row")
    return with_copies_placed(frame.with_columns(_order()))


def _direction() -> pl.Expr:
    """The direction of the payload that a row is about: that which an ACK acknowledges goes the other way."""
    other = pl.when(pl.col("direction") == "out").then(pl.lit("in")).otherwise(pl.lit("out"))
    return pl.when(pl.col("stage").is_in(["ack_in", "ack_out"])).then(other).otherwise(pl.col("direction"))


def _stage() -> pl.Expr:
    """The stage of a row. What a host hands over for payload that arrived is an ACK."""
    is_ack = (pl.col("stage") == "handover") & (pl.col("direction") == "in")
    return pl.when(is_ack).then(pl.lit("ack_handover")).otherwise(pl.col("stage"))


def _unwrapped(rows: pl.DataFrame) -> "np.ndarray[Any, np.dtype[np.int64]]":
    """Sequence numbers beyond 32 bits, for payload and for what ACKs acknowledge alike."""
    connection, sequence = rows["connection"].to_numpy(), rows["sequence"].to_numpy()
    is_ack = rows["stage"].str.starts_with("ack_").to_numpy()
    stream = stream_of(connection, (rows["direction"] == "out").to_numpy()) * np.uint32(2) + is_ack.astype(np.uint32)
    return unwrap(sequence, stream, dict.fromkeys(np.unique(stream).tolist(), 0))


def _order() -> pl.Expr:
    """A number for each packet of each connection and direction, in the order in which packets begin."""
    first = pl.col("time_ns").min().over("connection", "direction", "sequence")
    return first.rank("dense").cast(pl.Int64).alias("order")


def moved_packets(frame: pl.DataFrame) -> dict[str, int]:
    """Packets that arrived, by what the rows show of their CPU: `by_thread` were taken from the device by a thread and
    not by a softirq, `steered` changed the CPU between GRO and IP. Reasons without packets are left out.
    """
    arrived = frame.filter((pl.col("direction") == "in") & (pl.col("payload_bytes") > 0))
    taken, processed = (arrived.filter(pl.col("stage") == stage) for stage in ("gro", "ip_in"))
    # Without NAPI there is no GRO, and the first stage is the next one.
    first = processed if taken.is_empty() else taken
    key = ["connection", "sequence"]
    both = taken.unique(key).join(processed.unique(key), on=key, suffix="_later")
    found = {
        "by_thread": first.filter(pl.col("context").is_in(["process", "worker"])).height,
        "steered": both.filter(pl.col("cpu") != pl.col("cpu_later")).height,
    }
    return {reason: number for reason, number in found.items() if number}


def gaps_of(folder: Path, host: str) -> dict[str, int]:
    """Counts what was not followed at a host of the trial in `folder`, by reason, the most frequent first.

    Raises:
        RecordError: the table cannot be read.
    """
    source = read_lazily(folder / f"stage_gaps.{host}.parquet")
    if source is None:
        return {}
    with reported_unreadable(source.path):
        found = source.rows.select("reason", "gaps_count").collect()
    counted = found.group_by("reason").agg(pl.col("gaps_count").sum()).sort("gaps_count", descending=True)
    return {str(reason): int(count) for reason, count in counted.iter_rows() if count}
