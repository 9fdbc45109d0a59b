"""Describes experiments: what was tried, and what their answer is."""

from whyperf.analyze.text import count, seconds, si, significant
from whyperf.explain.experiments.answer import Answer, Tried, Why
from whyperf.explain.experiments.goals import NS, RATE_NAME
from whyperf.explain.experiments.outcomes import HALF_FROM, HALF_TO
from whyperf.explain.experiments.tries import AFTER_REST, WITHOUT
from whyperf.explain.wording.catalog import capitalized, change_text, interval_text, listed, render, template

ENDED = {
    "certain": "",
    "nothing_to_learn": "no other experiment can show more",
    "budget": "the time was over; --budget gives more",
    "stopped": "stopped before it was certain",
    "failed": "a host was lost before it was certain",
    "void": "the original could not be measured; whyperf show on the experiments says why",
    "not_repeated": "the command could not be run again",
}
"""Why no more was tried."""
_EARLY = frozenset(ENDED) - {"certain", "nothing_to_learn"}


def try_words(name: str) -> str:
    """Words for what an experiment of the ladder does: `larger writes`."""
    if name.startswith(WITHOUT):
        return render("try", "all-but", {"name": try_words(name.removeprefix(WITHOUT))})
    return render("try", name, {})


def answer_words(
    answer: Answer, rates: tuple[str, str] | None = None, *, goal: str = RATE_NAME, is_open: bool = False
) -> str:
    """The headline; `rates` are those without and with the change, or what else was the goal, where they are known, and
    `is_open` says that there are experiments which were not made.
    """
    limits = listed([template("limit", cause) for cause in answer.causes])
    values = {
        "limit": capitalized(limits) if limits and answer.known != "nothing" else limits or None,
        "causes": answer.causes,
        "probability_ratio": answer.probability,
        "from": None if rates is None else rates[0],
        "to": None if rates is None else rates[1],
        "times": None if answer.gain is None else significant(answer.gain),
        "interval": interval_text(answer.low, answer.high),
        "pairs": count(answer.pairs, "pair"),
        "change": change_text(answer.factors),
        "goal": goal,
    }
    code: str = "proved_lower" if answer.known == "proved" and rates is None else answer.known
    if answer.known == "likely" and answer.tried:
        code = "seeming"
    elif is_open and code in {"seen", "likely"}:
        code = "open"
    return render("answer", _of_goal(code, goal), values)


def _of_goal(code: str, goal: str) -> str:
    """The template's code for a goal."""
    return code if goal == RATE_NAME else f"{code}.latency"


def headline_of(why: Why) -> str:
    """The answer with its rates. What is kept may be of another version, or damaged: then it says how it is known."""
    answer, rates = why.answer, None
    try:
        if why.original is not None and answer.gain is not None:
            better = why.original * answer.gain if why.is_of_rate else why.original / answer.gain
            rates = (_amount(why.original, why.unit), _amount(better, why.unit))
        return answer_words(answer, rates, goal=why.goal, is_open=why.ended in _EARLY or bool(why.spared))
    except (KeyError, ValueError, ArithmeticError):
        return f"The answer has no text in this version ({answer.known}: {', '.join(answer.causes) or 'no cause'})."


def _amount(value: float, unit: str) -> str:
    return seconds(value) if unit == NS else si(value, unit)


def goal_words(why: Why) -> str:
    """Words for what was to be better, and how it is in the original; "" of the rate."""
    if why.is_of_rate:
        return ""
    try:
        value = None if why.original is None else _amount(why.original, why.unit)
    except (ValueError, OverflowError):
        value = None
    return render("goal", "unknown" if value is None else "latency", {"goal": why.goal, "value": value})


def bar_words(why: Why) -> str:
    """Words for what a bar of the report is."""
    return render("goal", _of_goal("bar", why.goal), {"goal": why.goal})


def not_reproduced_words(why: Why) -> str:
    """That the load was another one in the experiments; "" where it was the same."""
    if why.ended == "void":
        return "Not reproduced: no trial of the original has a rate."
    if why.is_reproduced or why.original is None or why.rate is None:
        return ""
    try:
        now, then = _amount(why.original, why.unit), _amount(why.rate, why.unit)
    except (ValueError, OverflowError):
        return "Not reproduced; run it again."
    return f"Not reproduced: the original has {now} now, and had {then} at first; run it again."


def spared_words(why: Why) -> str:
    """The experiments that were left out for the sake of others; "" where there are none, or nothing is open."""
    if not why.spared or why.answer.known == "proved":
        return ""
    return render("answer", "spared", {"names": listed([try_words(name) for name in why.spared])})


def outcome_words(tried: Tried) -> str:
    """`1.9 ×`, `no difference`, `open (0.9–1.4 ×)`."""
    if tried.outcome == "same":
        return "no difference"
    if tried.outcome == "open":
        return f"{significant(tried.gain)} ×, not certain"
    return f"{significant(tried.gain)} ×"


def shows_words(tried: Tried, why: Why) -> str:
    """Says in a few words what an outcome says of the causes."""
    if tried.name in why.answer.tried.split("+"):
        return listed([template("limit", cause) for cause in why.answer.causes])
    if tried.parts:
        return ""
    if signs := _signs(tried):
        return listed([template("sign", sign) for sign in signs])
    fitting = tried.relieves if tried.outcome == "raises" else tried.halves if _is_half(tried) else []
    if fitting:
        likely = {each.cause: each.probability for each in why.probabilities}
        first = max(fitting, key=lambda cause: likely.get(cause, 0.0))
        return f"fits {template('limit', first)}" if likely.get(first, 0.0) >= _FITS else ""
    excluded = tried.halves or (tried.relieves if tried.is_remedy else [])
    if tried.outcome == "same" and excluded:
        return f"not {listed([template('limit', cause) for cause in excluded], 'or')}"
    return ""


def _is_half(tried: Tried) -> bool:
    return tried.outcome == "lowers" and HALF_FROM <= tried.gain <= HALF_TO


def _signs(tried: Tried) -> list[str]:
    """Signs that a slower pace shows, or a rest, by the names of their texts."""
    if tried.name == AFTER_REST:
        return ["saves_up"] if tried.outcome == "raises" else []
    losses = {True: ["losses_end"], False: ["losses_stay"], None: []}[tried.losses_end]
    return losses + {True: ["queue_empties"], False: ["queue_stays"] if losses else [], None: []}[tried.queue_empties]


_FITS = 0.05
"""Less probable causes are not named."""
