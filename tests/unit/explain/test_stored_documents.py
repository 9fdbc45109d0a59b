"""explain.json and result.json: read back as they were written, and only of the record as it is."""

import json
import re
from pathlib import Path

import pytest

from tests.whole.records.golden import unpack
from whyperf.analyze import summarize
from whyperf.cli.output.explanation import print_explanation
from whyperf.explain.experiment import explain_experiment
from whyperf.explain.experiments.kept import VERIFIED, made_of, verified_earlier
from whyperf.explain.store import (
    NAME,
    RESULT,
    StoredResult,
    read_explanation,
    read_result,
    write_explanation,
    write_result,
)
from whyperf.record import Experiment
from whyperf.record.kept import fingerprint_of, write_kept


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


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Experiment, Experiment]:
    """A result, and what an earlier version verified of it, which was made elsewhere."""
    unpack("verified", tmp_path)
    folder = tmp_path / "results" / "verified"
    (made,) = folder.parent.glob("verified-verify-*")
    return Experiment.open(folder), Experiment.open(made)


def test_what_was_verified_earlier_is_said_where_it_was_made_here_for_this_result(
    pair: tuple[Experiment, Experiment], capsys: pytest.CaptureFixture[str]
) -> None:
    result, made = pair
    assert list(verified_earlier(result)) == []
    document = json.loads((made.folder / VERIFIED).read_text())
    document.pop("made_of", None)
    write_kept(made.folder / VERIFIED, made_of(result, made), document)
    ((cell, sentence),) = verified_earlier(result)
    assert cell == document["cell"] == result.plan.cells[0].id
    assert re.fullmatch(
        r"Verified earlier: with window_bytes = 65,536 bytes the rate is [\d.]+ × as high "
        r"\([\d.]+–[\d.]+ × in \d+ pairs\): the change raises it\.",
        sentence,
    )
    print_explanation(result, None, None, as_json=False)
    printed = " ".join(capsys.readouterr().out.split())
    assert sentence in printed
    # A result that was changed is another one, and what cannot be read is left out.
    profile = result.folder / "profile.toml"
    profile.write_text(profile.read_text() + "\n")
    assert list(verified_earlier(Experiment.open(result.folder))) == []
    write_kept(made.folder / VERIFIED, made_of(result, made), {"cell": 7})
    assert list(verified_earlier(result)) == []
