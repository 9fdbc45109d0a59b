"""Pods that are measured by `kubectl exec`: a stand-in runs the commands on the hosts of a rack.

`make test-fleet` measures over all pipes.
"""

import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.e2e.kubectl import PODS, install
from tests.e2e.whyperf_command import Done, whyperf
from tests.fleet.rack import CONTROL, Rack, rack
from whyperf.record import Experiment
from whyperf.run.agents.pipes import agent_binary
from whyperf.sites.pods import RunningPod, hosts_file

pytestmark = pytest.mark.root


@dataclass(frozen=True)
class Cluster:
    """Two pods that `whyperf run --via kubectl` measures."""

    hosts: Rack

    def run(self, result: Path, **faults: object) -> Done:
        """Measures from one pod to the other."""
        folder = result.parent
        pods = {name: self.hosts.inside(name) for name in self.hosts.names}
        (folder / "pods.json").write_text(json.dumps({"pods": pods, "containers": ["agent", "proxy"], **faults}))
        # The image of the pods has the agent.
        programs = [self.hosts.folder / "bin", agent_binary().parent, os.environ["PATH"]]
        settings: Mapping[str, str] = {
            PODS: str(folder / "pods.json"),
            "PATH": os.pathsep.join(map(str, programs)),
        }
        listed = [RunningPod(f"w-{number}", f"n{number}", self.hosts.address(f"w-{number}")) for number in (1, 2)]
        (folder / "pods.toml").write_text(hosts_file(listed))
        question = ("--from", "n1", "--to", "n2", "-O", "0.1", "-t", "0.2", "--trials", "1", "--evidence", "user")
        return whyperf(
            *("run", "--via", "kubectl", "--hosts", folder / "pods.toml", *question, "--no-report", "--out", result),
            folder=folder,
            netns=f"/proc/{self.hosts.pids[CONTROL]}/ns/net",
            environment=settings,
        )


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A rack whose hosts are the pods, and the stand-in."""
    with rack(tmp_path_factory.mktemp("rack"), ("w-1", "w-2")) as hosts:
        (hosts.folder / "bin").mkdir()
        install(hosts.folder / "bin")
        yield Cluster(hosts)


def test_pods_are_measured(cluster: Cluster, tmp_path: Path) -> None:
    """By the names of their nodes, with a line of kubectl on standard error, and where it cannot close an input."""
    done = cluster.run(tmp_path / "result", closes_input=False)
    assert done.status == 0, done.err
    (manifest,) = Experiment.open(tmp_path / "result").trials().manifests.values()
    assert manifest.status == "complete"
    assert cluster.hosts.processes_of("w-1") == cluster.hosts.processes_of("w-2") == []


def test_an_output_that_is_cut_with_status_0_is_named(cluster: Cluster, tmp_path: Path) -> None:
    done = cluster.run(tmp_path / "result", max_output_bytes=20_000)
    assert done.status == 1
    assert re.search(r"the pipe to n[12] was cut|the (near|far) agent ended with status 0", done.err.splitlines()[-1])
    assert not (tmp_path / "result").exists()
