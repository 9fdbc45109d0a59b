"""Contents of the live view of a watch: cells of a row, order and filter, and the budget of one connection as text.

A row has two lines, so that all of it fits into 80 columns: what this side sends is above what it receives.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple, Protocol, TypeVar

from rich.text import Text

from whyperf.analyze.text import percent, seconds, si
from whyperf.cli.live.watched_lines import ends, program
from whyperf.foreign.texts import visible
from whyperf.watch.live_limits import MEANINGS, NS_PER_S, SHORT, ConnectionInterval, Limit

#: Columns and their widths, 78 in all.
WIDTHS: Final[Mapping[str, int]] = {
    "Connection": 22,
    "bit/s": 9,
    "RTT, cwnd": 10,
    "Windows": 9,
    "Again": 6,
    "Limit now": 14,
    "Last 5 s": 8,
}
SENT, RECEIVED = "↑", "↓"
COLORS: Final[Mapping[Limit, str]] = {
    Limit.NOTHING_TO_SEND: "bright_black",
    Limit.RECEIVE_WINDOW: "magenta",
    Limit.SEND_BUFFER: "yellow",
    Limit.NETWORK: "cyan",
    Limit.ACKNOWLEDGMENT: "blue",
    Limit.NOTHING_ARRIVES: "bright_black",
    Limit.READER: "red",
    Limit.SENDER_OR_NETWORK: "green",
    Limit.MIXED: "white",
}
BAR: Final = "█"
#: Shares of a budget that have a line.
MIN_SHARE: Final = 0.005


class _Row(Protocol):
    @property
    def last(self) -> ConnectionInterval: ...


RowType = TypeVar("RowType", bound=_Row)


class Sort(NamedTuple):
    """An order of the rows: the largest key first."""

    name: str
    key: Callable[[ConnectionInterval], Any]


SORTS: Final[Sequence[Sort]] = (
    Sort("rate", lambda each: each.send_bps + each.receive_bps),
    Sort("RTT", lambda each: each.last["rtt_ns"]),
    Sort("retransmissions", lambda each: each.retransmitted_segments),
    Sort("program", lambda each: (each.program, each.process or 0)),
    Sort("limit", lambda each: each.verdict.value),
)


def sorted_rows(rows: Sequence[RowType], sort: int, *, is_reversed: bool) -> list[RowType]:
    """The rows in an order of `SORTS`; those that are alike stay as they are."""
    return sorted(rows, key=lambda row: SORTS[sort].key(row.last), reverse=not is_reversed)


def matches(each: ConnectionInterval, text: str) -> bool:
    """True where a row has the text of the filter in its program, process, addresses, ports or limits."""
    limits = (SHORT[each.sent.limit], SHORT[each.received.limit])
    return text.strip().lower() in " ".join((program(each), ends(each), *limits)).lower()


def cells_of(last: ConnectionInterval, recent: ConnectionInterval, side: str | None = None) -> list[Text]:
    """The cells of a row, each of two lines; `side` is named where two sides are watched."""
    state = last.last
    name = program(last) if side is None else f"{side} {program(last)}"
    return [
        _two(_cut(name, WIDTHS["Connection"] - 1), _cut(visible(last.endpoints["remote"]), WIDTHS["Connection"] - 1)),
        _two(f"{SENT}{short_rate(last.send_bps)}", f"{RECEIVED}{short_rate(last.receive_bps)}"),
        _two(seconds(state["rtt_ns"]), f"{state['cwnd_segments']:,} seg"),
        _two(f"{SENT}{_size(state['peer_window_bytes'])}", f"{RECEIVED}{_size(state['own_window_bytes'])}"),
        _two(f"{last.retransmitted_segments:,}", "closed" if last.is_closed else ""),
        Text.assemble(
            (SHORT[last.sent.limit], COLORS[last.sent.limit]),
            "\n",
            (SHORT[last.received.limit], COLORS[last.received.limit]),
        ),
        _verdict(recent),
    ]


def short_rate(bps: float) -> str:
    """`941M`, `1.20G`, `0`."""
    return si(bps, "").replace(" ", "") if bps >= 1 else "0"


def budget_text(
    intervals: Sequence[ConnectionInterval], recent: ConnectionInterval, *, sends: bool, width: int
) -> Text:
    """One direction of a connection, the newest interval first: a bar of limits for each, and their meanings."""
    last = intervals[-1]
    text = Text()
    text.append(f"{program(last)}  {ends(last)}\n", "bold")
    text.append(f"What this side {'sends' if sends else 'receives'}; d shows the other direction\n\n")
    total = _direction(recent, sends=sends)
    for limit, ns in sorted(total.ns_by_limit.items(), key=lambda item: -item[1]):
        if ns >= MIN_SHARE * recent.length_ns:
            share = percent(ns / recent.length_ns)
            text.append(f"{BAR * 2} ", COLORS[limit])
            text.append(f"{share:>6} {SHORT[limit]}: {MEANINGS[limit]}\n")
    text.append(f"of the last {recent.length_ns / NS_PER_S:.0f} s\n\n")
    bar_width = max(10, width - 20)
    for each in reversed(intervals):
        part = _direction(each, sends=sends)
        ago_s = (last.end_ns - each.end_ns) / NS_PER_S
        rate = each.send_bps if sends else each.receive_bps
        text.append(f"{-ago_s:6.1f} s {short_rate(rate):>7} ")
        text.append_text(bar(part.ns_by_limit, bar_width))
        text.append("\n")
        if each is last:
            text.append(f"  {_evidence(each, sends=sends)}\n", "bright_black")
    return text


def bar(ns_by_limit: Mapping[Limit, int], width: int) -> Text:
    """A bar of `width` characters, split as the time is; what takes time has a character where there is room."""
    total = sum(ns_by_limit.values())
    text, drawn, passed_ns = Text(), 0, 0
    for limit, ns in ns_by_limit.items():
        passed_ns += ns
        until = round(width * passed_ns / total) if total else 0
        text.append(BAR * (until - drawn), COLORS[limit])
        drawn = until
    return text


def _evidence(each: ConnectionInterval, *, sends: bool) -> str:
    state = each.last
    if sends:
        return (
            f"unsent {state['unsent_bytes']:,} B, not acknowledged {state['send_queue_bytes']:,} B, peer's window "
            f"{_size(state['peer_window_bytes'])}, cwnd {state['cwnd_segments']:,} × {state['mss_bytes']:,} B, "
            f"{each.retransmitted_segments:,} of {each.sent_segments:,} segments retransmitted"
        )
    return (
        f"not read {state['receive_queue_bytes']:,} B, window announced {_size(state['own_window_bytes'])}, RTT "
        f"{seconds(state['rtt_ns'])}"
    )


def _direction(each: ConnectionInterval, *, sends: bool) -> Any:
    return each.sent if sends else each.received


def _verdict(recent: ConnectionInterval) -> Text:
    """The limit of the last seconds of the direction in which more moved, on two lines."""
    limit = recent.verdict
    first, _, second = SHORT[limit].replace("/", "/ ").partition(" ")
    return Text(f"{first}\n{second}", COLORS[limit])


def _two(above: str, below: str) -> Text:
    return Text(f"{above}\n{below}")


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"


def _size(size_bytes: int | None) -> str:
    """`65.5kB`; `?` where the kernel does not show it."""
    return "?" if size_bytes is None else si(size_bytes, "B").replace(" ", "")
