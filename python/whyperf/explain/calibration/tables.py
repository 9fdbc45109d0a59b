"""The checked-in tables of what verdicts and predictions were worth, read once and checked."""

import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict, Field

GAINS = Path(__file__).with_name("gains.toml")
CONFIDENCE = Path(__file__).with_name("confidence.toml")


class CalibrationTable(BaseModel):
    """A table of a file. Unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class GainClass(CalibrationTable):
    """Predictions that miss alike: factors from a prediction to the limits of its interval, and to the median gain.

    An empty `basis` stands for all of the level, an empty `level` for all.
    """

    level: str
    basis: str
    residuals: int
    low: float = Field(gt=0)
    median: float = Field(gt=0)
    high: float = Field(gt=0)


class Gains(CalibrationTable):
    """The intervals of gains; `coverage` is the share of cases that lie within."""

    source: str
    date: str
    coverage: float
    classes: tuple[GainClass, ...] = ()


class RuleRecord(CalibrationTable):
    """How many first verdicts of a rule and evidence level there were, and how many were right: weighted sums."""

    level: str
    code: str
    verdicts: float
    right: float


class Confidence(CalibrationTable):
    """The counts of all rules, and those of each level together."""

    source: str
    date: str
    rules: tuple[RuleRecord, ...] = ()


class _Known(NamedTuple):
    """Both tables, by what they are looked up with."""

    gain_classes: Mapping[tuple[str, str], GainClass]
    rules: Mapping[tuple[str, str], RuleRecord]


def _known(gains: Gains, confidence: Confidence) -> _Known:
    return _Known(
        {(found.level, found.basis): found for found in gains.classes},
        {(found.level, found.code): found for found in confidence.rules},
    )


@cache
def _checked_in() -> _Known:
    return _known(
        Gains.model_validate(tomllib.loads(GAINS.read_text(encoding="utf-8"))),
        Confidence.model_validate(tomllib.loads(CONFIDENCE.read_text(encoding="utf-8"))),
    )


_INSTEAD: ContextVar[_Known | None] = ContextVar("tables", default=None)


@contextmanager
def instead(gains: Gains, confidence: Confidence) -> Iterator[None]:
    """Within, these tables stand for those that are checked in."""
    token = _INSTEAD.set(_known(gains, confidence))
    try:
        yield
    finally:
        _INSTEAD.reset(token)


def gain_classes() -> Mapping[tuple[str, str], GainClass]:
    """The classes of gains by level and basis."""
    return (_INSTEAD.get() or _checked_in()).gain_classes


def rule_records() -> Mapping[tuple[str, str], RuleRecord]:
    """The counts by level and code."""
    return (_INSTEAD.get() or _checked_in()).rules
