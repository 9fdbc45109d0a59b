"""The hosts of a rack behind each pipe."""

import json
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.e2e.kubectl import PODS, install
from tests.fleet.rack import Rack
from tests.sites import containers, slurm_cluster


@dataclass(frozen=True)
class Engine:
    """How `whyperf run` reaches the hosts: `--via`, and the environment of the command."""

    via: str
    environment: dict[str, str] = field(default_factory=dict)


Start = Callable[[Rack], AbstractContextManager[Engine]]


@contextmanager
def local(rack: Rack) -> Iterator[Engine]:
    """Processes of this machine that enter the namespaces, by a template."""
    yield Engine(rack.enter)


@contextmanager
def ssh(rack: Rack) -> Iterator[Engine]:
    """An sshd on each host."""
    rack.serve("/usr/bin:/bin")
    yield Engine("ssh", rack.environment)


@contextmanager
def podman(rack: Rack) -> Iterator[Engine]:
    """A container in each namespace, with all privileges, as the agents of the others have."""
    with containers.containers() as made, ExitStack() as running:
        for name in rack.names:
            netns = f"/proc/{rack.pids[name]}/ns/net"
            running.enter_context(made.idling(name, netns, ["--privileged"]))
        yield Engine("podman", with_programs(made.programs))


@contextmanager
def srun(rack: Rack) -> Iterator[Engine]:
    """A Slurm with a slurmd on each host."""
    with slurm_cluster.slurm(rack) as cluster:
        yield Engine("srun", cluster.environment)


@contextmanager
def kubectl(rack: Rack) -> Iterator[Engine]:
    """A stand-in of kubectl, whose pods are the hosts."""
    programs = rack.folder / "bin"
    programs.mkdir()
    install(programs)
    file = rack.folder / "pods.json"
    pods = {name: rack.inside(name) for name in rack.names}
    file.write_text(json.dumps({"pods": pods, "containers": ["agent", "proxy"]}))
    yield Engine("kubectl", {PODS: str(file), **with_programs(programs)})


ENGINES: dict[str, Start] = {"local": local, "ssh": ssh, "srun": srun, "podman": podman, "kubectl": kubectl}


def with_programs(folder: Path) -> dict[str, str]:
    """The environment in which the programs of a folder come first."""
    return {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}
