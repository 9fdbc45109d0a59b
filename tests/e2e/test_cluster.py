"""`--cluster`: the record of a simulation has the same bytes on one process and on workers that die meanwhile."""

import json
import os
import signal
import stat
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.e2e.dask_processes import DaskProcesses, dask_processes
from tests.e2e.listening import listeners_of, marked
from tests.e2e.whyperf_command import argv, whyperf
from whyperf import __version__
from whyperf.run.agents.pipes import agent_binary

HOSTS = "linux-6.18+veth"
LABORATORY = "whyperf-lab"
#: 160 trials in 7 packs, and 2 log trials; a trial takes about 25 ms.
PROFILE = """
about = "A sweep that takes some seconds"
[fixed]
transfer_bytes = 67108864
interval_ms = 200
[[sweep]]
name = "grid"
trials = 10
[sweep.factors]
window_bytes = [65536, 131072, 262144, 524288]
path_rtt_ms = [1, 2, 5, 10]
[[sweep]]
name = "logged"
trials = 1
log_trials = 1
[sweep.fixed]
transfer_bytes = 1048576
[sweep.factors]
window_bytes = [65536, 131072]
"""
PACKS = 7


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cluster")
    (folder / "grid.toml").write_text(PROFILE)
    return folder


@pytest.fixture(scope="module")
def alone(folder: Path) -> dict[str, bytes]:
    """The record of one process."""
    done = whyperf(*asked("alone/sweep"), folder=folder)
    assert done.status == 0, done.err
    return record_of(folder / "alone" / "sweep")


@pytest.fixture(scope="module")
def scheduler(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaskProcesses]:
    """A scheduler with a worker that stays."""
    with dask_processes(tmp_path_factory.mktemp("dask")) as started:
        started.worker()
        yield started


@pytest.fixture
def empty_scheduler(tmp_path: Path) -> Iterator[DaskProcesses]:
    """A scheduler without workers, for those that are refused."""
    with dask_processes(tmp_path / "dask") as started:
        yield started


def asked(out: str, *more: str) -> tuple[str, ...]:
    # The name of the folder is in the plan: each result has the same name in a folder of its own.
    return ("simulate", "grid.toml", "--hosts", HOSTS, "--out", out, "--json", *more)


def record_of(experiment: Path) -> dict[str, bytes]:
    """Every file of the record by its path; not what is computed from it, and not the lock."""
    own = [experiment / name for name in ("plan.json", "profile.toml", "seal")]
    files = [path for folder in ("hosts", "trials") for path in (experiment / folder).rglob("*") if path.is_file()]
    return {str(path.relative_to(experiment)): path.read_bytes() for path in sorted([*own, *files])}


def packs_of(experiment: Path) -> int:
    return len(list(experiment.glob("trials/pack-*")))


