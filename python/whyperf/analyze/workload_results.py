"""Cells of workloads: from measured trials to the result's transactions and datagrams."""

from collections.abc import Sequence
from typing import Any

import polars as pl

from whyperf.analyze.measures.latency import CLOSED, OPEN, merged, percentiles
from whyperf.analyze.measures.transactions import IS_NEAR, trial_transactions
from whyperf.analyze.read.inputs import Cell, Inputs
from whyperf.analyze.spread import Spread, spreads
from whyperf.analyze.summary import Cost, Datagrams, EndCost, Latency, NamedTransactions, Transactions
from whyperf.analyze.trials import Measured

Key = tuple[str, ...]
ENDS = ("sender", "receiver")


class WorkloadResults:
    """Results of cells in addition to their goodput."""

    def __init__(self, inputs: Inputs, measured: Measured) -> None:
        """Merges the histograms and takes the intervals of all cells together."""
        self._transactions = _partition(measured.transactions, ("cell",))
        self._costs = _partition(measured.costs, ("cell",))
        self._datagrams = _partition(measured.datagrams, ("cell",))
        usable = inputs.latencies.join(measured.transactions.select("trial"), on="trial", how="semi")
        self._latencies = _partition(merged(usable, ("cell",)), ("cell", "kind"))
        self._measured_s = _measured_seconds(inputs.transactions, usable)
        by = ("group", "transaction")
        named = trial_transactions(inputs.transactions, measured.trials, by)
        self._named = _partition(named, ("cell", *by))
        self._named_latencies = _partition(merged(usable, ("cell", *by)), ("cell", *by, "kind"))
        self._rates = _spreads_of(self._transactions, "transactions_per_s", inputs.seed)
        self._named_rates = _spreads_of(self._named, "transactions_per_s", inputs.seed)
        self._received = _spreads_of(self._datagrams, "received_per_s", inputs.seed)
        self._near_ends: dict[str, int] = dict(
            inputs.transactions.filter(IS_NEAR).group_by("cell").agg(pl.col("host").n_unique()).iter_rows()
        )

    def transactions(self, cell: Cell) -> Transactions | None:
        """The transactions of a cell; None where none were executed."""
        rows = self._transactions.get((cell.id,))
        if rows is None:
            return None
        connect = self._latency(cell.id, "connect")
        # Histograms are of the whole phase.
        seconds = self._measured_s.get(cell.id, 0.0)
        return Transactions(
            counted_as=cell.counted_as,
            per_s=self._rates[cell.id,],
            count=round(float(rows["transactions_count"].sum())),
            failed_count=round(float(rows["failed_count"].sum())),
            intended_per_s=_median(rows, "intended_per_s") if cell.is_open_loop else None,
            begun_per_s=_median(rows, "begun_per_s") if cell.is_open_loop else None,
            places_busy_ratio=self._places_busy(cell, seconds),
            begin_wait_ns_mean=self._begin_wait(cell),
            is_open_loop=cell.is_open_loop,
            latency=self._latency(cell.id, OPEN) or self._latency(cell.id, CLOSED),
            wire=self._latency(cell.id, "wire"),
            host=self._latency(cell.id, "host"),
            connect=connect,
            connects_per_s=connect.count / seconds if connect is not None and seconds > 0 else None,
            cost=self._cost(cell.id),
            by_name=[self._one(key) for key in self._named if key[0] == cell.id] if self._has_several(cell.id) else [],
        )

    def datagrams(self, cell: Cell) -> Datagrams | None:
        """The datagrams of a cell; None where it sent none."""
        rows = self._datagrams.get((cell.id,))
        if rows is None:
            return None
        received, lost = int(rows["received_count"].sum()), int(rows["lost_count"].sum())
        most = rows["jitter_ns_max"].max()
        return Datagrams(
            received_per_s=self._received[cell.id,],
            sent_per_s=_median(rows, "sent_per_s"),
            lost_ratio=lost / (received + lost) if received + lost else None,
            received_count=received,
            lost_count=lost,
            late_count=int(rows["late_count"].sum()),
            duplicate_count=int(rows["duplicate_count"].sum()),
            jitter_ns=_median(rows, "jitter_ns_median"),
            jitter_ns_max=int(most) if isinstance(most, int) else None,
            kernel_drops_count=int(rows["kernel_drops_count"].sum()),
        )

    def _places_busy(self, cell: Cell, seconds: float) -> float | None:
        """Little's law: executions that end in a second x their mean time are those under way, of all places."""
        service = self._latency(cell.id, CLOSED)
        places = cell.places * self._near_ends.get(cell.id, 1)
        if service is None or not cell.is_open_loop or places * seconds == 0:
            return None
        return min(1.0, service.count * service.mean_ns / 1e9 / (seconds * places))

    def _begin_wait(self, cell: Cell) -> float | None:
        service, intended = self._latency(cell.id, CLOSED), self._latency(cell.id, OPEN)
        if service is None or intended is None or not cell.is_open_loop:
            return None
        return max(0.0, intended.mean_ns - service.mean_ns)

    def _has_several(self, cell: str) -> bool:
        return sum(key[0] == cell for key in self._named) > 1

    def _one(self, key: Key) -> NamedTransactions:
        latency = self._named_latency(key, OPEN) or self._named_latency(key, CLOSED)
        return NamedTransactions(group=key[1], transaction=key[2], per_s=self._named_rates[key], latency=latency)

    def _latency(self, cell: str, kind: str) -> Latency | None:
        return _latency(self._latencies.get((cell, kind)), kind)

    def _named_latency(self, key: Key, kind: str) -> Latency | None:
        return _latency(self._named_latencies.get((*key, kind)), kind)

    def _cost(self, cell: str) -> Cost:
        rows = self._costs.get((cell,))
        if rows is None:
            return Cost()
        ends = {}
        for role in ENDS:
            of = rows.filter(pl.col("role") == role)
            if of.height:
                ends[role] = EndCost(**{name: _median(of, name) for name in EndCost.model_fields})
        return Cost(**ends, unit=rows["unit"][0])


def _latency(histogram: pl.DataFrame | None, kind: str) -> Latency | None:
    found = None if histogram is None else percentiles(histogram)
    return None if found is None else Latency.model_validate({"kind": kind, **found})


def _partition(frame: pl.DataFrame, by: Sequence[str]) -> dict[Key, pl.DataFrame]:
    if frame.is_empty():
        return {}
    parts = frame.partition_by(by, as_dict=True, maintain_order=True)
    return {tuple(map(str, key)): part for key, part in parts.items()}


def _spreads_of(parts: dict[Key, pl.DataFrame], column: str, seed: int) -> dict[Key, Spread]:
    samples: list[list[float]] = [part[column].drop_nulls().to_list() for part in parts.values()]
    return dict(zip(parts, spreads(samples, seed), strict=True))


def _median(rows: pl.DataFrame, column: str) -> float | None:
    value: Any = rows[column].median()
    return None if value is None else float(value)


def _measured_seconds(transactions: pl.DataFrame, usable: pl.DataFrame) -> dict[str, float]:
    """The length of phase `measure` in all trials of a cell that have a histogram."""
    rows = transactions.filter(pl.col("phase") == "measure").join(
        usable.select("trial").unique(), on="trial", how="semi"
    )
    trials = rows.group_by("cell", "trial").agg(
        ((pl.col("end_mono_ns").max() - pl.col("start_mono_ns").min()) / 1e9).alias("seconds")
    )
    return dict(trials.group_by("cell").agg(pl.col("seconds").sum()).iter_rows())
