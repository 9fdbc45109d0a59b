"""A calibration, step by step: time the steps, measure the grid, fit, judge, write, print."""

import sys
from contextlib import redirect_stdout
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path

from whyperf.analyze.stages.experiment import read_cells
from whyperf.calibrate import (
    Calibration,
    Measured,
    calibration_of,
    read_grid,
    stage_costs,
    step_checks,
    time_steps,
    write_host,
)
from whyperf.cli.exits import DONE, DOUBTFUL, UsageError, say
from whyperf.cli.inputs.evidence import AskedEvidence
from whyperf.cli.inputs.experiments import find_experiment
from whyperf.cli.inputs.fleet import AskedFleet
from whyperf.cli.inputs.question import understand
from whyperf.cli.output.calibration import print_calibration, print_steps
from whyperf.cli.output.formats import Format, OutputFormat
from whyperf.cli.streams import print_json
from whyperf.cli.workflows.measure import Order, measure
from whyperf.plan import PlannedStages
from whyperf.profile import shipped_names
from whyperf.record import Experiment

PROFILE = "calibration"
#: Of a calibration that is kept in the record folder next to others.
RESULTS = Path("results")


@dataclass(frozen=True)
class Wanted:
    """Everything the command line asked of `whyperf model calibrate`."""

    grid: str | None
    out: Path
    html: Path | None
    steps_only: bool
    rounds: int
    trials: int | None
    base: str
    generations: int
    seed: int
    as_json: bool


def calibrate(wanted: Wanted) -> int:
    """Does what was wanted; returns the exit code: 3 where the model misses what it should reach."""
    for path in (wanted.out, wanted.html):
        if path is not None and not path.absolute().parent.is_dir():
            raise UsageError(f"there is no folder {path.absolute().parent}; make it, or name another file")
    if wanted.grid is not None and not _is_result(wanted.grid):
        _refuse_host(wanted.grid)
    say(f"Timing the steps of sending and receiving, {wanted.rounds} rounds")
    steps = time_steps(wanted.rounds)
    if wanted.steps_only:
        if wanted.as_json:
            print_json({name: asdict(time) for name, time in steps.measured.items()})
        else:
            print_steps(steps)
        return DONE
    grid = _grid(wanted)
    calibration = calibration_of(
        wanted.base,
        steps,
        read_grid(grid),
        staged=_staged(grid),
        generations=wanted.generations,
        seed=wanted.seed,
        on_generation=_progress,
    )
    write_host(
        wanted.out,
        wanted.base,
        measured_on=calibration.measured_on,
        found=calibration.found,
        fit=calibration.fit,
        points=calibration.points,
        verdict=calibration.verdict,
    )
    if wanted.html is not None:
        from whyperf.report.calibration import page  # noqa: PLC0415 - drawing takes a second to load

        wanted.html.write_text(page(calibration), encoding="utf-8")
    if wanted.as_json:
        print_json(as_json(calibration))
    else:
        print_calibration(calibration, wanted.out, wanted.html)
    return DONE if calibration.verdict.holds else DOUBTFUL


def as_json(calibration: Calibration) -> dict[str, object]:
    """The calibration in plain types: rates in bit/s, costs in the unit their key ends with."""
    verdict = calibration.verdict
    return {
        "base": calibration.base,
        "measured_on": dict(calibration.measured_on),
        "steps": {name: asdict(time) for name, time in calibration.steps.measured.items()},
        "stages": {name: asdict(cost) for name, cost in calibration.staged.items()},
        "narrowed": None if calibration.narrowed is None else asdict(calibration.narrowed),
        "step_checks": [
            asdict(check) | {"difference_ratio": check.difference_ratio}
            for check in step_checks(calibration.steps.measured, calibration.staged)
        ],
        "costs": [
            {
                "key": cost.prior.key,
                "prior": cost.prior.value,
                "low": cost.prior.low,
                "high": cost.prior.high,
                "best": cost.best,
                "median": cost.median,
                "ensemble_low": cost.low,
                "ensemble_high": cost.high,
                "determined": cost.is_determined,
                "told": cost.is_determined,
                "traded_with": list(cost.traded_with),
                "source": cost.prior.source,
            }
            for cost in calibration.found
        ],
        "members": len(calibration.fit.members),
        "tried": calibration.fit.tried,
        "held_out_error_ratio_median": verdict.held_out_median,
        "held_out_error_ratio_worst": abs(verdict.held_out_worst.error_ratio),
        "fitted_error_ratio_median": verdict.fitted_median,
        "held_out_signs": asdict(verdict.held_out_signs),
        "signs": asdict(verdict.signs),
        "points": [
            {
                "window_bytes": point.point.place[0],
                "write_size_bytes": point.point.place[1],
                "held_out": point.is_held_out,
                "measured_bps": point.point.goodput_bps,
                "said_bps": point.said_bps,
                "low_bps": point.low_bps,
                "high_bps": point.high_bps,
                "error_ratio": point.error_ratio,
            }
            for point in verdict.points
        ],
    }


def _staged(grid: Experiment) -> dict[str, Measured]:
    """Costs that the stage times of the grid show; none where it has none."""
    staged = stage_costs(read_cells(grid, grid.trials()))
    if not staged:
        say("No stage times: the grid has no trial with them (--evidence stages), or this host cannot take them.")
    return staged


def _grid(wanted: Wanted) -> Experiment:
    """The result to fit to: one that is there, or measured now."""
    if wanted.grid is not None and _is_result(wanted.grid):
        return find_experiment(wanted.grid)
    asked = wanted.grid or PROFILE
    folder = RESULTS / f"{PROFILE}-{datetime.now():%Y%m%d-%H%M%S}"
    order = Order(
        question=asked,
        workload=None,
        host=None,
        address=None,
        port=0,
        fleet=AskedFleet(),
        testbed="veth",
        overrides={},
        options=(),
        only=(),
        leave_out_missing=False,
        trials=wanted.trials,
        # What stages take is an observation of single costs.
        evidence=AskedEvidence(stages=PlannedStages()),
        seed=wanted.seed,
        out=folder,
        dry_run=False,
        retry_failed=False,
        output=OutputFormat(format=Format.TEXT),
    )
    # Standard output is the calibration's.
    with redirect_stdout(sys.stderr):
        measure(order)
    return Experiment.open(folder)


def _is_result(name: str) -> bool:
    """True where it names a result: a shipped profile comes before a folder of its name."""
    return (RESULTS / name).is_dir() or (name not in shipped_names() and Path(name).is_dir())


def _refuse_host(name: str) -> None:
    """A grid is measured on the testbed of this host: what would be a far host is a mistake."""
    _, host = understand(name, None)
    if host is not None:
        raise UsageError(f"{name} is neither a result nor a profile; the grid is measured on this host's testbed")


def _progress(generation: int, loss: float) -> None:
    if generation % 10 == 0:
        say(f"Fit: generation {generation}, loss {loss:.4f}")
