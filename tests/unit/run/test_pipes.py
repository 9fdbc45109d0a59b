"""Pushing the agent, with a shell of this host in the place of ssh."""

import os
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from whyperf.run.agents import pipes
from whyperf.run.agents.last_words import KEPT_BYTES
from whyperf.run.agents.pipes import calls
from whyperf.run.agents.pipes.binary import RUN_ID
from whyperf.run.errors import RunError

Far = Callable[[str], Path]


@pytest.fixture
def far(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Far:
    """Has `ssh` run a script, which finds the command in `$command`, and returns the far host's home."""
    agent = tmp_path / "agent"
    # More than one piece, and it can be started.
    agent.write_bytes(b"#!/bin/sh\necho started to $1\nexit 0\n" + b"an agent of more than one piece" * 10_000)
    agent.chmod(0o755)
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("WHYPERF_AGENT", str(agent))
    # A host that has answered is asked again where it refuses for a moment.
    monkeypatch.setattr(calls, "_reached", set())

    def place(script: str) -> Path:
        ssh = tmp_path / "ssh"
        settings = f"export HOME={shlex.quote(str(home))} PATH=/usr/bin:/bin\nunset XDG_CACHE_HOME\n"
        ssh.write_text(f"#!/bin/sh\n{settings}for command; do :; done\n{script}\n")
        ssh.chmod(0o755)
        monkeypatch.setenv("WHYPERF_SSH", str(ssh))
        return home

    return place


def kept(home: Path) -> list[str]:
    """Files of the far host's cache, hidden ones among them."""
    return sorted(path.name for path in (home / ".cache" / "whyperf").iterdir())


def cached(home: Path) -> Path:
    """The only agent in the far host's cache."""
    (name,) = kept(home)
    return home / ".cache" / "whyperf" / name


def test_the_agent_is_written_whole_and_alone_and_started(far: Far, tmp_path: Path) -> None:
    home = far('exec sh -c "$command"')
    command = pipes.ssh("host7")
    assert cached(home).read_bytes() == (tmp_path / "agent").read_bytes()
    assert cached(home).stat().st_mode & 0o777 == 0o700
    assert cached(home).parent.stat().st_mode & 0o777 == 0o700
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "started to serve\n"), done.stderr


def test_what_a_pipe_starts_has_the_mark_of_this_controller(far: Far, tmp_path: Path) -> None:
    """An agent on this machine that sshd has started is no other program to its neighbor."""
    (tmp_path / "agent").write_text("#!/bin/sh\necho $WHYPERF_RUN\n")
    far('exec sh -c "$command"')
    for command in (pipes.ssh("host7"), pipes.SSH.quick_argv("host7")):
        assert command is not None
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout) == (0, f"{RUN_ID}\n"), done.stderr


def exchanged(path: Path) -> None:
    path.rename(path.with_name("other"))
    path.write_text("#!/bin/sh\necho another agent\n")
    path.chmod(0o700)


def overwritten(path: Path) -> None:
    path.write_text("#!/bin/sh\necho another agent\n")


def opened_to_others(path: Path) -> None:
    path.chmod(0o722)


def given_away(path: Path) -> None:
    os.chown(path, 12345, -1)


@pytest.mark.parametrize("change", [exchanged, overwritten, opened_to_others, given_away])
def test_another_agent_than_the_checked_one_is_never_started(far: Far, change: Callable[[Path], None]) -> None:
    home = far('exec sh -c "$command"')
    command = pipes.ssh("host7")
    change(cached(home))
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert "has changed since it was copied there" in done.stderr
    # What is not the agent is replaced by the next command.
    if change is not exchanged:
        assert subprocess.run(pipes.ssh("host7"), capture_output=True, check=False).returncode == 0


def test_what_is_exchanged_while_it_is_checked_is_not_started(far: Far, tmp_path: Path) -> None:
    """The name leads to another file once the sum is read; what is started is what was read."""
    home = far('exec sh -c "$command"')
    command = pipes.ssh("host7")
    path = cached(home)
    (tmp_path / "other").write_text("#!/bin/sh\necho another agent\n")
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "sha256sum").write_text(
        f'#!/bin/sh\n/usr/bin/sha256sum "$@" && cp -f {tmp_path}/other {path}.new && mv {path}.new {path}\n'
    )
    (tools / "sha256sum").chmod(0o755)
    started = [part.replace("exec sh -c '", f"PATH={tools}:$PATH; exec sh -c '", 1) for part in command]
    assert started != command
    done = subprocess.run(started, capture_output=True, text=True, check=False)
    assert "another agent" in path.read_text()
    assert (done.returncode, done.stdout) == (0, "started to serve\n"), done.stderr


