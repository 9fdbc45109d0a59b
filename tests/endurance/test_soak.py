"""Many short runs one after another: nothing of the host grows.

`make soak SOAK=500` makes 500 of them. Others may use the host at the same time, so a figure of the kernel is compared
by its smallest value over the first and over the last fifth of the runs: what others have for a moment cannot raise it.
"""

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.e2e import bpf_objects, whyperf_command
from tests.e2e.conftest import Ours
from tests.endurance import host_counts
from tests.endurance.forks import Forks

#: Two minutes a run are for a host that is very busy.
pytestmark = [pytest.mark.root, pytest.mark.alone, pytest.mark.timeout(120 * 500)]

RUN = ("-t", "0.1", "--set", "warmup_s=0", "--set", "cooldown_s=0")
#: One run in so many is the command itself; the others are forks that have the libraries.
REAL = 10
#: They take turns, so that each kind of object comes and goes.
KINDS: dict[str, tuple[str, ...]] = {
    "testbed": ("--testbed", "veth"),
    "loopback": ("--testbed", "loopback"),
    "path": ("--rtt", "2ms"),
    "netem": ("--rtt", "2ms", "--set", "path_implementation=netem"),
    "segments": ("--testbed", "veth", "--evidence", "segments"),
    "requests": ("--testbed", "veth", "--workload", "rr"),
    "control": ("--testbed", "veth", "-C", "htcp"),
    "agents": ("--from", "local,local"),
}
#: What a figure may grow by, for each run: less than the smallest object of its kind would take.
MAX_OBJECTS_A_RUN = 0.1
#: The least that a network namespace takes is 4 KiB of the cache of its name alone.
MAX_KIB_A_RUN = 4.0
#: Figures in objects that say what the host has, and nothing of what a run leaves: the kernel keeps them as a cache.
CACHED = {"dentry", "kernfs_node_cache"}


@dataclass(frozen=True)
class Run:
    """A run, how long it took, and the host's counts after it."""

    kind: str
    wall_s: float
    figures: dict[str, int]


def one_run(kind: str, folder: Path, number: int, forks: Forks) -> Run | None:
    """A run of a kind, in a folder of its own; None where this kernel lacks what the kind needs.

    One in `REAL` runs is the command as a user starts it.
    """
    since = time.monotonic()
    arguments = ["run", *KINDS[kind], *RUN, "--no-report", "--out", str(folder / f"results-{number}")]
    said = folder / "said"
    if number % REAL == 0:
        with said.open("wb") as output:
            command = whyperf_command.argv(*arguments)
            code = subprocess.run(command, cwd=folder, stdout=output, stderr=output, check=False).returncode
    else:
        fork = forks.start(["whyperf", *arguments], folder, said)
        fork.join()
        assert fork.exitcode is not None
        code = fork.exitcode
    if code == 2 and "this kernel" in (reason := said.read_text()):
        print(f"{kind} is left out: {reason}")
        return None
    # A busy host leaves so short a trial without a result, which is no matter here: everything was built and removed.
    assert code in {0, 3} or "no trial has a result" in said.read_text(), said.read_text()
    return Run(kind, time.monotonic() - since, host_counts.look().figures)


