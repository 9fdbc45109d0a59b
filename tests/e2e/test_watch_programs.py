"""`whyperf watch` on real programs: attached in mid-life, and wrapped around a command."""

import json
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.bpf_objects import held_by, still_there
from tests.e2e.conftest import Ours
from tests.e2e.watched_programs import CLIENT, megabyte, transfer
from tests.e2e.whyperf_command import Done, argv, whyperf

pytestmark = [pytest.mark.usefixtures("ours"), pytest.mark.paced, pytest.mark.timeout(300)]
Start = Callable[..., "subprocess.Popen[bytes]"]
#: The start of a command of a user without privilege, who may read all files: the checkout may lie where others cannot
#: enter. The files that another user's process has open are not among them.
NOBODY_WHO_READS = (
    *("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--bounding-set=-all,+dac_read_search"),
    *("--inh-caps=-all,+dac_read_search", "--ambient-caps=+dac_read_search"),
)


def command_line(*arguments: object) -> list[str]:
    return argv("watch", "--no-report", *arguments)


def watch(folder: Path, *arguments: object, before: tuple[str, ...] = ()) -> Done:
    return whyperf("watch", "--no-report", *arguments, folder=folder, before=before, timeout_s=120)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def test_a_transfer_is_watched_in_mid_life(tmp_path: Path) -> None:
    """Both sockets are on this host, so they are two rows while it goes on, and one connection in the result."""
    # 20,000 bytes up to 50 times a second.
    most_bps = 8e6
    with transfer() as running:
        done = watch(tmp_path, f":{running.port}", "--time", "1.5", "-i", "0.3", "--json", "--out", "there")
    assert done.status == 0, done.err
    *intervals, result = (json.loads(line) for line in done.out.splitlines())
    assert all(each["program"].startswith("python") for each in intervals)
    assert not any(each["is_whole"] for each in intervals)
    for name in ("send_bps", "receive_bps"):
        rates = [each[name] for each in intervals if each[name] > most_bps / 10]
        assert len(rates) >= 2
        assert most_bps / 3 < sum(rates) / len(rates) < 1.2 * most_bps
    for each in intervals:
        assert sum(each["send_limit_s"].values()) == pytest.approx(each["end_s"] - each["start_s"])
    first = result["connections"][0]
    assert most_bps / 3 < first["rate_bps"] < 1.2 * most_bps
    assert first["headline"]
    shown = whyperf("explain", "there", folder=tmp_path)
    assert shown.status in {0, 3}, shown.err
    assert "python" in shown.out


def test_a_command_is_explained_and_has_its_exit_code(tmp_path: Path) -> None:
    """A child of the command has the connection; what it prints is what it prints without whyperf."""
    with megabyte() as port:
        client = shlex.join([sys.executable, "-c", CLIENT, "127.0.0.1", port])
        done = watch(tmp_path, "--out", "there", "--", "sh", "-c", f"{client} & wait; exit 3")
    assert (done.status, done.out) == (3, "connected\n"), done.err
    plan = json.loads((tmp_path / "there" / "plan.json").read_text())
    (cell,) = plan["cells"]
    assert cell["watched"]["program"].startswith("python")
    assert cell["watched"]["remote"] == f"127.0.0.1:{port}"
    assert cell["watched"]["direction"] == "receive"
    assert f"127.0.0.1:{port}" in done.err
    assert "In full: whyperf explain there" in done.err


@pytest.mark.parametrize("delay_s", [0.0, 0.4])
def test_a_killed_watch_leaves_nothing_and_disturbs_nothing(
    tmp_path: Path, ours: Ours, delay_s: float, started: Start
) -> None:
    with transfer() as running:
        watching = started(
            command_line(f":{running.port}", "-i", "0.2"),
            cwd=tmp_path,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
        )
        assert watching.stdout is not None
        if delay_s:
            watching.stdout.readline()
        time.sleep(delay_s)
        objects = {each for agent in ours.agents() for each in held_by(agent.pid)}
        watching.kill()
        watching.wait()
        end = time.monotonic() + 3
        while ours.agents():
            assert time.monotonic() < end
            time.sleep(0.05)
        # The kernel frees what nobody holds a moment later (bpf_map_free_deferred).
        end = time.monotonic() + 3
        while left := still_there(objects):
            assert time.monotonic() < end, left
            time.sleep(0.05)
        assert (running.client.poll(), running.server.poll()) == (None, None)
        running.stop()
        assert running.client.returncode == 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.root
