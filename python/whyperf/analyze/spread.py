"""The smallest parts of the result: a frozen part, and a quantity over the trials of a cell."""

from pydantic import BaseModel, ConfigDict


class Part(BaseModel):
    """A part of the result: frozen, and no field by accident."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Spread(Part):
    """A quantity over the trials of a cell. `low` and `high` are the ends of the 95 % bootstrap
    interval of the median; with two trials their range, with one null.
    """

    median: float | None = None
    low: float | None = None
    high: float | None = None
    mean: float | None = None
    stdev: float | None = None
