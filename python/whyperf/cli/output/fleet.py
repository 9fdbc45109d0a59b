"""The lines on a fleet: its pairs, how evenly they share, and which host is slow. At most 80 columns."""

from collections.abc import Callable, Iterator, Sequence

from whyperf.analyze.fleet.result import Fleet, FleetPair, SlowHost
from whyperf.analyze.text import bit_rate, count, percent, seconds, significant
from whyperf.report.charts.metric import per_second

#: Prints a rate in bit/s.
ToText = Callable[[float], str]
MAX_PAIRS = 16
"""With more, only the slowest and the fastest are printed."""
SLOWEST, FASTEST = 5, 2
QUANTILES = (0.1, 0.5, 0.9)
WIDTH = 16
MAX_GROUPS = 8
_NAMES = 27
_LIMITS = {
    "receive_window": "recv. window",
    "send_buffer": "send buffer",
    "application": "application",
    "in_flight": "in flight",
}
"""Names of what the kernel's clocks have most of a pair's time of."""


def fleet_lines(fleet: Fleet, rate: ToText = bit_rate) -> Iterator[str]:
    """The result of a cell by pair, after what was reached in all."""
    for name, text in _facts(fleet, rate):
        yield f"{name:<{WIDTH}}{text}"
    yield ""
    yield from _table(fleet, rate)


def shared_text(fleet: Fleet) -> str:
    """Says how evenly a fleet shared the rate, and how close together it began; empty where neither is known."""
    parts = [] if fleet.fairness is None else [f"fairness {significant(fleet.fairness, 3)} over pairs (Jain's index)"]
    if skew := _skew(fleet):
        parts.append(skew)
    return ", ".join(parts)


def _skew(fleet: Fleet) -> str:
    """Between the first calls of all hosts, with the bound of their clocks."""
    window = fleet.window
    if window.skew_s is None:
        return ""
    bound = "" if window.skew_bound_s is None else f" ± {seconds(window.skew_bound_s * 1e9)}"
    return f"first calls within {seconds(window.skew_s * 1e9)}{bound}"


def slow_text(host: SlowHost, fleet: Fleet) -> str:
    """A slow host in a few words: `n5 sends at 41 % of the rate of the others`."""
    if host.host is None or host.role == "pair":
        pair = fleet.pair(host.pairs[0])
        named = "" if host.host is None else f", probably {host.host}"
        return f"{pair.sender} to {pair.receiver} reaches {percent(host.ratio)} of the rate of the others{named}"
    does = "sends" if host.role == "sender" else "receives"
    return f"{host.host} {does} at {percent(host.ratio)} of the rate of the others"


