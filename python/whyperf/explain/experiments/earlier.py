"""Measurements by `explain --verify` of a result before experiments took its place: a change, in pairs with the
original.

A folder `RESULT-verify-…` next to the result has the trials, and in `verifies.json` the change. It counts only if this
user's whyperf on this host wrote it for this result, as `why.json` does.
"""

from collections.abc import Iterator
from contextlib import suppress

from pydantic import BaseModel, ValidationError

from whyperf.analyze.text import count, significant
from whyperf.explain.experiments.kept import MAX_BYTES, made_of, newest
from whyperf.explain.experiments.ladder import ORIGINAL
from whyperf.explain.experiments.outcomes import gains_of
from whyperf.explain.explanation import Level
from whyperf.explain.wording.catalog import render
from whyperf.explain.wording.changes import change_text, interval_text
from whyperf.record import Experiment, RecordError
from whyperf.record.kept import read_kept

FILE = "verifies.json"
CHANGED = "changed"


class _Kept(BaseModel):
    """The needed part of the file."""

    cell: str
    factors: dict[str, Level]


def verified_earlier(experiment: Experiment) -> Iterator[tuple[str, str]]:
    """Of each folder the cell and a sentence; what cannot be read is left out."""
    for path in sorted(newest(experiment, FILE)):
        with suppress(RecordError, ValidationError, OSError):
            made = Experiment.open(path.parent)
            kept = _Kept.model_validate(read_kept(path, made_of(experiment, made), MAX_BYTES))
            if sentence := _sentence(made, kept):
                yield kept.cell, sentence


def _sentence(made: Experiment, kept: _Kept) -> str:
    from whyperf.explain.experiments.answer import outcome_of  # noqa: PLC0415 - few results have any

    gains = gains_of(_rates(made), ORIGINAL).get(CHANGED)
    if gains is None:
        return ""
    values = {
        "change": change_text(kept.factors),
        "times": significant(gains.gain),
        "interval": interval_text(gains.low, gains.high),
        "pairs": count(gains.pairs, "pair"),
        "outcome": render("earlier", outcome_of(gains), {}),
    }
    return render("earlier", "verified", values)


def _rates(made: Experiment) -> dict[str, list[float]]:
    """The rates of the original and of the changed cell, in what the workload is measured in."""
    import polars as pl  # noqa: PLC0415 - as above

    from whyperf.analyze import read_inputs  # noqa: PLC0415
    from whyperf.analyze.trials import measure_trials  # noqa: PLC0415

    plan, measured = made.plan, measure_trials(read_inputs(made))
    trials, rate = measured.trials, "goodput_bps"
    workloads = [plan.workload(cell.id) for cell in plan.cells]
    if all(workload is not None and workload.metric == "transactions" for workload in workloads):
        trials, rate = trials.join(measured.transactions, on="trial"), "transactions_per_s"
    return {
        cell.sweep: trials.filter((pl.col("cell") == cell.id) & (pl.col(rate) > 0))[rate].to_list()
        for cell in plan.cells
    }
