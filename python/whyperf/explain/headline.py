"""The one-line diagnosis of a cell and of an experiment, and which predicted gains and changes are printed.

Every verdict goes through `as_printed` last, once all bounds and neighboring cells are known: no gain that the evidence
leaves open, no change that gains nothing.
"""

from collections import Counter
from collections.abc import Sequence

from whyperf.analyze.text import count, percent
from whyperf.explain.causes import Cause
from whyperf.explain.explanation import CellExplanation, Change, ChangeStep, JointGain, Value, Verdict
from whyperf.explain.wording.catalog import capitalized, interval_text, render
from whyperf.profile import as_set


def alike(verdicts: Sequence[Verdict]) -> list[list[int]]:
    """Places of the verdicts, those together that stand on the same evidence at the same cost: the first of them says
    what was seen, and the others only what it may be.
    """
    groups: dict[object, list[int]] = {}
    for place, verdict in enumerate(verdicts):
        seen = tuple((row.words, row.host) for row in verdict.evidence)
        cost = "" if verdict.lost_ratio is None else percent(verdict.lost_ratio)
        groups.setdefault((seen, cost) if seen else place, []).append(place)
    return list(groups.values())


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


MAX_LIMITS = 4
"""Limits that the diagnosis of an experiment names."""

WITHOUT_LOG = f" {render('more', 'headline', {})}"
"""End of the diagnosis where no log was read."""


def cell_headline(verdicts: Sequence[Verdict], level: str, transport: str = "tcp") -> str:
    """The strongest verdict in a sentence, and what would show more where there was no log, which only TCP has."""
    first = verdicts[0]
    # Stack samples show what a CPU does; a log of segments shows no more of it.
    is_sampled = "cost_class" in first.values
    has_all = level == "segments" or transport != "tcp" or first.cause is Cause.NOT_KNOWN or is_sampled
    return f"{first.claim}{_gain(first)}{'' if has_all else WITHOUT_LOG}"


def _gain(verdict: Verdict) -> str:
    gain, change = verdict.predicted_gain, verdict.change
    if change is None or verdict.cause is Cause.ASKED_RATE:
        # A rate that somebody asked for is his choice, and nothing to be fixed.
        return ""
    levels = ", ".join(as_set(change.factors)) or None
    if verdict.unpredicted_because:
        return f" {render('gain', 'headline_open', {'levels': levels})}"
    if gain is None or gain < MIN_GAIN:
        return ""
    return f" {render('gain', 'headline', {'gain': gain_text(verdict), 'levels': levels})}"


def limit_name(verdict: Verdict) -> str:
    """Name of a verdict's limit: of a host's capacity which part it is."""
    return render("limit", verdict.code if verdict.cause is Cause.CAPACITY else verdict.cause, {})


def experiment_headline(cells: Sequence[CellExplanation], noun: str = "setting") -> str:
    """Says what limits most cells; of a single cell its own diagnosis. `noun` is what a cell is to a reader."""
    if not cells:
        return f"No {noun} to explain."
    if len(cells) == 1:
        return cells[0].headline
    whole = len(cells)
    cells = [cell for cell in cells if cell.trial is not None]
    if not cells:
        return "No trial can be read. Measure with `whyperf run`."
    firsts = [cell.verdicts[0] for cell in cells]
    known = [verdict for verdict in firsts if verdict.cause is not Cause.NOT_KNOWN]
    # What is not known limits nothing; it comes last, however many cells it is.
    unknown = len(firsts) - len(known)
    counts = Counter((verdict.cause, limit_name(verdict)) for verdict in known)
    ranked = sorted(counts.items(), key=lambda counted: (-counted[1], counted[0]))
    parts = [f"{number:,} by {limit}" for (_, limit), number in ranked[:MAX_LIMITS]]
    parts += [f"{others:,} by other causes"] if (others := sum(number for _, number in ranked[MAX_LIMITS:])) else []
    if parts:
        first, _, rest = parts[0].partition(" ")
        be = "is" if first == "1" else "are"
        parts[0] = f"{first} of {count(len(cells), noun)} {be} limited {rest}"
    if not parts:
        parts = [f"for none of {count(len(cells), noun)} is the limit known"]
    elif unknown:
        parts += [f"for {unknown:,} the limit is not known"]
    unread = whole - len(cells)
    parts += [f"{unread:,} {'has' if unread == 1 else 'have'} no trial that can be read"] if unread else []
    return f"{capitalized(', '.join(parts))}."
