"""The command that a report gives makes the same plan again."""

import json
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from whyperf.cli import main
from whyperf.plan import Plan, PlannedStages, build
from whyperf.plan.plan_document import PlannedFleet, PlannedWatch
from whyperf.profile import Profile, find, load
from whyperf.record import Experiment, RecordError
from whyperf.record.experiment import _Kept
from whyperf.report.repeat import change_command, command, log_command

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


def of(plan: Plan, folder: Path, *, is_made_here: bool = True) -> Experiment:
    """A result with this plan, and the profile that is in the folder."""
    kept = folder / "profile.toml"
    profile = kept.read_text() if kept.exists() else RecordError("it is gone")
    experiment = Experiment(folder, plan, _Kept(plan, profile))
    experiment.is_made_here = is_made_here
    return experiment


def again(line: str, capsys: pytest.CaptureFixture[str]) -> Plan:
    """What the command would measure."""
    assert main([*shlex.split(line)[1:], "--dry-run", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    document.pop("estimate")
    return Plan.from_json(json.dumps(document), "plan.json")


@pytest.mark.parametrize(
    ("profile", "asked"),
    [
        ("quick", {"seed": 7, "overrides": {"no_delay": True, "near_cpus": "0,2-3"}}),
        ("demo", {"trials": 2, "evidence": "user"}),
        ("quick", {"evidence": "counters", "profile_hz": 997}),
        ("demo", {"evidence": None, "profile_hz": 4999}),
        ("demo", {"evidence": "segments", "only": ("sweep=throughput", "window_bytes=4096,8192")}),
        ("quick", {"stages": PlannedStages(one_in=8), "overrides": {"transport": ("quic", "tcp")}}),
    ],
)
def test_the_command_makes_the_same_plan(
    profile: str, asked: dict[str, Any], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    plan = build(find(profile), target="loopback", **asked)
    found = again(command(of(plan, tmp_path)), capsys)
    assert (found.id, found.stages, found.profile_hz) == (plan.id, plan.stages, plan.profile_hz)


def test_the_way_to_a_pair_and_its_address_are_named(tmp_path: Path) -> None:
    pair = PlannedFleet(pattern="pairs", far=("b",), via="ip netns exec {host}", addresses={"b": "192.0.2.7"})
    plan = build(find("quick"), target="b", near=("a",), fleet=pair)
    where = "--from a --to b --pattern pairs --via 'ip netns exec {host}' --address 192.0.2.7"
    assert f" {where} " in command(of(plan, tmp_path))


def test_the_far_host_is_named(tmp_path: Path) -> None:
    line = command(of(build(find("quick"), target="host7"), tmp_path))
    assert line == f"whyperf run quick --seed 1995 --host host7 --evidence counters --out {tmp_path}-again"


HOSTILE = "x; touch hacked $(touch hacked) `touch hacked`\ntouch hacked\n'\x03'"


def _hostile(**update: Any) -> Plan:
    """A plan with what its maker wrote into it."""
    return build(find("quick"), target="loopback").model_copy(update=update)


@pytest.mark.parametrize(
    "plan",
    [
        _hostile(profile=HOSTILE),
        _hostile(profile="--via=touch hacked"),
        _hostile(target=HOSTILE),
        _hostile(only=(HOSTILE,)),
        _hostile(variables={HOSTILE: HOSTILE}),
        _hostile(variables={"a=b touch hacked": "c"}),
        *(
            _hostile(watched=PlannedWatch(command=text, selection={}, started_realtime=""))
            for text in (HOSTILE, "touch hacked", "whyperf watch; touch hacked", "whyperf watch 'a\nb", "touch 'hacked")
        ),
    ],
    ids=range(11),
)
@pytest.mark.parametrize("is_made_here", [True, False])
def test_a_shell_runs_nothing_but_whyperf(plan: Plan, tmp_path: Path, *, is_made_here: bool) -> None:
    """Whatever a result of somebody else has as its names, pasting the command runs the command alone."""
    line = command(of(plan, Path("theirs"), is_made_here=is_made_here))
    assert line.isprintable()
    assert " --via=" not in line
    # The words alone: a program of this name prints them.
    called = f'whyperf() {{ printf "%s\\0" "$@"; }}; {line}'
    done = subprocess.run(["bash", "-c", called], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert list(tmp_path.iterdir()) == []
    called_with = done.stdout.split("\0")
    assert done.returncode != 0 or called_with[0] in {"run", "watch"}
    assert {HOSTILE} & {plan.target, *plan.only} <= {*called_with}


def test_a_watch_is_repeated_as_it_was_given() -> None:
    given = "whyperf watch :80 --out 'my results' -- curl -O 'http://host7/a b'"
    plan = _hostile(watched=PlannedWatch(command=given, selection={}, started_realtime=""))
    assert command(of(plan, Path("theirs"))) == given


def _through(via: str) -> PlannedFleet:
    return PlannedFleet(pattern="pairs", far=("b",), via=via)


@pytest.mark.parametrize(
    ("asked", "own", "foreign"),
    [
        (
            {"variables": {"LD_PRELOAD": "/tmp/their.so"}},
            "LD_PRELOAD=/tmp/their.so whyperf run quick ",
            "whyperf run quick ",
        ),
        (
            {"target": "b", "fleet": _through("sh -c 'touch hacked' {host}")},
            "whyperf run quick --seed 1995 --from near --to b --pattern pairs --via 'sh -c",
            "",
        ),
        (
            {"target": "b", "fleet": _through("podman")},
            "whyperf run quick --seed 1995 --from near --to b --pattern pairs --via podman ",
            "whyperf run quick --seed 1995 --from near --to b --pattern pairs --via podman ",
        ),
        (
            {"watched": PlannedWatch(command="whyperf watch :80 -- touch hacked", selection={}, started_realtime="")},
            "whyperf watch :80 -- touch hacked",
            "whyperf watch :80",
        ),
    ],
    ids=["variables", "own command", "kind of pipe", "watched command"],
)
def test_the_command_of_somebody_elses_result_starts_no_program_that_it_names(
    asked: dict[str, Any], own: str, foreign: str, tmp_path: Path
) -> None:
    plan = _hostile(near=("near",), **asked)
    assert command(of(plan, tmp_path)).startswith(own)
    line = command(of(plan, tmp_path, is_made_here=False))
    assert line.startswith(foreign)
    assert "hacked" not in line
    assert "LD_PRELOAD" not in line


@pytest.mark.parametrize("via", ["ssh", "sh -c 'touch hacked' {host}"])
def test_a_command_for_a_cell_leads_to_hosts_by_no_command_of_somebody_else(via: str, tmp_path: Path) -> None:
    plan = build(find("quick"), target="b", near=("a",), fleet=_through(via))
    for is_made_here in (True, False):
        experiment = of(plan, tmp_path, is_made_here=is_made_here)
        found = change_command(experiment, "c0001", {"no_delay": True}), log_command(experiment, "c0001")
        assert all(found) == (is_made_here or via == "ssh")


@pytest.mark.parametrize("name", ["mine", "demo"])
def test_a_profile_of_ones_own_is_the_kept_one(name: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    plan = build(_kept(OWN, tmp_path, name), target="loopback")
    line = command(of(plan, tmp_path / "results"))
    assert line.startswith(f"whyperf run {tmp_path}/results/profile.toml ")
    assert again(line, capsys).id == plan.id


def _kept(text: str, folder: Path, name: str) -> Profile:
    """A profile in a file of this name, and next to it the folder of results that keeps it."""
    (folder / "results").mkdir()
    for path in (folder / f"{name}.toml", folder / "results" / "profile.toml"):
        path.write_text(text)
    return load(folder / f"{name}.toml")


def test_a_change_of_a_single_measurement_is_a_command(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    plan = build(find("quick"), target="loopback", overrides={"window_bytes": 65536, "no_delay": True})
    line = change_command(of(plan, tmp_path), "c0001", {"window_bytes": "default"})
    assert line.startswith("whyperf run quick --testbed loopback ")
    (cell,) = again(line, capsys).cells
    assert cell.factors == {**plan.cells[0].factors, "window_bytes": "default"}


def test_a_change_of_a_sweep_is_for_one_cell(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    plan = build(find("demo"), only=["sweep=throughput"], target="loopback", trials=3)
    for cell in (plan.cells[0], plan.cells[-1]):
        line = change_command(of(plan, tmp_path), cell.id, {"no_delay": True})
        (changed,) = again(line, capsys).cells
        assert changed.factors == {**cell.factors, "no_delay": True}


def test_a_change_that_no_option_makes_has_no_command(tmp_path: Path) -> None:
    plan = build(find("quick"), target="loopback")
    assert change_command(of(plan, tmp_path), "c0001", {}) == ""
    # No profile of this name is left.
    gone = plan.model_copy(update={"profile": "gone"})
    assert change_command(of(gone, tmp_path), "c0001", {"no_delay": True}) == ""
    # The profile of the folder is not there.
    assert change_command(of(plan, tmp_path), "c0001", {"path_rtt_ms": 10}) == ""


@pytest.mark.parametrize("ending", ["", "[unknown]"])
def test_the_profile_of_a_result_is_parsed_once_for_all_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    """It may be somebody else's, and take seconds, whether it can be used or not."""
    plan = build(_kept(OWN, tmp_path, "mine"), target="loopback")
    (tmp_path / "results" / "profile.toml").write_text(f"# {tmp_path}\n{OWN}{ending}\n")
    parsed: list[str] = []
    # The package has a function of this name.
    loading = sys.modules["whyperf.profile.load"]
    parse_toml = loading.parse_toml

    def parse(text: str) -> object:
        parsed.append(text)
        return parse_toml(text)

    monkeypatch.setattr(loading, "parse_toml", parse)
    result = of(plan, tmp_path / "results")
    lines = [change_command(result, cell.id, {"no_delay": True}) for cell in plan.cells]
    assert len(set(lines)) == (1 if ending else 2)
    assert len(parsed) == 1
