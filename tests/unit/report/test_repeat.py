"""The command that a report gives makes the same plan again."""

import json
import shlex
from pathlib import Path

import pytest

from whyperf.cli import main
from whyperf.plan import Level, Plan, PlannedStages, build
from whyperf.profile import Factors, Overrides, Profile, find, load
from whyperf.report.repeat import change_command, command

OWN = """
about = "Two windows"
[design]
trials = 4
[[sweep]]
name = "main"
log_trials = 1
[sweep.factors]
window_bytes = [4096, 8192]
"""


def again(line: str, capsys: pytest.CaptureFixture[str]) -> Plan:
    """What the command would measure."""
    assert main([*shlex.split(line)[1:], "--dry-run", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    document.pop("estimate")
    return Plan.from_json(json.dumps(document), "plan.json")


@pytest.mark.parametrize("evidence", [None, "user", "counters", "segments"])
@pytest.mark.parametrize("trials", [None, 2])
@pytest.mark.parametrize("profile", ["quick", "demo"])
def test_the_command_makes_the_same_plan(
    profile: str, trials: int | None, evidence: Level | None, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    changed: Factors = {"no_delay": True, "near_cpus": "0,2-3"}
    plan = build(find(profile), seed=7, trials=trials, target="loopback", overrides=changed, evidence=evidence)
    assert again(command(plan, str(tmp_path)), capsys).id == plan.id


@pytest.mark.parametrize("rate", [997, 4999])
@pytest.mark.parametrize("evidence", [None, "user", "counters", "segments"])
@pytest.mark.parametrize("profile", ["quick", "demo"])
def test_the_command_takes_stack_samples_again(
    profile: str, evidence: Level | None, rate: int, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    plan = build(find(profile), target="loopback", evidence=evidence, profile_hz=rate)
    assert plan.profile_hz == rate
    assert again(command(plan, str(tmp_path)), capsys).id == plan.id


def test_the_command_has_stage_trials_again_of_the_cells_that_can_have_some(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    changed: Overrides = {"transport": ("quic", "tcp")}
    plan = build(find("quick"), target="loopback", overrides=changed, stages=PlannedStages(one_in=8))
    assert plan.stage_trials_count == 1
    found = again(command(plan, str(tmp_path)), capsys)
    assert (found.id, found.stages) == (plan.id, plan.stages)


def test_the_command_keeps_the_part_of_the_plan(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    only = ("sweep=throughput", "window_bytes=4096,8192")
    plan = build(find("demo"), only=only, target="loopback", evidence="segments")
    assert again(command(plan, str(tmp_path)), capsys).id == plan.id


def test_the_far_host_is_named(tmp_path: Path) -> None:
    line = command(build(find("quick"), target="host7"), str(tmp_path))
    assert line == f"whyperf run quick --seed 1995 --host host7 --evidence counters --out {tmp_path}-again"


@pytest.mark.parametrize("name", ["mine", "demo"])
def test_a_profile_of_ones_own_is_the_kept_one(name: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    plan = build(_kept(OWN, tmp_path, name), target="loopback")
    line = command(plan, str(tmp_path / "results"))
    assert line.startswith(f"whyperf run {tmp_path}/results/profile.toml ")
    assert again(line, capsys).id == plan.id


def test_a_kept_profile_that_is_the_shipped_one_has_its_name(tmp_path: Path) -> None:
    shipped = find("demo")
    plan = build(_kept(shipped.text, tmp_path, "demo"), target="loopback")
    assert command(plan, str(tmp_path / "results")).startswith("whyperf run demo ")


def _kept(text: str, folder: Path, name: str) -> Profile:
    """A profile in a file of this name, and next to it the folder of results that keeps it."""
    (folder / "results").mkdir()
    for path in (folder / f"{name}.toml", folder / "results" / "profile.toml"):
        path.write_text(text)
    return load(folder / f"{name}.toml")


def test_a_change_of_a_single_measurement_is_a_command(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    plan = build(find("quick"), target="loopback", overrides={"window_bytes": 65536, "no_delay": True})
    line = change_command(plan, "c0001", {"window_bytes": "default"}, str(tmp_path))
    assert line.startswith("whyperf run quick --testbed loopback ")
    (cell,) = again(line, capsys).cells
    assert cell.factors == {**plan.cells[0].factors, "window_bytes": "default"}


def test_a_change_of_a_sweep_is_for_one_cell(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    plan = build(find("demo"), only=["sweep=throughput"], target="loopback", trials=3)
    for cell in (plan.cells[0], plan.cells[-1]):
        line = change_command(plan, cell.id, {"no_delay": True}, str(tmp_path))
        (changed,) = again(line, capsys).cells
        assert changed.factors == {**cell.factors, "no_delay": True}


def test_a_change_that_no_option_makes_has_no_command(tmp_path: Path) -> None:
    plan = build(find("quick"), target="loopback")
    assert change_command(plan, "c0001", {}, str(tmp_path)) == ""
    # No profile of this name is left.
    gone = plan.model_copy(update={"profile": "gone"})
    assert change_command(gone, "c0001", {"no_delay": True}, str(tmp_path)) == ""
    # The profile of the folder is not there.
    assert change_command(plan, "c0001", {"path_rtt_ms": 10}, str(tmp_path)) == ""
