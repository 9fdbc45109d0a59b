"""`whyperf why`: experiments on the model, on the embedded testbed, and what an interruption leaves."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e import whyperf_command
from tests.e2e.conftest import Ours
from tests.e2e.whyperf_command import whyperf
from whyperf.cli.exits import DONE, DOUBTFUL, INTERRUPTED, USAGE
from whyperf.explain.causes import Cause
from whyperf.explain.experiments.kept import latest
from whyperf.record import Experiment

Start = Callable[..., subprocess.Popen[bytes]]


@pytest.fixture(scope="module")
def small_window(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A result of the model whose window is the limit."""
    folder = tmp_path_factory.mktemp("why") / "small-window"
    only = ("sweep=throughput", "window_bytes=8192", "write_size_bytes=7168")
    options = [word for part in only for word in ("--only", part)]
    arguments = ["window-sweep", "--hosts", "sparc10+sba-200", *options, "--trials", "1", "--out", folder]
    whyperf("simulate", *arguments, folder=folder.parent)
    return folder


def test_a_small_window_is_proved_on_the_model(small_window: Path) -> None:
    done = whyperf("explain", small_window, "--try", "--budget", "600", "--json", folder=small_window.parent)
    assert done.status == DONE, done.err
    why = json.loads(done.out)
    assert why["answer"]["known"] == "proved"
    # Both a larger window and larger writes end the stop-and-go.
    assert set(why["answer"]["causes"]) <= {Cause.RECEIVE_BUFFER, Cause.WRITE_WINDOW_MISMATCH, Cause.TINY_WRITES}
    assert why["answer"]["low"] > 1.1
    assert why["is_reproduced"]
    kept = latest(Experiment.open(small_window))
    assert kept is not None
    assert kept.model_dump(mode="json") == why
    # Its record is a result like any other. Trials that were too short are in another.
    shown = json.loads(
        whyperf("show", small_window.parent / why["experiments"], "--json", folder=small_window.parent).out
    )
    assert sum(cell["trials"] for cell in shown["cells"]) <= why["trials"]


def test_what_was_not_found_here_for_a_result_counts_as_nothing(small_window: Path) -> None:
    assert latest(Experiment.open(small_window)) is not None
    file = next(small_window.parent.glob("small-window-why-*/why.json"))
    text = file.read_text()
    try:
        file.write_text(text.replace('"proved"', '"likely"'))
        assert latest(Experiment.open(small_window)) is None
    finally:
        file.write_text(text)


def test_verify_is_another_name_and_its_options_are_taken(small_window: Path) -> None:
    """Of a verdict only the change is made, as often as was asked for at least."""
    explained = json.loads(whyperf("explain", small_window, "--json", folder=small_window.parent).out)
    verdicts = explained["cells"][0]["verdicts"]
    number, verdict = next((at, each) for at, each in enumerate(verdicts, 1) if (each["change"] or {}).get("factors"))
    options = ("--verify", "--verdict", str(number), "--pairs", "3", "--most", "9", "--budget", "600", "--json")
    done = whyperf("explain", small_window, *options, folder=small_window.parent)
    assert done.status == DONE, done.err
    assert "--most has no effect: a change is tried until it is certain" in done.err
    why = json.loads(done.out)
    (tried,) = why["tried"]
    assert verdict["change"]["factors"].items() <= tried["factors"].items()
    assert (why["answer"]["known"], why["answer"]["causes"]) == ("proved", [verdict["cause"]])
    assert tried["pairs"] >= 3


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--verdict", "1"], "--verdict is of --try; give --try too"),
        (["--pairs", "4"], "--pairs is of --try; give --try too"),
        (["--yes"], "--yes is of --try; give --try too"),
        (["--try", "--verdict", "99"], "--verdict 99: cell c0078 has"),
        (["--verify", "--cluster", "local"], "leave out the trial, --cell and --try"),
    ],
)
def test_options_that_do_not_go_together_are_refused(small_window: Path, options: list[str], problem: str) -> None:
    done = whyperf("explain", small_window, *options, folder=small_window.parent)
    assert (done.status, problem in done.err) == (USAGE, True), done.err


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["why", "--set", "write_size_bytes=1024,2048"], "name one to try"),
        (["run", "--why", "-t", "0.2", "--set", "write_size_bytes=1024,2048"], "--why is for one cell"),
        (["run", "--why", "--json", "-t", "0.2"], "use `whyperf why … --json`"),
        (["why", "--budget", "0"], "budget"),
        (["why", "--goal", "p99"], "this load has none: measure a workload such as rr"),
        (["why", "--goal", "latency"], "name rate, or a percentile"),
        (["run", "--goal", "p99", "-t", "0.2"], "give --why too"),
        (["run", "--why", "--goal", "p99", "-t", "0.2"], "this load has none"),
    ],
)
def test_what_cannot_be_tried_is_refused(arguments: list[str], problem: str, tmp_path: Path) -> None:
    given = [*arguments, "--testbed", "loopback", "-t", "0.2"] if arguments[0] == "why" else arguments
    done = whyperf(*given, folder=tmp_path)
    assert done.status == USAGE, done.err
    assert problem in done.err


