"""Time budgets as stacked bars: one per connection and host, or one for many connections."""

from collections.abc import Sequence
from dataclasses import dataclass

from whyperf.analyze.text import count, percent, seconds
from whyperf.explain.explanation import TOLERANCE_NS, Budget, Chronograph
from whyperf.explain.states import SenderState
from whyperf.report.explanation.styles import Look, look_of, rank_of

MAX_BARS = 8
"""With more connections, one bar shows them together, and only the first ones have bars of their own."""
MIN_RATIO = 0.0005
"""States with a smaller share of the time are in the figures only, not in the bar."""
NAMED_RATIO = 0.14
"""A part with at least this share has room for its name on a wide screen."""


@dataclass(frozen=True)
class BarPart:
    """A state in a bar: its look, its share of the time, and its texts."""

    look: Look
    ratio: float
    share: str
    time: str
    spells: str

    @property
    def is_named(self) -> bool:
        """True where there is room for its name."""
        return self.ratio >= NAMED_RATIO


@dataclass(frozen=True)
class Bar:
    """The time budget of a connection at one host, or of several connections together."""

    title: str
    role: str
    life: str
    parts: tuple[BarPart, ...]
    checks: tuple[str, ...] = ()

    @property
    def description(self) -> str:
        """The same for screen readers."""
        parts = sorted(self.parts, key=lambda part: -part.ratio)
        return f"{self.title}: " + ", ".join(f"{part.look.name} {part.share}" for part in parts)


@dataclass(frozen=True)
class Bars:
    """The bars of a cell: those shown at first, and single connections in a collapsed list."""

    shown: tuple[Bar, ...]
    folded: tuple[Bar, ...] = ()
    fold: str = ""
    looks: tuple[Look, ...] = ()


def bars_of(budgets: Sequence[Budget]) -> Bars:
    """The bars of the budgets of a trial, the sender first."""
    roles = [[budget for budget in budgets if budget.role == role] for role in ("sender", "receiver")]
    roles = [sorted(own, key=lambda budget: (budget.host, budget.connection)) for own in roles if own]
    connections = max((len(own) for own in roles), default=0)
    single = [_bar([budget], several=connections > 1) for own in roles for budget in own[:MAX_BARS]]
    if connections <= 1:
        shown, folded, fold = single, [], ""
    else:
        shown = [_bar(own, several=True) for own in roles]
        first = f"the first {MAX_BARS} of " if connections > MAX_BARS else ""
        folded, fold = single, f"Single connections ({first}{connections:,})"
    # Both hosts can have the same state, such as waiting for a CPU: it has one key.
    drawn: dict[str, Look] = {}
    for bar in shown:
        for part in bar.parts:
            drawn.setdefault(part.look.name, part.look)
    return Bars(tuple(shown), tuple(folded), fold, tuple(drawn.values()))


def _bar(budgets: Sequence[Budget], *, several: bool) -> Bar:
    first = budgets[0]
    life = sum(budget.life_ns for budget in budgets)
    times: dict[str, tuple[int, int]] = {}
    for budget in budgets:
        for share in budget.shares:
            ns, spells = times.get(share.state, (0, 0))
            times[share.state] = (ns + share.ns, spells + share.spells)
    parts = tuple(
        BarPart(look_of(state, first.role), ns / life if life else 0.0, percent(ns / life if life else 0.0), *texts)
        for state, (ns, spells) in sorted(times.items(), key=lambda entry: rank_of(entry[0], first.role))
        if ns > 0 and (texts := (seconds(ns), count(spells, "time")))
    )
    role = "Sender" if first.role == "sender" else "Receiver"
    if len(budgets) > 1:
        title = f"{role}, {len(budgets):,} connections together"
        length = f"{seconds(life / len(budgets))} each on average"
    else:
        title = f"{role}, connection {first.connection}" if several else role
        length = seconds(life)
    checks = tuple(text for budget in budgets if len(budgets) == 1 for text in _checks(budget))
    return Bar(title, first.role, length, parts, checks)


CLOCKS = {
    "busy": "busy",
    "rwnd_limited": "limited by the receive window",
    "sndbuf_limited": "limited by the send buffer",
}


def _checks(budget: Budget) -> list[str]:
    """Compares the chronographs of the kernel with the same states, in sentences."""
    return [
        f"Kernel: {seconds(clock.kernel_ns)} {CLOCKS[clock.name]}. Budget, by the rules of the kernel: "
        f"{seconds(clock.budget_ns)}. " + ("They agree." if clock.agrees else "They disagree.") + excess(budget, clock)
        for clock in budget.chronographs
    ]


_COUNTED = {
    "rwnd_limited": (SenderState.RECEIVE_WINDOW_BUFFER, SenderState.RECEIVE_WINDOW_READER, SenderState.ZERO_WINDOW),
    "sndbuf_limited": (SenderState.SEND_BUFFER,),
}


def excess(budget: Budget, clock: Chronograph) -> str:
    """Why a state has more time than the clock of the kernel; empty where it has not."""
    states = _COUNTED.get(clock.name, ())
    longer = sum(share.ns for share in budget.shares if share.state in states)
    if longer <= clock.budget_ns + TOLERANCE_NS:
        return ""
    return (
        f" The states above have {seconds(longer)}, because the clock of the kernel misses waits shorter than a tick "
        "and waits in which another limit has priority."
    )
