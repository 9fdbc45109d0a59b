"""Whoever looks at a result learns that somebody else made it, or changed it."""

import shutil
from pathlib import Path

import pytest

from tests.unit.analyze import synthetic as made
from tests.unit.analyze.cost.sampled_results import add_samples
from whyperf.cli.app import main
from whyperf.plan import Plan
from whyperf.record import Experiment
from whyperf.record.seal import write_seal

NOTE = "was not made by you on this host, or its plan or profile was changed since."


@pytest.fixture
def result(tmp_path: Path) -> Path:
    """A result that was made here."""
    folder = made.write(tmp_path / "mine", [made.Trial(duration_s=2)])
    experiment = Experiment.open(folder)
    write_seal(folder, experiment.plan.named("").to_json(), experiment.profile_text)
    assert Experiment.open(folder).is_made_here
    return folder


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(arguments) in {0, 3}
    return capsys.readouterr().err


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_show_says_it_of_stored_results_too(
    result: Path, options: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert [NOTE in said(capsys, "show", str(result), *options) for _ in range(2)] == [False, False]
    (result / "seal").unlink()
    assert [NOTE in said(capsys, "show", str(result), *options) for _ in range(2)] == [True, True]


@pytest.mark.parametrize("verb", ["explain", "report", "flow", "cost"])
def test_commands_with_advice_say_it_too(result: Path, verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    add_samples(result)
    assert NOTE not in said(capsys, verb, str(result))
    (result / "seal").unlink()
    assert NOTE in said(capsys, verb, str(result))


def test_a_result_without_its_profile_is_one_that_was_changed(result: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (result / "profile.toml").unlink()
    assert NOTE in said(capsys, "flow", str(result))


def test_a_changed_plan_is_noted(result: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = Plan.from_json((result / "plan.json").read_text(), "plan.json")
    changed = plan.model_copy(update={"warnings": ("Disable your firewall.",)})
    (result / "plan.json").write_text(changed.to_json())
    assert NOTE in said(capsys, "show", str(result))


def test_compare_says_it_of_the_result_that_is_not(
    result: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    theirs = shutil.copytree(result, tmp_path / "theirs")
    (theirs / "seal").write_text("0" * 64)
    found = said(capsys, "compare", str(result), str(theirs), "--json")
    assert found.count(NOTE) == 1
    assert f"Note: {theirs} was not" in found
