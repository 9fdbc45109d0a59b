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


def test_another_host_is_watched_alone(far: FarHost) -> None:
    with transfer(far) as port:
        intervals, manifest = watched(far, "far", f":{port}")
    assert {each["host"] for each in intervals} == {"near"}
    assert max(each["send_bps"] for each in intervals) > 1e6
    assert [host["role"] for host in manifest["hosts"].values()] == ["sender"]


def test_a_host_that_is_not_there_is_one_sentence(far: FarHost) -> None:
    done = far.command("watch", "closed", ":80", "-t", "1")
    assert done.status == 1
    assert done.sentence.startswith("whyperf: closed cannot be reached by ssh")
