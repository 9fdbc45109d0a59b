"""The answer with which the page of one cell begins: why it is not faster, the figures that show it, what to change."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from whyperf.explain.causes import Cause
from whyperf.explain.experiments.answer import Why
from whyperf.explain.explanation import Verdict
from whyperf.explain.wording.experiments import headline_of, not_reproduced_words
from whyperf.report.explanation.cards import Card

MAX_SHOWN = 3
"""Figures of the cause; with the rate they are four."""

_NUMBER = r"\d[\d,]*(?:\.\d+)?"
_UNITS = r"%|×|[kMGT]?bit/s|[nµm]?s|bytes|segments|packets|[KMG]i?B"
FIGURE = re.compile(rf"(?<![\w.,-])({_NUMBER})\s({_UNITS})(?!\w)")
"""A number with its unit in a sentence of the evidence."""


@dataclass(frozen=True)
class Shown:
    """A figure of the evidence: its number, its unit, and the sentence that it is from."""

    value: str
    unit: str
    text: str


@dataclass(frozen=True)
class Answer:
    """The first verdict, or what experiments say: the claim, figures of the cause, and the card that has the change."""

    claim: str
    figures: tuple[Shown, ...]
    card: Card | None


def answer_of(verdicts: Sequence[Verdict], cards: Sequence[Card]) -> Answer | None:
    """The answer; None where no cause was found."""
    if not verdicts or verdicts[0].cause is Cause.NOT_KNOWN:
        return None
    return Answer(verdicts[0].claim, figures_of(row.text for row in cards[0].evidence), cards[0])


def answer_by_experiments(why: Why, verdicts: Sequence[Verdict], cards: Sequence[Card]) -> Answer:
    """The answer of experiments. Figures and change are of the cause that they name: another's would contradict it."""
    claim = " ".join(filter(None, (headline_of(why), not_reproduced_words(why))))
    named = why.answer.causes[:1] if why.answer.known in NAMING else []
    ranks = [rank for rank, verdict in enumerate(verdicts, 1) if verdict.cause in named]
    found = (card for shown in cards for card in (shown, *shown.alike) if card.rank in ranks)
    card = next(found, None)
    if card is None:
        return Answer(claim, (), None)
    # A measured gain needs no prediction.
    shown = replace(card, gain="") if why.answer.known == "proved" else card
    return Answer(claim, figures_of(row.text for row in card.evidence), shown)


NAMING = {"proved", "seen", "likely"}
"""Answers that name what limits; the others name what may."""


def figures_of(sentences: Iterable[str]) -> tuple[Shown, ...]:
    """The first figure of each sentence that has one."""
    found = ((FIGURE.search(text), text) for text in sentences)
    return tuple(Shown(match[1], match[2], text) for match, text in found if match is not None)[:MAX_SHOWN]
