"""The life of a message from the write call to the reader, split into stages that add up to its latency.

A message is what one write call wrote. It has arrived when its last byte has, so its stages are those of that byte:
each stage's row that handled it, in the order of the stages. Where two rows overlap in time, as where the receiver
takes a packet while the sender's driver is still returning, the time counts once, for the earlier stage. Time between
two rows has a name by what it is in front of (`kinds`): held by TCP, the path, the socket's queue.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from whyperf.analyze.stages.intervals import Amount, amounts, resampled_sums
from whyperf.analyze.stages.kinds import BETWEEN, IN, OUT, READ_ENTRY_ON_PATH, RECEIVER, SENDER, Stage
from whyperf.analyze.stages.of_host import HostStages
from whyperf.analyze.stages.ranges import StageRows, streams_of

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

FIRST = ("call_entry", "copy_in")
"""Stages whose rows are messages; the first that has rows."""
SLOW = 0.99
"""Messages from this quantile of the latency on are the slow ones."""
MIN_MESSAGES = 200
"""With fewer there are no slow ones to speak of."""
MIN_SLOW = 8
PROBES = 3
"""A gap between two stages that so many probes fill is theirs, and nothing that holds the message."""
QUANTILES: Final = {"p50": 0.5, "p90": 0.9, "p99": 0.99}
WRAP = 2**32
"""The two hosts may have unwrapped sequence numbers from different starts."""
ON_PATH = (
    *(stage for stage in SENDER if stage.name != "call_exit"),
    *RECEIVER[:-2],
    READ_ENTRY_ON_PATH,
    *RECEIVER[-2:],
)
"""Stages that a byte passes one after another: what the writer's call does afterwards is not among them."""
ROWS_OF = {READ_ENTRY_ON_PATH.name: "call_entry"}
"""The stage whose rows have another name in a message's time."""
GAPS = {"tcp_out": "held", "read_entry": "socket_wait", "copy_out": "socket_wait"}
"""The kind of the time in front of a stage, other than between stages."""


@dataclass(frozen=True)
class Lives:
    """Messages of one direction.

    `frame` has a row a message: `connection`, `sequence`, `payload_bytes`, `start_ns` (after the start of the load),
    `latency_ns`, and a column of ns for each of `stages`. `unread` counts messages that were not followed until they
    were read. `early` are those that arrived before they left, by more than the clocks' uncertainty.
    """

    writer: str
    reader: str
    frame: pl.DataFrame
    stages: Sequence[Stage]
    unread: int
    early: int


@dataclass(frozen=True)
class StageShare:
    """A stage of messages, in ns: mean and percentiles of its own, and what it has in slow messages.

    `excess_ns` is the mean of slow messages minus that of the others; `excess_ratio` its part of all excess, which adds
    up to 1 over the stages.
    """

    stage: Stage
    mean_ns: float
    p50_ns: float
    p90_ns: float
    p99_ns: float
    slow_ns: float | None
    excess_ns: float | None
    excess_ratio: Amount | None


@dataclass(frozen=True)
class Messages:
    """The latencies of messages of one direction: percentiles with exact intervals, and the stages of all."""

    lives: Lives
    count: int
    latency_ns: Mapping[str, Amount]
    mean_ns: float
    stages: Sequence[StageShare]
    slow: int

    @property
    def message_bytes(self) -> float:
        """Payload of a message, on average."""
        return float(self.lives.frame["payload_bytes"].mean())  # type: ignore[arg-type]

    @property
    def makes_slow(self) -> StageShare | None:
        """The stage with most of the excess of slow messages; None with too few messages."""
        known = [share for share in self.stages if share.excess_ratio is not None]
        return max(known, key=lambda share: share.excess_ns or 0.0, default=None)


