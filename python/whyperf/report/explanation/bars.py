"""Budgets as stacked bars: one a connection and end, many connections together."""

from collections.abc import Sequence
from dataclasses import dataclass

from whyperf.analyze.text import count, percent, seconds
from whyperf.explain.budget.chronographs import TOLERANCE_NS
from whyperf.explain.model import Budget, Chronograph
from whyperf.explain.states import SenderState
from whyperf.report.explanation.styles import Look, look_of, rank_of

MOST_BARS = 8
"""Connections with a bar of their own; more are told together, and the first ones below."""
LEAST_RATIO = 0.0005
"""States with less of the life are in the figures, not in the bar."""
NAMED_RATIO = 0.14
"""From here on a part has room for its name on a wide screen."""


@dataclass(frozen=True)
class BarPart:
    """A state in a bar: its look, its part of the life, and what is written in it."""

    look: Look
    ratio: float
    told: str
    time: str
    spells: str

    @property
    def is_named(self) -> bool:
        """Whether there is room for its name."""
        return self.ratio >= NAMED_RATIO


@dataclass(frozen=True)
class Bar:
    """The life of a connection at one end, or of several together."""

    title: str
    role: str
    life: str
    parts: tuple[BarPart, ...]
    checks: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """The same for those who cannot see it."""
        shares = sorted(self.parts, key=lambda part: -part.ratio)
        return f"{self.title}: " + ", ".join(f"{part.look.name} {part.told}" for part in shares)


@dataclass(frozen=True)
class Bars:
    """The bars of a cell: those to be seen at once, and single connections that are folded away."""

    shown: tuple[Bar, ...]
    folded: tuple[Bar, ...] = ()
    fold: str = ""
    looks: tuple[Look, ...] = ()


def bars_of(budgets: Sequence[Budget]) -> Bars:
    """The bars of a trial's budgets, the sender's first."""
    ends = [[one for one in budgets if one.role == role] for role in ("sender", "receiver")]
    ends = [sorted(end, key=lambda one: (one.host, one.connection)) for end in ends if end]
    most = max((len(end) for end in ends), default=0)
    single = [_bar([budget], several=most > 1) for end in ends for budget in end[:MOST_BARS]]
    if most <= 1:
        shown, folded, fold = single, [], ""
    else:
        shown = [_bar(end, several=True) for end in ends]
        first = f"the first {MOST_BARS} of " if most > MOST_BARS else ""
        folded, fold = single, f"Each connection by itself ({first}{most:,})"
    # Both ends may wait for a CPU: one key for what looks the same.
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
        BarPart(look_of(state, first.role), ns / life if life else 0.0, percent(ns / life if life else 0.0), *told)
        for state, (ns, spells) in sorted(times.items(), key=lambda one: rank_of(one[0], first.role))
        if ns > 0 and (told := (seconds(ns), count(spells, "time")))
    )
    end = "Sender" if first.role == "sender" else "Receiver"
    if len(budgets) > 1:
        title = f"{end}, {len(budgets):,} connections together"
        length = f"{seconds(life / len(budgets))} each on average"
    else:
        title = f"{end}, connection {first.connection}" if several else end
        length = seconds(life)
    checks = tuple(text for budget in budgets if len(budgets) == 1 for text in _checks(budget))
    return Bar(title, first.role, length, parts, checks)


CLOCKS = {
    "busy": "busy",
    "rwnd_limited": "limited by the receive window",
    "sndbuf_limited": "limited by the send buffer",
}


def _checks(budget: Budget) -> list[str]:
    """The kernel's chronographs beside the same states, in sentences."""
    return [
        f"The kernel counted {seconds(clock.kernel_ns)} {CLOCKS[clock.name]}, the budget "
        f"{seconds(clock.budget_ns)} as the kernel counts: "
        + ("they agree." if clock.agrees else "they do not agree.")
        + besides(budget, clock)
        for clock in budget.chronographs
    ]


_COUNTED = {
    "rwnd_limited": (SenderState.RECEIVE_WINDOW_BUFFER, SenderState.RECEIVE_WINDOW_READER, SenderState.ZERO_WINDOW),
    "sndbuf_limited": (SenderState.SEND_BUFFER,),
}


def besides(budget: Budget, clock: Chronograph) -> str:
    """Why a state above has more than its clock, where it has: the kernel counts in ticks and by rules of its own."""
    states = _COUNTED.get(clock.name, ())
    longer = sum(share.ns for share in budget.shares if share.state in states)
    if longer <= clock.budget_ns + TOLERANCE_NS:
        return ""
    words = "the kernel's clock misses waits within one of its ticks, and those in which another limit comes first"
    return f" The states above have {seconds(longer)}: {words}."
