"""Hosts that somebody else's result names are contacted only when the user says so."""

import io
import platform
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import typer

from tests.unit.record.record_samples import PROFILE_TEXT, sample_plan
from whyperf.cli.exits import UsageError
from whyperf.cli.workflows import why
from whyperf.cli.workflows.made_elsewhere import contacts_of, refuse_own_command
from whyperf.cli.workflows.why import ask_before, find_why, target_of
from whyperf.plan import LOCAL, PlannedFleet
from whyperf.record import Experiment
from whyperf.run import Kind, Target

Change = Callable[[Path, pytest.MonkeyPatch], None]


def ask(experiment: Experiment) -> None:
    plan = experiment.plan
    target = target_of(plan)
    assert target is not None
    cell = SimpleNamespace(cell=plan.cells[0].id)
    question = SimpleNamespace(experiment=experiment, plan=plan, cell=cell, budget_s=30.0)
    ask_before(cast("Any", question), target)


@pytest.fixture
def result(tmp_path: Path) -> Path:
    plan = sample_plan(target="far7", near=(LOCAL, "near8"))
    with Experiment.create(tmp_path / "result", plan, PROFILE_TEXT):
        return tmp_path / "result"


def unsealed(folder: Path, _: pytest.MonkeyPatch) -> None:
    (folder / "seal").unlink()


def with_another_host(folder: Path, _: pytest.MonkeyPatch) -> None:
    (folder / "plan.json").write_text(sample_plan(target="far7", near=(LOCAL, "near9")).to_json())


def with_another_profile(folder: Path, _: pytest.MonkeyPatch) -> None:
    (folder / "profile.toml").write_text(PROFILE_TEXT + "\n")


def on_another_host(_: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "node", lambda: "elsewhere")


def of_another_user(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(folder.parent / "state"))


def test_a_command_of_a_result_made_elsewhere_is_never_run(tmp_path: Path) -> None:
    fleet = PlannedFleet(pattern="fan-in", far=("far7",), via="sh -c 'touch gone' {host}")
    plan = sample_plan(target="far7", fleet=fleet)
    with Experiment.create(tmp_path / "result", plan, PROFILE_TEXT):
        result = tmp_path / "result"
    refuse_own_command(Experiment.open(result))
    (result / "seal").unlink()
    with pytest.raises(UsageError, match="by a command of its own"):
        refuse_own_command(Experiment.open(result))


def test_a_result_that_changes_meanwhile_is_checked_as_it_was_read(tmp_path: Path) -> None:
    own, other = tmp_path / "own", tmp_path / "other"
    fleet = PlannedFleet(pattern="fan-in", far=("far7",), via="sh -c 'touch gone' {host}")
    with Experiment.create(own, sample_plan(target="far7"), PROFILE_TEXT):
        pass
    with Experiment.create(other, sample_plan(target="far7", fleet=fleet), PROFILE_TEXT + "\n"):
        pass
    (other / "seal").unlink()
    opened = Experiment.open(other)
    for name in ("plan.json", "profile.toml", "seal"):
        shutil.copy(own / name, other / name)
    assert Experiment.open(other).is_made_here
    with pytest.raises(UsageError, match="by a command of its own"):
        refuse_own_command(opened)
    with pytest.raises(UsageError, match="was not made here"):
        ask(opened)
    assert opened.profile_text == PROFILE_TEXT + "\n"


def test_a_result_made_here_is_measured_again_without_a_question(result: Path) -> None:
    ask(Experiment.open(result))
    shutil.copytree(result, result.with_name("copy"))
    ask(Experiment.open(result.with_name("copy")))


@pytest.mark.parametrize(
    "change", [unsealed, with_another_host, with_another_profile, on_another_host, of_another_user]
)
def test_the_hosts_of_a_result_made_elsewhere_are_named_and_asked_for(
    result: Path, monkeypatch: pytest.MonkeyPatch, change: Change
) -> None:
    change(result, monkeypatch)
    near = "near9" if change is with_another_host else "near8"
    with pytest.raises(
        UsageError,
        match=rf"was not made here.* on {near} and far7 by ssh, and puts load on the path to far7, with up to 1 conn",
    ):
        ask(Experiment.open(result))


@pytest.mark.parametrize(("answer", "goes_on"), [("y\n", True), ("n\n", False), ("\n", False)])
def test_on_a_terminal_the_user_is_asked(
    result: Path, monkeypatch: pytest.MonkeyPatch, answer: str, *, goes_on: bool
) -> None:
    (result / "seal").unlink()
    monkeypatch.setattr(sys, "stdin", io.StringIO(answer))
    for stream in (sys.stdin, sys.stderr):
        monkeypatch.setattr(stream, "isatty", lambda: True)
    if goes_on:
        ask(Experiment.open(result))
    else:
        with pytest.raises(typer.Abort):
            ask(Experiment.open(result))


def test_the_hosts_that_are_measured_on_are_asked_for_whatever_the_result_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is measured is the plan of the experiments, and nothing is announced or measured before the answer."""
    with Experiment.create(tmp_path / "result", sample_plan(target="loopback"), PROFILE_TEXT) as experiment:
        (tmp_path / "result" / "seal").unlink()
    for name in ("announcements", "folder_of"):
        monkeypatch.setattr(why, name, pytest.fail)
    cell = SimpleNamespace(cell=experiment.plan.cells[0].id)
    plan = sample_plan(target="far7")
    asked = cast("Any", SimpleNamespace(experiment=experiment, plan=plan, cell=cell, budget_s=30.0))
    question = (
        "was not made here.* runs the agent on far7 by ssh, and puts load on the path to far7, with up to 1 connection "
    )
    with pytest.raises(UsageError, match=question):
        find_why(asked, as_json=False, may_contact=False, measuring=cast("Any", pytest.fail))


def fleet(*far: str, via: str = "ssh", **named: dict[str, str]) -> PlannedFleet:
    return PlannedFleet(pattern="pairs", far=far, via=via, **cast("Any", named))


@pytest.mark.parametrize(
    ("near", "asked", "contacts"),
    [
        (
            (LOCAL,),
            fleet("lab1", via="kubectl", destinations={"lab1": "root@prod-db"}, addresses={"lab1": "10.0.0.9"}),
            "runs the agent on root@prod-db (lab1) by kubectl, and puts load on the path to 10.0.0.9 (lab1)",
        ),
        (
            ("a", "b"),
            fleet("c", "d", via="docker", destinations={"a": "x", "c": "y"}),
            "runs the agent on x (a), b, y (c) and d by docker, and puts load on the paths to y (c) and d",
        ),
        (("a",), fleet(LOCAL), "runs the agent on a by ssh, and puts load on the path to this host"),
        # Both agents are here, and the connections go elsewhere.
        ((LOCAL,), fleet(LOCAL, addresses={LOCAL: "10.0.0.9"}), "puts load on the path to 10.0.0.9 (this host)"),
        ((LOCAL,), fleet(LOCAL), ""),
    ],
)
def test_hosts_are_named_as_they_are_reached(near: tuple[str, ...], asked: PlannedFleet, contacts: str) -> None:
    assert contacts_of(Target(Kind.NETWORK, ",".join(asked.far), near=near, fleet=asked)) == contacts


def test_a_target_of_this_host_contacts_nobody() -> None:
    assert contacts_of(Target(Kind.LOOPBACK)) == contacts_of(Target(Kind.VETH)) == ""
    assert contacts_of(Target(Kind.LOOPBACK, near=("near8",))).startswith("runs the agent on near8 by ssh")
