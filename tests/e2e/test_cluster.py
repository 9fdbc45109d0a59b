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
from tests.e2e.whyperf_command import argv, whyperf
from whyperf import __version__
from whyperf.run.agents.pipes import agent_binary

HOSTS = "linux-6.18+veth"
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
#: 1,000 cells in 40 packs, of about 130 ms each: starting workers and judging the result take some seconds.
THOUSAND = """
about = "A thousand cells"
[fixed]
transfer_bytes = 1073741824
deadline_s = 1000
interval_ms = 200
[[sweep]]
name = "grid"
trials = 1
[sweep.factors]
window_bytes = [65536, 98304, 131072, 196608, 262144, 393216, 524288, 1048576, 2097152, 4194304]
write_size_bytes = [512, 1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072, 262144]
path_rtt_ms = [1, 2, 3, 4, 5, 6, 8, 10, 15, 20]
"""


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


@pytest.fixture
def scheduler(tmp_path: Path) -> Iterator[DaskProcesses]:
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


def started(folder: Path, out: str, *more: str) -> subprocess.Popen[str]:
    """The command, running, once it has recorded a pack."""
    command = subprocess.Popen(
        argv(*asked(out, *more)), cwd=folder, text=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    until = time.monotonic() + 120
    while packs_of(folder / out) == 0 and command.poll() is None and time.monotonic() < until:
        time.sleep(0.01)
    return command


def test_a_killed_workers_trials_are_simulated_again_and_the_record_has_the_same_bytes(
    folder: Path, alone: dict[str, bytes], scheduler: DaskProcesses
) -> None:
    assert sum(name.endswith("pack.json") for name in alone) == PACKS
    doomed, _ = scheduler.worker(), scheduler.worker()
    command = started(folder, "killed/sweep", "--cluster", scheduler.address)
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
    scheduler.worker()
    scheduler.worker()
    command = started(folder, "resumed/sweep", "--cluster", scheduler.address)
    command.send_signal(signal.SIGINT)
    _, errors = command.communicate(timeout=60)
    assert (command.returncode, packs_of(folder / "resumed" / "sweep") < PACKS) == (130, True), errors
    done = whyperf(*asked("resumed/sweep"), folder=folder)
    assert done.status == 0, done.err
    assert record_of(folder / "resumed" / "sweep") == alone


def test_a_scheduler_that_dies_is_named_and_what_is_recorded_stays(
    folder: Path, alone: dict[str, bytes], scheduler: DaskProcesses
) -> None:
    scheduler.worker()
    command = started(folder, "headless/sweep", "--cluster", scheduler.address)
    os.kill(scheduler.processes[0].pid, signal.SIGKILL)
    _, errors = command.communicate(timeout=60)
    assert command.returncode == 1, errors
    named = f"whyperf: the connection to {scheduler.address} is lost; run the same command again to resume"
    assert errors.splitlines()[-1] == named
    kept = record_of(folder / "headless" / "sweep")
    assert 0 < sum(name.endswith("pack.json") for name in kept) < PACKS
    assert kept.items() <= alone.items()


def test_the_stop_rule_ends_the_same_cells(folder: Path, scheduler: DaskProcesses) -> None:
    scheduler.worker()
    grid = PROFILE.partition('[[sweep]]\nname = "logged"')[0].replace("67108864", "1048576")
    rule = "trials_min = 3\ntrials_max = 5\ninterval_width = 0.02"
    (folder / "stopping.toml").write_text(
        grid.replace("trials = 10", "").replace("[[sweep]]", f"[design]\n{rule}\n[[sweep]]")
    )
    records = []
    for out, more in (("stop-one/sweep", ()), ("stop-two/sweep", ("--cluster", scheduler.address))):
        done = whyperf("simulate", "stopping.toml", "--hosts", HOSTS, "--out", out, "--json", *more, folder=folder)
        assert done.status == 0, done.err
        records.append(record_of(folder / out))
    manifests = b"".join(content for name, content in records[0].items() if name.endswith("manifests.jsonl"))
    assert 3 * 16 <= manifests.count(b"\n") < 5 * 16
    assert records[1] == records[0]


def test_a_local_cluster_makes_the_same_record_and_ends_its_workers(folder: Path, alone: dict[str, bytes]) -> None:
    mark = {"WHYPERF_TEST_CLUSTER": str(folder)}
    done = whyperf(*asked("local/sweep", "--cluster", "local:2"), folder=folder, environment=mark)
    assert (done.status, done.err.count("Traceback")) == (0, 0), done.err
    assert record_of(folder / "local" / "sweep") == alone
    assert marked(f"WHYPERF_TEST_CLUSTER={folder}") == []


def test_the_workers_of_a_killed_command_end(folder: Path) -> None:
    command = subprocess.Popen(
        argv(*asked("orphans/sweep", "--cluster", "local:2")),
        cwd=folder,
        env=os.environ | {"WHYPERF_TEST_ORPHANS": str(folder)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    mark = f"WHYPERF_TEST_ORPHANS={folder}"
    wait_until(lambda: packs_of(folder / "orphans" / "sweep") > 0)
    assert len(marked(mark)) >= 3
    command.kill()
    command.wait()
    wait_until(lambda: marked(mark) == [])


def wait_until(holds: Callable[[], bool], within_s: float = 60) -> None:
    until = time.monotonic() + within_s
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.05)


def marked(mark: str) -> list[int]:
    """Processes that have that variable in their environment."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                variables = (entry / "environ").read_bytes().split(b"\0")
            except OSError:
                continue
            if mark.encode() in variables:
                found.append(int(entry.name))
    return found


def script(path: Path, text: str) -> Path:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def test_a_worker_with_another_agent_is_named_with_both_versions(
    folder: Path, scheduler: DaskProcesses, tmp_path: Path
) -> None:
    other = script(tmp_path / "agent", "echo whyperf-agent 9.9.9")
    scheduler.worker(environment={"WHYPERF_AGENT": str(other)})
    done = whyperf(*asked("refused/sweep", "--cluster", scheduler.address), folder=folder)
    assert done.status == 1
    assert "whyperf-agent on the worker tcp://127.0.0.1:" in done.sentence
    assert f"of version 9.9.9, and this host needs {__version__}" in done.sentence
    assert not (folder / "refused" / "sweep").exists()


def test_a_worker_with_another_whyperf_is_refused_before_anything_runs(
    folder: Path, scheduler: DaskProcesses, tmp_path: Path
) -> None:
    installed = tmp_path / "other" / "whyperf-9.9.9.dist-info"
    installed.mkdir(parents=True)
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: whyperf\nVersion: 9.9.9\n")
    path = os.pathsep.join(filter(None, (str(installed.parent), os.environ.get("PYTHONPATH", ""))))
    scheduler.worker(environment={"PYTHONPATH": path})
    done = whyperf(*asked("refused/sweep", "--cluster", scheduler.address), folder=folder)
    assert done.status == 1
    assert f"has whyperf 9.9.9, and this host {__version__}" in done.sentence


def test_workers_that_die_again_and_again_are_named(folder: Path, tmp_path: Path) -> None:
    deadly = script(
        tmp_path / "agent",
        f'[ "$1" = --version ] && exec {agent_binary()} --version\nkill -9 $PPID',
    )
    with dask_processes(tmp_path / "dask", {"DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "0"}) as scheduler:
        scheduler.worker(environment={"WHYPERF_AGENT": str(deadly)})
        done = whyperf(*asked("deadly/sweep", "--cluster", scheduler.address), folder=folder)
    assert done.status == 1
    assert "died one after the other while each ran the same task" in done.sentence
    assert scheduler.processes[1].returncode == -signal.SIGKILL


def test_a_scheduler_that_nobody_runs_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT", "1s")
    done = whyperf(*asked("nobody/sweep", "--cluster", "tcp://127.0.0.1:9"), folder=folder)
    assert done.status == 1
    named = "the Dask scheduler at tcp://127.0.0.1:9 cannot be reached (ConnectionRefusedError: "
    assert named in done.sentence
    assert not (folder / "nobody" / "sweep").exists()


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
    done = whyperf(*asked("slurm/sweep", "--cluster", "slurm:2"), folder=folder, environment=environment)
    assert done.status == 0, done.err
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


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("simulate", "grid.toml", "--hosts", HOSTS, "--cluster", "head:8786"), "tcp://host:8786"),
        (
            ("simulate", "grid.toml", "--hosts", "mine.toml", "--what-if", "window=1M", "--cluster", "local"),
            "no --cluster",
        ),
        (
            ("explain", "alone/sweep", "--cell", "c0001", "--cluster", "local"),
            "leave out the trial, --cell and --verify",
        ),
    ],
)
def test_where_nothing_can_be_shared_is_named(
    folder: Path, alone: dict[str, bytes], arguments: tuple[str, ...], named: str
) -> None:
    assert alone
    done = whyperf(*arguments, folder=folder)
    assert done.status == 2
    assert named in done.sentence


def test_trials_explained_on_workers_are_explained_as_here(
    folder: Path, alone: dict[str, bytes], scheduler: DaskProcesses
) -> None:
    assert alone
    scheduler.worker()
    here = whyperf("explain", "alone/sweep", "--json", folder=folder)
    (folder / "alone" / "sweep" / "explain.json").unlink()
    there = whyperf("explain", "alone/sweep", "--json", "--cluster", scheduler.address, folder=folder)
    assert there.status == here.status, there.err
    assert there.out == here.out


def test_causes_injected_into_the_model_are_graded_on_workers_as_here(folder: Path, scheduler: DaskProcesses) -> None:
    scheduler.worker()
    wanted = ("--only", "small-receive-buffer", "--only", "think-time", "--only", "pausing-writer")
    asked = ("truth", "--hosts", HOSTS, "--trials", "1", *wanted)
    # Here the agent only says what it can simulate, so that the trials of the second command are those of the worker.
    checking = script(
        folder / "checking-agent", f'case "$*" in *--check*|--version) exec {agent_binary()} "$@";; esac; exit 1'
    )
    by_worker = {"WHYPERF_AGENT": str(checking)}
    found = {}
    for out, more, environment in (
        ("truth-here/t", (), {}),
        ("truth-there/t", ("--cluster", scheduler.address), by_worker),
    ):
        done = whyperf(*asked, "--out", out, "--json", *more, folder=folder, environment=environment)
        assert done.status == 0, done.err
        found[out] = json.loads(done.out) | {"how": ""}
    assert record_of(folder / "truth-here" / "t") == record_of(folder / "truth-there" / "t")
    assert found["truth-here/t"] == found["truth-there/t"]
    first = {figure["key"]: figure for figure in found["truth-here/t"]["figures"]}["first"]
    assert (first["count"], first["of"]) == (12, 12)


def test_causes_that_the_model_cannot_take_are_named(folder: Path) -> None:
    asked = ("truth", "--hosts", HOSTS, "--trials", "1", "--only", "one-cpu", "--only", "other-load-at-sender")
    done = whyperf(*asked, folder=folder)
    assert done.status == 2
    assert "Not simulated: other-load-at-sender: it needs programs or settings of a real host" in done.err
    assert "Not simulated: one-cpu: the model has no near_cpus = 0" in done.err
    assert done.err.splitlines()[-1] == f"whyperf: the model of {HOSTS} can simulate none of these experiments"


def test_what_was_asked_for_by_name_is_simulated_though_another_cannot_be(folder: Path) -> None:
    asked = (
        "truth",
        "--hosts",
        "linux-6.18+veth,linux-6.1+veth",
        "--trials",
        "1",
        "--only",
        "veth",
        "--only",
        "one-cpu",
    )
    done = whyperf(*asked, "--out", "truth-two/t", "--json", folder=folder)
    assert "Not simulated: one-cpu" in done.err
    document = json.loads(done.out)
    assert document["where"] == "the model of linux-6.18+veth,linux-6.1+veth"
    assert {grade["of"] for grade in document["grades"]} == {"veth"}


def test_a_shortened_run_is_planned_for_the_model(folder: Path) -> None:
    done = whyperf("truth", "--hosts", HOSTS, "--short", "--dry-run", "--json", folder=folder)
    assert (done.status, done.err) == (0, "")
    plan = json.loads(done.out)
    assert {cell["factors"]["hosts"] for cell in plan["cells"]} == {HOSTS}
    assert "small-receive-buffer-dose1" in {cell["sweep"] for cell in plan["cells"]}


@pytest.mark.parametrize(
    ("more", "named"),
    [
        (("--cluster", "local"), "add --hosts"),
        (("--cluster", "local", "--watch"), "these are measured; drop it"),
        (("--hosts", HOSTS, "--verify"), "--verify measures on real hosts"),
        (("--hosts", HOSTS, "--watch"), "--watch watches real hosts"),
        (("--hosts", ""), "names no host"),
        (("--hosts", "nobody+nothing"), "there is no machine 'nobody'"),
        (("--hosts", "missing.toml"), "cannot read the host missing.toml"),
        (("--hosts", "sparc10+sba-100@2.2.6"), "sparc10+sba-100@2.2.6 is of sunos-4.1"),
        (("--hosts", "linux-6.18+veth,solaris8+gigabit"), "solaris8+gigabit"),
        (("--hosts", HOSTS, "--page", "page.md"), "<!-- truth model -->"),
        (
            ("--hosts", HOSTS, "--catalog", "field", "--half", "tuning", "--page", "page.md"),
            "<!-- truth model tuning -->",
        ),
        (("--hosts", HOSTS, "--short", "--only", "one-cpu"), "leave out --short"),
    ],
)
def test_truth_on_the_model_says_what_does_not_go_together(folder: Path, more: tuple[str, ...], named: str) -> None:
    (folder / "page.md").write_text("no section\n")
    only = () if "--only" in more else ("--only", "small-receive-buffer")
    done = whyperf("truth", *only, *more, folder=folder)
    assert done.status == 2
    assert named in done.sentence


@pytest.mark.slow
@pytest.mark.alone
def test_a_thousand_cells_take_two_workers_little_more_than_half_the_time(
    tmp_path: Path, scheduler: DaskProcesses
) -> None:
    """Against one process with one thread: without workers, the agent uses all CPUs already."""
    (tmp_path / "grid.toml").write_text(THOUSAND)
    seconds = {}
    for out, before, more in (
        ("one/sweep", ("taskset", "--cpu-list", "0"), ()),
        ("two/sweep", ("env",), ("--cluster", "local:2")),
    ):
        since = time.monotonic()
        done = whyperf(*asked(out, *more), folder=tmp_path, before=before, timeout_s=900)
        seconds[out] = time.monotonic() - since
        assert done.status == 0, done.err
    expected = record_of(tmp_path / "one" / "sweep")
    assert record_of(tmp_path / "two" / "sweep") == expected
    doomed, _ = scheduler.worker(), scheduler.worker()
    command = started(tmp_path, "killed/sweep", "--cluster", scheduler.address)
    wait_until(lambda: packs_of(tmp_path / "killed" / "sweep") >= 15, within_s=300)
    os.kill(doomed.pid, signal.SIGKILL)
    _, errors = command.communicate(timeout=900)
    assert command.returncode == 0, errors
    assert record_of(tmp_path / "killed" / "sweep") == expected
    assert seconds["two/sweep"] <= 0.6 * seconds["one/sweep"]
