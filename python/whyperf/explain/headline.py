"""The sentence that says most."""

from collections.abc import Sequence

from whyperf.analyze.text import count
from whyperf.explain.causes import Cause
from whyperf.explain.model import CellExplanation, Verdict
from whyperf.explain.predicted import MIN_GAIN, OPEN, gain_words
from whyperf.profile import as_set

_WRITTEN = {"cpu": "CPU", "ack": "ACK", "mtu": "MTU", "nagle": "Nagle"}

WITHOUT_LOG = " This comes from counters only; --evidence segments shows more."
"""What ends a sentence for which no log was looked at."""


def cell_headline(verdicts: Sequence[Verdict], level: str, transport: str = "tcp") -> str:
    """The strongest verdict in a sentence, and what would tell more where there was no log, which only TCP has."""
    first = verdicts[0]
    has_all = level == "segments" or transport != "tcp" or first.cause is Cause.NOT_KNOWN
    return f"{first.claim}{_gain(first)}{'' if has_all else WITHOUT_LOG}"


def _gain(verdict: Verdict) -> str:
    gain, change = verdict.predicted_gain, verdict.change
    if change is None:
        return ""
    levels = ", ".join(as_set(change.factors))
    if verdict.unpredicted_because:
        return f" What {levels or 'undoing it'} gains {OPEN}."
    if gain is None or gain < MIN_GAIN:
        return ""
    return f" Without it: {gain_words(verdict)}{f' with {levels}' if levels else ''}."


def experiment_headline(cells: Sequence[CellExplanation]) -> str:
    """What limits most cells; of a single one its own sentence."""
    if not cells:
        return "There is no cell to explain."
    if len(cells) == 1:
        return cells[0].headline
    whole = len(cells)
    cells = [cell for cell in cells if cell.trial is not None]
    if not cells:
        return "No cell has a trial that can be read; `whyperf run` measures them."
    unread = "" if len(cells) == whole else f"; {_have(whole - len(cells))} no trial that can be read"
    counts: dict[str, int] = {}
    for cell in cells:
        cause = " ".join(_WRITTEN.get(word, word) for word in cell.verdicts[0].cause.value.split("_"))
        counts[cause] = counts.get(cause, 0) + 1
    # What is not known limits nothing; it comes last, however many cells it is.
    unknown = counts.pop("not known", 0)
    ranked = sorted(counts.items(), key=lambda one: (-one[1], one[0]))
    told = ", ".join([
        *(f"{cause} in {number:,}" for cause, number in ranked[:4]),
        *([f"others in {others:,}"] if (others := sum(number for _, number in ranked[4:])) else []),
        *([f"not known in {unknown:,}"] if unknown else []),
    ])  # fmt: skip
    return f"Of {count(len(cells), 'cell')} the limit is {told}{unread}."


def _have(number: int) -> str:
    return f"{number:,} {'has' if number == 1 else 'have'}"