def lives_of(writer: HostStages, reader: HostStages, uncertainty_ns: float = 0.0) -> Lives | None:
    """The messages that one host wrote and the other read; None without any.

    Args:
        writer: the stages of the host that writes.
        reader: those of the host that reads, on the same clock.
        uncertainty_ns: how far the clocks of both may be off.
    """
    found, unread, early = [], 0, 0
    for connection, out, arrived in both_sides(writer, reader):
        messages = next((out[name] for name in FIRST if name in out), None)
        if messages is None:
            continue
        life = _Life(out, arrived, messages, PROBES * max(writer.report.empty_pair_ns, reader.report.empty_pair_ns))
        whole = life.is_whole
        unread += int((~whole).sum())
        early += int((life.early_ns[whole] > uncertainty_ns).sum())
        columns = {stage.name: life.times[at][whole] for at, stage in enumerate(life.stages)}
        found.append(
            pl.DataFrame(
                {
                    "connection": np.full(int(whole.sum()), connection, dtype=np.uint32),
                    "sequence": messages.start[whole],
                    "payload_bytes": (messages.end - messages.start)[whole],
                    "start_ns": life.start_ns[whole],
                    "latency_ns": life.times[:, whole].sum(axis=0),
                    **columns,
                }
            )
        )
    if not found or not (frame := pl.concat(found)).height:
        return None
    stages = [*ON_PATH, BETWEEN]
    there = tuple(stage for stage in stages if frame[stage.name].abs().sum() > 0)
    return Lives(writer.host, reader.host, frame.sort("start_ns"), there, unread, early)


def both_sides(
    writer: HostStages, reader: HostStages
) -> Iterator[tuple[int, dict[str, StageRows], dict[str, StageRows]]]:
    """Each connection that one host writes to, with its stages there and at the other host, in the same numbers."""
    ways = ((writer, OUT), (reader, IN))
    first = [_first(host, direction) for host, direction in ways]
    apart = {
        connection: round((at - first[1].get(connection, at)) / WRAP) * WRAP for connection, at in first[0].items()
    }
    if not apart:
        return
    shift = pl.col("connection").replace_strict(apart, default=0, return_dtype=pl.Int64)
    frame = reader.frame.filter(pl.col("direction") == IN).with_columns(pl.col("sequence") + shift)
    taken = {connection: stages for connection, _, stages in streams_of(frame)}
    for connection, _, stages in streams_of(writer.frame.filter(pl.col("direction") == OUT)):
        yield connection, stages, taken.get(connection, {})


def _first(host: HostStages, direction: str) -> dict[int, int]:
    """The first byte that was followed of each connection."""
    rows = host.frame.filter((pl.col("direction") == direction) & (pl.col("payload_bytes") > 0))
    return dict(rows.group_by("connection").agg(pl.col("sequence").min()).iter_rows())


class _Life:
    """The stages of the last bytes of messages: `times` of shape (stages, messages)."""

    def __init__(
        self,
        out: Mapping[str, StageRows],
        arrived: Mapping[str, StageRows],
        messages: StageRows,
        probes_ns: float,
    ) -> None:
        self.stages = [*ON_PATH, BETWEEN]
        place = {stage.name: at for at, stage in enumerate(self.stages)}
        last = messages.end - 1
        self.start_ns: Floats = messages.time_ns.astype(np.float64)
        self.times: Floats = np.zeros((len(self.stages), last.size))
        self.early_ns: Floats = np.zeros(last.size)
        self.is_whole = np.zeros(last.size, dtype=np.bool_)
        reached = left = self.start_ns.copy()
        has_arrived = np.zeros(last.size, dtype=np.bool_)
        for stage in ON_PATH:
            is_receiver = place[stage.name] >= place["path"]
            rows = (arrived if is_receiver else out).get(ROWS_OF.get(stage.name, stage.name))
            if rows is None or stage.is_between:
                continue
            at = rows.containing(last)
            has = at >= 0
            start = _gathered(rows.time_ns, at)
            ends = start + _gathered(rows.wall_ns, at)
            if stage.name in ROWS_OF:
                # The call may have begun long before, and waited.
                start = np.maximum(start, reached)
            first_arrived = has & is_receiver & ~has_arrived
            self.early_ns = np.where(first_arrived, np.maximum(0, left - start), self.early_ns)
            gap = np.where(has, np.maximum(0, start - reached), 0.0)
            self.times[place["path"]] += np.where(first_arrived, gap, 0.0)
            named = place[GAPS.get(stage.name, BETWEEN.name)]
            self.times[named] += np.where(first_arrived | (gap < probes_ns), 0.0, gap)
            self.times[place[BETWEEN.name]] += np.where(~first_arrived & (gap < probes_ns), gap, 0.0)
            own = np.where(has, np.maximum(0, ends - np.maximum(reached, start)), 0.0)
            self.times[place[stage.name]] += own
            reached = np.where(has, np.maximum(reached, ends), reached)
            # A virtual device hands the packet over in the sender's driver, before that is done.
            left = np.where(has & (not is_receiver), start, left)
            has_arrived |= has & is_receiver
            if stage.name == "copy_out":
                self.is_whole = has


