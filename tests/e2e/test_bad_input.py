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
from whyperf.record import Experiment
from whyperf.run.agents.frames import encode
from whyperf.run.agents.pipes import binary

LOOPBACK = ("--testbed", "loopback")
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
        (("run", "window-swep"), ("window-swep", "did you mean window-sweep?")),
        (("run", "./nowhere.toml"), ("nowhere.toml",)),
        (("run", "window-sweep", "--set", "windw_bytes=1"), ("windw_bytes", "window_bytes")),
        (("run", "window-sweep", "--only", "window_bytes=4097"), ("window_bytes", "4097", "4096")),
        (("run", "window-sweep", "--only", "colour=red"), ("colour",)),
        (("run", "window-sweep", "--only", "window_bytes"), ("window_bytes=4096,8192",)),
        (("run", "--window", "0"), ("--window", "0 is not a level", "from 1")),
        (("run", "--window", "many"), ("--window", "many")),
        (("run", "--connections", "0"), ("--connections", "from 1")),
        (("run", "--connections", "100001"), ("--connections", "100000")),
        (("run", "--bytes", "1M", "--time", "1"), ("--bytes", "keep one of the two")),
        (("run", "--time", "-1"), ("--time",)),
        (("run", "--time", "50", "--set", "deadline_s=10"), ("deadline_s", "raise it")),
        (("run", "--set", "tso=true", "--set", "gso=false"), ("tso", "set tso = false")),
        (("run", "--ipv6", "--set", "mtu_bytes=1000"), ("mtu_bytes", "1280")),
        (("run", "--trials", "0"), ("--trials", "1 or more")),
        (("run", "--seed", "-1"), ("--seed",)),
        (("run", "--port", "65536"), ("--port", "65535")),
        (("run", "--no-such-option"), ("--no-such-option", "whyperf run --help")),
        (("run", "-host"), ("-o", "whyperf run --help")),
        (("run", "far.example", *LOOPBACK), ("--testbed loopback", "far.example")),
        (("run", "--address", "192.0.2.1"), ("--address", "--host")),
        (("run", "window-sweep", *LOOPBACK, "--set", "mtu_bytes=9000"), ("mtu_bytes", "loopback")),
        (("walk",), ("walk",)),
        (("show", "a", "b"), ("whyperf show --help",)),
    ],
)
def test_a_mistake_is_exit_code_2(refused: Refused, arguments: tuple[str, ...], names: tuple[str, ...]) -> None:
    sentence = refused(2, *arguments)
    for name in names:
        assert name in sentence


@pytest.mark.parametrize(
    ("changes", "names"),
    [
        ("[fixed]\nwindw_bytes = 1\n", ("fixed.windw_bytes", "did you mean window_bytes")),
        ("[fixed]\nwindow_bytes = 0\n", ("fixed.window_bytes", "from 1")),
        ("[fixed]\nwindow_bytes = true\n", ("fixed.window_bytes",)),
        ("[fixed]\nip_version = 5\n", ("fixed.ip_version", "4 or 6")),
        ("[fixed]\nread_size_bytes = '=write_size_bytes'\nwrite_size_bytes = '=read_size_bytes'\n", ("circle",)),
        ("[design]\ntrials = 0\n", ("design.trials",)),
        ("[design]\ntrials = 2\ninterval_width = 0.1\n", ("design", "not both")),
        ("[[sweep]]\nname = 'Main'\n", ("sweep.Main.name",)),
        ("colour = 'red'\n", ("colour",)),
        ("about = ", ("not valid TOML",)),
        ("[testbed]\nkind = 'moon'\n", ("testbed.kind",)),
    ],
)
def test_a_profile_that_cannot_be_used_is_named_with_its_key(
    refused: Refused, tmp_path: Path, changes: str, names: tuple[str, ...]
) -> None:
    profile = tmp_path / "mine.toml"
    profile.write_text(f'about = "Mine."\n{changes}')
    sentence = refused(2, "run", "mine.toml")
    assert "mine.toml" in sentence
    for name in names:
        assert name in sentence


def test_a_cpu_that_is_not_there(refused: Refused) -> None:
    sentence = refused(2, "run", *SMALL, "--set", "near_cpus=4711", "--out", "results")
    assert "near_cpus" in sentence
    assert "4711" in sentence


def test_a_congestion_control_that_is_not_there(refused: Refused) -> None:
    sentence = refused(2, "run", *SMALL, "--congestion", "warp", "--out", "results")
    assert "warp" in sentence
    assert "cubic" in sentence


def test_results_of_another_plan(refused: Refused, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", *SMALL, "--out", "results"]) == 0
    capsys.readouterr()
    sentence = refused(2, "run", *SMALL, "--window", "8192", "--out", "results")
    assert "results holds plan" in sentence
    assert "--out" in sentence


def test_a_folder_that_is_no_experiment(refused: Refused, tmp_path: Path) -> None:
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "cat.jpg").write_bytes(b"cat")
    assert "photos has files that are not an experiment's" in refused(2, "run", *SMALL, "--out", "photos")
    for verb in ("show", "report"):
        assert "there is no experiment photos" in refused(2, verb, "photos")
    (tmp_path / "file").write_bytes(b"")
    assert "file is not a folder" in refused(2, "run", *SMALL, "--out", "file")


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
        ("exit 3", ("ended with status 3",)),
        ("kill -9 $$", ("killed by signal 9",)),
        ("echo 'no memory left' >&2; exit 1", ("no memory left",)),
        (r"printf 'WP\001\001\000\000\000\002{}'", ("protocol version 1", "install the same whyperf on both hosts")),
        (reply_frame("{}").replace(r"\000\000\000\002", r"\377\377\377\377"), ("damaged frame 0",)),
        (r"printf 'WP\003\001\000\000\000\002{'", ("cut inside frame 0, after 9 of 20 bytes",)),
        (reply_frame("{}"), ("not a message of an agent: '{}'",)),
        (reply_frame("hello"), ("not a message of an agent", "'hello'")),
        (reply_frame('{"id":1,"body":{"reply":"hello"}}'), ("hello.pid is wrong: field required",)),
        (reply_frame('{"id":1,"body":{"reply":"error"}}'), ("error.fault is wrong: field required",)),
        (reply_frame('{"id":1,"body":[]}'), ("not a message of an agent",)),
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


def test_an_agent_of_another_version(refused: Refused, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What an agent of another version says to our greeting (tests/protocol) is what the user reads."""
    says = "the agent is version 0.0.9, the controller 0.2.0; install the same whyperf on both hosts"
    reply = reply_frame(f'{{"id":1,"body":{{"reply":"error","fault":"usage","text":"{says}"}}}}')
    be_agent(tmp_path, monkeypatch, f"{reply}; cat >/dev/null")
    assert says in refused(2, "run", *SMALL, "--out", "results")


def test_cleaning_up_with_an_agent_that_is_none(
    refused: Refused, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    be_agent(tmp_path, monkeypatch, "echo Hello")
    assert "is it one?" in refused(1, "doctor", "--clean")


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
    assert main(["run", "mine.toml", *LOOPBACK, "--json"]) == 0
