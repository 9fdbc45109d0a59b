"""`whyperf watch` over real ssh: on another host, and on both sides of the same connections."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Ours
from tests.e2e.far_host import SSHD, FarHost, far_host
from tests.e2e.watched_programs import CLIENT, SERVER
from whyperf.record import Experiment

pytestmark = [
    pytest.mark.root,
    pytest.mark.paced,
    pytest.mark.timeout(300),
    pytest.mark.skipif(not SSHD.exists(), reason="needs sshd"),
]


@pytest.fixture
def far(ours: Ours, tmp_path: Path) -> Iterator[FarHost]:
    """A far host for ssh."""
    with far_host(tmp_path, ours.mark) as host:
        yield host


def inside(netns: str, script: str, *arguments: str) -> "subprocess.Popen[str]":
    """A script in a network namespace."""
    argv = ["nsenter", f"--net={netns}", sys.executable, "-c", script, *arguments]
    return subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


@contextmanager
def transfer(far: FarHost) -> Iterator[str]:
    """The far host sends to the near one; the port."""
    address = json.loads(
        subprocess.run(
            ["nsenter", f"--net={far.far_netns}", "ip", "-j", "-4", "address", "show", "scope", "global"],
            capture_output=True,
            check=True,
        ).stdout
    )[0]["addr_info"][0]["local"]
    server = inside(far.far_netns, SERVER, address)
    started = [server]
    try:
        assert server.stdout is not None
        port = server.stdout.readline().strip()
        client = inside(far.near_netns, CLIENT, address, port)
        started.append(client)
        assert client.stdout is not None
        assert client.stdout.readline() == "connected\n"
        yield port
    finally:
        for process in started:
            process.kill()
            process.communicate()


def watched(far: FarHost, *arguments: str) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The intervals and the manifest of the only connection that is watched."""
    done = far.command("watch", *arguments, "-t", "2", "-i", "0.5", "--json", "--no-report", "--out", far.results)
    assert done.status == 0, done.err
    *intervals, result = (json.loads(line) for line in done.out.splitlines())
    assert len(result["connections"]) == 1
    (manifest,) = (far.results / "trials").glob("*/manifest.json")
    return intervals, json.loads(manifest.read_text())


def test_both_sides_of_a_connection_are_one_trial(far: FarHost) -> None:
    with transfer(far) as port:
        intervals, manifest = watched(far, f":{port}", "--far", "far")
    assert {each["host"] for each in intervals} == {"near", "far"}
    roles = {name: host["role"] for name, host in manifest["hosts"].items()}
    assert roles == {"near": "receiver", "far": "sender"}
    near, far_side = (manifest["hosts"][name]["payload_bytes"] for name in ("near", "far"))
    assert near == pytest.approx(far_side, rel=0.6)
    assert manifest["hosts"]["far"]["clock"]["uncertainty_ns"] > 0


def test_the_ssh_that_carries_the_watch_is_not_watched(far: FarHost) -> None:
    """It was a connection of its own, and "something may translate addresses" where the far side did not see it."""
    with transfer(far):
        watched(far, "--far", "far")
    assert all("translate addresses" not in text for text in Experiment.open(far.results).plan.warnings)
