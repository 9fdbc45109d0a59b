"""The answer with which the page of one cell begins: why it is not faster, the figures that show it, what to change."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from whyperf.explain.causes import Cause
from whyperf.explain.model import Verdict
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
    """The first verdict: its claim, its figures, and the card that has the change."""

    claim: str
    figures: tuple[Shown, ...]
    card: Card


def answer_of(verdicts: Sequence[Verdict], cards: Sequence[Card]) -> Answer | None:
    """The answer; None where no cause was found, or a measurement refuted it."""
    if not verdicts or verdicts[0].cause is Cause.NOT_KNOWN or cards[0].is_refuted:
        return None
    return Answer(verdicts[0].claim, figures_of(row.text for row in cards[0].evidence), cards[0])


def figures_of(sentences: Iterable[str]) -> tuple[Shown, ...]:
    """The first figure of each sentence that has one."""
    found = ((FIGURE.search(text), text) for text in sentences)
    return tuple(Shown(match[1], match[2], text) for match, text in found if match is not None)[:MAX_SHOWN]
