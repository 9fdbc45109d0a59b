"""Ctrl-C, and a polite kill: the run stops within 2 s, says how to go on, and goes on."""

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e import whyperf_command
from tests.e2e.conftest import GONE_WITHIN_S, Ours
from tests.e2e.contents import finished_trials, partial_trials
from tests.e2e.experiments import profile_text
from whyperf.cli import main
from whyperf.cli.exits import DOUBTFUL, INTERRUPTED
from whyperf.record import Experiment

Start = Callable[..., subprocess.Popen[bytes]]

LOOPBACK = ("--testbed", "loopback", "--out", "results")
#: A trial is long enough to be hit while it runs, and a busy host does not end all of them before it is hit.
LEVELS = {"duration_s": 0.3, "warmup_s": 0, "cooldown_s": 0}
TRIALS = 6
#: No test that runs next to others measures how soon a run stops; it is to stop.
STOPS_WITHIN_S = 30


@pytest.fixture
def run(tmp_path: Path, started: Start) -> Callable[..., subprocess.Popen[bytes]]:
    """Starts `whyperf run` in a process group of its own, as a shell does."""
    profile = tmp_path / "stopped.toml"
    profile.write_text(profile_text(TRIALS, **LEVELS))

    def start(*arguments: str) -> subprocess.Popen[bytes]:
        argv = whyperf_command.argv("run", profile, *arguments)
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return started(argv, cwd=tmp_path, start_new_session=True, **streams)

    return start


def await_trials(folder: Path, count: int) -> None:
    """Waits until so many trials are finished."""
    while len(list((folder / "results" / "trials").glob("[0-9]*"))) < count:
        time.sleep(0.02)


def stopped(controller: subprocess.Popen[bytes], number: signal.Signals) -> tuple[str, str]:
    """Sends a signal to the whole group; returns what was said until the end."""
    os.killpg(controller.pid, number)
    out, err = controller.communicate(timeout=STOPS_WITHIN_S)
    assert controller.returncode == INTERRUPTED
    assert b"Traceback" not in err, err
    return out.decode(), err.decode()


@pytest.mark.alone
def test_a_run_stops_within_2_s(ours: Ours, tmp_path: Path, run: Start) -> None:
    controller = run(*LOOPBACK)
    await_trials(tmp_path, 1)
    since = time.monotonic()
    stopped(controller, signal.SIGTERM)
    assert time.monotonic() - since < GONE_WITHIN_S
    ours.await_none()


# The signals of Ctrl-C and of a terminal that is closed.
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
def test_a_stopped_run_says_how_to_go_on_and_does(
    ours: Ours, tmp_path: Path, run: Start, capsys: pytest.CaptureFixture[str], number: signal.Signals
) -> None:
    controller = run(*LOOPBACK)
    await_trials(tmp_path, 1)
    out, err = stopped(controller, number)
    ours.await_none(STOPS_WITHIN_S)
    assert out == ""
    results = tmp_path / "results"
    before = finished_trials(results)
    count = len(Experiment.open(results).trials().manifests)
    assert 1 <= count < TRIALS
    last = err.splitlines()[-1]
    assert f"whyperf: stopped; {count} of {TRIALS} trials are in results; the same command resumes" in last
    assert partial_trials(results) == []

    argv = ["run", str(tmp_path / "stopped.toml"), "--testbed", "loopback", "--out", str(results), "--json"]
    # What else runs here may make a figure doubtful.
    assert main(argv) in (0, DOUBTFUL)
    streams = capsys.readouterr()
    assert f"has {count} of {TRIALS} trials; {TRIALS - count} to go" in streams.err
    assert [cell["trials"] for cell in json.loads(streams.out)["cells"]] == [TRIALS]
    assert before.items() <= finished_trials(results).items()


def test_a_run_that_is_stopped_early_leaves_nothing(ours: Ours, tmp_path: Path, run: Start) -> None:
    controller = run(*LOOPBACK, "--set", "duration_s=30")
    while not (tmp_path / "results").exists():
        time.sleep(0.001)
    _, err = stopped(controller, signal.SIGINT)
    ours.await_none(STOPS_WITHIN_S)
    assert err.splitlines()[-1].startswith("whyperf: stopped")
    assert not (tmp_path / "results").exists()


@pytest.mark.root
def test_a_stop_while_the_testbed_is_built_or_used(ours: Ours, tmp_path: Path, run: Start) -> None:
    controller = run("--out", "results")
    while not ours.agents():
        assert controller.poll() is None
        time.sleep(0.01)
    stopped(controller, signal.SIGINT)
    ours.await_none(STOPS_WITHIN_S)
    ours.assert_namespaces_gone()
    if (tmp_path / "results").exists():
        assert partial_trials(tmp_path / "results") == []
        assert finished_trials(tmp_path / "results")


def test_a_stopped_single_run_prints_what_it_has_and_keeps_it_as_partial(
    ours: Ours, tmp_path: Path, started: Start, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ("run", *LOOPBACK, "--time", "20", "--set", "warmup_s=0")
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    controller = started(whyperf_command.argv(*arguments), cwd=tmp_path, start_new_session=True, **streams)
    assert controller.stdout is not None
    # The end of an interval is when it was seen.
    while b" 0.00-" not in controller.stdout.readline():
        assert controller.poll() is None
    os.killpg(controller.pid, signal.SIGINT)
    out, err = controller.communicate(timeout=STOPS_WITHIN_S)
    ours.await_none(STOPS_WITHIN_S)
    assert controller.returncode == INTERRUPTED
    assert b"Traceback" not in err, err
    assert re.search(rb"Goodput +[0-9.]+ [MG]bit/s over \d+\.\d+ s, until it was stopped", out), out
    assert b"stopped; 0 of 1 trials are in results, and a partial one; the same command resumes" in err

    results = tmp_path / "results"
    (manifest,) = Experiment.open(results).trials().manifests.values()
    assert manifest.status == "interrupted"
    assert [trial.id for trial in Experiment.open(results).missing_trials()] == [manifest.trial]
    assert main(["show", str(results), "--json"]) == DOUBTFUL
    (cell,) = json.loads(capsys.readouterr().out)["cells"]
    assert (cell["trials"], cell["failed_trials"], cell["goodput_bps"]["median"]) == (0, 0, None)
    assert cell["provisional"]["status"] == "interrupted"
    assert cell["provisional"]["goodput_bps"] > 0

    monkeypatch.chdir(tmp_path)
    assert main([*arguments, "--json"]) == 0
    (cell,) = json.loads(capsys.readouterr().out)["cells"]
    assert (cell["trials"], cell["provisional"]) == (1, None)


def test_a_folder_that_is_moved_away_is_one_sentence(ours: Ours, tmp_path: Path, run: Start) -> None:
    controller = run(*LOOPBACK)
    await_trials(tmp_path, 1)
    (tmp_path / "results").rename(tmp_path / "elsewhere")
    _, err = controller.communicate(timeout=STOPS_WITHIN_S)
    ours.await_none(STOPS_WITHIN_S)
    assert controller.returncode == 1
    assert b"Traceback" not in err, err
    assert b"internal error" not in err, err
    assert "it was moved or removed meanwhile" in err.decode().splitlines()[-1]
    assert Experiment.open(tmp_path / "elsewhere").trials().manifests
