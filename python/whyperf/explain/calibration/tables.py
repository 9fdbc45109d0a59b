"""The checked-in tables: weights of the decision, and errors of predicted gains."""

import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

GAINS = Path(__file__).with_name("gains.toml")


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


@cache
def _checked_in() -> Gains:
    return Gains.model_validate(tomllib.loads(GAINS.read_text(encoding="utf-8")))


_INSTEAD: ContextVar[Gains | None] = ContextVar("gains", default=None)


@contextmanager
def instead(gains: Gains) -> Iterator[None]:
    """Within, this table stands for the one that is checked in."""
    token = _INSTEAD.set(gains)
    try:
        yield
    finally:
        _INSTEAD.reset(token)


def gain_classes() -> Mapping[tuple[str, str], GainClass]:
    """The classes of gains by level and basis."""
    return {(found.level, found.basis): found for found in (_INSTEAD.get() or _checked_in()).classes}


WEIGHTS = Path(__file__).with_name("weights.json")


class Weights(CalibrationTable):
    """The weights for each candidate; what is not named weighs nothing.

    Attributes:
        source: the drawn situations that they are fitted on.
        date: of the fit.
        features: of what a limit takes, by the name of the figure.
        own: of each candidate, by the name of the figure: what is different for it.
        levels: of each candidate by evidence level; "" is that of all, "unfound" that where it takes nothing.
    """

    source: str = ""
    date: str = ""
    features: Mapping[str, float] = Field(default_factory=dict)
    own: Mapping[str, Mapping[str, float]] = Field(default_factory=dict)
    levels: Mapping[str, Mapping[str, float]] = Field(default_factory=dict)


@cache
def weights() -> Weights:
    """Those that are checked in."""
    return Weights.model_validate_json(WEIGHTS.read_text(encoding="utf-8"))