def growth(values: list[int]) -> float:
    """How much larger the smallest of the last fifth is than the smallest of the first, for each run between."""
    part = max(1, len(values) // 5)
    return (min(values[-part:]) - min(values[:part])) / max(1, len(values) - part)


def bpf_objects_left(before: bpf_objects.Objects) -> bpf_objects.Objects:
    """Objects that are new and that no process holds; those of other programs come and go, so looks are repeated."""
    left = bpf_objects.on_this_host() - before
    for _ in range(20):
        left = (left & bpf_objects.on_this_host()) - host_counts.held_bpf_objects()
        if not left:
            break
        time.sleep(0.5)
    return left


def await_only(standing: set[int], ours: Ours) -> None:
    """Waits until no process of a run is left; a busy host is slow."""
    end = time.monotonic() + 30
    while left := [process for process in ours.processes() if process.pid not in standing]:
        assert time.monotonic() < end, left
        time.sleep(0.02)


@pytest.mark.slow
def test_runs_in_a_row_leave_nothing(ours: Ours, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    count = int(os.environ.get("WHYPERF_SOAK", "500"))
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    # The first run of a kind makes what the kernel keeps: caches, modules, the key of seals.
    forks = Forks(ours.mark)
    # A short soak makes each kind once, and one more before them.
    first = KINDS if count > len(KINDS) else ("loopback",)
    absent = {kind for number, kind in enumerate(first, 1) if not one_run(kind, tmp_path, -number, forks)}
    kinds = [kind for kind in KINDS if kind not in absent]
    before, objects = host_counts.names(), bpf_objects.on_this_host()
    state = {path: path.stat().st_size for path in Path(os.environ["XDG_STATE_HOME"]).rglob("*") if path.is_file()}
    runs, problems = [], []
    since = time.monotonic()
    for number in range(1, count + 1):
        kind = kinds[number % len(kinds)]
        run = one_run(kind, tmp_path, number, forks)
        if run is None:
            continue
        runs.append(run)
        if number % 25 == 0:
            grown = {name: round(growth([run.figures[name] for run in runs]), 3) for name in run.figures}
            print(f"{number} runs in {time.monotonic() - since:.0f} s; growth a run: {grown}", flush=True)
        await_only(forks.standing, ours)
        ours.assert_namespaces_gone()
        problems += [f"run {number}, {kind}: {path} is left" for path in temporary.iterdir()]
        problems += [f"run {number}, {kind}: {difference}" for difference in host_counts.differences_that_stay(before)]
    forks.end()
    assert problems == []
    assert bpf_objects_left(objects) == set()
    assert {
        path: path.stat().st_size for path in Path(os.environ["XDG_STATE_HOME"]).rglob("*") if path.is_file()
    } == state
    grown = {}
    for name in runs[0].figures:
        grown[name] = growth([run.figures[name] for run in runs])
        print(f"{name:18} {runs[0].figures[name]:>10,} to {runs[-1].figures[name]:>10,}: {grown[name]:+.4f} a run")
    if count < 100:
        return
    for kind in kinds:
        of_kind = [run.wall_s for run in runs if run.kind == kind]
        print(f"{kind:10} first {of_kind[0]:.2f} s, last {of_kind[-1]:.2f} s")
    for name, by in grown.items():
        if name not in CACHED:
            assert by <= (MAX_KIB_A_RUN if name in host_counts.MEMORY else MAX_OBJECTS_A_RUN), (name, by)


@pytest.mark.parametrize("count", [4, pytest.param(100, marks=pytest.mark.slow)])
def test_runs_of_one_process_leave_nothing_in_it(ours: Ours, tmp_path: Path, count: int) -> None:
    count = int(os.environ.get("WHYPERF_SOAK", 5 * count)) // 5
    command = [sys.executable, "-m", "tests.endurance.one_process", str(count)]
    tree = Path(__file__).parents[2]
    done = subprocess.run(
        command, cwd=tree, env={**os.environ, "RUNS": str(tmp_path)}, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    assert ours.processes() == []
    looks = [json.loads(line) for line in done.stdout.decode().splitlines() if line.startswith("{")]
    assert len(looks) == count
    print(looks[0], looks[-1])
    # After the second round everything is loaded that a kind of run needs.
    later = looks[len(looks) // 3 :]
    for name in ("descriptors", "threads"):
        assert later[-1][name] <= later[0][name], later
    if count >= 100:
        assert growth([look["rss_kib"] for look in looks[count // 2 :]]) <= MAX_PROCESS_KIB_A_RUN


#: What a process may grow by in each run: Python's and the allocator's own fragments.
MAX_PROCESS_KIB_A_RUN = 100.0
