"""Pipes of all kinds, with small programs in the place of their commands, and a shell of this host as the far one."""

import os
import shlex
import socket
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import get_args

import pytest

from whyperf import __version__
from whyperf.profile.profile_document import Pipe
from whyperf.run import adapters
from whyperf.run.agents import pipes
from whyperf.run.agents.pipes import calls, kinds, push
from whyperf.run.agents.pipes.binary import Binary
from whyperf.run.errors import Fault, RunError

Program = Callable[[str, str], Path]

#: Starts the words behind the host as they are, as `podman exec` does.
STARTS_WORDS = 'exec "$@"'
#: Puts them together for a shell, as ssh does.
JOINS_WORDS = 'exec sh -c "$*"'
BODY_BYTES = 700_000


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Program:
    """Puts a program on PATH that leads to the host in its last word before what is started there."""
    agent = tmp_path / "agent"
    agent.write_bytes(b"#!/bin/sh\necho started to $*\nexit 0\n" + os.urandom(BODY_BYTES))
    agent.chmod(0o755)
    (tmp_path / "home").mkdir()
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("WHYPERF_AGENT", str(agent))
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:/usr/bin:/bin")

    def place(name: str, script: str) -> Path:
        path = tmp_path / "bin" / name
        settings = f"export HOME={tmp_path}/home PATH=/usr/bin:/bin\nunset XDG_CACHE_HOME\n"
        path.write_text(
            f'#!/bin/bash\n{settings}echo "$@" >> {tmp_path}/calls\n'
            f'while [ "${{1#*h7}}" = "$1" ]; do shift; done; shift\n'
            f'while [ "${{1#--}}" != "$1" ]; do shift; done\n{script}\n'
        )
        path.chmod(0o755)
        return tmp_path

    return place


def test_a_profile_names_each_kind_of_pipe_and_no_command() -> None:
    assert {*get_args(Pipe)} == {*kinds.KINDS, adapters.ADAPTERS}


def called(folder: Path) -> list[str]:
    """The calls of the program, without their scripts."""
    lines = (folder / "calls").read_text().splitlines()
    return [line for line in lines if "h7" in line]


def kept(folder: Path) -> list[Path]:
    """Files of the far host's cache, hidden ones among them."""
    return sorted((folder / "home" / ".cache" / "whyperf").iterdir())


def started(argv: list[str]) -> str:
    done = subprocess.run(argv, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("via", "name", "options"),
    [
        ("kubectl", "kubectl", ["exec", "-i", "h7", "--"]),
        ("podman", "podman", ["exec", "-i", "h7"]),
        ("docker", "docker", ["exec", "-i", "h7"]),
        ("srun", "srun", ["--nodelist=h7", "--nodes=1", "--ntasks=1", "--quiet", "--input=0"]),
        ("reach --at {host} --", "reach", ["--at", "h7", "--"]),
    ],
)
def test_an_agent_is_pushed_and_started_through_each_kind(
    program: Program, tmp_path: Path, via: str, name: str, options: list[str]
) -> None:
    program(name, STARTS_WORDS)
    kind = pipes.by_name(via)
    argv = kind.argv("h7", "/run/netns/left")
    assert Path(argv[0]).name == name
    assert argv[1 : 1 + len(options)] == options
    assert [path.read_bytes() for path in kept(tmp_path)] == [(tmp_path / "agent").read_bytes()]
    assert started(argv) == "started to serve --netns /run/netns/left\n"
    # To look, and to push.
    assert len(called(tmp_path)) == 3
    kind.argv("h7")
    assert len(called(tmp_path)) == 4


def test_a_command_that_joins_words_is_found_out(program: Program) -> None:
    program("far-shell", JOINS_WORDS)
    argv = pipes.by_name("far-shell -p 2222 {host}").argv("h7")
    assert argv[1:4] == ["-p", "2222", "h7"]
    assert len(argv) == 5
    assert started(argv) == "started to serve\n"


def test_ssh_is_the_default() -> None:
    assert pipes.by_name(None) is pipes.by_name("ssh")


