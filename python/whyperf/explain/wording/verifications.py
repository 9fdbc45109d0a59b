"""Describes a verification: its change, what it measured, and whether the cause and the prediction are right."""

import math
from collections.abc import Mapping

from whyperf.analyze.text import count, percent, significant
from whyperf.explain.model import Verification
from whyperf.explain.wording.catalog import render
from whyperf.profile import BY_NAME, Level


def with_text(found: Verification) -> Verification:
    """The verification with its text."""
    cause, prediction = _cause(found), _prediction(found)
    update = {"cause_words": cause, "prediction_words": prediction, "words": f"{cause} {prediction}".rstrip()}
    return found.model_copy(update=update)


def _cause(found: Verification) -> str:
    tried = int(str(found.values["tried_pairs"]))
    pairs = count(found.pairs, "pair") if found.pairs == tried else f"{found.pairs} of {count(tried, 'pair')}"
    measured = {
        "pairs": pairs,
        "gain": None if found.measured_gain is None else gain_text(found.measured_gain),
        "interval": interval_text(found.low, found.high),
    }
    return render("verification", found.code, {**found.values, **measured})


def _prediction(found: Verification) -> str:
    """Whether the measured interval meets the predicted one; "" without a measured one."""
    if found.low is None or found.high is None or found.measured_gain is None:
        return ""
    if found.predicted_gain is None:
        return render("verification", "no_prediction", {})
    code = {True: "right", False: "wrong", None: "undecided"}[found.is_as_predicted]
    values = {
        "predicted_times": found.predicted_gain,
        "predicted_interval": interval_text(found.predicted_low, found.predicted_high),
        "measured_times": found.measured_gain,
        "interval": interval_text(found.low, found.high),
    }
    return render("verification", code, values)


def interval_text(low: float | None, high: float | None, digits: int = 3) -> str | None:
    """`2.80–3.40`; None where an end is not known."""
    return None if low is None or high is None else f"{significant(low, digits)}–{significant(high, digits)}"


def gain_text(gain: float) -> str:
    """A gain: `2.3 × as high`, `the same`, `3 % higher`."""
    if math.isclose(gain, 1, abs_tol=0.005):
        return "the same"
    if gain >= 1.5 or gain <= 0.5:
        return f"{significant(gain)} × as high"
    return f"{percent(abs(gain - 1))} {'higher' if gain > 1 else 'lower'}"


def change_text(change: Mapping[str, Level]) -> str:
    """`window_bytes = 262,144 bytes, no_delay = true`."""
    return ", ".join(f"{name} = {_level(name, level)}" for name, level in change.items())


def _level(name: str, level: Level) -> str:
    if isinstance(level, bool):
        return "true" if level else "false"
    unit = BY_NAME[name].unit if name in BY_NAME else ""
    is_count = isinstance(level, int | float)
    return (f"{level:,}" if is_count else str(level)) + (f" {unit}" if unit and is_count and unit != name else "")
