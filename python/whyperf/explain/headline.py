"""The one-line diagnosis of a cell and of an experiment."""

from collections import Counter
from collections.abc import Sequence

from whyperf.analyze.text import count
from whyperf.explain.causes import Cause
from whyperf.explain.explanation import CellExplanation, Verdict
from whyperf.explain.predicted import MIN_GAIN, gain_text
from whyperf.explain.wording.catalog import capitalized, render
from whyperf.profile import as_set

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