def a_link(cache: Path, elsewhere: Path) -> None:
    cache.symlink_to(elsewhere)


def open_to_the_group(cache: Path, _: Path) -> None:
    cache.mkdir(mode=0o700)
    cache.chmod(0o770)


def open_to_all(cache: Path, _: Path) -> None:
    cache.mkdir(mode=0o700)
    cache.chmod(0o703)


def of_another_user(cache: Path, _: Path) -> None:
    cache.mkdir(mode=0o700)
    os.chown(cache, 12345, -1)


@pytest.mark.parametrize(
    ("place", "says"),
    [
        (a_link, "is a symbolic link"),
        (open_to_the_group, "others can write to it"),
        (open_to_all, "others can write to it"),
        (of_another_user, "belongs to another user"),
    ],
)
def test_a_cache_that_is_not_the_users_alone_is_refused(
    far: Far, tmp_path: Path, place: Callable[[Path, Path], None], says: str
) -> None:
    home = far('exec sh -c "$command"')
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    (home / ".cache").mkdir()
    place(home / ".cache" / "whyperf", tmp_path / "elsewhere")
    with pytest.raises(RunError, match=f"host7 cannot keep the agent: .*{says}.*install whyperf-agent"):
        pipes.ssh("host7")
    assert list((tmp_path / "elsewhere").iterdir()) == []
    assert kept(home) == []


def test_a_cache_that_is_opened_later_is_refused_at_the_start(far: Far) -> None:
    home = far('exec sh -c "$command"')
    command = pipes.ssh("host7")
    cached(home).parent.chmod(0o777)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert "others can write to it" in done.stderr


@pytest.mark.parametrize("host", ["host7", "me@host7", "me@corp.example@gate", "192.0.2.1", "fe80::1%eth0", "[::1]"])
def test_hosts_come_after_the_options(far: Far, tmp_path: Path, host: str) -> None:
    far(f'echo "$@" >> {tmp_path}/words; exec sh -c "$command"')
    assert pipes.ssh(host)[:4] == [str(tmp_path / "ssh"), "-T", "--", host]
    assert all(line.startswith(f"-T -- {host} ") for line in (tmp_path / "words").read_text().splitlines())


@pytest.mark.parametrize(
    ("script", "says"),
    [
        ("echo This account is currently not available. >&2; exit 1", "This account is currently not available."),
        ("exit 5", "status 5"),
        ("echo Connection refused >&2; exit 255", "Connection refused"),
        ("kill -9 $$", "killed by signal 9"),
        # It lets us look, and breaks while the agent is being copied.
        ('case "$command" in *umask*) echo Broken pipe >&2; exit 255;; esac; exec sh -c "$command"', "Broken pipe"),
    ],
)
def test_a_host_out_of_reach_is_not_reported_as_full(far: Far, script: str, says: str) -> None:
    far(script)
    with pytest.raises(RunError) as caught:
        pipes.ssh("host7")
    assert str(caught.value) == f"host7 cannot be reached by ssh: {says}; does `ssh host7 true` work?"


def test_a_host_that_cannot_keep_the_agent_says_why(far: Far) -> None:
    home = far('exec sh -c "$command"')
    (home / ".cache").write_text("in the way")
    with pytest.raises(RunError, match=r"host7 cannot keep the agent: mkdir: .*; put that right, or install"):
        pipes.ssh("host7")


def test_of_what_a_call_says_the_end_is_kept_and_no_file(tmp_path: Path) -> None:
    """A far host could fill the disk with it. A process that stays, as ssh's master connection, is not waited for."""
    os.mkfifo(tmp_path / "stays")
    stays = f"(read line < {tmp_path}/stays; echo later >&2) > {os.devnull} &"
    said = f"{stays} head -c 5000000 /dev/zero >&2; stat -L -c %s /dev/fd/2; echo the end >&2"
    done = calls.call(["sh", "-c", said], "host7")
    (tmp_path / "stays").write_text("\n")
    assert (done.status, done.lines, done.last_line[-7:]) == (0, ["0"], "the end")
    assert len(done.errors) == KEPT_BYTES
