"""explain.json and result.json: read back as they were written, and only of the record as it is."""

import json
from pathlib import Path

import pytest

from tests.whole.records.golden import unpack
from whyperf.analyze import summarize
from whyperf.cli.output.explanation import print_explanation
from whyperf.explain.causes import Cause
from whyperf.explain.experiment import explain_experiment
from whyperf.explain.model import CellExplanation, Change, Explanation, Verdict
from whyperf.explain.store import NAME, read_explanation, write_explanation
from whyperf.explain.stored_result import NAME as RESULT
from whyperf.explain.stored_result import StoredResult, read_result, write_result
from whyperf.explain.verify import Verified, keep, looks_of, uncounted, with_verifications
from whyperf.explain.verify.kept import FILE
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


CLAIM = Verified(
    experiment="verified",
    cell="c",
    cause=Cause.RANDOM_LOSS,
    factors={"path_loss": 0.0},
    predicted_gain=2.0,
    first_look=6,
)


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Experiment, Experiment]:
    """A result, and a verification next to it that was made elsewhere."""
    unpack("verified", tmp_path)
    folder = tmp_path / "results" / "verified"
    (verification,) = folder.parent.glob("verified-verify-*")
    return Experiment.open(folder), Experiment.open(verification)


def test_when_to_look_is_laid_down_once(pair: tuple[Experiment, Experiment]) -> None:
    path = pair[1].folder / FILE
    # Not by somebody else.
    write_kept(path, "of another result", CLAIM.model_copy(update={"first_look": 1}).model_dump(mode="json"))
    assert keep(*pair, CLAIM) == CLAIM
    later = CLAIM.model_copy(update={"first_look": 9, "predicted_gain": 3.0})
    assert keep(*pair, later) == later.model_copy(update={"first_look": 6})
    assert json.loads(path.read_bytes())["first_look"] == 6
    blocks = len(pair[0].plan.blocks)
    assert looks_of(pair[0].plan, CLAIM.model_copy(update={"first_look": None})).at == (blocks,)


def test_only_a_verification_that_was_made_here_for_this_result_counts(
    pair: tuple[Experiment, Experiment], capsys: pytest.CaptureFixture[str]
) -> None:
    result, verification = pair
    change = Change(factors=CLAIM.factors)
    verdict = Verdict(cause=CLAIM.cause, claim="", confidence="high", evidence=[], refuted_by="", change=change)
    cell = CellExplanation(
        cell=CLAIM.cell, trial=None, rate_bps=None, dominant_state=None, missing=[], budgets=[], patterns=[],
        verdicts=[verdict], headline="",
    )  # fmt: skip
    explanation = Explanation(experiment=result.name, cells=[cell], headline="")

    def is_verified() -> bool:
        return with_verifications(explanation, result).cells[0].verdicts[0].verification is not None

    (verification.folder / FILE).write_text(CLAIM.model_dump_json())
    assert (is_verified(), uncounted(result)) == (False, [verification.name])
    print_explanation(result, None, None, as_json=False)
    assert f"Note: {verification.name} verifies nothing here: it was not made by you" in capsys.readouterr().err
    keep(*pair, CLAIM)
    assert (is_verified(), uncounted(result)) == (True, [])
    # A result that was changed is another one.
    profile = result.folder / "profile.toml"
    profile.write_text(profile.read_text() + "\n")
    result = Experiment.open(result.folder)
    assert (is_verified(), uncounted(result)) == (False, [verification.name])
