"""From frames by trial to the result of a fleet's cells."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from whyperf.analyze.fleet.differences import Differences
from whyperf.analyze.fleet.inputs import FleetInputs, label, pair_of
from whyperf.analyze.fleet.measures import fairness, host_cpu, host_rates, host_timeouts, pair_rates, with_hosts
from whyperf.analyze.fleet.result import (
    Fleet,
    FleetGroup,
    FleetHost,
    FleetPair,
    FleetWindow,
    LimitedBy,
    SlowHost,
    Straggler,
)
from whyperf.analyze.fleet.slow import slow_hosts
from whyperf.analyze.read.inputs import Inputs
from whyperf.analyze.spread import spreads
from whyperf.analyze.trials import Measured

Row = Mapping[str, Any]


def summarize_fleet(inputs: Inputs, measured: Measured) -> dict[str, Fleet]:
    """The result of each cell of a fleet; nothing where none was planned."""
    fleet = inputs.fleet
    if fleet is None:
        return {}
    rates = with_hosts(pair_rates(inputs, measured), fleet, inputs.ends)
    tables = _Tables(inputs, measured, fleet, rates)
    return {cell.id: tables.cell(cell.id, cell.metric) for cell in inputs.cells}


class _Tables:
    """The frames of all cells."""

    def __init__(self, inputs: Inputs, measured: Measured, fleet: FleetInputs, rates: pl.DataFrame) -> None:
        cells = measured.trials.select("trial", "cell")
        self._fleet, self._seed, self._rates = fleet, inputs.seed, rates
        self._trials = measured.trials
        self._hosts = host_rates(rates)
        self._cpu = host_cpu(inputs, measured, fleet)
        self._timeouts = host_timeouts(fleet).join(cells, on="trial")
        self._sockets = fleet.sockets.join(cells, on="trial")
        self._gaps = fleet.gaps.join(cells, on="trial")
        self._roles = inputs.ends.select("trial", "host", "role").join(cells, on="trial")
        self._pairs_fairness = dict(fairness(rates, "goodput_bps").iter_rows())
        senders = rates.drop_nulls("sender").group_by("trial", "cell", "sender").agg(pl.col("goodput_bps").sum())
        self._senders_fairness = dict(fairness(senders, "goodput_bps").iter_rows())
        self._differences = Differences(inputs, fleet)

    def cell(self, cell: str, metric: str) -> Fleet:
        of_cell = pl.col("cell") == cell
        rates, roles = self._rates.filter(of_cell), self._roles.filter(of_cell)
        trials = set(rates["trial"])
        hosts = self._of_hosts(cell)
        if metric != "transactions":
            # Each write of a stream is a transaction of its script, and none that anybody counts.
            rates = rates.with_columns(pl.lit(None, pl.Float64).alias("transactions_per_s"))
        pairs = self._of_pairs(rates, roles, self._sockets.filter(of_cell), self._gaps.filter(of_cell), hosts)
        found = slow_hosts(
            rates, self._fleet.pattern, "transactions_per_s" if metric == "transactions" else "goodput_bps"
        )
        slow = [
            SlowHost(
                host=host,
                role=low.role,
                pairs=[pair + 1 for pair in low.pairs],
                ratio=low.ratio,
                p_value=low.p_value,
                slower_trials=low.slower_trials,
                differences=differences,
            )
            for low in found.slow
            for host, differences in [self._differences.of(low, pairs, hosts)]
        ]
        return Fleet(
            pattern=self._fleet.pattern,
            pairs=pairs,
            hosts=hosts,
            groups=self._of_groups(cell),
            fairness=self._pairs_fairness.get(cell),
            fairness_hosts=self._senders_fairness.get(cell),
            window=_window(self._fleet, trials, self._trials.filter(of_cell)),
            stragglers=list(_stragglers(self._fleet, trials)),
            slow=slow,
            compared=found.compared,
        )

    def _of_pairs(
        self,
        rates: pl.DataFrame,
        roles: pl.DataFrame,
        sockets: pl.DataFrame,
        gaps: pl.DataFrame,
        hosts: Sequence[FleetHost],
    ) -> list[FleetPair]:
        senders = {
            pair_of(end): end for end in roles.filter(pl.col("role") == "sender")["host"].unique(maintain_order=True)
        }
        by_pair = {number: rates.filter(pl.col("pair") == number) for number in range(len(self._fleet.pairs))}
        goodputs = spreads([_values(found, "goodput_bps") for found in by_pair.values()], self._seed)
        executed = spreads([_values(found, "transactions_per_s") for found in by_pair.values()], self._seed)
        of_end = {row["host"]: row for row in _medians(sockets).iter_rows(named=True)}
        idle = {row["host"]: row for row in _medians(gaps).iter_rows(named=True)}
        timeouts = {host.host: (host.timeouts, len(host.pairs)) for host in hosts}
        found = []
        for number, (pair, goodput, transactions) in enumerate(zip(self._fleet.pairs, goodputs, executed, strict=True)):
            near_sends = senders.get(number, "near").startswith("near")
            sender, receiver = (pair.near, pair.far) if near_sends else (pair.far, pair.near)
            own = of_end.get(label("near" if near_sends else "far", number), {})
            gap = idle.get(label("far" if near_sends else "near", number), {})
            counted, shared = timeouts.get(sender, (None, 0))
            limited_by, limited_ratio = _limit(own)
            rtt, least = own.get("rtt_ns"), own.get("rtt_ns_min")
            found.append(
                FleetPair(
                    pair=number + 1,
                    near=pair.near,
                    far=pair.far,
                    sender=sender,
                    receiver=receiver,
                    trials=len(_values(by_pair[number], "goodput_bps")),
                    goodput_bps=goodput,
                    transactions_per_s=transactions,
                    rtt_ns=rtt,
                    rtt_ns_min=None if least is None else int(least),
                    queue_ns=None if rtt is None or least is None else max(0.0, rtt - least),
                    retransmitted_ratio=_ratio(own.get("retransmitted_segments"), own.get("data_segments")),
                    timeouts=counted if shared == 1 else None,
                    idle_ratio=gap.get("idle_ratio"),
                    idle_ns_max=None if gap.get("idle_ns_max") is None else int(gap["idle_ns_max"]),
                    limited_by=limited_by,
                    limited_ratio=limited_ratio,
                )
            )
        return found

    def _of_hosts(self, cell: str) -> list[FleetHost]:
        of_cell = pl.col("cell") == cell
        rates = {name: found for (name,), found in _by_name(self._hosts.filter(of_cell)).items()}
        cpu = {name: found for (name,), found in _by_name(self._cpu.filter(of_cell)).items()}
        timeouts = {name: found for (name,), found in _by_name(self._timeouts.filter(of_cell)).items()}
        names = list(dict.fromkeys(name for pair in self._fleet.pairs for name in pair))
        sent = spreads([_values(rates.get(name), "sent_bps") for name in names], self._seed)
        received = spreads([_values(rates.get(name), "received_bps") for name in names], self._seed)
        return [
            FleetHost(
                host=name,
                sent_bps=out,
                received_bps=into,
                pairs=[number for number, pair in enumerate(self._fleet.pairs, start=1) if name in pair],
                cpu_ratio=_median(cpu.get(name), "cpu_ratio"),
                load_cpus=_median(cpu.get(name), "load_cpus"),
                timeouts=_median(timeouts.get(name), "timeouts"),
            )
            for name, out, into in zip(names, sent, received, strict=True)
        ]

    def _of_groups(self, cell: str) -> list[FleetGroup]:
        found = []
        for group, names in self._fleet.groups.items():
            rows = self._hosts.filter((pl.col("cell") == cell) & pl.col("name").is_in(list(names)))
            sums = rows.group_by("trial", maintain_order=True).agg(pl.col("sent_bps", "received_bps").sum())
            sent, received = spreads([_values(sums, "sent_bps"), _values(sums, "received_bps")], self._seed)
            moved = rows.with_columns((pl.col("sent_bps") + pl.col("received_bps")).alias("moved_bps"))
            index = dict(fairness(moved, "moved_bps").iter_rows()).get(cell)
            found.append(
                FleetGroup(group=group, hosts=len(names), sent_bps=sent, received_bps=received, fairness=index)
            )
        return found


def _by_name(frame: pl.DataFrame) -> dict[tuple[object, ...], pl.DataFrame]:
    return frame.partition_by("name", as_dict=True)


def _values(frame: pl.DataFrame | None, column: str) -> list[float]:
    return [] if frame is None else frame[column].drop_nulls().to_list()


def _median(frame: pl.DataFrame | None, column: str) -> float | None:
    values = _values(frame, column)
    return float(np.median(values)) if values else None


def _medians(frame: pl.DataFrame) -> pl.DataFrame:
    """Of each side over its trials: medians, the smallest round trip, the longest gap; segments are summed."""
    summed = {"retransmitted_segments", "data_segments"}
    numbers = [name for name in frame.columns if name not in {"trial", "cell", "host"}]
    return frame.group_by("host").agg(
        pl.col(name).min()
        if name == "rtt_ns_min"
        else pl.col(name).max()
        if name == "idle_ns_max"
        else pl.col(name).sum()
        if name in summed
        else pl.col(name).median()
        for name in numbers
    )


def _ratio(part: float | None, whole: float | None) -> float | None:
    return None if part is None or not whole else part / whole


def _limit(own: Row) -> tuple[LimitedBy | None, float | None]:
    """Limit with most of the time by the kernel's chronographs (tcp_get_info_chrono_stats, net/ipv4/tcp.c): they split
    it into the receive window, the send buffer, other busy time, and the rest with nothing to send.
    """
    span = own.get("span_ns")
    busy, window, buffer = (own.get(name) for name in ("busy_ns", "rwnd_limited_ns", "send_buffer_limited_ns"))
    if not span or busy is None or window is None or buffer is None:
        return None, None
    parts: dict[LimitedBy, float] = {
        "receive_window": window / span,
        "send_buffer": buffer / span,
        "in_flight": max(0.0, busy - window - buffer) / span,
        "application": max(0.0, span - busy) / span,
    }
    most = max(parts, key=lambda name: parts[name])
    return most, min(1.0, parts[most])


def _window(fleet: FleetInputs, trials: Iterable[str], measured: pl.DataFrame) -> FleetWindow:
    documents = [fleet.documents[trial] for trial in sorted(trials) if fleet.documents.get(trial)]
    windows = [document.get("window") or {} for document in documents]
    lengths = [
        (int(window["stop_ns"]) - int(window["start_ns"])) / 1e9
        for window in windows
        if window.get("start_ns") is not None and window.get("stop_ns") is not None
    ]
    lengths = lengths or [
        (stop - start) / 1e9
        for start, stop in measured.select("window_start_ns", "window_end_ns").drop_nulls().iter_rows()
    ]
    skews = [document.get("skew") or {} for document in documents]
    calls = [list((skew.get("first_call_ns") or {}).values()) for skew in skews]
    bounds = [int(skew["bound_ns"]) for skew in skews if skew.get("bound_ns") is not None]
    return FleetWindow(
        window_s=min(lengths, default=None),
        skew_s=max(((max(found) - min(found)) / 1e9 for found in calls if found), default=None),
        skew_bound_s=max(bounds) / 1e9 if bounds else None,
    )


def _stragglers(fleet: FleetInputs, trials: Iterable[str]) -> Iterable[Straggler]:
    for trial in sorted(trials):
        document = fleet.documents.get(trial) or {}
        for pair in document.get("lost") or ():
            hosts = f"{pair['near']} → {pair['far']}"
            yield Straggler(trial=trial, host=hosts, pair=pair["pair"] + 1, late_ns=None, reason=pair["reason"])
        for found in document.get("stragglers") or ():
            yield Straggler(
                trial=trial,
                host=str(found.get("host", "")),
                pair=found.get("pair"),
                late_ns=found.get("late_ns"),
                reason=found.get("reason"),
            )
