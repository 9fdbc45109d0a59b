"""Reads series out of the JSON documents that commands print, and out of the published tables.

A path is a list of names with points between them, such as `goodput_bps.median`. A number is a place in a list, and
`sides[role=sender]` the first item of a list that has this value.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from math import sqrt
from statistics import fmean
from typing import Any

from whyperf.report.studies.published import read
from whyperf.studies.catalog import Published, Scalar, Source
from whyperf.studies.series import Abscissa, MissingFigureError, Series, StudyFigure, x_of

#: JSON as `json.loads` gives it: documents of commands, whose fields the catalog names.
Document = Any

_STEP = re.compile(r"([^.\[]+)((?:\[[^\]]+\])*)\.?")
_SELECT = re.compile(r"\[([^=\]]+)=([^\]]*)\]")
#: Of a normal distribution: half of the width of the 95 % interval of a mean, in standard errors.
_NORMAL_95 = 1.96


def at_path(document: Document, path: str) -> Document:
    """The value at a path; None where there is nothing."""
    found = document
    for name, selections in _STEP.findall(path):
        if isinstance(found, list):
            found = found[int(name)] if name.isdigit() and int(name) < len(found) else None
        else:
            found = found.get(name) if isinstance(found, dict) else None
        for key, value in _SELECT.findall(selections):
            items = found if isinstance(found, list) else []
            found = next((item for item in items if _plain(at_path(item, key)) == value), None)
    return found


def measured_series(name: str, source: Source, document: Document) -> Series:
    """The series that a source reads out of its document.

    Raises:
        MissingFigureError: nothing matches, or a matching item lacks the figure.
    """
    items = at_path(document, source.each) if source.each else [document]
    matching = [item for item in items or [] if _matches(item, source.where)]
    if not matching:
        wanted = ", ".join(f"{key} {value}" for key, value in source.where.items()) or source.each
        raise MissingFigureError(f"the result of {source.run} has nothing with {wanted}")
    places: dict[Abscissa, list[StudyFigure]] = {}
    for item in matching:
        figure = _figure(item, source)
        places.setdefault(figure.x, []).append(figure)
    return Series(name, tuple(_picked(x, figures, source.pick) for x, figures in places.items()))


def published_series(name: str, published: Published) -> Series:
    """The series of the study.

    Raises:
        MissingFigureError: no row of the table matches.
    """
    if published.values:
        return Series(name, tuple(StudyFigure(x_of(x), value) for x, value in published.values.items()))
    rows = [row for row in read(published.csv)[1] if _is_published(row, published)]
    if not rows:
        raise MissingFigureError(f"{published.csv} has no such row")
    figures = [_published_figure(row, published) for row in rows if row[published.y]]
    return Series(name, tuple(figure for figure in figures if figure.x not in published.leave_out))


def _is_published(row: Mapping[str, str], published: Published) -> bool:
    """True where a row belongs to the series."""
    left_out = any(row.get(key) == value for key, value in published.leave_out_where.items())
    return not left_out and all(row.get(key) == value for key, value in published.where.items())


def source_sentence(published: Published) -> str:
    """Where the table of a published series is from; nothing for figures of a text."""
    return read(published.csv)[0] if published.csv else ""


def _published_figure(row: Mapping[str, str], published: Published) -> StudyFigure:
    value = x_of(row[published.y])
    x = x_of(" ".join(row[name] for name in published.x.split("+"))) if published.x else published.y
    return StudyFigure(x, value if isinstance(value, str) else value * published.scale)


def _figure(item: Document, source: Source) -> StudyFigure:
    x = _abscissa(item, source.x)
    found = at_path(item, source.y)
    if found is None:
        raise MissingFigureError(f"the result of {source.run} lacks {source.y}")
    if isinstance(found, bool) or not isinstance(found, int | float):
        return StudyFigure(x, as_text(found))
    scale = source.scale
    scale *= _factor(item, source.run, source.times) if source.times else 1
    scale /= _factor(item, source.run, source.over) if source.over else 1
    ends = [None if end is None else end * scale for end in _interval(item, source.y)]
    return StudyFigure(x, found * scale, *ends)


def _factor(item: Document, run: str, path: str) -> float:
    """A number that another one is multiplied by, or divided by; never 0."""
    found = at_path(item, path)
    if not isinstance(found, int | float) or not found:
        raise MissingFigureError(f"the result of {run} lacks {path}")
    return float(found)


def _abscissa(item: Document, path: str) -> Abscissa:
    """The varied value: a number, or the texts of several paths with spaces between."""
    if not path:
        return "all"
    found = [at_path(item, each) for each in path.split("+")]
    if len(found) == 1 and isinstance(found[0], int | float) and not isinstance(found[0], bool):
        return float(found[0])
    return x_of(" ".join(_plain(each) for each in found))


def _interval(item: Document, path: str) -> tuple[float | None, float | None]:
    """The ends of the interval of a figure, where the document has them."""
    parent_path, _, leaf = path.rpartition(".")
    parent = at_path(item, parent_path) if parent_path else item
    if not isinstance(parent, dict):
        return None, None
    if leaf == "median" or (leaf == "mean" and "stdev" not in parent):
        return parent.get("low"), parent.get("high")
    if leaf == "mean":
        trials, stdev = item.get("trials"), parent.get("stdev")
        if not isinstance(trials, int) or trials < 2 or stdev is None:
            return None, None
        half = _NORMAL_95 * stdev / sqrt(trials)
        return parent["mean"] - half, parent["mean"] + half
    return parent.get(f"{leaf}_low"), parent.get(f"{leaf}_high")


def _picked(x: Abscissa, figures: Sequence[StudyFigure], pick: str) -> StudyFigure:
    """One figure of those at a place."""
    if pick == "first":
        return figures[0]
    if pick == "count":
        return StudyFigure(x, float(len(figures)))
    numbers = [figure.number for figure in figures]
    if pick == "mean":
        return StudyFigure(x, fmean(numbers))
    if pick == "range":
        return StudyFigure(x, max(numbers) - min(numbers))
    best = (max if pick == "largest" else min)(figures, key=lambda figure: figure.number)
    return StudyFigure(x, best.number, best.low, best.high)


def _matches(item: Document, where: Mapping[str, Scalar | tuple[Scalar, ...]]) -> bool:
    return all(
        at_path(item, key) in (wanted if isinstance(wanted, tuple) else (wanted,)) for key, wanted in where.items()
    )


def as_text(found: Document) -> str:
    """A part of a document as text: codes of verdicts, and segments of a cycle such as 4096+4096+512."""
    if isinstance(found, list):
        return _list_text(found)
    if isinstance(found, dict):
        return next((as_text(found[key]) for key in ("code", "payloads", "name", "words") if key in found), "")
    return _plain(found)


def _list_text(items: Sequence[Document]) -> str:
    if items and all(isinstance(item, list) and len(item) == 2 for item in items):
        return "+".join(_repeated(items))
    if any(isinstance(item, dict) and "payloads" in item for item in items):
        return " then ".join(as_text(item) for item in items)
    return " ".join(as_text(item) for item in items)


def _repeated(pairs: Sequence[Document]) -> Iterator[str]:
    for size, times in pairs:
        yield from [str(size)] * times if times <= 4 else [f"{size} × {times}"]


def _plain(value: Document) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
