"""The anomalies of a sweep, as a list and as marks in its charts."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from whyperf.analyze.text import percent
from whyperf.explain.causes import Cause
from whyperf.explain.explanation import Anomaly
from whyperf.report.explanation.cards import cause_title, where

SIGNS = {"peak": "▲", "drop": "▼", "knee": "◆", "plateau": "▬"}

MARKERS = {"peak": "triangle", "drop": "inverted_triangle", "knee": "diamond", "plateau": "dash"}
"""The markers of the same kinds in a chart."""


MAX_SHOWN = 12
"""The page shows this many anomalies at first, the costliest ones."""

MAX_FOLDED = 60
"""At most this many more are in a collapsed list; explain.json has all."""


@dataclass(frozen=True)
class AnomalyView:
    """An anomaly as it is shown: its kind, its place, its reason."""

    sign: str
    kind: str
    place: str
    text: str
    because: str
    cause: str
    differences: tuple[tuple[str, str], ...]
    link: str


def marks_of(anomalies: Sequence[Anomaly]) -> dict[str, tuple[str, str]]:
    """The marks of the charts of sweeps: marker and text by cell; of several anomalies the first."""
    marks: dict[str, tuple[str, str]] = {}
    for anomaly in anomalies:
        for cell in (anomaly.cell, *anomaly.others):
            marks.setdefault(cell, (MARKERS[anomaly.kind], _text(anomaly)))
    return marks


def _text(anomaly: Anomaly) -> str:
    """The text without the reason, which is shown separately."""
    return anomaly.words.replace(anomaly.because, "").replace("  ", " ").strip() if anomaly.because else anomaly.words


def anomaly_view(anomaly: Anomaly, place: str, drawn: AbstractSet[str]) -> AnomalyView:
    """The anomaly as it is listed; `drawn` are the cells with details on the page."""
    amount = ""
    if anomaly.ratio is not None and anomaly.kind in {"peak", "drop"}:
        amount = f" of {percent(abs(anomaly.ratio - 1))}"
    return AnomalyView(
        sign=SIGNS[anomaly.kind],
        kind=f"{anomaly.kind.capitalize()}{amount}",
        place=place or anomaly.cell,
        text=_sentence(_text(anomaly).partition(": ")[2] or _text(anomaly)),
        because=anomaly.because,
        cause="" if anomaly.cause is Cause.NOT_KNOWN else cause_title(anomaly.cause),
        differences=tuple((evidence.words, where(evidence)) for evidence in anomaly.differences),
        link=f"#why-{anomaly.cell}" if anomaly.cell in drawn else "",
    )


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]
