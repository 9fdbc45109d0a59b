"""Which predicted gains and changes are printed: no gain that the evidence leaves open, no change that gains nothing.

Every verdict goes through here last, once all bounds and neighboring cells are known.
"""

from whyperf.analyze.text import percent, significant
from whyperf.explain.model import Change, Verdict

MAX_SPAN = 5.0
"""An interval whose ends are further apart predicts nothing."""
MIN_GAIN = 1.05
"""Predicted gains below are within what repeating a trial changes."""
OPEN = "cannot be predicted from this evidence"


def as_printed(verdict: Verdict) -> Verdict:
    """The verdict without a gain that its interval leaves open, and without a change that would gain nothing."""
    low, high = verdict.predicted_low, verdict.predicted_high
    if verdict.predicted_gain is None:
        return verdict
    if low is not None and high is not None and high > MAX_SPAN * low:
        between = f"it lies between {significant(low, 2)} and {significant(high, 2)} times the rate"
        why = f"{between}, more than {MAX_SPAN:g} times apart"
        return verdict.model_copy(update={"predicted_gain": None, "unpredicted_because": why})
    if verdict.predicted_gain < MIN_GAIN and verdict.change is not None:
        nothing = {"factors": {}, "command": "", "command_host": "", "is_host_wide": False}
        return verdict.model_copy(update={"change": verdict.change.model_copy(update=nothing)})
    return verdict


def gain_words(verdict: Verdict) -> str:
    """A predicted gain and how far it may be off: `about 12 times the rate (8.0 to 18)`; "" where there is none."""
    gain, low, high = verdict.predicted_gain, verdict.predicted_low, verdict.predicted_high
    if verdict.unpredicted_because:
        return f"{OPEN}: {verdict.unpredicted_because}"
    if gain is None:
        return ""
    if gain < MIN_GAIN:
        return f"less than {percent(MIN_GAIN - 1)}, which no change is worth"
    between = "" if low is None or high is None else f" ({significant(low, 2)} to {significant(high, 2)})"
    return f"about {significant(gain, 2)} times the rate{between}"


def gain_line(verdict: Verdict) -> str:
    """`Predicted gain: about 12 times the rate (8.0 to 18); by a full line`; "" where there is none."""
    words = gain_words(verdict)
    if not words:
        return ""
    basis = f"; by {verdict.predicted_from}" if verdict.predicted_from and not verdict.unpredicted_because else ""
    return f"Predicted gain: {words}{basis}"


def command_label(change: Change) -> str:
    """What stands before a change's command: on which host it is given, and whether all programs there feel it."""
    host = f" on the {change.command_host} host" if change.command_host else ""
    return f"Command{host}{', which changes that whole host' if change.is_host_wide else ''}"