def test_a_connection_in_another_network_namespace_is_watched(tmp_path: Path, started: Start) -> None:
    script = """
import socket, subprocess, sys, threading, time
subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
server = socket.create_server(("127.0.0.1", 5000))
client = socket.create_connection(("127.0.0.1", 5000))
peer, _ = server.accept()
threading.Thread(target=lambda: [client.recv(1 << 16) for _ in iter(int, 1)], daemon=True).start()
print("ready", flush=True)
while True:
    peer.sendall(bytes(10_000))
    time.sleep(0.01)
"""
    other = started(["unshare", "--net", sys.executable, "-c", script], stdout=subprocess.PIPE)
    assert other.stdout is not None
    assert other.stdout.readline() == b"ready\n"
    done = watch(tmp_path, "--netns", other.pid, ":5000", "-t", "1", "--out", "there")
    assert done.status == 0, done.err
    plan = json.loads((tmp_path / "there" / "plan.json").read_text())
    assert [cell["watched"]["on_one_host"] for cell in plan["cells"]] == [True]


@pytest.mark.root
def test_a_namespace_that_may_not_be_entered(tmp_path: Path, started: Start) -> None:
    other = started(["unshare", "--net", "sh", "-c", "echo ready; exec sleep 60"], stdout=subprocess.PIPE)
    assert other.stdout is not None
    assert other.stdout.readline() == b"ready\n"
    before = ("setpriv", "--bounding-set=-sys_admin", "--inh-caps=-sys_admin")
    done = watch(tmp_path, "--netns", other.pid, before=before)
    assert done.status == 1
    assert "that takes CAP_SYS_ADMIN where the namespace was made; run as root of this host" in done.err


def test_a_process_without_tcp_is_named(tmp_path: Path, started: Start) -> None:
    script = """
import socket, time
holder = socket.socket(type=socket.SOCK_DGRAM)
holder.bind(("127.0.0.1", 0))
print("ready", flush=True)
time.sleep(60)
"""
    holder = started([sys.executable, "-c", script], stdout=subprocess.PIPE)
    assert holder.stdout is not None
    holder.stdout.readline()
    done = watch(tmp_path, holder.pid, "-t", "0.5")
    assert done.status == 1
    waits, ends = done.err.splitlines()[-2:]
    there = "it has 1 UDP socket, and only TCP connections are watched"
    assert waits == f"No TCP connection of {holder.pid} yet; {there}; waiting for one (Ctrl-C ends)"
    assert ends == f"whyperf: no TCP connection of {holder.pid} was seen, so nothing is kept; {there}"


@pytest.mark.root
def test_a_result_without_a_place_is_refused_before_the_command_starts(tmp_path: Path) -> None:
    before = (*NOBODY_WHO_READS, "env", "HOME=/", "TMPDIR=/tmp")
    done = watch(tmp_path, "--", "touch", "/tmp/whyperf-started", before=before)
    assert done.status == 2
    assert f"the result has no place: {tmp_path} may not be written to; name a folder with --out" in done.err
    assert not Path("/tmp/whyperf-started").exists()


@pytest.mark.root
def test_without_privilege_it_says_what_it_cannot_see() -> None:
    """Connections of others are watched by port, without their processes; of its own processes it sees all."""
    folder = Path(tempfile.mkdtemp(prefix="watch-"))
    os.chown(folder, 65534, 65534)
    before = (*NOBODY_WHO_READS, "env", f"HOME={folder}", f"TMPDIR={folder}")
    try:
        with transfer() as others:
            done = watch(folder, f":{others.port}", "-t", "1.5", "-i", "0.5", "--json", "--out", "there", before=before)
        assert done.status == 0, done.err
        assert "Evidence level user: " in done.err
        assert "The process of 2 connections is not known; it takes root to see processes of other users" in done.err
        *lines, result = (json.loads(line) for line in done.out.splitlines())
        assert {(line["program"], line["process"]) for line in lines} == {(None, None)}
        assert max(line["send_bytes"] for line in lines) > 100_000
        assert result["connections"][0]["headline"]
        with transfer(before=NOBODY_WHO_READS) as own:
            done = watch(folder, own.server.pid, "-t", "1.5", "-i", "0.5", "--json", "--out", "own", before=before)
        assert done.status == 0, done.err
        assert "is not known" not in done.err
        lines = [json.loads(line) for line in done.out.splitlines()][:-1]
        assert {line["process"] for line in lines} == {own.server.pid}
    finally:
        shutil.rmtree(folder)


def test_metrics_are_scraped_while_it_goes_on(tmp_path: Path) -> None:
    port = free_port()
    with (
        transfer() as running,
        subprocess.Popen(
            command_line(f":{running.port}", "-i", "0.2", "--metrics", port),
            cwd=tmp_path,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as watching,
    ):
        assert watching.stdout is not None
        for _ in range(4):
            watching.stdout.readline()
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
            text = answer.read().decode()
        watching.send_signal(signal.SIGINT)
        _, err = watching.communicate(timeout=60)
    assert f"Metrics: http://127.0.0.1:{port}/metrics" in err
    sent = [
        float(line.split()[1])
        for line in text.splitlines()
        if line.startswith("whyperf_watch_payload_bytes_total{") and 'direction="send"' in line
    ]
    assert sum(sent) > 100_000
    assert 'peer_group="loopback"' in text
    assert 'program="python' in text
