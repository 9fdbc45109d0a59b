"""Ctrl-C, and a polite kill: the run stops within 2 s, says how to go on, and goes on."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e import whyperf_command
from tests.e2e.conftest import GONE_WITHIN_S, Ours
from tests.e2e.contents import finished_trials, partial_trials
from tests.e2e.experiments import profile_text
from whyperf.cli import main
from whyperf.cli.exits import INTERRUPTED
from whyperf.record import Experiment

#: How soon a run stops is measured.
measured = pytest.mark.alone

Start = Callable[..., subprocess.Popen[bytes]]

LOOPBACK = ("--testbed", "loopback", "--out", "results")
#: A trial is long enough to be hit while it runs.
LEVELS = {"duration_s": 0.4, "warmup_s": 0, "cooldown_s": 0}
TRIALS = 4


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
    """Waits until so many trials are finished, and the next has begun."""
    while len(list((folder / "results" / "trials").glob("[0-9]*"))) < count:
        time.sleep(0.02)
    time.sleep(0.15)


def stopped(controller: subprocess.Popen[bytes], number: signal.Signals) -> tuple[str, str]:
    """Sends a signal to the whole group; returns what was said until the end, which must come in time."""
    since = time.monotonic()
    os.killpg(controller.pid, number)
    out, err = controller.communicate(timeout=20)
    assert time.monotonic() - since < GONE_WITHIN_S
    assert controller.returncode == INTERRUPTED
    assert b"Traceback" not in err, err
    return out.decode(), err.decode()


@measured
def test_a_stopped_run_says_how_to_go_on_and_does(
    ours: Ours, tmp_path: Path, run: Start, capsys: pytest.CaptureFixture[str]
) -> None:
    controller = run(*LOOPBACK)
    await_trials(tmp_path, 2)
    out, err = stopped(controller, signal.SIGINT)
    ours.await_none()
    assert out == ""
    last = err.splitlines()[-1]
    assert f"whyperf: stopped; 2 of {TRIALS} trials are in results; the same command resumes" in last
    results = tmp_path / "results"
    assert partial_trials(results) == []
    before = finished_trials(results)

    assert main(["run", str(tmp_path / "stopped.toml"), "--testbed", "loopback", "--out", str(results), "--json"]) == 0
    streams = capsys.readouterr()
    assert f"has 2 of {TRIALS} trials; {TRIALS - 2} to go" in streams.err
    assert [cell["trials"] for cell in json.loads(streams.out)["cells"]] == [TRIALS]
    assert before.items() <= finished_trials(results).items()


@measured
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_polite_kill_stops_as_well(ours: Ours, tmp_path: Path, run: Start, number: signal.Signals) -> None:
    controller = run(*LOOPBACK)
    await_trials(tmp_path, 1)
    _, err = stopped(controller, number)
    ours.await_none()
    assert f"1 of {TRIALS} trials are in results; the same command resumes" in err.splitlines()[-1]
    assert partial_trials(tmp_path / "results") == []


@measured
@pytest.mark.parametrize("delay_s", [0.0, 0.3])
def test_a_run_that_is_stopped_early_leaves_nothing(ours: Ours, tmp_path: Path, run: Start, delay_s: float) -> None:
    controller = run(*LOOPBACK)
    while not (tmp_path / "results").exists():
        time.sleep(0.001)
    time.sleep(delay_s)
    _, err = stopped(controller, signal.SIGINT)
    ours.await_none()
    assert err.splitlines()[-1].startswith("whyperf: stopped")
    assert not (tmp_path / "results").exists()


@measured
def test_the_second_signal_stops_at_once(ours: Ours, tmp_path: Path, run: Start) -> None:
    controller = run(*LOOPBACK)
    await_trials(tmp_path, 1)
    # So busy that it hears both together.
    os.killpg(controller.pid, signal.SIGSTOP)
    os.killpg(controller.pid, signal.SIGINT)
    os.killpg(controller.pid, signal.SIGTERM)
    os.killpg(controller.pid, signal.SIGCONT)
    assert controller.wait(GONE_WITHIN_S) == INTERRUPTED
    ours.await_none()
    assert len(Experiment.open(tmp_path / "results").trials().manifests) == 1


@measured
@pytest.mark.root
@pytest.mark.parametrize("delay_s", [0.0, 0.2, 0.5])
def test_a_stop_while_the_testbed_is_built_or_used(ours: Ours, tmp_path: Path, run: Start, delay_s: float) -> None:
    controller = run("--out", "results")
    while not ours.agents():
        assert controller.poll() is None
        time.sleep(0.01)
    time.sleep(delay_s)
    ours.processes()
    stopped(controller, signal.SIGINT)
    ours.await_none()
    ours.assert_namespaces_gone()
    if (tmp_path / "results").exists():
        assert partial_trials(tmp_path / "results") == []
        assert finished_trials(tmp_path / "results")


def test_a_stopped_single_run_prints_what_it_has_and_keeps_it_as_partial(
    ours: Ours, tmp_path: Path, started: Start, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ("run", *LOOPBACK, "--time", "3", "--set", "warmup_s=0")
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    controller = started(whyperf_command.argv(*arguments), cwd=tmp_path, start_new_session=True, **streams)
    assert controller.stdout is not None
    while b"0.00-1.00 " not in controller.stdout.readline():
        assert controller.poll() is None
    os.killpg(controller.pid, signal.SIGINT)
    out, err = controller.communicate(timeout=20)
    ours.await_none()
    assert controller.returncode == INTERRUPTED
    assert b"Traceback" not in err, err
    assert re.search(rb"Provisional +[0-9.]+ [MG]bit/s over [1-3]\.\d+ s of the measurement; not a result", out), out
    assert b"stopped; 0 of 1 trials are in results, and a partial one; the same command resumes" in err

    results = tmp_path / "results"
    (manifest,) = Experiment.open(results).trials().manifests.values()
    assert manifest.status == "interrupted"
    assert [trial.id for trial in Experiment.open(results).missing_trials()] == [manifest.trial]
    assert main(["show", str(results), "--json"]) == 1
    (cell,) = json.loads(capsys.readouterr().out)["cells"]
    assert (cell["trials"], cell["failed_trials"], cell["goodput_bps"]["median"]) == (0, 0, None)
    assert cell["provisional"]["status"] == "interrupted"
    assert cell["provisional"]["goodput_bps"] > 0

    monkeypatch.chdir(tmp_path)
    assert main([*arguments, "--json"]) == 0
    (cell,) = json.loads(capsys.readouterr().out)["cells"]
    assert (cell["trials"], cell["provisional"]) == (1, None)


@pytest.mark.parametrize("go_on", [True, False])
def test_a_folder_that_is_moved_away_is_one_sentence(ours: Ours, tmp_path: Path, run: Start, go_on: bool) -> None:
    controller = run(*LOOPBACK)
    await_trials(tmp_path, 1)
    (tmp_path / "results").rename(tmp_path / "elsewhere")
    if not go_on:
        os.killpg(controller.pid, signal.SIGINT)
    _, err = controller.communicate(timeout=20)
    ours.await_none()
    assert controller.returncode == 1
    assert b"Traceback" not in err, err
    assert b"internal error" not in err, err
    last = err.decode().splitlines()[-1]
    assert "results" in last
    if go_on:
        assert "it was moved or removed meanwhile" in last
    assert len(Experiment.open(tmp_path / "elsewhere").trials().manifests) == 1


def test_a_reader_that_leaves_is_no_error_of_ours(ours: Ours, tmp_path: Path) -> None:
    """`whyperf run | head -1`: the measurement's lines have nobody to read them."""
    arguments = whyperf_command.argv("run", "--time", "1", "-i", "0.2", *LOOPBACK)
    reader = f"{sys.executable} -c 'input()'"
    done = subprocess.run(
        f"{' '.join(arguments)} | {reader}", shell=True, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    ours.await_none()
    assert "Traceback" not in done.stderr, done.stderr
    assert "internal error" not in done.stderr, done.stderr
