"""Warnings that the evidence raises."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from whyperf.analyze.summary import Evidence
from whyperf.analyze.text import count
from whyperf.analyze.warnings.catalog import RaisedWarning
from whyperf.analyze.warnings.evidence import LEVELS, LOG, MIN_LOST_SAMPLES_RATIO, of_measured

Row = Mapping[str, Any]


def of_experiment(evidence: Evidence | None, rows: pl.DataFrame) -> Iterator[RaisedWarning]:
    """Warnings about the trials measured for throughput: their `evidence`, and `evidence_rows`."""
    for label, end in (evidence.ends if evidence else {}).items():
        if evidence is not None and evidence.asked not in {LOG, end.level}:
            levels = {"end": label, "level": end.level, "asked": evidence.asked}
            yield RaisedWarning("less_evidence", levels | {"reason": _clause(end.reason)})
        if end.missing:
            hooks = "; ".join(f"{hook.name} ({_clause(hook.reason)}), which gives {hook.gives}" for hook in end.missing)
            yield RaisedWarning("missing_hooks", {"end": label, "hooks": hooks})
    for (label,), of_end in of_measured(rows).group_by("host", maintain_order=True):
        counted = dict(of_end.group_by("got").len().iter_rows())
        if len(counted) > 1:
            parts = [f"{count(counted[got], 'trial')} with {got}" for got in LEVELS if got in counted]
            yield RaisedWarning("mixed_evidence", {"end": str(label), "levels": " and ".join(parts)})


def of_cell(rows: Sequence[Row]) -> Iterator[RaisedWarning]:
    """Warnings about a cell's trials: rows of `evidence_rows`."""
    failed = [row for row in rows if row["asked"] == LOG and row["host"] is None]
    if failed:
        reason = f"{_clause(failed[0]['reason'])}."
        yield RaisedWarning("failed_logs", {"count": count(len(failed), "log trial"), "reason": reason})
    for row in rows:
        if row["host"] is not None:
            named = {"trial": str(row["trial"]), "end": str(row["host"])}
            yield from _of_log(row, named) if row["asked"] == LOG else _of_counters(row, named)
            if row["lost_samples"] and row["lost_samples"] >= MIN_LOST_SAMPLES_RATIO * row["samples"]:
                yield RaisedWarning(
                    "lost_samples", named | {"lost": f"{row['lost_samples']:,}", "of": count(row["samples"], "sample")}
                )


def _of_log(row: Row, named: dict[str, str]) -> Iterator[RaisedWarning]:
    if row["got"] != LOG:
        yield RaisedWarning("no_log", named | {"level": str(row["got"]), "reason": _clause(row["why"])})
        return
    if row["broken_off"]:
        yield RaisedWarning("log_broken_off", named | {"reason": _clause(row["broken_off"])})
    if row["lost"] or row["lost_calls"] or row["missed"] or row["unseen"] or row["why"]:
        yield RaisedWarning("log_incomplete", named | {"state": _state(row), "what": _what_is_missing(row)})


def _of_counters(row: Row, named: dict[str, str]) -> Iterator[RaisedWarning]:
    if row["got"] == row["asked"] and (row["missed"] or row["why"]):
        yield RaisedWarning("counters_incomplete", named | {"what": _what_is_missing(row)})


def _state(row: Row) -> str:
    """The completeness of a log, rounded down; of an empty log there is no share."""
    parts = []
    if row["logged"]:
        parts.append((row["lost"] + row["missed"]) / (row["logged"] + row["missed"]))
        parts.append(row["unseen"] / (row["logged"] + row["unseen"]))
    if row["calls"]:
        parts.append(row["lost_calls"] / row["calls"])
    lacks = max(parts, default=0.0)
    return f"{math.floor((1 - lacks) * 1000) / 10:.1f} % complete" if lacks else "not complete"


def _what_is_missing(row: Row) -> str:
    parts = []
    if row["lost"]:
        parts.append(f"{row['lost']:,} of {count(row['logged'], 'event')} lost, {row['lost_cpus']}")
    if row["lost_calls"]:
        parts.append(f"{row['lost_calls']:,} of {count(row['calls'], 'call')} lost")
    if row["missed"]:
        parts.append(f"{count(row['missed'], 'run')} of its programs left out by the kernel")
    if row["unseen"]:
        parts.append(f"BPF missed {count(row['unseen'], 'segment')} that TCP counted")
    # Of evidence that is at the level asked for, the reason says what else is wrong with it.
    if row["why"] and row["got"] == row["asked"]:
        parts.append(_clause(row["why"]))
    return "; ".join(parts)


def _clause(text: object) -> str:
    """A host's sentence as a part of ours."""
    return str(text or "no reason was given").rstrip(".")
