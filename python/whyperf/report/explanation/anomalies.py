"""What stands out in a sweep: as a list, and as marks on its figures."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from whyperf.analyze.text import percent
from whyperf.explain.causes import Cause
from whyperf.explain.model import Anomaly
from whyperf.report.explanation.cards import cause_title, where

SIGNS = {"peak": "▲", "drop": "▼", "knee": "◆", "plateau": "▬"}

MARKERS = {"peak": "triangle", "drop": "inverted_triangle", "knee": "diamond", "plateau": "dash"}
"""The same in a chart."""


MOST_SHOWN = 12
"""Anomalies that are seen at once: what costs most; a reader takes no more."""

MOST_FOLDED = 60
"""Those that are folded away below; explain.json has all."""


@dataclass(frozen=True)
class Standing:
    """A point that stands out: what it is, where, why."""

    sign: str
    kind: str
    place: str
    words: str
    because: str
    cause: str
    differences: tuple[tuple[str, str], ...]
    link: str


def marks_of(anomalies: Sequence[Anomaly]) -> dict[str, tuple[str, str]]:
    """What the charts of sweeps mark: the marker and the words by cell; of several the first."""
    marks: dict[str, tuple[str, str]] = {}
    for one in anomalies:
        for cell in (one.cell, *one.others):
            marks.setdefault(cell, (MARKERS[one.kind], _said(one)))
    return marks


def _said(anomaly: Anomaly) -> str:
    """The words without what makes it, which has a place of its own."""
    return anomaly.words.replace(anomaly.because, "").replace("  ", " ").strip() if anomaly.because else anomaly.words


def standing_of(anomaly: Anomaly, place: str, drawn: AbstractSet[str]) -> Standing:
    """The anomaly as it is listed, at its place; `drawn` are the cells that the page has in full."""
    amount = ""
    if anomaly.ratio is not None and anomaly.kind in {"peak", "drop"}:
        amount = f" of {percent(abs(anomaly.ratio - 1))}"
    return Standing(
        sign=SIGNS[anomaly.kind],
        kind=f"{anomaly.kind.capitalize()}{amount}",
        place=place or anomaly.cell,
        words=_sentence(_said(anomaly).partition(": ")[2] or _said(anomaly)),
        because=anomaly.because,
        cause="" if anomaly.cause is Cause.NOT_KNOWN else cause_title(anomaly.cause),
        differences=tuple((one.words, where(one)) for one in anomaly.differences),
        link=f"#why-{anomaly.cell}" if anomaly.cell in drawn else "",
    )


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]