@pytest.mark.alone
@pytest.mark.root
def test_small_writes_are_proved_on_the_testbed(ours: Ours, tmp_path: Path) -> None:
    done = whyperf("why", "-l", "1K", "-t", "1", "--budget", "90", "--json", folder=tmp_path)
    assert done.status == DONE, done.err
    why = json.loads(done.out)
    assert why["answer"]["known"] == "proved"
    assert why["answer"]["causes"] == [Cause.TINY_WRITES]
    assert why["answer"]["factors"] == {"write_size_bytes": 131_072}
    ours.await_none()


TWO_WRITES = """
[fixed]
io_model = "blocking"
request_size_bytes = 512
response_size_bytes = 256

[testbed]
kind = "loopback"

[workload]
name = "two-writes"

[[workload.group]]
[[workload.group.transaction]]
name = "ask"
steps = [
  { op = "write", size = 64 },
  { op = "write", size = "=request_size_bytes" },
  { op = "read", size = "=response_size_bytes" },
]
"""


@pytest.mark.alone
def test_the_median_latency_of_two_writes_falls_without_nagle(tmp_path: Path) -> None:
    (tmp_path / "two-writes.toml").write_text(TWO_WRITES)
    goal = ("--goal", "p50", "--budget", "150", "--json")
    done = whyperf("why", "two-writes.toml", "-t", "2", *goal, folder=tmp_path)
    assert done.status == DONE, done.err
    why = json.loads(done.out)
    assert (why["goal"], why["unit"], why["answer"]["known"]) == ("p50", "ns", "proved")
    assert set(why["answer"]["causes"]) <= {Cause.NAGLE_DELAYED_ACK, Cause.DELAYED_ACK}
    assert why["answer"]["low"] > 1.1
    assert not {"more-requests", "four-times-the-connections"} & {tried["name"] for tried in why["tried"]}
    refused = whyperf("explain", why["experiment"], "--try", "--goal", "p99.9", folder=tmp_path)
    assert refused.status == USAGE
    assert "p99.9 needs 10,000 transactions in a trial" in refused.err


@pytest.mark.alone
@pytest.mark.root
def test_the_answer_is_said_in_a_screen(ours: Ours, tmp_path: Path) -> None:
    done = whyperf("why", "-w", "64K", "--rtt", "10ms", "--rate", "200M", "-t", "1", "--budget", "90", folder=tmp_path)
    assert done.status in {DONE, DOUBTFUL}, done.err
    screen = done.out[done.out.index("The receive buffer: proved") :]
    for part in ("Seen before:", "Tried:", "a larger receive buffer", "Change:", "\n  whyperf explain results/"):
        assert part in screen
    assert all(len(line) <= 80 for line in screen.splitlines())
    ours.await_none()


@pytest.mark.root
def test_an_interrupted_one_says_what_is_known_and_keeps_it(ours: Ours, tmp_path: Path, started: Start) -> None:
    argv = whyperf_command.argv("why", "-l", "1K", "-t", "0.5", "--budget", "600", "--out", "result")
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    running = started(argv, cwd=tmp_path, start_new_session=True, **streams)
    trials = tmp_path / "result-why-1" / "trials"
    while running.poll() is None and len(list(trials.glob("[0-9]*"))) < 2:
        time.sleep(0.05)
    os.killpg(running.pid, signal.SIGINT)
    out, err = running.communicate(timeout=30)
    assert running.returncode == INTERRUPTED
    assert b"Traceback" not in err
    assert b"stopped before it was certain" in out or b"Small writes: proved" in out
    assert (tmp_path / "result-why-1" / "why.json").exists()
    ours.await_none()
