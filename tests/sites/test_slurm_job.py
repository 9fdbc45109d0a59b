"""The job script of `whyperf slurm script`, run by a real Slurm."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.whyperf_command import whyperf
from tests.fleet.rack import CONTROL, rack
from tests.sites.slurm_cluster import Cluster, slurm
from whyperf.run.agents.pipes import agent_binary

pytestmark = [pytest.mark.root, pytest.mark.alone]

NODES = ("node1", "node2", "node3")
RUNS_WITHIN_S = 120


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Three nodes."""
    with rack(tmp_path_factory.mktemp("rack"), NODES) as hosts, slurm(hosts) as made:
        yield made


def submit(cluster: Cluster, folder: Path, *script: str) -> tuple[str, Path]:
    """Submits the script that `whyperf slurm script` prints; the job and the folder of its result."""
    printed = whyperf("slurm", "script", *script, folder=folder)
    assert printed.status == 0, printed.err
    (folder / "job.sh").write_text(printed.out)
    # An agent of this build is found before another one of the same version.
    programs = os.pathsep.join(map(str, (agent_binary().parent, Path(sys.executable).parent, os.environ["PATH"])))
    command = cluster.command(CONTROL, f"PATH={programs}", "sbatch", "--parsable", "job.sh")
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    job = done.stdout.strip()
    return job, folder / f"whyperf-{job}"


def state(cluster: Cluster, job: str) -> str:
    """The state of a job, such as COMPLETED."""
    command = cluster.command(CONTROL, "scontrol", "show", "job", job)
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return printed.partition("JobState=")[2].split()[0]


def await_end(cluster: Cluster, job: str, folder: Path) -> str:
    """Waits until the job has ended; its state."""
    end = time.monotonic() + RUNS_WITHIN_S
    while (found := state(cluster, job)) in {"PENDING", "CONFIGURING", "RUNNING", "COMPLETING"}:
        assert time.monotonic() < end, (found, [log.read_text() for log in folder.glob("*.log")])
        time.sleep(0.2)
    return found


def run_options(cluster: Cluster) -> tuple[str, ...]:
    """What the nodes of a rack need: their names do not resolve."""
    return ("--hosts", str(cluster.rack.inventory), "--no-report")


def test_nodes_that_slurm_chose_are_measured(cluster: Cluster, tmp_path: Path) -> None:
    asked = ("--clients", "2", "--servers", "1", "--", "-t", "0.3", "--trials", "1", *run_options(cluster))
    job, result = submit(cluster, tmp_path, *asked)
    ended = await_end(cluster, job, tmp_path)
    log = (tmp_path / f"whyperf-{job}.log").read_text()
    assert ended == "COMPLETED", log
    plan = json.loads((result / "plan.json").read_text())
    assert (plan["near"], plan["fleet"]["far"]) == (["node1", "node2"], ["node3", "node3"])
    (trial,) = (result / "trials").iterdir()
    manifest = json.loads((trial / "manifest.json").read_text())
    assert manifest["status"] == "complete"
    assert all(host["payload_bytes"] > 0 for host in manifest["hosts"].values())


def test_a_job_at_its_limit_keeps_its_trials(cluster: Cluster, tmp_path: Path) -> None:
    """Slurm sends the signal of the script to the batch step alone; here it is sent by hand."""
    asked = ("--from", "node1", "--to", "node3", "--", "-t", "0.5", "--trials", "100", *run_options(cluster))
    job, result = submit(cluster, tmp_path, *asked)
    end = time.monotonic() + RUNS_WITHIN_S
    while not list(result.glob("trials/[0-9]*")):
        assert time.monotonic() < end, [log.read_text() for log in tmp_path.glob("*.log")]
        time.sleep(0.1)
    subprocess.run(cluster.command(CONTROL, "scancel", "--batch", "--signal=TERM", job), check=True)
    # The status of a stopped run, 130, is that of the job.
    assert await_end(cluster, job, tmp_path) == "FAILED"
    kept = list((result / "trials").glob("[0-9]*/manifest.json"))
    assert 1 <= len(kept) < 100
    assert list(result.glob("trials/.*")) == []
    steps = cluster.command(CONTROL, "squeue", "--noheader", "--steps")
    assert subprocess.run(steps, capture_output=True, text=True, check=True).stdout == ""