def _facts(fleet: Fleet, rate: ToText) -> Iterator[tuple[str, str]]:
    yield "Fleet", f"{fleet.pattern}, {count(len(fleet.pairs), 'pair')} of {count(len(fleet.hosts), 'host')}"
    indices = [
        f"{significant(index, 3)} over {what}"
        for index, what in ((fleet.fairness, "pairs"), (fleet.fairness_hosts, "sending hosts"))
        if index is not None
    ]
    if indices:
        yield "Fairness", f"{', '.join(indices)} (Jain's index)"
    window = fleet.window
    if window.window_s is not None:
        yield "Common window", ", ".join(filter(None, (seconds(window.window_s * 1e9), _skew(fleet))))
    if busy := sorted((host.cpu_ratio, host.host) for host in fleet.hosts if host.cpu_ratio is not None):
        (most, name), (usual, _) = busy[-1], busy[len(busy) // 2]
        yield "CPUs", f"busiest host {name} {percent(most)}, median of {count(len(busy), 'host')} {percent(usual)}"
    for group in fleet.groups[:MAX_GROUPS]:
        moved = [
            f"{verb} {rate(spread.median)}"
            for verb, spread in (("sends", group.sent_bps), ("receives", group.received_bps))
            if spread.median
        ]
        yield (
            f"Group {group.group}"[: WIDTH - 1],
            f"{count(group.hosts, 'host')}, {', '.join(moved) or 'moved nothing'}",
        )
    if len(fleet.groups) > MAX_GROUPS:
        yield "", f"--json has {count(len(fleet.groups) - MAX_GROUPS, 'more group')}"
    for late in fleet.stragglers[:SLOWEST]:
        by = "" if late.late_ns is None else f" {seconds(late.late_ns)}"
        why = "" if late.reason is None else f": {late.reason}"
        yield "Late", f"{late.host}{by}, trial {late.trial}{why}"[: 80 - WIDTH]
    for host in fleet.slow[:SLOWEST]:
        yield "Slow host", slow_text(host, fleet)
    if not fleet.slow and fleet.compared:
        yield "Slow host", "none: all are within their spread"


def _table(fleet: Fleet, rate: ToText) -> Iterator[str]:
    counts = any(pair.transactions_per_s.median is not None for pair in fleet.pairs)
    to_text = per_second if counts else rate

    def value(pair: FleetPair) -> float | None:
        return pair.transactions_per_s.median if counts else pair.goodput_bps.median

    yield _row("#", "Pair", "Rate" if counts else "Goodput", "RTT", "Retr.", "Limited by")
    measured = sorted((pair for pair in fleet.pairs if value(pair) is not None), key=lambda pair: value(pair) or 0.0)
    lost = [pair for pair in fleet.pairs if value(pair) is None]
    if len(fleet.pairs) <= MAX_PAIRS:
        for pair in fleet.pairs:
            yield _of_pair(pair, value(pair), to_text)
        return
    for pair in measured[:SLOWEST]:
        yield _of_pair(pair, value(pair), to_text)
    left = measured[SLOWEST:-FASTEST]
    yield f"{'':5}… {len(left):,} more; --json has all"
    for pair in measured[-FASTEST:]:
        yield _of_pair(pair, value(pair), to_text)
    rates = [value(pair) or 0.0 for pair in measured]
    shown = (
        [f"{share:.0%} {to_text(_quantile(rates, share))}".replace("%", " %") for share in QUANTILES] if rates else []
    )
    if shown:
        yield f"{'Quantiles':<{WIDTH}}{', '.join(shown)}"
    if lost:
        yield f"{'No result':<{WIDTH}}{count(len(lost), 'pair')}: {_names(lost)}"


def _quantile(ordered: Sequence[float], share: float) -> float:
    """By linear interpolation."""
    at = share * (len(ordered) - 1)
    low = int(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (at - low) * (ordered[high] - ordered[low])


def _of_pair(pair: FleetPair, value: float | None, to_text: ToText) -> str:
    limit = ""
    if pair.limited_by is not None and pair.limited_ratio is not None:
        limit = f"{_LIMITS[pair.limited_by]} {percent(pair.limited_ratio)}"
    return _row(
        str(pair.pair),
        f"{pair.sender} → {pair.receiver}",
        "no result" if value is None else to_text(value),
        "" if pair.rtt_ns is None else seconds(pair.rtt_ns),
        "" if pair.retransmitted_ratio is None else percent(pair.retransmitted_ratio),
        limit,
    )


def _row(number: str, name: str, *columns: str) -> str:
    """A line: number, hosts, and then rate, RTT, retransmissions and limit."""
    rate, trip, again, limit = columns
    short = name if len(name) <= _NAMES else f"{name[: _NAMES - 1]}…"
    return f"{number:>4} {short:<{_NAMES}} {rate:>12} {trip:>8} {again:>7}  {limit}".rstrip()


def _names(pairs: Sequence[FleetPair]) -> str:
    listed = ", ".join(f"{pair.near}-{pair.far}" for pair in pairs)
    return listed if len(listed) <= 45 else f"{listed[:44]}…"