def test_a_template_with_ssh_is_taken_as_it_stands(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WHYPERF_SSH", "false")
    program("ssh", JOINS_WORDS)
    argv = pipes.by_name("ssh -p 2222 {host}").argv("h7")
    assert argv[:4] == ["ssh", "-p", "2222", "h7"]
    assert started(argv) == "started to serve\n"


@pytest.mark.parametrize(
    ("via", "says"),
    [
        ("teleport", "has no {host} in it; give a command with {host}, or ssh, kubectl, podman, docker, srun"),
        ("ssh host", "has no {host} in it"),
        ("", "has no {host} in it"),
        ("{host} -x", "begins with {host}"),
        ("reach '{host}", "is no command line: No closing quotation"),
    ],
)
def test_a_template_that_leads_nowhere_is_refused(via: str, says: str) -> None:
    with pytest.raises(RunError) as caught:
        pipes.by_name(via)
    assert says in str(caught.value)
    assert caught.value.fault is Fault.USAGE


@pytest.mark.parametrize(
    "host",
    [
        *("-oProxyCommand=touch reached", "-F/tmp/config", "--", "--privileged", "", "h7 --", "h7 -oProxyCommand=x"),
        *("me@-oProxyCommand=x", "me@", "@h7", "h7\n", "h7;id", "$(id)", "ssh://h7", "h" * 321),
    ],
)
def test_no_host_is_taken_for_anything_else(program: Program, tmp_path: Path, host: str) -> None:
    for via in ("kubectl", "podman", "srun", "reach {host}", "ssh"):
        program(via.partition(" ")[0], STARTS_WORDS)
        kind = pipes.by_name(via)
        for use in (kind.argv, lambda name, kind=kind: kind.address_of(name, 4)):
            with pytest.raises(RunError, match="cannot be a host; give a name or an address as for ssh") as caught:
                use(host)
            assert caught.value.fault is Fault.USAGE
            assert len(str(caught.value)) < 120
    assert not (tmp_path / "calls").exists()


def test_a_command_that_is_not_there_is_named(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(program("other", STARTS_WORDS) / "bin"))
    with pytest.raises(RunError, match="there is no srun on this host; install the Slurm client"):
        pipes.by_name("srun").argv("h7")


def test_the_agent_of_a_host_without_a_shell_is_used(program: Program) -> None:
    version = f"echo whyperf-agent {__version__}"
    no_shell = "echo 'crun: executable file `sh` not found in $PATH: No such file or directory' >&2; exit 127"
    program("podman", f'case "$1 $2" in "whyperf-agent --version") {version};; *) {no_shell};; esac')
    assert pipes.by_name("podman").argv("h7")[-2:] == ["whyperf-agent", "serve"]
    program("podman", no_shell)
    with pytest.raises(RunError, match=f"h7 has neither a shell .sh. nor whyperf-agent {__version__} on its PATH"):
        pipes.by_name("podman").argv("h7")


@pytest.mark.parametrize("cut_bytes", [192 << 10, 100_000])
def test_a_pipe_that_cuts_its_input_gets_the_agent_in_pieces(program: Program, tmp_path: Path, cut_bytes: int) -> None:
    # Without a status, and the shell reads all that comes before the cut.
    program("kubectl", f'head -c {cut_bytes} | "$@"; exit 0')
    argv = pipes.by_name("kubectl").argv("h7")
    assert [path.read_bytes() for path in kept(tmp_path)] == [(tmp_path / "agent").read_bytes()]
    assert started(argv) == "started to serve\n"


def copied(answer: Callable[[int], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Copies an agent to a far host that says what `answer` has for so many bytes; returns how many it was sent."""
    sent: list[int] = []

    def call(_argv: list[str], _host: str, data: bytes = b"") -> calls.Call:
        sent.append(len(data))
        assert len(sent) < 1000
        return calls.Call(0, f"whyperf-start\n{answer(len(data))}\nwhyperf-end\n".encode(), "")

    monkeypatch.setattr(push, "call", call)
    (tmp_path / "binary").write_bytes(bytes(BODY_BYTES))
    pipe = push.HostPipe("ssh", "h7", ("ssh", "h7"), joins_words=True, check="ssh h7 true")
    with pytest.raises(RunError) as caught:
        push._keep(pipe, Binary(tmp_path / "binary", BODY_BYTES, "0" * 64))
    assert str(caught.value).startswith("h7 cannot keep the agent: ")
    return sent


def test_a_host_that_takes_a_byte_less_each_time_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sent = copied(lambda size: f"whyperf-arrived {size - 1}", tmp_path, monkeypatch)
    assert len(sent) < 10


def test_all_pieces_together_have_the_time_of_one_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = [0.0]
    monkeypatch.setattr(push, "time", SimpleNamespace(monotonic=lambda: now_s[0]), raising=False)

    def slow(size: int) -> str:
        now_s[0] += 50.0
        return "whyperf-kept" if 0 < size < BODY_BYTES else "whyperf-arrived 20000"

    # Of 700,000 bytes: a minute, and 43 s at 16 KiB/s.
    assert copied(slow, tmp_path, monkeypatch)[:5] == [700_000, 20_000, 20_000, 20_000, 0]


@pytest.mark.parametrize(
    ("script", "says"),
    [
        ('"$@" </dev/null', "h7 cannot keep the agent: the kubectl passes no input"),
        (
            'head -c 5000 | "$@"',
            r"^h7 cannot keep the agent: it arrived incomplete, 5,000 of 700,\d+ bytes; put that right, or install",
        ),
        # One bit is another.
        ("sed 's/started/startee/' | \"$@\"", "h7 cannot keep the agent: it arrived damaged"),
        ('"$@" | head -c 20; exit 0', "the kubectl to h7 was cut after 20 bytes of output, with status 0"),
        ("exit 0", "the kubectl to h7 was cut after 0 bytes of output, with status 0"),
        (
            "echo no such pod >&2; exit 1",
            "h7 cannot be reached by kubectl: no such pod; does `kubectl exec h7 -- true`",
        ),
    ],
)
def test_a_pipe_that_passes_less_is_named(program: Program, tmp_path: Path, script: str, says: str) -> None:
    program("kubectl", script)
    with pytest.raises(RunError, match=says):
        pipes.by_name("kubectl").argv("h7")
    cache = tmp_path / "home" / ".cache" / "whyperf"
    assert not cache.exists() or list(cache.iterdir()) == []


def test_a_pipe_that_hangs_is_named(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "IDLE_S", 0.3)
    program("kubectl", "exec sleep 60")
    with pytest.raises(RunError, match="the kubectl to h7 hangs: nothing came for"):
        pipes.by_name("kubectl").argv("h7")


def test_a_pipe_that_says_something_again_and_again_is_named(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "MAX_CALL_S", 0.3)
    program("kubectl", "for n in $(seq 40); do echo x; sleep 0.05; done")
    with pytest.raises(RunError, match="the kubectl to h7 hangs: it goes on after 0 s"):
        pipes.by_name("kubectl").argv("h7")


def test_a_greeting_around_the_answers_is_skipped(program: Program) -> None:
    program("kubectl", 'printf "Defaulted container \\"a\\" out of: a, b\\nuname: "; "$@"; echo bye')
    assert started(pipes.by_name("kubectl").argv("h7")).splitlines()[-2:] == ["uname: started to serve", "bye"]


def test_the_agent_of_another_architecture_is_looked_for(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tools").mkdir()
    uname = tmp_path / "tools" / "uname"
    uname.write_text("#!/bin/sh\necho Linux riscv64\n")
    uname.chmod(0o755)
    program("podman", f'export PATH={tmp_path}/tools:$PATH; exec "$@"')
    sentence = (
        "h7 is Linux riscv64, this host .*put it here as whyperf-agent-riscv64 into the folder that WHYPERF_AGENTS"
    )
    with pytest.raises(RunError, match=sentence):
        pipes.by_name("podman").argv("h7")
    agents = tmp_path / "agents"
    agents.mkdir()
    monkeypatch.setenv("WHYPERF_AGENTS", str(agents))
    with pytest.raises(RunError, match=sentence):
        pipes.by_name("podman").argv("h7")
    (agents / "whyperf-agent-riscv64").write_text("#!/bin/sh\necho of another kind\n")
    assert started(pipes.by_name("podman").argv("h7")) == "of another kind\n"


def test_one_of_many_pushes_to_a_host_and_the_others_wait(program: Program, tmp_path: Path) -> None:
    program("podman", STARTS_WORDS)
    kind = pipes.by_name("podman")
    found: list[list[str]] = []
    threads = [threading.Thread(target=lambda: found.append(kind.argv("h7"))) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 6
    assert len(kept(tmp_path)) == 1
    assert sum("umask" in line for line in (tmp_path / "calls").read_text().splitlines()) == 1


TURNED_AWAY = "kex_exchange_identification: read: Connection reset by peer"


def busy_server(folder: Path, tries: int, says: str) -> str:
    """A script that turns away so many connections before it starts what it shall."""
    return (
        f"echo >> {folder}/tries; if [ $(wc -l < {folder}/tries) -le {tries} ]; "
        f'then echo {shlex.quote(says)} >&2; exit 255; fi; exec sh -c "$*"'
    )


@pytest.mark.parametrize(
    "says",
    [TURNED_AWAY, "ssh_exchange_identification: Connection closed by remote host", "Connection closed by h7 port 22"],
)
def test_a_busy_server_is_asked_again(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, says: str
) -> None:
    monkeypatch.setattr(calls, "wait_s", lambda _: 0.01)
    monkeypatch.delenv("WHYPERF_SSH", raising=False)
    program("ssh", busy_server(tmp_path, 3, says))
    assert started(pipes.by_name("ssh").argv("h7")) == "started to serve\n"


@pytest.mark.parametrize(
    "says",
    [
        "h7: Permission denied (publickey).",
        "Host key verification failed.",
        f"Permission denied (publickey).\n{TURNED_AWAY}",
        "ssh: connect to host h7 port 22: No route to host",
        # Nothing has answered at this host yet.
        "ssh: connect to host h7 port 22: Connection refused",
    ],
)
def test_what_no_second_try_mends_is_tried_once(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, says: str
) -> None:
    monkeypatch.setattr(calls, "_reached", set())
    monkeypatch.delenv("WHYPERF_SSH", raising=False)
    program("ssh", busy_server(tmp_path, 1, says))
    with pytest.raises(RunError, match="h7 cannot be reached by ssh"):
        pipes.by_name("ssh").argv("h7")
    assert (tmp_path / "tries").read_text() == "\n"


def test_a_host_that_has_answered_may_refuse_for_a_moment(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calls, "wait_s", lambda _: 0.01)
    monkeypatch.setattr(calls, "_reached", {"h7"})
    monkeypatch.delenv("WHYPERF_SSH", raising=False)
    program("ssh", busy_server(tmp_path, 2, "ssh: connect to host h7 port 22: Connection refused"))
    assert started(pipes.by_name("ssh").argv("h7")) == "started to serve\n"


def test_waits_grow_and_are_never_the_same() -> None:
    waits = [[calls.wait_s(attempt) for attempt in range(calls.ATTEMPTS)] for _ in range(20)]
    assert len({tuple(found) for found in waits}) == 20
    assert all(0.1 <= found[0] <= 0.25 and 2.0 <= found[-1] <= 4.0 for found in waits)
    # Less than half a minute in all.
    assert all(sum(found) < 25 for found in waits)


def test_no_more_than_a_few_connect_to_one_host_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "_entrances", {})
    inside, most = 0, 0
    lock, go_on = threading.Lock(), threading.Event()

    def connect() -> None:
        nonlocal inside, most
        with calls.entrance("h7"):
            with lock:
                inside += 1
                most = max(most, inside)
            go_on.wait(0.05)
            with lock:
                inside -= 1

    threads = [threading.Thread(target=connect) for _ in range(30)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == calls.MAX_AT_ONCE


@pytest.mark.parametrize(
    ("via", "remedy"),
    [
        ("ssh", "name the address with --address, of many hosts in a file of hosts (--hosts)"),
        ("podman", "name the address with --address, of many hosts in a file of hosts (--hosts)"),
        (
            "kubectl",
            "kubectl get pods -o json | whyperf site k8s hosts writes the addresses of pods for --hosts",
        ),
        ("sh -c true {host}", "name the address with --address, of many hosts in a file of hosts (--hosts)"),
    ],
)
def test_a_host_whose_name_does_not_resolve_is_named_with_what_to_do(
    program: Program, monkeypatch: pytest.MonkeyPatch, via: str, remedy: str
) -> None:
    for name in ("ssh", "podman", "kubectl"):
        program(name, "echo hostname h7.invalid")

    def refuse(*_: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    with pytest.raises(RunError) as raised:
        pipes.by_name(via).address_of("h7", 4)
    assert str(raised.value).startswith("h7")
    assert str(raised.value).endswith(f"has no IPv4 address here (Name or service not known); {remedy}")
