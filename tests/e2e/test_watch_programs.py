"""`whyperf watch` on real programs: attached in mid-life, and wrapped around a command."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.bpf_objects import held_by, still_there
from tests.e2e.conftest import Ours
from tests.e2e.watched_programs import end, program, transfer
from tests.e2e.whyperf_command import argv

pytestmark = [pytest.mark.usefixtures("ours"), pytest.mark.paced, pytest.mark.timeout(300)]
Start = Callable[..., "subprocess.Popen[bytes]"]
SIZE = 32_000_000
"""Bytes of the file: curl takes up to 10 MB at once before its --limit-rate slows it."""
#: The start of a command of a user without privilege, who may read all files: the checkout may lie where others cannot
#: enter. The files that another user's process has open are not among them.
NOBODY_WHO_READS = (
    *("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--bounding-set=-all,+dac_read_search"),
    *("--inh-caps=-all,+dac_read_search", "--ambient-caps=+dac_read_search"),
)


def command_line(*arguments: object) -> list[str]:
    return argv("watch", "--no-report", *arguments)


def watch(folder: Path, *arguments: object, before: tuple[str, ...] = ()) -> "subprocess.CompletedProcess[str]":
    done = subprocess.run(
        [*before, *command_line(*arguments)],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    assert "internal error" not in done.stderr, done.stderr
    return done


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


@contextmanager
def web_server(folder: Path) -> Iterator[int]:
    """A web server with a file of `SIZE` bytes; its port."""
    (folder / "file").write_bytes(bytes(SIZE))
    port = free_port()
    server = subprocess.Popen(
        [sys.executable, "-m", "http.server", "--bind", "127.0.0.1", "--directory", str(folder), str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        for _ in range(500):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.02)
        yield port
    finally:
        server.kill()
        server.wait()


@contextmanager
def iperf3(rate: str) -> Iterator[int]:
    """A transfer of iperf3 under way, and its port."""
    if shutil.which("iperf3") is None:
        pytest.skip("needs iperf3")
    port = str(free_port())
    quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    server = subprocess.Popen(["iperf3", "-s", "-1", "-p", port], **quiet)
    time.sleep(0.5)
    client = subprocess.Popen(["iperf3", "-c", "127.0.0.1", "-p", port, "-t", "60", "-b", rate], **quiet)
    try:
        time.sleep(0.5)
        yield int(port)
    finally:
        for process in (client, server):
            process.kill()
            process.wait()


def test_iperf3_is_watched_in_mid_life(tmp_path: Path) -> None:
    """Both sockets are on this host, so they are two rows while it goes on, and one connection in the result."""
    with iperf3("200M") as port:
        done = watch(tmp_path, f":{port}", "--time", "2", "-i", "0.5", "--json", "--out", "there")
    assert done.returncode == 0, done.stderr
    *intervals, result = (json.loads(line) for line in done.stdout.splitlines())
    busy = [each for each in intervals if max(each["send_bytes"], each["receive_bytes"]) > 100_000]
    assert {each["program"] for each in busy} == {"iperf3"}
    assert not any(each["is_whole"] for each in busy)
    for name in ("send_bps", "receive_bps"):
        rates = [each[name] for each in busy if each[name] > 1e6]
        assert len(rates) >= 2
        assert sum(rates) / len(rates) == pytest.approx(200e6, rel=0.25)
    assert all(
        sum(each["send_limit_s"].values()) == pytest.approx(each["end_s"] - each["start_s"]) for each in intervals
    )
    first = result["connections"][0]
    assert first["rate_bps"] == pytest.approx(200e6, rel=0.25)
    assert first["program"] == "iperf3"
    assert first["headline"]
    shown = subprocess.run(argv("explain", "there"), cwd=tmp_path, capture_output=True, text=True, check=False)
    assert shown.returncode in {0, 3}, shown.stderr
    assert "iperf3" in shown.stdout


def test_a_command_is_explained_and_has_its_exit_code(tmp_path: Path) -> None:
    """A transfer of about a second; what curl prints is what it prints without whyperf."""
    pages = tmp_path / "pages"
    pages.mkdir()
    with web_server(pages) as port:
        url = f"http://127.0.0.1:{port}/file"
        written = ("-w", "%{http_code} %{size_download}", "-o", "got", "-s", "--limit-rate", "10M", url)
        done = watch(tmp_path, "--out", "there", "--", "curl", *written)
    assert (done.returncode, done.stdout) == (0, f"200 {SIZE}"), done.stderr
    assert (tmp_path / "got").read_bytes() == bytes(SIZE)
    plan = json.loads((tmp_path / "there" / "plan.json").read_text())
    (cell,) = plan["cells"]
    assert cell["watched"]["program"] == "curl"
    assert cell["watched"]["remote"] == f"127.0.0.1:{port}"
    assert cell["watched"]["direction"] == "receive"
    assert f"127.0.0.1:{port}" in done.stderr
    assert "In full: whyperf explain there" in done.stderr


def test_connections_of_children_are_the_commands(tmp_path: Path) -> None:
    pages = tmp_path / "pages"
    pages.mkdir()
    with web_server(pages) as port:
        url = f"http://127.0.0.1:{port}/file"
        script = f"curl -s -o /dev/null --limit-rate 10M {url} & wait; exit 3"
        done = watch(tmp_path, "--out", "there", "--", "sh", "-c", script)
    assert done.returncode == 3, done.stderr
    plan = json.loads((tmp_path / "there" / "plan.json").read_text())
    assert [cell["watched"]["program"] for cell in plan["cells"]] == ["curl"]


def test_a_command_that_fails_keeps_its_exit_code(tmp_path: Path) -> None:
    done = watch(tmp_path, "--", "curl", "-s", f"http://127.0.0.1:{free_port()}/")
    assert done.returncode == 7
    assert not (tmp_path / "results").exists() or "whyperf explain" in done.stderr


def test_ctrl_c_ends_it_with_a_result(tmp_path: Path) -> None:
    with transfer() as running:
        with subprocess.Popen(
            command_line(f":{running.port}", "-i", "0.3", "--out", "there"),
            cwd=tmp_path,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as watching:
            assert watching.stdout is not None
            watching.stdout.readline()
            watching.send_signal(signal.SIGINT)
            out, err = watching.communicate(timeout=60)
        assert running.client.poll() is None
    assert watching.returncode == 0, err
    assert "In full: whyperf explain there" in out


@pytest.mark.parametrize("delay_s", [0.0, 0.4, 1.5])
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


def test_a_watch_of_a_process_ends_with_all_that_it_has_started(tmp_path: Path) -> None:
    """The server's child sends on for 2 s after the server has ended."""
    script = """
import os, socket, sys, time
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
connection, _ = listener.accept()
end = time.monotonic() + 60
if os.fork():
    sys.stdin.readline()
    os._exit(0)
parent = os.getppid()
while time.monotonic() < end:
    connection.sendall(bytes(20_000))
    time.sleep(0.02)
    if os.getppid() != parent:
        parent, end = os.getppid(), time.monotonic() + 2
"""
    server = program(script)
    try:
        assert server.stdout is not None
        assert server.stdin is not None
        with socket.create_connection(("127.0.0.1", int(server.stdout.readline()))) as reader:
            reading = threading.Thread(target=lambda: [None for _ in iter(lambda: reader.recv(1 << 16), b"")])
            reading.start()
            with subprocess.Popen(
                command_line(server.pid, "-i", "0.5", "--json", "--out", "there"),
                cwd=tmp_path,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            ) as watching:
                assert watching.stdout is not None
                first = json.loads(watching.stdout.readline())
                server.stdin.write("\n")
                server.stdin.flush()
                server.wait(20)
                out, err = watching.communicate(timeout=60)
            reading.join()
    finally:
        end(server)
    assert watching.returncode == 0, err
    assert f"Process {server.pid} and all that it has started have ended" in err
    *lines, result = (json.loads(line) for line in out.splitlines())
    assert lines[-1]["end_s"] > first["end_s"] + 1, "the child is watched, too"
    assert result["type"] == "result"
    assert (tmp_path / "there" / "plan.json").exists()


