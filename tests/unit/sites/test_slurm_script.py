"""The job scripts that `whyperf slurm script` prints, run with stand-ins for Slurm and whyperf."""

import os
import subprocess
from pathlib import Path

import pytest

from whyperf.sites.slurm import Job, script

SCONTROL = """#!/bin/sh
[ "$1 $2 $3" = "show hostnames node[1-4]" ] && printf 'node1\\nnode2\\nnode3\\nnode4\\n'
"""
WHYPERF = """#!/bin/sh
for word; do printf '%s\\0' "$word"; done
"""


def run_words(job: Job, folder: Path) -> list[str]:
    """What the script gives to `whyperf`, in an allocation of node[1-4]."""
    for name, text in (("scontrol", SCONTROL), ("whyperf", WHYPERF)):
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    settings = {
        "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}",
        "SLURM_JOB_NODELIST": "node[1-4]",
        "SLURM_SUBMIT_DIR": "/home/u/my runs",
        "SLURM_JOB_ID": "17",
    }
    done = subprocess.run(
        ["bash"], input=script(job), env=settings, capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stderr == ""
    return done.stdout.split("\0")[:-1]


def directives(job: Job) -> list[str]:
    """The options of sbatch in the script."""
    return [line.removeprefix("#SBATCH ") for line in script(job).splitlines() if line.startswith("#SBATCH ")]


def test_nodes_that_slurm_chooses_are_divided(tmp_path: Path) -> None:
    job = Job(clients=3, servers=1, run=("bulk", "--pattern", "fan-in"))
    assert run_words(job, tmp_path) == [
        *("run", "bulk", "--pattern", "fan-in", "--via", "srun", "--from", "node1,node2,node3", "--to", "node4"),
        *("--out", "/home/u/my runs/whyperf-17"),
    ]
    assert "--nodes=4" in directives(job)


def test_named_nodes_are_used_as_they_are(tmp_path: Path) -> None:
    job = Job(from_nodes="node[1-3]", to_nodes="node4", run=("--set", "about=it's $HOME"))
    assert run_words(job, tmp_path) == [
        *("run", "--set", "about=it's $HOME", "--via", "srun", "--from", "node[1-3]", "--to", "node4"),
        *("--out", "/home/u/my runs/whyperf-17"),
    ]
    assert "--nodelist=node[1-3],node4" in directives(job)
    assert [option for option in directives(job) if option.startswith("--nodes")] == []


@pytest.mark.parametrize("job", [Job(), Job(from_nodes="a[1-2]", to_nodes="b")])
def test_directives_come_before_the_first_command(job: Job) -> None:
    """Sbatch reads none behind it (sbatch(1))."""
    first, *lines = script(job).splitlines()
    assert first == "#!/bin/bash"
    places = [number for number, line in enumerate(lines) if line.startswith("#SBATCH")]
    assert places == list(range(len(places)))


def test_partition_and_account_are_asked_for() -> None:
    lines = script(Job(partition="short", account="network")).splitlines()
    assert {"#SBATCH --partition=short", "#SBATCH --account=network"} <= set(lines)
    assert not [line for line in script(Job()).splitlines() if "partition" in line or "account" in line]
