"""`whyperf explain … --try` makes the load of somebody else's result only when the user says so."""

import io
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import typer

from tests.unit.record.record_samples import PROFILE_TEXT, sample_plan
from whyperf.cli.exits import UsageError
from whyperf.cli.workflows import why, why_question
from whyperf.cli.workflows.why import find_why
from whyperf.cli.workflows.why_question import question_about
from whyperf.explain.experiments.goals import Obstacle
from whyperf.plan import Plan
from whyperf.record import Experiment


class Measured(Exception):  # noqa: N818 - no failure
    """What would load the host has begun."""


def find(folder: Path, plan: Plan, monkeypatch: pytest.MonkeyPatch, *, may_contact: bool = False) -> None:
    """Begins to look for the limit of a result that has this plan."""

    def announced(_: Plan) -> None:
        raise Measured

    monkeypatch.setattr(why, "announcements", announced)
    question = SimpleNamespace(
        experiment=Experiment.open(folder), plan=plan, cell=SimpleNamespace(cell="c0001"), budget_s=30.0
    )
    find_why(cast("Any", question), as_json=False, may_contact=may_contact)


@pytest.fixture
def plan() -> Plan:
    return sample_plan(target="loopback", overrides={"connections": 5000})


@pytest.fixture
def theirs(tmp_path: Path, plan: Plan) -> Path:
    with Experiment.create(tmp_path / "theirs", plan, PROFILE_TEXT):
        (tmp_path / "theirs" / "seal").unlink()
    return tmp_path / "theirs"


def test_the_load_of_somebody_elses_result_is_asked_for(
    theirs: Path, plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    says = r"/theirs was not made here.*; trying changes puts load on this host, with up to 5,000 connections for about"
    with pytest.raises(UsageError, match=rf"{says} 30 s; give --yes if it may"):
        find(theirs, plan, monkeypatch)
    with pytest.raises(Measured):
        find(theirs, plan, monkeypatch, may_contact=True)


def test_hosts_are_named_in_the_same_question(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = sample_plan(target="far7")
    with Experiment.create(tmp_path / "theirs", plan, PROFILE_TEXT):
        (tmp_path / "theirs" / "seal").unlink()
    says = "runs the agent on far7 by ssh, and puts load on the path to far7, with up to 1 connection for about 30 s"
    with pytest.raises(UsageError, match=says):
        find(tmp_path / "theirs", plan, monkeypatch)


@pytest.mark.parametrize(("answer", "ends"), [("y\n", Measured), ("n\n", typer.Abort), ("\n", typer.Abort)])
def test_on_a_terminal_the_user_decides(
    theirs: Path, plan: Plan, monkeypatch: pytest.MonkeyPatch, answer: str, ends: type[Exception]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(answer))
    for stream in (sys.stdin, sys.stderr):
        monkeypatch.setattr(stream, "isatty", lambda: True)
    with pytest.raises(ends):
        find(theirs, plan, monkeypatch)


def test_a_result_made_here_is_tried_without_a_question(
    tmp_path: Path, plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Experiment.create(tmp_path / "mine", plan, PROFILE_TEXT):
        pass
    with pytest.raises(Measured):
        find(tmp_path / "mine", plan, monkeypatch)


def test_a_result_that_does_not_say_where_it_was_measured_is_of_another_host(
    theirs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(why_question, "describe_host", lambda _: {"hostname": "here", "cpu_model": "a CPU"})
    nothing = cast("Any", SimpleNamespace(cell="c0001"))
    with pytest.raises(Obstacle, match="measured on a host that it does not name"):
        question_about(Experiment.open(theirs), nothing, nothing, 10.0, allows_harm=False)