def test_a_command_goes_on_when_whyperf_is_killed(tmp_path: Path, started: Start) -> None:
    watching = started(
        command_line("--", "sh", "-c", "echo begun; sleep 1; echo ended > mark"),
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
    )
    assert watching.stdout is not None
    watching.stdout.readline()
    watching.kill()
    # The command holds the pipe open until it has ended.
    watching.stdout.read()
    assert (tmp_path / "mark").read_text() == "ended\n"


def test_no_such_process(tmp_path: Path) -> None:
    done = watch(tmp_path, 4_000_000)
    assert (done.returncode, done.stderr) == (1, "whyperf: there is no process 4000000 on this host\n")


@pytest.mark.root
def test_a_process_in_another_network_namespace(tmp_path: Path, started: Start) -> None:
    other = started(["unshare", "--net", "sleep", "60"])
    time.sleep(0.5)
    done = watch(tmp_path, other.pid)
    assert done.returncode == 1
    assert f"watch it with --netns {other.pid} as root" in done.stderr
    inside = watch(tmp_path, "--netns", other.pid, "-t", "0.5")
    assert inside.returncode == 1
    assert "no TCP connection of this host was seen" in inside.stderr


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
    assert done.returncode == 0, done.stderr
    plan = json.loads((tmp_path / "there" / "plan.json").read_text())
    assert [cell["watched"]["on_one_host"] for cell in plan["cells"]] == [True]