def _gathered(values: NDArray[np.int64] | Floats, at: Ints) -> Floats:
    if not values.size:
        return np.zeros(at.shape)
    found: Floats = values[np.maximum(at, 0)].astype(np.float64)
    return found


def messages(lives: Lives, seed: int = 0) -> Messages:
    """Percentiles by stage, and what makes the slow ones slow."""
    frame = lives.frame
    latency = frame["latency_ns"].to_numpy()
    percentiles = {name: _quantile(latency, at) for name, at in QUANTILES.items()}
    is_slow = latency >= np.quantile(latency, SLOW)
    # Of messages that all take the same time none is slow.
    slow = int(is_slow.sum()) if latency.size >= MIN_MESSAGES and not is_slow.all() else 0
    times = np.array([frame[stage.name].to_numpy() for stage in lives.stages])
    shares: list[Amount] | list[None] = _excess(times, is_slow, seed) if slow else [None] * len(lives.stages)
    return Messages(
        lives=lives,
        count=latency.size,
        latency_ns=percentiles,
        mean_ns=float(latency.mean()),
        stages=tuple(
            StageShare(
                stage=stage,
                mean_ns=float(own.mean()),
                p50_ns=float(np.quantile(own, QUANTILES["p50"])),
                p90_ns=float(np.quantile(own, QUANTILES["p90"])),
                p99_ns=float(np.quantile(own, QUANTILES["p99"])),
                slow_ns=float(own[is_slow].mean()) if slow else None,
                excess_ns=float(own[is_slow].mean() - own[~is_slow].mean()) if slow else None,
                excess_ratio=share,
            )
            for stage, own, share in zip(lives.stages, times, shares, strict=True)
        ),
        slow=slow,
    )


def _quantile(values: Floats, at: float) -> Amount:
    """A quantile with its exact interval between order statistics (binomial); None where there are too few values."""
    from scipy import stats  # noqa: PLC0415 - takes a second to load

    # The stubs of scipy lack the type of the result.
    tested: Any = stats.quantile_test(values, q=float(np.quantile(values, at)), p=at)
    found = tested.confidence_interval(0.95)
    ends = [None if not np.isfinite(end) else float(end) for end in (found.low, found.high)]
    return Amount(float(np.quantile(values, at)), *ends)


def _excess(times: Floats, is_slow: NDArray[np.bool_], seed: int) -> list[Amount]:
    """The part of each stage in what slow messages take longer than the others, over resamples of the slow ones."""
    others = times[:, ~is_slow].mean(axis=1)
    slow = times[:, is_slow]
    values = _parts(slow.mean(axis=1) - others)
    if slow.shape[1] < MIN_SLOW:
        return [Amount(float(value)) for value in values]
    resampled = resampled_sums(slow, seed) / slow.shape[1] - others.reshape(-1, 1)
    return amounts(values, _parts(resampled))


def _parts(excess: Floats) -> Floats:
    """The part of each stage, along the first axis, in the sum of all."""
    total = excess.sum(axis=0)
    found: Floats = np.divide(excess, total, out=np.zeros(excess.shape), where=total != 0)
    return found
