"""Builds the section on the hosts of a fleet."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from whyperf.analyze.fleet.result import Fleet, FleetHost, FleetPair
from whyperf.analyze.spread import Spread
from whyperf.analyze.summary import Summary
from whyperf.analyze.text import bit_rate, count, percent, seconds, setting, significant
from whyperf.explain.explanation import FleetDiagnosis, PairDiagnosis
from whyperf.plan import Plan
from whyperf.report.charts.metric import per_second
from whyperf.report.explanation.cards import cause_title
from whyperf.report.explanation.styles import Look
from whyperf.report.fleet.heat_colors import scale, state_look, step_of
from whyperf.report.table import Column, Entry, Table

MAX_CELLS = 8
"""At most this many cells of a sweep have their maps."""
MAX_SIDE = 64
"""Hosts on each side of a matrix."""
MAX_ROWS = 256
"""Pairs and hosts in a table; --json has all."""
MAX_TILES = 256
_LIMITS = {
    "receive_window": "Receive window",
    "send_buffer": "Send buffer",
    "application": "Application",
    "in_flight": "Data in flight",
}


@dataclass(frozen=True)
class Spot:
    """A pair in the map: classes of its colors, what is printed for each choice, and all in a sentence."""

    classes: str
    name: str
    rate: str
    trip: str
    limit: str
    look: Look | None
    title: str
    is_slow: bool


@dataclass(frozen=True)
class Legend:
    """The lowest and the highest value of a quantity."""

    low: str
    high: str


@dataclass(frozen=True)
class FleetView:
    """A cell. `rows` are the matrix, by near host, with None where there is no pair; `tiles` are there instead of it
    where each host of a side has one peer.
    """

    id: str
    setting: str
    diagnosis: str
    slow: Sequence[tuple[str, str, Sequence[str]]]
    facts: Sequence[tuple[str, str]]
    columns: Sequence[str]
    rows: Sequence[tuple[str, Sequence[Spot | None]]]
    tiles: Sequence[Spot]
    rate_name: str
    rates: Legend | None
    trips: Legend | None
    looks: Sequence[tuple[Look, str]]
    pairs_heading: str
    pairs_note: str
    pairs: Table
    hosts: Table
    notes: Sequence[str]


@dataclass(frozen=True)
class FleetSection:
    """All that the template draws."""

    cells: Sequence[FleetView]
    scale: str
    notes: Sequence[str]


def fleet_section(plan: Plan, summary: Summary, diagnoses: Sequence[FleetDiagnosis]) -> FleetSection | None:
    """The section; None without a fleet."""
    cells = [(cell, cell.fleet) for cell in summary.cells if cell.fleet is not None]
    if not cells:
        return None
    by_cell = {found.cell: found for found in diagnoses}
    views = [
        _view(
            cell.id,
            setting(dict(cell.factors), list(plan.differing)) if len(summary.cells) > 1 else "",
            fleet,
            by_cell.get(cell.id),
        )
        for cell, fleet in cells[:MAX_CELLS]
    ]
    notes = [f"The first {MAX_CELLS} of {count(len(cells), 'cell')} are shown."] if len(cells) > MAX_CELLS else []
    return FleetSection(views, scale(), notes)


def _view(cell: str, named: str, fleet: Fleet, diagnosis: FleetDiagnosis | None) -> FleetView:
    slow_pairs = {pair for host in fleet.slow for pair in host.pairs}
    counts = any(pair.transactions_per_s.median is not None for pair in fleet.pairs)
    rates = [value for pair in fleet.pairs if (value := _rate(pair)) is not None]
    trips = [pair.rtt_ns for pair in fleet.pairs if pair.rtt_ns is not None]
    spots = {pair.pair: _spot(pair, rates, trips, is_slow=pair.pair in slow_pairs) for pair in fleet.pairs}
    near, far = (list(dict.fromkeys(getattr(pair, side) for pair in fleet.pairs)) for side in ("near", "far"))
    # In a mesh both sides have the same hosts; then they have the same order.
    far.sort(key=lambda name: near.index(name) if name in near else len(near))
    is_matrix = min(len(near), len(far)) > 1 and len(fleet.pairs) > max(len(near), len(far))
    places = {(pair.near, pair.far): spots[pair.pair] for pair in fleet.pairs}
    notes = []
    if is_matrix and max(len(near), len(far)) > MAX_SIDE:
        notes.append(f"The map has the first {MAX_SIDE} hosts of each side; the JSON result has all.")
    if not is_matrix and len(fleet.pairs) > MAX_TILES:
        notes.append(f"The map has the first {MAX_TILES} pairs; the JSON result has all.")
    if max(len(fleet.pairs), len(fleet.hosts)) > MAX_ROWS:
        notes.append(f"Tables have {MAX_ROWS} rows at most, the slowest pairs first; the JSON result has all.")
    to_text = per_second if counts else bit_rate
    looks: dict[str, list[Look]] = {}
    for pair in fleet.pairs:
        if pair.limited_by is not None:
            looks.setdefault(pair.limited_by, []).append(state_look(pair.limited_by))
    is_fan_in = fleet.pattern == "fan-in"
    return FleetView(
        id=cell,
        setting=named,
        diagnosis=diagnosis.words if diagnosis is not None else "",
        slow=[
            (found.words, cause_title(found.cause), [fact.words for fact in found.evidence]) for found in diagnosis.slow
        ]
        if diagnosis is not None
        else [],
        facts=_facts(fleet),
        columns=far[:MAX_SIDE] if is_matrix else (),
        rows=[(name, [places.get((name, other)) for other in far[:MAX_SIDE]]) for name in near[:MAX_SIDE]]
        if is_matrix
        else (),
        tiles=() if is_matrix else [spots[pair.pair] for pair in fleet.pairs[:MAX_TILES]],
        rate_name="Transactions" if counts else "Goodput",
        rates=Legend(to_text(min(rates)), to_text(max(rates))) if rates else None,
        trips=Legend(seconds(min(trips)), seconds(max(trips))) if trips else None,
        looks=[(found[0], f"{len(found):,}") for found in sorted(looks.values(), key=len, reverse=True)],
        pairs_heading="Senders of the fan-in" if is_fan_in else "Pairs",
        pairs_note=_INCAST if is_fan_in else "",
        pairs=_pairs_table(fleet.pairs, diagnosis.pairs if diagnosis is not None else (), counts=counts),
        hosts=_hosts_table(fleet.hosts),
        notes=notes,
    )


_INCAST = (
    "Incast: where senders fill the queue before the receiver, round trips grow, segments are lost, and senders wait "
    "for retransmission timers while nothing arrives."
)


def _rate(pair: FleetPair) -> float | None:
    counted = pair.transactions_per_s.median
    return pair.goodput_bps.median if counted is None else counted


def _rate_text(pair: FleetPair) -> str:
    if pair.transactions_per_s.median is not None:
        return per_second(pair.transactions_per_s.median)
    return "no result" if pair.goodput_bps.median is None else bit_rate(pair.goodput_bps.median)


def _limit_text(pair: FleetPair) -> str:
    if pair.limited_by is None:
        return ""
    ratio = "" if pair.limited_ratio is None else f" {percent(pair.limited_ratio)}"
    return f"{_LIMITS[pair.limited_by]}{ratio}"


def _spot(pair: FleetPair, rates: Sequence[float], trips: Sequence[float], *, is_slow: bool) -> Spot:
    rate, look = _rate(pair), None if pair.limited_by is None else state_look(pair.limited_by)
    classes = []
    if rate is not None:
        # From 0 on: where all pairs are about even, they look even.
        classes.append(f"g{step_of(rate, 0.0, max(rates))}")
    if pair.rtt_ns is not None:
        classes.append(f"r{step_of(pair.rtt_ns, 0.0, max(trips))}")
    if look is not None:
        classes.append(f"t-{look.texture}")
    name = f"{pair.sender} → {pair.receiver}"
    trip = "" if pair.rtt_ns is None else seconds(pair.rtt_ns)
    facts = [
        _rate_text(pair),
        f"RTT {trip}" if trip else "",
        "" if pair.retransmitted_ratio is None else f"{percent(pair.retransmitted_ratio)} retransmitted",
        _limit_text(pair).lower(),
        "slow" if is_slow else "",
    ]
    title = f"{name}: {', '.join(fact for fact in facts if fact)}"
    return Spot(" ".join(classes), name, _rate_text(pair), trip, _limit_text(pair), look, title, is_slow)


def _facts(fleet: Fleet) -> list[tuple[str, str]]:
    found = [("Pattern", f"{fleet.pattern}, {count(len(fleet.pairs), 'pair')} of {count(len(fleet.hosts), 'host')}")]
    if fleet.fairness is not None:
        found.append(("Fairness over pairs", f"{significant(fleet.fairness)} (Jain's index)"))
    if fleet.fairness_hosts is not None:
        found.append(("Fairness over senders", f"{significant(fleet.fairness_hosts)} (Jain's index)"))
    window = fleet.window
    if window.window_s is not None:
        found.append(("Common window", seconds(window.window_s * 1e9)))
    if window.skew_s is not None:
        bound = "" if window.skew_bound_s is None else f" ± {seconds(window.skew_bound_s * 1e9)}"
        found.append(("First calls within", f"{seconds(window.skew_s * 1e9)}{bound}"))
    for group in fleet.groups:
        parts = [
            f"{verb} {bit_rate(spread.median)}"
            for verb, spread in (("sends", group.sent_bps), ("receives", group.received_bps))
            if spread.median
        ]
        found.append((f"Group {group.group}", f"{count(group.hosts, 'host')}, {', '.join(parts) or 'moved nothing'}"))
    found += [
        (
            f"Late in trial {late.trial}",
            f"{late.host}{'' if late.late_ns is None else f', {seconds(late.late_ns)}'}"
            f"{'' if late.reason is None else f': {late.reason}'}",
        )
        for late in fleet.stragglers
    ]
    return found


def _number(value: float | None, text: str) -> Entry:
    return Entry("", "") if value is None else Entry(text, f"{value!r}")


def _interval(spread: Spread) -> Entry:
    if spread.low is None or spread.high is None:
        return Entry("")
    return Entry(f"{bit_rate(spread.low)} to {bit_rate(spread.high)}", f"{spread.low!r}")


def _pairs_table(pairs: Sequence[FleetPair], explained: Sequence[PairDiagnosis], *, counts: bool) -> Table:
    causes: Mapping[int, PairDiagnosis] = {found.pair: found for found in explained}
    ordered = sorted(pairs, key=lambda pair: (_rate(pair) is not None, _rate(pair) or 0.0))
    shown = sorted(ordered[:MAX_ROWS], key=lambda pair: pair.pair)
    rate = [Column("Rate", "Transactions per second, median of the trials")] if counts else []
    columns = (
        Column("#", "Number of the pair"),
        Column("Sender", number=False),
        Column("Receiver", number=False),
        *rate,
        Column("Goodput", "Median of the trials"),
        Column("Interval", "Of the trials"),
        Column("RTT", "Median of the smoothed round-trip times of the sender"),
        Column("Queue", "RTT above its minimum"),
        Column("Retransmitted", "Part of the data segments"),
        Column("Timeouts", "Expired retransmission timers of the sender"),
        Column("Idle", "Part of the time in which nothing arrived"),
        Column("Longest gap", "Longest time in which nothing arrived"),
        Column("Limited by", "Most of the time, by the kernel's clocks", number=False),
        Column("Cause", "Strongest verdict, where the pair was explained", number=False),
    )
    rows = []
    for pair in shown:
        own = causes.get(pair.pair)
        counted = pair.transactions_per_s.median
        rows.append(
            (
                Entry(str(pair.pair), str(pair.pair)),
                Entry(pair.sender, pair.sender),
                Entry(pair.receiver, pair.receiver),
                *((_number(counted, "" if counted is None else per_second(counted)),) if counts else ()),
                _number(pair.goodput_bps.median, bit_rate(pair.goodput_bps.median or 0.0)),
                _interval(pair.goodput_bps),
                _number(pair.rtt_ns, seconds(pair.rtt_ns or 0)),
                _number(pair.queue_ns, seconds(pair.queue_ns or 0)),
                _number(pair.retransmitted_ratio, percent(pair.retransmitted_ratio or 0.0)),
                _number(pair.timeouts, significant(pair.timeouts or 0.0)),
                _number(pair.idle_ratio, percent(pair.idle_ratio or 0.0)),
                _number(pair.idle_ns_max, seconds(pair.idle_ns_max or 0)),
                Entry(_limit_text(pair), pair.limited_by or ""),
                Entry("", "") if own is None else Entry(cause_title(own.cause), own.cause.value, own.claim),
            )
        )
    return _without_empty(Table(columns, tuple(rows)))


def _hosts_table(hosts: Sequence[FleetHost]) -> Table:
    columns = (
        Column("Host", number=False),
        Column("Sends", "Goodput of all pairs that it sends to"),
        Column("Receives", "Goodput of all pairs that it receives from"),
        Column("Pairs", "Number of pairs"),
        Column("CPU busy", "Of the CPUs that only this side uses"),
        Column("CPUs of the load", "CPUs that the load's threads used"),
        Column("Timeouts", "Expired retransmission timers"),
    )
    rows = [
        (
            Entry(host.host, host.host),
            _number(host.sent_bps.median or None, bit_rate(host.sent_bps.median or 0.0)),
            _number(host.received_bps.median or None, bit_rate(host.received_bps.median or 0.0)),
            Entry(str(len(host.pairs)), str(len(host.pairs))),
            _number(host.cpu_ratio, percent(host.cpu_ratio or 0.0)),
            _number(host.load_cpus, significant(host.load_cpus or 0.0)),
            _number(host.timeouts, significant(host.timeouts or 0.0)),
        )
        for host in hosts[:MAX_ROWS]
    ]
    return _without_empty(Table(columns, tuple(rows)))


def _without_empty(table: Table) -> Table:
    """The table without columns in which nothing is known."""
    kept = [at for at, _ in enumerate(table.columns) if any(row[at].text for row in table.rows)]
    return Table(tuple(table.columns[at] for at in kept), tuple(tuple(row[at] for at in kept) for row in table.rows))
