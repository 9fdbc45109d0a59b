"""A Slurm of its own on a rack: munged, slurmctld on the controller's host, and a slurmd on each other one.

All files lie in one folder, and all daemons are children in the foreground. The ports are Slurm's usual ones, which are
free in the namespaces of a rack.
"""

import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.fleet.rack import CONTROL, Rack

PROGRAMS = ("munged", "slurmctld", "slurmd", "srun", "sbatch", "scontrol", "sinfo", "nsenter")
READY_WITHIN_S = 60
ENDS_WITHIN_S = 20
CONFIGURATION = """
ClusterName=whyperf
SlurmctldHost={host}({address})
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.sock
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/builtin
SlurmdParameters=config_overrides
ReturnToService=2
MpiDefault=none
SwitchType=switch/none
InactiveLimit=0
KillWait=2
{nodes}
PartitionName=all Nodes=ALL Default=YES State=UP
"""


def missing() -> str | None:
    """Why there can be no Slurm; None where there can."""
    lacking = [name for name in PROGRAMS if shutil.which(name) is None]
    return f"needs {' and '.join(lacking)}" if lacking else None


@dataclass(frozen=True)
class Cluster:
    """A cluster that runs; its commands are for the controller's host."""

    folder: Path
    rack: Rack

    @property
    def environment(self) -> dict[str, str]:
        """By which Slurm's commands find it."""
        return {"SLURM_CONF": str(self.folder / "slurm.conf")}

    def command(self, host: str, *command: str) -> list[str]:
        """A command line that runs one of Slurm's commands on a host."""
        settings = [f"{key}={value}" for key, value in self.environment.items()]
        return self.rack.inside(host, "env", *settings, *command)


@contextmanager
def slurm(rack: Rack) -> Iterator[Cluster]:
    """A cluster whose nodes are the hosts of a rack."""
    # Slurm's paths have limits; those of tests can be longer.
    folder = Path(tempfile.mkdtemp(prefix="whyperf-slurm-"))
    # munged refuses a socket that others cannot reach.
    folder.chmod(0o755)
    cluster = Cluster(folder, rack)
    with ExitStack() as running:
        running.callback(shutil.rmtree, folder)
        (folder / "state").mkdir()
        (folder / "slurm.conf").write_text(_configuration(folder, rack))
        running.enter_context(_munge(folder))
        running.enter_context(_daemon(folder, "slurmctld", cluster.command(CONTROL, "slurmctld", "-D")))
        for name in rack.names:
            (folder / f"spool-{name}").mkdir()
            running.enter_context(_daemon(folder, f"slurmd-{name}", cluster.command(name, "slurmd", "-D", "-N", name)))
        _await_nodes(cluster)
        # The steps of a job outlive slurmd.
        running.callback(_end_jobs, cluster)
        yield cluster


def _configuration(folder: Path, rack: Rack) -> str:
    host = socket.gethostname().partition(".")[0]
    nodes = "\n".join(
        f"NodeName={name} NodeHostname={host} NodeAddr={rack.address(name)} CPUs=2 RealMemory=256"
        for name in rack.names
    )
    return CONFIGURATION.format(folder=folder, host=host, address=rack.address(CONTROL), nodes=nodes)


@contextmanager
def _munge(folder: Path) -> Iterator[None]:
    key = folder / "munge.key"
    key.write_bytes(bytes(range(128)))
    key.chmod(0o400)
    names = {"key-file": key, "socket": folder / "munge.sock", "pid-file": folder / "munge.pid"}
    names |= {"log-file": folder / "munge.log", "seed-file": folder / "munge.seed"}
    command = ["munged", "--foreground", "--force", *(f"--{name}={path}" for name, path in names.items())]
    with _daemon(folder, "munged", command):
        _await((folder / "munge.sock").exists, folder, "munged has no socket")
        yield


@contextmanager
def _daemon(folder: Path, name: str, command: Sequence[str]) -> Iterator[None]:
    """Runs a daemon until the end."""
    with (folder / f"{name}.out").open("wb") as printed:
        daemon = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=printed, stderr=subprocess.STDOUT)
    try:
        yield
    finally:
        daemon.terminate()
        try:
            daemon.wait(ENDS_WITHIN_S)
        except subprocess.TimeoutExpired:
            daemon.kill()
            daemon.wait()
            raise


def _end_jobs(cluster: Cluster) -> None:
    subprocess.run(cluster.command(CONTROL, "scancel", "--user=root"), check=True, timeout=ENDS_WITHIN_S)
    listed = cluster.command(CONTROL, "squeue", "--noheader")

    def are_none() -> bool:
        return subprocess.run(listed, capture_output=True, check=True, timeout=ENDS_WITHIN_S).stdout == b""

    _await(are_none, cluster.folder, "jobs do not end")


def _await_nodes(cluster: Cluster) -> None:
    command = cluster.command(CONTROL, "sinfo", "--noheader", "--Node", "--format=%T")

    def are_idle() -> bool:
        done = subprocess.run(command, capture_output=True, text=True, timeout=READY_WITHIN_S, check=False)
        return done.stdout.split() == ["idle"] * len(cluster.rack.names)

    _await(are_idle, cluster.folder, "the nodes are not idle")


def _await(is_done: Callable[[], bool], folder: Path, problem: str) -> None:
    end = time.monotonic() + READY_WITHIN_S
    while not is_done():
        logs = "\n".join(path.read_text(errors="replace")[-1000:] for path in folder.glob("*.log"))
        assert time.monotonic() < end, f"{problem}:\n{logs}"
        time.sleep(0.05)
