"""Containers that have the capabilities of an evidence level and no others have the whole evidence of that level."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.whyperf_command import whyperf
from tests.fleet.rack import CONTROL, Rack, rack
from tests.sites.containers import Containers, containers
from tests.sites.engines import with_programs
from whyperf.sites.kubernetes import NAMES_OF_FUNCTIONS, USER_ID, container_capabilities

pytestmark = [pytest.mark.root]

NAMES = ("c1", "c2")


@dataclass(frozen=True)
class Containing:
    """Two hosts in each of which a container can be started."""

    hosts: Rack
    store: Containers

    def evidence(self, evidence: str, capabilities: tuple[str, ...], folder: Path) -> list[Any]:
        """What the hosts of all trials say of the evidence that they took with these capabilities."""
        user = 0 if capabilities else USER_ID
        added = [f"--cap-add={name.removeprefix('cap_').upper()}" for name in capabilities]
        # The profile of podman up to 2025 lets programs call bpf(2) with CAP_SYS_ADMIN only.
        options = [f"--user={user}:{user}", "--cap-drop=ALL", *added, "--security-opt=seccomp=unconfined"]
        near, far = NAMES
        with ExitStack() as running:
            for name in NAMES:
                running.enter_context(self.store.idling(name, f"/proc/{self.hosts.pids[name]}/ns/net", options))
            done = whyperf(
                *("run", "--via", "podman", "--hosts", self.hosts.inventory, "--from", near, "--to", far),
                *("-t", "0.5", "--trials", "1", "--evidence", evidence, "--no-report", "--out", folder / "result"),
                folder=folder,
                netns=f"/proc/{self.hosts.pids[CONTROL]}/ns/net",
                environment=with_programs(self.store.programs),
            )
        assert done.status in {0, 3}, done.err
        manifests = [json.loads(path.read_text()) for path in (folder / "result").glob("trials/*/manifest.json")]
        return [host["evidence"] for manifest in manifests for host in manifest["hosts"].values()]


@pytest.fixture(scope="module")
def containing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Containing]:
    """Two hosts, and the image."""
    with rack(tmp_path_factory.mktemp("rack"), NAMES) as hosts, containers() as store:
        yield Containing(hosts, store)


@pytest.mark.parametrize(
    ("evidence", "levels"),
    [("user", {"user"}), ("segments,profile", {"counters", "segments"}), ("stages", {"counters"})],
)
def test_a_level_is_whole(containing: Containing, evidence: str, levels: set[str], tmp_path: Path) -> None:
    found = containing.evidence(evidence, container_capabilities(evidence.split(",")), tmp_path)
    assert {taken["got"] for taken in found} == levels
    assert [taken for taken in found if taken["got"] != taken["asked"] or taken["missing"]] == []
    profiles = [taken["profile"] for taken in found if taken["profile"] is not None]
    stages = [taken["stages"] for taken in found if taken["stages"] is not None]
    assert bool(profiles) is ("profile" in evidence)
    assert bool(stages) is ("stages" in evidence)
    assert [
        profile for profile in profiles if profile["reason"] or profile["unnamed"] or not profile["samples_count"]
    ] == []
    assert [stage for stage in stages if stage["reason"] or stage["missing"] or not stage["rows_count"]] == []


def test_without_its_own_capability_functions_have_no_names(containing: Containing, tmp_path: Path) -> None:
    names = [name for name in container_capabilities(["profile"]) if name != NAMES_OF_FUNCTIONS]
    found = containing.evidence("profile", tuple(names), tmp_path)
    assert {taken["profile"]["reason"] for taken in found} == {None}
    assert all("CAP_SYSLOG" in taken["profile"]["unnamed"] for taken in found)