def started(folder: Path, out: str, scheduler: DaskProcesses) -> subprocess.Popen[str]:
    """The command, running on workers, once it has recorded a pack."""
    command = subprocess.Popen(
        argv(*asked(out, "--cluster", scheduler.address)),
        cwd=folder,
        env=os.environ | scheduler.keys,
        text=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    until = time.monotonic() + 120
    while packs_of(folder / out) == 0 and command.poll() is None and time.monotonic() < until:
        time.sleep(0.01)
    return command


@pytest.mark.slow
def test_a_killed_workers_trials_are_simulated_again_and_the_record_has_the_same_bytes(
    folder: Path, alone: dict[str, bytes], scheduler: DaskProcesses
) -> None:
    assert sum(name.endswith("pack.json") for name in alone) == PACKS
    doomed = scheduler.worker()
    command = started(folder, "killed/sweep", scheduler)
    recorded = packs_of(folder / "killed" / "sweep")
    os.kill(doomed.pid, signal.SIGKILL)
    _, errors = command.communicate(timeout=240)
    assert 0 < recorded < PACKS
    assert command.returncode == 0, errors
    assert "Traceback" not in errors
    assert record_of(folder / "killed" / "sweep") == alone


def test_an_interrupted_simulation_is_resumed_with_another_number_of_workers(
    folder: Path, alone: dict[str, bytes], scheduler: DaskProcesses
) -> None:
    command = started(folder, "resumed/sweep", scheduler)
    command.send_signal(signal.SIGINT)
    _, errors = command.communicate(timeout=60)
    assert (command.returncode, packs_of(folder / "resumed" / "sweep") < PACKS) == (130, True), errors
    done = whyperf(*asked("resumed/sweep"), folder=folder)
    assert done.status == 0, done.err
    assert record_of(folder / "resumed" / "sweep") == alone


@pytest.mark.slow
def test_the_stop_rule_ends_the_same_cells(folder: Path, scheduler: DaskProcesses) -> None:
    grid = PROFILE.partition('[[sweep]]\nname = "logged"')[0].replace("67108864", "1048576")
    rule = "trials_min = 3\ntrials_max = 5\ninterval_width = 0.02"
    (folder / "stopping.toml").write_text(
        grid.replace("trials = 10", "").replace("[[sweep]]", f"[design]\n{rule}\n[[sweep]]")
    )
    records = []
    for out, more in (("stop-one/sweep", ()), ("stop-two/sweep", ("--cluster", scheduler.address))):
        command = ("simulate", "stopping.toml", "--hosts", HOSTS, "--out", out, "--json", *more)
        done = whyperf(*command, folder=folder, environment=scheduler.keys)
        assert done.status == 0, done.err
        records.append(record_of(folder / out))
    manifests = b"".join(content for name, content in records[0].items() if name.endswith("manifests.jsonl"))
    assert 3 * 16 <= manifests.count(b"\n") < 5 * 16
    assert records[1] == records[0]


@pytest.mark.slow
def test_the_workers_of_a_killed_command_end_and_others_make_the_same_record(
    folder: Path, alone: dict[str, bytes]
) -> None:
    mark = f"WHYPERF_TEST_ORPHANS={folder}"
    wanted = asked("orphans/sweep", "--cluster", "local:2")
    command = subprocess.Popen(
        argv(*wanted),
        cwd=folder,
        env=os.environ | {"WHYPERF_TEST_ORPHANS": str(folder)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    wait_until(lambda: packs_of(folder / "orphans" / "sweep") > 0)
    assert len(marked(mark)) >= 3
    command.kill()
    command.wait()
    wait_until(lambda: marked(mark) == [])
    done = whyperf(*wanted, folder=folder, environment={"WHYPERF_TEST_ORPHANS": str(folder)})
    assert (done.status, done.err.count("Traceback")) == (0, 0), done.err
    assert record_of(folder / "orphans" / "sweep") == alone
    assert marked(mark) == []


def wait_until(holds: Callable[[], bool], within_s: float = 240) -> None:
    until = time.monotonic() + within_s
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.05)


def script(path: Path, text: str) -> Path:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def test_a_worker_with_another_agent_is_named_with_both_versions(
    folder: Path, empty_scheduler: DaskProcesses, tmp_path: Path
) -> None:
    other = script(tmp_path / "agent", "echo whyperf-agent 9.9.9")
    empty_scheduler.worker(environment={"WHYPERF_AGENT": str(other)})
    done = whyperf(
        *asked("refused/sweep", "--cluster", empty_scheduler.address), folder=folder, environment=empty_scheduler.keys
    )
    assert done.status == 1
    assert "whyperf-agent on the worker tls://127.0.0.1:" in done.sentence
    assert f"of version 9.9.9, and this host needs {__version__}" in done.sentence
    assert not (folder / "refused" / "sweep").exists()


def test_a_scheduler_that_nobody_runs_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT", "1s")
    done = whyperf(*asked("nobody/sweep", "--cluster", "tcp://127.0.0.1:9", "--cluster-without-keys"), folder=folder)
    assert done.status == 1
    named = "the Dask scheduler at tcp://127.0.0.1:9 cannot be reached ("
    assert named in done.sentence
    assert not (folder / "nobody" / "sweep").exists()


@pytest.mark.slow
def test_a_batch_system_is_asked_for_workers_that_make_the_same_record(
    folder: Path, alone: dict[str, bytes], tmp_path: Path
) -> None:
    """`sbatch` here starts the job script at once; dask-jobqueue writes it and calls the commands as on a cluster."""
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    script(
        bin_folder / "sbatch", 'cp "$1" "$1.job"\nsetsid bash "$1.job" >/dev/null 2>&1 &\necho Submitted batch job $!'
    )
    script(bin_folder / "scancel", 'for job in "$@"; do kill -- "-$job"; done')
    environment = {
        "PATH": os.pathsep.join((str(bin_folder), os.environ["PATH"])),
        "TMPDIR": str(tmp_path),
        "WHYPERF_TEST_SLURM": str(tmp_path),
        "DASK_JOBQUEUE__SLURM__CORES": "1",
        "DASK_JOBQUEUE__SLURM__MEMORY": "1GB",
        "DASK_JOBQUEUE__SLURM__INTERFACE": "lo",
    }
    command_line = argv(*asked("slurm/sweep", "--cluster", "slurm:2"))
    found, done = listeners_of(command_line, folder, environment)
    assert done.returncode == 0, done.stderr
    assert {(listener.protocol, listener.address) for listener in found} == {("tcp", "127.0.0.1")}
    assert record_of(folder / "slurm" / "sweep") == alone
    wait_until(lambda: marked(f"WHYPERF_TEST_SLURM={tmp_path}") == [])


def test_a_batch_system_that_refuses_jobs_is_named(folder: Path, tmp_path: Path) -> None:
    script(tmp_path / "sbatch", "echo sbatch: error: invalid partition specified >&2; exit 1")
    environment = {
        "PATH": os.pathsep.join((str(tmp_path), os.environ["PATH"])),
        "DASK_JOBQUEUE__SLURM__CORES": "1",
        "DASK_JOBQUEUE__SLURM__MEMORY": "1GB",
        "DASK_JOBQUEUE__SLURM__INTERFACE": "lo",
    }
    done = whyperf(*asked("unslurmed/sweep", "--cluster", "slurm:2"), folder=folder, environment=environment)
    assert done.status == 1
    assert done.err.splitlines()[-1].startswith("whyperf: Slurm accepts no job")
    assert "Traceback" not in done.err


def test_trials_explained_on_workers_are_explained_as_here(
    folder: Path, alone: dict[str, bytes], scheduler: DaskProcesses
) -> None:
    assert alone
    here = whyperf("explain", "alone/sweep", "--json", folder=folder)
    (folder / "alone" / "sweep" / "explain.json").unlink()
    on_workers = ("explain", "alone/sweep", "--json", "--cluster", scheduler.address)
    there = whyperf(*on_workers, folder=folder, environment=scheduler.keys)
    assert there.status == here.status, there.err
    assert there.out == here.out


@pytest.mark.slow
def test_causes_injected_into_the_model_are_graded_on_workers_as_here(folder: Path, scheduler: DaskProcesses) -> None:
    asked = ("truth", "--hosts", HOSTS, "--trials", "1", "--only", "small-receive-buffer", "--only", "think-time")
    # Here the agent only says what it can simulate, so that the trials of the second command are those of the worker.
    checking = script(
        folder / "checking-agent", f'case "$*" in *--check*|--version) exec {agent_binary()} "$@";; esac; exit 1'
    )
    by_worker = {"WHYPERF_AGENT": str(checking), **scheduler.keys}
    found = {}
    for out, more, environment in (
        ("truth-here/t", (), {}),
        ("truth-there/t", ("--cluster", scheduler.address), by_worker),
    ):
        done = whyperf(
            *asked, "--out", out, "--json", *more, folder=folder, environment=environment, program=LABORATORY
        )
        assert done.status == 0, done.err
        found[out] = json.loads(done.out) | {"how": ""}
    assert record_of(folder / "truth-here" / "t") == record_of(folder / "truth-there" / "t")
    assert found["truth-here/t"] == found["truth-there/t"]
    first = {figure["key"]: figure for figure in found["truth-here/t"]["figures"]}["first"]
    assert first["count"] == first["of"] > 1


def test_a_shortened_run_is_planned_for_the_model(folder: Path) -> None:
    done = whyperf("truth", "--hosts", HOSTS, "--short", "--dry-run", "--json", folder=folder, program=LABORATORY)
    assert (done.status, done.err) == (0, "")
    plan = json.loads(done.out)
    assert {cell["factors"]["hosts"] for cell in plan["cells"]} == {HOSTS}
    assert "small-receive-buffer-dose1" in {cell["sweep"] for cell in plan["cells"]}


def test_causes_that_the_model_cannot_take_are_named(folder: Path) -> None:
    asked = ("truth", "--hosts", HOSTS, "--only", "one-cpu", "--only", "other-load-at-sender")
    done = whyperf(*asked, folder=folder, program=LABORATORY)
    assert done.status == 2
    assert "Not simulated: other-load-at-sender: it needs programs or settings of a real host" in done.err
    assert "Not simulated: one-cpu: the model has no near_cpus = 0" in done.err
    assert done.err.splitlines()[-1] == f"whyperf-lab: the model of {HOSTS} can simulate none of these experiments"
