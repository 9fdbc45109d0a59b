"""A uperf profile as a profile of whyperf: one cell, its plan, its repetition."""

import json
import shlex
from pathlib import Path

import pytest

from tests.unit.profile.uperf.uperf_profiles import BULK, OPERATOR_RR, SHAPES, VARIABLES, VOICE
from whyperf.cli import main
from whyperf.plan import Plan, build, estimate
from whyperf.profile import Profile, ProfileError, find, load, parse
from whyperf.profile.uperf.load import name_of, profile_of
from whyperf.record import Experiment, kept_profile
from whyperf.report.repeat import command


def profile(text: str, name: str = "p") -> Profile:
    """The profile with the values of VARIABLES."""
    return profile_of(text, name=name, where=f"{name}.xml", environment=VARIABLES)


@pytest.mark.parametrize("shape", ["bulk", "connect", "voice", "two-groups"])
def test_every_shape_is_a_plan_of_one_cell(shape: str) -> None:
    plan = build(profile(SHAPES[shape]))
    (cell,) = plan.cells
    assert plan.workload(cell.id) is not None
    assert plan.trials_count == 1
    # The profile says how long it lasts.
    assert {"duration_s", "warmup_s", "connections"} & cell.factors.keys() == set()
    assert Plan.from_json(plan.to_json(), "plan.json").id == plan.id


def test_the_workload_is_named_after_the_profile() -> None:
    plan = build(profile(BULK))
    assert plan.about == 'uperf profile "bulk"'
    assert plan.cells[0].factors["workload"] == "uperf-bulk"
    planned = plan.workload("c0001")
    assert planned is not None
    assert planned.strands_count == 3
    assert profile(BULK.replace('"Bulk"', '"a &amp; b?"')).fixed["workload"] == "uperf-a-amp-b"
    assert profile(BULK.replace('name="Bulk"', ""), "mine").fixed["workload"] == "uperf-mine"


@pytest.mark.parametrize(
    ("shape", "metric"),
    [("bulk", "goodput"), ("request-response", "transactions"), ("connect", "transactions"), ("voice", "goodput")],
)
def test_what_the_result_is_reported_in(shape: str, metric: str) -> None:
    planned = build(profile(SHAPES[shape])).workload("c0001")
    assert planned is not None
    assert planned.metric == metric


def test_the_transport_is_the_profiles() -> None:
    assert build(profile(VOICE)).cells[0].factors["transport"] == "udp"
    with pytest.raises(ProfileError, match="does not run over tcp; it takes udp"):
        build(profile(VOICE), overrides={"transport": "tcp"})


@pytest.mark.parametrize("factor", ["duration_s", "transfer_bytes", "connections", "direction"])
def test_what_the_profile_says_is_not_set(factor: str) -> None:
    with pytest.raises(ProfileError, match=factor):
        build(profile(BULK), overrides={factor: "send" if factor == "direction" else 5})


def test_factors_next_to_the_profile_are_set() -> None:
    plan = build(profile(BULK), overrides={"congestion_control": "reno", "mtu_bytes": 9000, "io_model": "blocking"})
    factors = plan.cells[0].factors
    assert (factors["congestion_control"], factors["mtu_bytes"], factors["io_model"]) == ("reno", 9000, "blocking")
    assert (factors["no_delay"], factors["send_buffer_bytes"]) == (True, 65536)


def test_threads_are_not_pinned_unless_asked_as_in_uperf() -> None:
    def cpus(plan: Plan) -> list[object]:
        return [plan.cells[0].factors[name] for name in ("near_cpus", "far_cpus")]

    assert cpus(build(profile(BULK))) == ["any", "any"]
    assert cpus(build(profile(BULK), overrides={"near_cpus": "0", "far_cpus": "auto"})) == ["0", "auto"]


def test_the_time_it_takes_is_known() -> None:
    assert estimate(build(profile(BULK))).seconds == pytest.approx(0.4, abs=0.3)


def test_the_far_host_and_the_variables_are_reported() -> None:
    plan = build(profile(BULK))
    assert plan.variables == {"h": "far.example", "proto": "tcp", "nthr": "3", "dur": "400ms"}
    (warning,) = plan.warnings
    assert warning.startswith("The embedded testbed stands for far.example, the profile's far host; --host far.example")
    assert build(profile(BULK), target="far.example").warnings == ()


def test_a_profile_is_known_by_its_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in VARIABLES.items():
        monkeypatch.setenv(name, value)
    for name in ("mine.xml", "mine.profile", "mine.toml"):
        (tmp_path / name).write_text(OPERATOR_RR)
        assert load(tmp_path / name).about == 'uperf profile "rr-tcp-1024-1024-2"'
    (tmp_path / "latin.xml").write_bytes(b"<!-- Stra\xdfe -->" + OPERATOR_RR.encode())
    assert find(str(tmp_path / "latin.xml")).name == "latin"
    (tmp_path / "mine.xml").write_text('about = "TOML, in spite of the name"')
    assert load(tmp_path / "mine.xml").about == "TOML, in spite of the name"


def test_variables_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("h", raising=False)
    monkeypatch.setenv("H", "capital")
    with pytest.raises(
        ProfileError, match="names in small letters only, so set it in the environment: h=… whyperf run"
    ):
        parse(OPERATOR_RR, name="p", where="p.xml")


def test_the_record_keeps_the_profile_and_the_command_repeats_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = build(profile(BULK, "bulk"), target="loopback")
    with Experiment.create(tmp_path / "results", plan, BULK) as experiment:
        result = experiment
        assert kept_profile(experiment.folder).name == "profile.xml"
        assert experiment.profile_text == BULK
    arguments = shlex.split(command(result))
    assert arguments[: len(plan.variables)] == [f"{name}={value}" for name, value in plan.variables.items()]
    for assignment in arguments[: len(plan.variables)]:
        monkeypatch.setenv(*assignment.split("=", 1))
    rest = arguments[len(plan.variables) :]
    assert rest[:3] == ["whyperf", "run", f"{tmp_path}/results/profile.xml"]
    assert main([*rest[1:], "--dry-run", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["id"] == plan.id


def test_the_name_that_a_profile_gives_itself() -> None:
    assert name_of('<Profile Name="A B">\n<group name="c">') == "a b"
    assert name_of('<profile> <group name="c">') == ""
    assert name_of('<profile name="x') == ""
