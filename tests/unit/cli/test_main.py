"""The command line from outside, as far as it goes without an agent."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from whyperf.cli import main
from whyperf.cli.exits import INTERRUPTED
from whyperf.cli.inputs.question import understand
from whyperf.cli.output.lists import COMMON
from whyperf.plan import build
from whyperf.profile import find, shipped_names, shipped_workload_names
from whyperf.record import Experiment

LOADING = """
import sys

class Pressed:
    def find_spec(self, name, *_):
        if name == "pydantic":
            raise KeyboardInterrupt

sys.meta_path.insert(0, Pressed())
from whyperf.cli import main

sys.exit(main(["show", "nothing"]))
"""


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("WHYPERF_DEBUG", raising=False)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["run", "no.toml"], "no.toml: there is no such file"),
        (["run", "--trials", "many"], "invalid value for '--trials'"),
        (["run", "--no-such-option"], "no such option: --no-such-option"),
        (["run", "host7", "--testbed", "veth"], "--testbed veth is for measurements without a host"),
        (["run", "--address", "10.0.0.1"], "name the host too"),
        (["run", "demo", "--testbed", "loopback", "--dry-run", "--only", "window_bytes=5"], "there are: 4096, 8192"),
        (["run", "demo", "--testbed", "loopback", "--dry-run", "--trials", "0"], "--trials: 0 is not"),
        (["show"], "there are no results"),
        (["show", "nothing"], "there is no experiment nothing"),
        (["show", "x" * 300], "is too long for the name of a file"),
        (["doctor", "host7", "--clean"], "--clean is for this host alone"),
        (["observe"], "no such command 'observe'"),
        (["run", "--testbed", "loopback", "--trials", "1000000000"], "--trials: the plan has over 2000000 trials"),
        (["run", "-t"], "see `whyperf run --help`"),
        (["run", "/"], "/ is a folder; a profile is a TOML file"),
        (["doctor", "--pairs", "3"], "--pairs is for --probe-cost"),
    ],
)
def test_a_mistake_is_one_sentence_and_exit_code_2(
    arguments: list[str], says: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(arguments) == 2
    streams = capsys.readouterr()
    assert streams.out == ""
    assert says in streams.err
    assert streams.err.startswith("whyperf: ")
    assert streams.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def planned(folder: str) -> None:
    """An experiment of which nothing was measured."""
    profile = find("quick")
    Experiment.create(Path(folder), build(profile, target="loopback"), profile.text).close()


def test_a_dry_run_counts_log_trials_apart(capsys: pytest.CaptureFixture[str]) -> None:
    profile = Path("two.toml")
    profile.write_text('about = "x"\n[design]\ntrials = 3\n[[sweep]]\nname = "a"\nfactors = {connections = [1, 2]}\n')
    run = ["run", str(profile), "--testbed", "loopback", "--dry-run"]
    assert main(run) == 0
    plain = capsys.readouterr().out
    assert "trials: 6 in 3 blocks; time" in plain
    assert "evidence: counters" in plain
    assert main([*run, "--evidence", "segments"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "trials: 6 in 3 blocks, then 2 with the segment log; time" in lines[1]
    (row,) = (line.split() for line in lines if line.strip().startswith("c0002"))
    assert row == ["c0002", "connections=2", "3", "1"]


def test_what_is_no_experiment_is_distinguished_from_what_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    for number in range(5):
        planned(f"results/quick-{number}")
        os.utime(f"results/quick-{number}/plan.json", (number, number))
    latest = "the latest in results: quick-4, quick-3, quick-2, and 2 more\n"
    assert main(["show", "results"]) == 2
    assert capsys.readouterr().err == f"whyperf: there is no experiment results: it has no plan.json; {latest}"
    assert main(["show", "demo-4f69ee"]) == 2
    assert capsys.readouterr().err == f"whyperf: there is no experiment demo-4f69ee; {latest}"
    assert main(["show", "quick-44"]) == 2
    assert "did you mean quick-4?" in capsys.readouterr().err


def test_a_result_comes_before_a_folder_of_its_name(capsys: pytest.CaptureFixture[str]) -> None:
    planned("results/rr")
    planned("rr")
    main(["show", "rr", "--json"])
    assert capsys.readouterr().err == "rr means the result results/rr; for the folder of that name give ./rr\n"
    main(["show", "./rr", "--json"])
    assert capsys.readouterr().err == ""


def test_ctrl_c_while_the_program_loads_is_one_line(tmp_path: Path) -> None:
    loading = tmp_path / "loading.py"
    loading.write_text(LOADING)
    done = subprocess.run([sys.executable, str(loading)], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (INTERRUPTED, "", "whyperf: stopped\n")


def test_ctrl_c_while_the_launcher_loads_is_one_line(tmp_path: Path) -> None:
    launcher = Path(__file__).parents[3] / "python/whyperf.data/scripts/whyperf"
    (tmp_path / "whyperf").mkdir()
    (tmp_path / "whyperf" / "__init__.py").write_text("raise KeyboardInterrupt\n")
    run = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n{launcher.read_text()}"]
    done = subprocess.run(run, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (INTERRUPTED, "", "whyperf: stopped\n")


def test_list_names_all_profiles_and_factors(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "--json"]) == 0
    profiles = {entry["name"]: entry for entry in json.loads(capsys.readouterr().out)}
    assert profiles["window-sweep"]["cells"] == 455
    assert main(["list", "--factors", "--json"]) == 0
    assert "window_bytes" in {entry["name"] for entry in json.loads(capsys.readouterr().out)}


def test_list_is_one_screen_and_names_what_can_be_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    # A terminal has 24 lines of 80 columns.
    assert len(lines) < 24
    assert max(map(len, lines)) <= 80
    for name in COMMON:
        assert any(line.startswith(f"{name} ") for line in lines)
        understand(name, None)
    assert main(["list", "--all"]) == 0
    everything = capsys.readouterr().out
    assert all(name in everything for name in [*shipped_names(), *shipped_workload_names()])


def test_every_help_shows_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    for verb in ([], ["run"], ["show"], ["report"], ["list"], ["doctor"]):
        assert main([*verb, "--help"]) == 0
        text = " ".join(capsys.readouterr().out.split())
        assert f"whyperf {' '.join(verb)}".strip() in text
        assert "Example" in text
        assert "[[" not in text
    assert main([]) == 0
    assert "Usage: whyperf" in capsys.readouterr().out


def test_an_experiment_without_trials_is_shown_and_has_failed(capsys: pytest.CaptureFixture[str]) -> None:
    planned("results/sample")
    assert main(["show", "sample"]) == 1
    assert "no trial has a result" in capsys.readouterr().out
    planned("results/torn")
    Path("results/torn/trials").rmdir()
    assert main(["show", "torn"]) == 1
    assert capsys.readouterr().err.startswith("whyperf: results/torn has no folder trials; ")


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("results/sample", "holds plan"),
        ("photos", "has files that are not an experiment's"),
        ("file", "is not a folder"),
    ],
)
def test_a_folder_that_cannot_be_this_result_is_refused_before_a_session_begins(
    name: str, reason: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("WHYPERF_AGENT", "/bin/false")
    planned("results/sample")
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "cat.jpg").write_bytes(b"cat")
    (tmp_path / "file").write_bytes(b"")
    # A congestion control that was asked for: no host is asked first what it allows.
    assert main(["run", "-t", "1", "-C", "cubic", "--testbed", "loopback", "--out", name]) == 2
    assert reason in capsys.readouterr().err


def test_an_agent_that_does_not_work_is_said_and_leaves_nothing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("WHYPERF_AGENT", "/bin/false")
    assert main(["run", "--testbed", "loopback", "--out", "here"]) == 1
    streams = capsys.readouterr()
    assert "agent" in streams.err
    assert streams.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
