"""How often the parts of drawn situations are measured."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from lab.situations import measuring
from lab.situations.draw import situations
from lab.situations.labels import UNCLEAR, Labels
from lab.situations.measuring import MAX_TRIALS, TRIALS, measure_until_clear
from lab.truth import plan_truth
from lab.truth.catalog import Catalog
from tests.unit.record.record_samples import record
from whyperf.plan import PlannedTrial
from whyperf.record import Experiment


def test_more_trials_are_made_of_what_is_unclear_and_again_what_others_disturbed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalog = situations(2, 5)
    unclear, disturbed = (situation.name for situation in catalog.situation)
    busy = f"{disturbed}-situation"
    answers = iter(
        [
            (Labels({}, {unclear: UNCLEAR, disturbed: "other programs"}), frozenset({busy})),
            (Labels({}, {}), frozenset[str]()),
        ]
    )
    rounds: list[Counter[str]] = []

    def measure(experiment: Experiment, _: Catalog, *, as_json: bool, wants: Callable[[PlannedTrial], bool]) -> None:
        made = [trial for trial in experiment.missing_trials() if wants(trial) and not trial.is_log]
        assert not as_json
        for trial in made:
            record(experiment, trial.id)
        rounds.append(Counter(experiment.plan.cell(trial.cell).sweep for trial in made))

    monkeypatch.setattr(measuring, "measure", measure)
    monkeypatch.setattr(measuring, "labels_now", lambda *_: next(answers))
    profile, plan = plan_truth(catalog, trials=MAX_TRIALS, logs=1)
    with Experiment.create(tmp_path / "result", plan, profile.text) as experiment:
        measure_until_clear(experiment, catalog, as_json=False)
        sweeps = [cell.sweep for cell in plan.cells]
        own = [sweep for sweep in sweeps if sweep.startswith(unclear)]
        assert rounds[0] == dict.fromkeys(sweeps, TRIALS)
        assert rounds[1] == dict.fromkeys([*own, busy], TRIALS)
        assert rounds[2:] == []
        assert len(list((experiment.folder / "set-aside").iterdir())) == TRIALS
