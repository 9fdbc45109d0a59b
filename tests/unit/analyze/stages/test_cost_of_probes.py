"""What a probe costs: a value that other trials or the rows themselves show to be too large is not used."""

import json
from pathlib import Path

import polars as pl
import pytest

from tests.unit.analyze.stages.planted_stages import EMPTY_PAIR_NS
from tests.unit.analyze.stages.staged_results import staged
from tests.unit.analyze.synthetic import known
from whyperf.analyze.stages.experiment import read_cells
from whyperf.analyze.stages.notes import probe_sentence, stage_notes
from whyperf.analyze.stages.probe_cost import ProbeCost, probe_cost, usual_cost
from whyperf.record import Experiment


def rows(stage: str = "qdisc_out", shortest: int = 150, number: int = 400) -> pl.DataFrame:
    """Rows with two probes each: one in 10 takes `shortest` ns for each, the others more."""
    times = [2 * shortest + (0 if at % 10 == 0 else 100 + at) for at in range(number)]
    return pl.DataFrame({"stage": [stage] * number, "cpu_ns": times, "probes_count": [2] * number})


@pytest.mark.parametrize(
    ("measured", "usual", "table", "wanted"),
    [
        (120, 120, rows(), ProbeCost(120, 120)),
        (140, 120, rows(), ProbeCost(140, 140)),
        (270, 120, rows(), ProbeCost(270, 120, "trials")),
        (270, 270, rows(), ProbeCost(270, 150, "rows")),
        (270, None, rows(), ProbeCost(270, 150, "rows")),
        # A cost that is too small is no sign of other work.
        (60, 120, rows(), ProbeCost(60, 60)),
        # The program between two calls is no stage, and a few rows bound nothing.
        (270, 270, rows("application"), ProbeCost(270, 270)),
        (270, 270, rows(number=199), ProbeCost(270, 270)),
    ],
)
def test_the_cost_of_a_probe(measured: int, usual: int | None, table: pl.DataFrame, wanted: ProbeCost) -> None:
    assert probe_cost(measured, usual, table) == wanted


def test_the_usual_cost_is_the_lower_median() -> None:
    assert usual_cost([]) is None
    assert usual_cost([0, 0]) is None
    assert usual_cost([270, 120]) == 120
    assert usual_cost([121, 270, 120, 0]) == 121


def test_one_trial_out_of_line_is_named_and_has_the_cost_of_the_others(tmp_path: Path) -> None:
    folder = staged(tmp_path / "made").folder
    usual = _cost(Experiment.open(folder))
    path = folder / "trials" / "stages01-c0002" / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["hosts"]["near"]["evidence"]["stages"]["empty_pair_ns"] = 3 * EMPTY_PAIR_NS
    path.write_text(json.dumps(manifest))
    experiment = Experiment.open(folder)
    assert _cost(experiment) == pytest.approx(usual)
    sentence = probe_sentence(ProbeCost(3 * EMPTY_PAIR_NS, EMPTY_PAIR_NS, "trials"))
    assert f"Stage times, near side of stages01-c0002: {sentence}" in stage_notes(experiment, experiment.trials())


def _cost(experiment: Experiment) -> float:
    """CPU time of a packet at the sender of the second cell."""
    (cell,) = read_cells(experiment, experiment.trials(), {"c0002"})
    return known(cell.found).totals[0].cpu_ns.value
