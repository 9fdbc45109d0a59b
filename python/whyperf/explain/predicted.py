"""Which predicted gains and changes are printed: no gain that the evidence leaves open, no change that gains nothing.

Every verdict goes through here last, once all bounds and neighboring cells are known.
"""

from collections.abc import Sequence

from whyperf.analyze.text import percent
from whyperf.explain.explanation import Change, ChangeStep, JointGain, Value, Verdict
from whyperf.explain.wording.catalog import render
from whyperf.explain.wording.changes import interval_text

MAX_SPAN = 5.0
"""An interval whose ends are further apart predicts nothing."""
MIN_GAIN = 1.05
"""Predicted gains below are within what repeating a trial changes."""


def as_printed(verdict: Verdict, level: str = "segments", *, is_watched: bool = False) -> Verdict:
    """The verdict without a gain that its interval leaves open, and without a change that would gain nothing.

    `level` is that of the trial's evidence. Of a program that was watched (`is_watched`) nobody measures a change.
    """
    low, high = verdict.predicted_low, verdict.predicted_high
    if is_bound(verdict):
        return _without_change(verdict) if high is not None and high < MIN_GAIN else verdict
    if verdict.predicted_gain is None:
        return verdict
    if low is not None and high is not None and high > MAX_SPAN * low:
        more = render("predicts", "watched" if is_watched else "try" if level == "segments" else "log", {})
        values: dict[str, Value | None] = {"low_times": low, "high_times": high, "span_times": MAX_SPAN, "next": more}
        why = render("gain", "why_open", values)
        return verdict.model_copy(update={"predicted_gain": None, "unpredicted_because": why})
    return _without_change(verdict) if verdict.predicted_gain < MIN_GAIN else verdict


def is_bound(verdict: Verdict) -> bool:
    """True where only an upper bound of its gain is known."""
    return verdict.predicted_gain is None and verdict.predicted_high is not None and not verdict.unpredicted_because


def _without_change(verdict: Verdict) -> Verdict:
    """The verdict with the advice of its change alone."""
    if verdict.change is None:
        return verdict
    nothing = {"factors": {}, "command": "", "command_host": "", "is_host_wide": False}
    return verdict.model_copy(update={"change": verdict.change.model_copy(update=nothing)})


def joint_as_printed(joint: Sequence[JointGain]) -> list[JointGain]:
    """The joint gains whose intervals predict something."""
    return [found for found in joint if found.high <= MAX_SPAN * found.low]


def gain_text(verdict: Verdict) -> str:
    """A predicted gain and its interval: `about 12 × (8.0–18 ×)`; "" where there is none."""
    gain = verdict.predicted_gain
    if verdict.unpredicted_because:
        return f"{render('gain', 'open', {})}: {verdict.unpredicted_because}"
    if is_bound(verdict):
        return render("gain", "at_most", {"high_times": verdict.predicted_high})
    if gain is None:
        return ""
    if gain < MIN_GAIN:
        return render("gain", "none", {"min_ratio": MIN_GAIN - 1})
    interval = interval_text(verdict.predicted_low, verdict.predicted_high, 2)
    return render("gain", "expected", {"gain_times": gain, "interval": interval})


def gain_line(verdict: Verdict) -> str:
    """`Predicted gain: about 12 × (8.0–18 ×); at most a full link`; "" where there is none."""
    gain = gain_text(verdict)
    if not gain:
        return ""
    basis = f"; {verdict.predicted_from}" if verdict.predicted_from and not verdict.unpredicted_because else ""
    return f"Predicted gain: {gain}{basis}"


def confidence_text(verdict: Verdict) -> str:
    """`high (93 %)`: the word and the probability; the word alone in a document that has none."""
    probability = "" if verdict.right_ratio is None else f" ({percent(verdict.right_ratio)})"
    return f"{verdict.confidence}{probability}"


def change_label(change: Change) -> str:
    """The label of a change's factors: those of the emulated path undo what the cell did, and no real path has them."""
    is_path = bool(change.factors) and all(name.startswith("path_") for name in change.factors)
    return "Change on the emulated path" if is_path else "Change"


def step_label(step: ChangeStep) -> str:
    """Label of what a step for another program affects."""
    return render("scope", step.scope, {"host": step.host or None})


def command_label(change: Change) -> str:
    """The label of a change's command: on which host to run it, and whether it affects all programs there."""
    host = f" on the {change.command_host} host" if change.command_host else ""
    return f"Command{host}{'; changes the whole host' if change.is_host_wide else ''}"
