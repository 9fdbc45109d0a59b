"""What cannot be measured: one sentence that names the thing and the remedy, and nothing half-written."""

import json
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e import whyperf_command
from tests.e2e.experiments import profile_text
from whyperf.cli import main
from whyperf.cli.exits import DOUBTFUL
from whyperf.record import Experiment
from whyperf.run.agents.frames import encode
from whyperf.run.agents.pipes import binary

LOOPBACK = ("--testbed", "loopback")
MODEL, SUNOS = "linux-6.18+veth", "sparc10+sba-100@2.2.6"
SMALL = ("--bytes", "100K", *LOOPBACK)

Refused = Callable[..., str]
Start = Callable[..., subprocess.Popen[bytes]]


@pytest.fixture
def refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Refused:
    """Runs what must be refused with an exit code, and returns the sentence; nothing may be written.

    In this process: loading the libraries takes a second each time.
    """
    monkeypatch.chdir(tmp_path)

    def refuse(status: int, *arguments: object) -> str:
        before = sorted(tmp_path.rglob("*"))
        assert main([str(word) for word in arguments]) == status
        streams = capsys.readouterr()
        assert streams.out == ""
        assert sorted(tmp_path.rglob("*")) == before
        (sentence,) = streams.err.splitlines()
        assert sentence.startswith("whyperf: ")
        assert "internal error" not in sentence
        return sentence

    return refuse


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        (("run", "window-sweep", "--only", "colour=red"), ("colour",)),
        (("run", "window-sweep", "--only", "window_bytes"), ("window_bytes=4096,8192",)),
        (("run", "--connections", "100001"), ("--connections", "100000")),
        (("run", "--bytes", "1M", "--time", "1"), ("--bytes", "keep one of the two")),
        (("run", "--time", "50", "--set", "deadline_s=10"), ("deadline_s", "raise it")),
        (("run", "--seed", "-1"), ("--seed",)),
        (("run", "--port", "65536"), ("--port", "65535")),
        (("run", "-host"), ("-o", "whyperf run --help")),
        (("run", "far.example", *LOOPBACK), ("--testbed loopback", "far.example")),
        (("run", "window-sweep", *LOOPBACK, "--set", "mtu_bytes=9000"), ("mtu_bytes", "loopback")),
        (("run", "--evidence", "counters", "--profile-hz", "97"), ("--profile-hz 97 is for --evidence profile",)),
        (("run", "--profile-hz", "30000"), ("--profile-hz 30000 is not from 1 to 20000",)),
        (("run", "five-clients", "--dry-run"), ("five-clients needs 5 hosts", "--from 'client[1-5]' --to server")),
        (("show", "a", "b"), ("whyperf show --help",)),
        (("calibrate", "--out", "missing/host.toml"), ("no folder",)),
        (("simulate", "quick", "--what-if", "window=256k"), ("needs a calibrated host",)),
        (("simulate", "quick", "--hosts", MODEL, "--what-if", "window=256k"), ("is not calibrated",)),
        (("simulate", "quick", "--hosts", MODEL, "--cluster", "head:8786"), ("tls://host:8786",)),
        (("simulate", "quick", "--hosts", "m.toml", "--what-if", "rtt=2", "--cluster", "local"), ("no --cluster",)),
    ],
)
def test_a_mistake_is_exit_code_2(refused: Refused, arguments: tuple[str, ...], names: tuple[str, ...]) -> None:
    sentence = refused(2, *arguments)
    for name in names:
        assert name in sentence


@pytest.mark.parametrize(
    ("options", "names"),
    [(("--set", "near_cpus=4711"), ("near_cpus", "4711")), (("--congestion", "warp"), ("warp", "cubic"))],
)
def test_what_the_host_does_not_have(refused: Refused, options: tuple[str, ...], names: tuple[str, ...]) -> None:
    sentence = refused(2, "run", *SMALL, *options, "--out", "results")
    for name in names:
        assert name in sentence


def test_an_experiment_that_is_being_measured(
    tmp_path: Path, started: Start, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    arguments = ["run", "--time", "30", *LOOPBACK, "--out", "results"]
    first = started(whyperf_command.argv(*arguments), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert first.stdout is not None
    while b"Gbit/s" not in first.stdout.readline():
        assert first.poll() is None
    assert main(arguments) == 1
    assert f"results is being measured by process {first.pid}" in capsys.readouterr().err
    assert main(["show", "results", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["cells"][0]["trials"] == 0


def test_a_port_in_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The trial fails; the record says so, and the exit code too."""
    monkeypatch.chdir(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert main(["run", *SMALL, "--port", str(port), "--out", "results"]) == 1
    said = capsys.readouterr().err
    assert f"127.0.0.1:{port}" in said
    assert "choose another port" in said
    (manifest,) = Experiment.open(tmp_path / "results").trials().manifests.values()
    assert manifest.status == "failed"


def be_agent(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """Makes this script the agent."""
    path = folder.parent / f"{folder.name}-agent"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    monkeypatch.setenv("WHYPERF_AGENT", str(path))


def reply_frame(reply: str) -> str:
    """A shell command that prints a message of an agent."""
    return "printf '" + "".join(f"\\{byte:03o}" for byte in encode(reply.encode(), 0)) + "'"


@pytest.mark.parametrize(
    ("script", "names"),
    [
        ("echo Hello", ("'Hello'", "not whyperf's protocol")),
        ("kill -9 $$", ("killed by signal 9",)),
        ("echo 'no memory left' >&2; exit 1", ("no memory left",)),
        (r"printf 'WP\001\001\000\000\000\002{}'", ("protocol version 1", "install the same whyperf on both hosts")),
        (reply_frame('{"id":1,"body":{"reply":"hello"}}'), ("hello.pid is wrong: field required",)),
    ],
)
def test_an_agent_that_is_none(
    refused: Refused, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, names: tuple[str, ...]
) -> None:
    be_agent(tmp_path, monkeypatch, script)
    for verb in (("run", *SMALL, "--out", "results"), ("doctor",)):
        sentence = refused(1, *verb)
        for name in names:
            assert name in sentence


def test_no_agent_at_all(refused: Refused, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WHYPERF_AGENT", "/nowhere/agent")
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    # In a source tree there is one in target/ too.
    monkeypatch.setattr(binary, "__file__", "/nowhere/python/whyperf/run/agents/pipes/binary.py")
    sentence = refused(1, "run", *SMALL, "--out", "results")
    assert "whyperf-agent is not installed; run `make setup`" in sentence


def test_output_into_a_closed_pipe_is_no_traceback(tmp_path: Path) -> None:
    command = " ".join(whyperf_command.argv("list", "--factors"))
    done = subprocess.run(f"{command} | true", shell=True, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stderr == ""


def test_a_profile_of_ones_own_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that the refusals above are not for another reason."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.toml").write_text(profile_text(transfer_bytes=1000))
    assert main(["run", "mine.toml", *LOOPBACK, "--json"]) in (0, DOUBTFUL)
