"""explain.json and result.json: read back as they were written, and only of the record as it is."""

import json
from pathlib import Path

import pytest

from tests.whole.records.golden import unpack
from whyperf.analyze import summarize
from whyperf.explain.causes import Cause
from whyperf.explain.experiment import explain_experiment
from whyperf.explain.store import NAME, read_explanation, write_explanation
from whyperf.explain.stored_result import NAME as RESULT
from whyperf.explain.stored_result import StoredResult, read_result, write_result
from whyperf.explain.verify.kept import FILE, Verified, keep, looks_of
from whyperf.record import Experiment
from whyperf.record.kept import fingerprint_of


@pytest.fixture
def experiment(tmp_path: Path) -> Experiment:
    unpack("stream-user", tmp_path)
    return Experiment.open(tmp_path / "results" / "stream-user")


def test_an_explanation_is_read_back_until_the_record_changes(experiment: Experiment) -> None:
    explanation = explain_experiment(experiment)
    path = write_explanation(experiment, explanation)
    assert path == experiment.folder / NAME
    assert read_explanation(experiment) == explanation
    write_explanation(experiment, explanation, "of another record")
    assert read_explanation(experiment) is None


@pytest.mark.parametrize("change", [{"format": 2}, {"cells": 7}])
def test_an_explanation_of_another_format_is_not_read(experiment: Experiment, change: dict[str, object]) -> None:
    explanation = explain_experiment(experiment)
    path = write_explanation(experiment, explanation)
    text = path.read_text()
    document = json.loads(text)
    document.update(change)
    path.write_text(json.dumps(document))
    assert read_explanation(experiment) is None
    path.write_text(text)
    assert read_explanation(experiment) == explanation


def test_a_result_is_read_back_until_the_record_changes(experiment: Experiment) -> None:
    folder, fingerprint = experiment.folder, fingerprint_of(experiment.folder)
    result = StoredResult(summarize(experiment), "It is so.", is_made_here=True)
    assert read_result(folder, fingerprint) is None
    write_result(folder, result, fingerprint)
    assert (folder / RESULT).exists()
    assert read_result(folder, fingerprint) == result
    assert read_result(folder, "of another record") is None


def test_a_sentence_that_names_another_folder_is_not_repeated(experiment: Experiment, tmp_path: Path) -> None:
    folder, fingerprint = experiment.folder, fingerprint_of(experiment.folder)
    summary = summarize(experiment)
    for why, kept in ((f"See {folder}.", None), ("It is so.", "It is so."), (None, None)):
        write_result(folder, StoredResult(summary, why, is_made_here=False), fingerprint)
        assert read_result(folder, fingerprint) == StoredResult(summary, why, is_made_here=False)
        moved = folder.rename(tmp_path / "moved")
        assert read_result(moved, fingerprint) == StoredResult(summary, kept, is_made_here=False)
        moved.rename(folder)


def test_when_to_look_is_laid_down_once(tmp_path: Path, experiment: Experiment) -> None:
    first = Verified(
        experiment="e", cell="c", cause=Cause.RANDOM_LOSS, factors={"path_loss": 0.0}, predicted_gain=2.0, first_look=6
    )
    assert keep(tmp_path, first) == first
    later = first.model_copy(update={"first_look": 9, "predicted_gain": 3.0})
    assert keep(tmp_path, later) == later.model_copy(update={"first_look": 6})
    assert Verified.model_validate_json((tmp_path / FILE).read_bytes()).first_look == 6
    blocks = len(experiment.plan.blocks)
    assert looks_of(experiment.plan, first.model_copy(update={"first_look": None})).at == (blocks,)