def test_a_namespace_that_cannot_be_entered(tmp_path: Path) -> None:
    done = watch(tmp_path, "--netns", 4_000_000)
    assert done.returncode == 1
    assert done.stderr.startswith("whyperf: /proc/4000000/ns/net cannot be entered: ")
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.root
def test_a_namespace_that_may_not_be_entered(tmp_path: Path, started: Start) -> None:
    other = started(["unshare", "--net", "sh", "-c", "echo ready; exec sleep 60"], stdout=subprocess.PIPE)
    assert other.stdout is not None
    assert other.stdout.readline() == b"ready\n"
    before = ("setpriv", "--bounding-set=-sys_admin", "--inh-caps=-sys_admin")
    done = watch(tmp_path, "--netns", other.pid, before=before)
    assert done.returncode == 1
    assert "that takes CAP_SYS_ADMIN where the namespace was made; run as root of this host" in done.stderr


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
    assert done.returncode == 1
    waits, ends = done.stderr.splitlines()[-2:]
    there = "it has 1 UDP socket, and only TCP connections are watched"
    assert waits == f"No TCP connection of {holder.pid} yet; {there}; waiting for one (Ctrl-C ends)"
    assert ends == f"whyperf: no TCP connection of {holder.pid} was seen, so nothing is kept; {there}"


def test_a_program_that_does_not_run_is_waited_for(tmp_path: Path) -> None:
    done = watch(tmp_path, "--program", "no-such-program", "-t", "0.5")
    assert done.returncode == 1
    assert "No process of no-such-program runs now; waiting for one (Ctrl-C ends)" in done.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to become somebody else")
def test_without_privilege_a_users_own_connections_are_watched_and_the_level_is_said(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """Level user, with the reason."""
    folder = Path("/tmp") / f"watch-{os.getpid()}"
    folder.mkdir()
    os.chown(folder, 65534, 65534)
    try:
        before = (*NOBODY_WHO_READS, "env", f"HOME={folder}", f"TMPDIR={folder}")
        with web_server(tmp_path_factory.mktemp("pages")) as port:
            url = f"http://127.0.0.1:{port}/file"
            command = ("curl", "-s", "-o", "/dev/null", "--limit-rate", "10M", url)
            done = watch(folder, "--out", "there", "--", *command, before=before)
        assert done.returncode == 0, done.stderr
        assert (folder / "there").is_dir(), done.stderr
        plan = json.loads((folder / "there" / "plan.json").read_text())
        assert [cell["watched"]["program"] for cell in plan["cells"]] == ["curl"]
        (manifest,) = (folder / "there" / "trials").glob("*/manifest.json")
        (host,) = json.loads(manifest.read_text())["hosts"].values()
        assert host["evidence"]["got"] == "user"
        assert host["evidence"]["reason"]
    finally:
        shutil.rmtree(folder)


@pytest.mark.root
def test_a_result_without_a_place_is_refused_before_the_command_starts(tmp_path: Path) -> None:
    before = (*NOBODY_WHO_READS, "env", "HOME=/", "TMPDIR=/tmp")
    done = watch(tmp_path, "--", "touch", "/tmp/whyperf-started", before=before)
    assert done.returncode == 2
    assert f"the result has no place: {tmp_path} may not be written to; name a folder with --out" in done.stderr
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
        assert done.returncode == 0, done.stderr
        assert "Evidence level user: " in done.stderr
        assert "The process of 2 connections is not known; it takes root to see processes of other users" in done.stderr
        *lines, result = (json.loads(line) for line in done.stdout.splitlines())
        assert {(line["program"], line["process"]) for line in lines} == {(None, None)}
        assert max(line["send_bytes"] for line in lines) > 100_000
        assert result["connections"][0]["headline"]
        with transfer(before=NOBODY_WHO_READS) as own:
            done = watch(folder, own.server.pid, "-t", "1.5", "-i", "0.5", "--json", "--out", "own", before=before)
        assert done.returncode == 0, done.stderr
        assert "is not known" not in done.stderr
        lines = [json.loads(line) for line in done.stdout.splitlines()][:-1]
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
