"""The checked-in weights of the decision."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from pydantic import Field

from whyperf.explain.calibration.tables import CalibrationTable

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
