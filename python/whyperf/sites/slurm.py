"""Job scripts for Slurm: a job that measures between its nodes, with an agent on each by `srun`.

Sources: sbatch(1), srun(1) and scontrol(1) of Slurm 22.05.
"""

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

#: Time from asking a job to stop until its limit. A stopped run keeps its trials, and the same command resumes it.
STOPS_BEFORE_S = 60


@dataclass(frozen=True)
class Job:
    """A job with its nodes: sets of names, or the numbers of clients and servers, which Slurm chooses.

    `directives` are further options of sbatch, `run` those of `whyperf run`.
    """

    from_nodes: str | None = None
    to_nodes: str | None = None
    clients: int = 1
    servers: int = 1
    minutes: int = 30
    partition: str | None = None
    account: str | None = None
    directives: Sequence[str] = ()
    run: Sequence[str] = ()


def script(job: Job) -> str:
    """The job script."""
    directives = "\n".join(f"#SBATCH {option}" for option in _options(job))
    return f"#!/bin/bash\n{directives}\nset -euo pipefail\n\n{_measure(job)}"


def _options(job: Job) -> Iterator[str]:
    yield "--job-name=whyperf"
    if job.from_nodes is None:
        yield f"--nodes={job.clients + job.servers}"
    else:
        yield f"--nodelist={job.from_nodes},{job.to_nodes}"
    yield "--ntasks-per-node=1"
    # Neighbors on a node would take from its CPUs and its link.
    yield "--exclusive"
    yield f"--time={job.minutes}"
    yield f"--signal=B:TERM@{STOPS_BEFORE_S}"
    yield "--output=whyperf-%j.log"
    if job.partition is not None:
        yield f"--partition={job.partition}"
    if job.account is not None:
        yield f"--account={job.account}"
    yield from job.directives


def _measure(job: Job) -> str:
    folder = '"$SLURM_SUBMIT_DIR/whyperf-$SLURM_JOB_ID"'
    rest = "".join(f" {shlex.quote(word)}" for word in job.run)
    if job.from_nodes is None or job.to_nodes is None:
        nodes = (
            'mapfile -t nodes < <(scontrol show hostnames "$SLURM_JOB_NODELIST")\n'
            'listed() {\n    local IFS=,\n    echo "$*"\n}\n'
        )
        start = f'"$(listed "${{nodes[@]:0:{job.clients}}}")"'
        target = f'"$(listed "${{nodes[@]:{job.clients}:{job.servers}}}")"'
    else:
        nodes = ""
        start, target = shlex.quote(job.from_nodes), shlex.quote(job.to_nodes)
    # In place of the shell, so that the signal before the limit gets to it.
    return f"{nodes}exec whyperf run{rest} \\\n    --via srun --from {start} --to {target} \\\n    --out {folder}\n"
