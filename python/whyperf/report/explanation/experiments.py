"""Experiments as a ladder: a line for each, with a bar of its gain on a logarithmic axis around 1 ×.

Values are from a file that may be of another version, or damaged: what cannot be drawn or worded is left out.
"""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from math import isfinite, log

from whyperf.analyze.text import count, seconds, significant
from whyperf.explain.experiments.answer import Tried, Why
from whyperf.explain.wording.catalog import change_text
from whyperf.explain.wording.experiments import (
    ENDED,
    bar_words,
    headline_of,
    not_reproduced_words,
    shows_words,
    spared_words,
    try_words,
)

MAX_SHOWN = 12
"""Lines at first, as on the terminal."""
MAX_FOLDED = 60
"""At most this many more are in a collapsed list; why.json has all."""
MARKS = tuple(digit * 10.0**power for power in range(-3, 4) for digit in (1, 2, 5) if (power, digit) <= (3, 1))
"""Ends and marks of an axis: 1-2-5 in each decade. Beyond a factor of 1,000 a bar shows nothing that
its figure does not."""
LEAST, MOST = 0.5, 2.0
"""An axis has at least these ends, so that the noise of a gain of 1 × looks small."""
MAX_MARKS = 7
"""Marks that are apart on a phone of 400 pixels."""
PLAIN_FROM, PLAIN_BELOW = 1e-3, 1e6
"""Numbers that are readable without an exponent."""


@dataclass(frozen=True)
class Axis:
    """A logarithmic axis; places are in percent from its left end."""

    low: float
    high: float

    def place(self, times: float) -> float:
        """Where a gain is, at an end where it is beyond it."""
        inside = min(max(times, self.low), self.high)
        return round(100 * log(inside / self.low) / log(self.high / self.low), 2)

    @property
    def marks(self) -> tuple[tuple[float, str], ...]:
        """The places and texts of its marks; only powers of ten on a long one."""
        found = [mark for mark in MARKS if self.low <= mark <= self.high]
        if len(found) > MAX_MARKS:
            found = [mark for mark in found if mark in MARKS[::3]]
        return tuple((self.place(mark), f"{significant(mark, 1)} ×") for mark in found)

    @property
    def center(self) -> float:
        """Where nothing is gained."""
        return self.place(1.0)

    def span(self, first: float, last: float) -> tuple[float, float] | None:
        """Left end and width of what goes from one to the other; None where one is not known."""
        if not (isfinite(first) and isfinite(last)):
            return None
        left, right = sorted((self.place(first), self.place(last)))
        return left, round(right - left, 2)


@dataclass(frozen=True)
class Rung:
    """An experiment as it is shown: its words, its gain as text and as a bar, what it shows."""

    name: str
    change: str
    outcome: str
    is_proof: bool
    is_of_path: bool
    gain: str
    interval: str
    remark: str
    shows: str
    bar: tuple[float, float] | None
    whisker: tuple[float, float] | None


@dataclass(frozen=True)
class Experiments:
    """The answer of experiments, and each of them; `place` is the cell of a sweep that they are of."""

    headline: str
    warning: str
    place: str
    made: str
    bar: str
    axis: Axis
    shown: tuple[Rung, ...]
    folded: tuple[Rung, ...]
    left: int
    spared: str


def experiments_view(why: Why, place: str = "") -> Experiments:
    """The experiments, those first that prove the answer, the others in the order of the file: that of the gains."""
    proofs = set(why.answer.tried.split("+")) if why.answer.known == "proved" else set()
    ordered = sorted(why.tried, key=lambda tried: tried.name not in proofs)[: MAX_SHOWN + MAX_FOLDED]
    left_out = ""
    with suppress(KeyError):
        left_out = spared_words(why)
    axis = axis_of(value for tried in ordered for value in (tried.gain, tried.low, tried.high))
    rungs = tuple(_rung(tried, why, axis, is_proof=tried.name in proofs) for tried in ordered)
    return Experiments(
        headline=headline_of(why),
        warning=not_reproduced_words(why),
        place=place,
        made=_made(why),
        bar=bar_words(why),
        axis=axis,
        shown=rungs[:MAX_SHOWN],
        folded=rungs[MAX_SHOWN:],
        left=len(why.tried) - len(rungs),
        spared=left_out,
    )


def axis_of(gains: Iterable[float]) -> Axis:
    """An axis from mark to mark that has all gains, as far as axes go."""
    known = [gain for gain in gains if isfinite(gain)]
    low, high = min([LEAST, *known]), max([MOST, *known])
    return Axis(
        max((mark for mark in MARKS if mark <= low), default=MARKS[0]),
        min((mark for mark in MARKS if mark >= high), default=MARKS[-1]),
    )


def _rung(tried: Tried, why: Why, axis: Axis, *, is_proof: bool) -> Rung:
    name, shows = tried.name, ""
    with suppress(KeyError):
        name = try_words(tried.name)
    # The catalog has no such cause, or the file names none.
    with suppress(KeyError, ValueError):
        shows = shows_words(tried, why)
    ends = sorted((tried.low, tried.high))
    return Rung(
        name=name,
        change=change_text(tried.factors),
        outcome=tried.outcome,
        is_proof=is_proof,
        is_of_path=tried.is_of_path,
        gain=f"{_number(tried.gain)} ×" if isfinite(tried.gain) else "gain not known",
        interval="–".join(map(_number, ends)) if all(map(isfinite, ends)) else "",
        remark=_REMARKS.get(tried.outcome, ""),
        shows=shows,
        bar=axis.span(1.0, tried.gain),
        whisker=axis.span(tried.low, tried.high),
    )


_REMARKS = {"same": "no difference", "open": "not certain"}
"""Outcomes that the number alone does not show."""


def _number(value: float) -> str:
    return significant(value) if value == 0 or PLAIN_FROM <= abs(value) < PLAIN_BELOW else f"{value:.1e}"


def _made(why: Why) -> str:
    took = f" in {seconds(why.seconds * 1e9)}" if isfinite(why.seconds * 1e9) else ""
    return "; ".join(filter(None, (f"{count(why.trials, 'trial')}{took}", ENDED[why.ended])))
