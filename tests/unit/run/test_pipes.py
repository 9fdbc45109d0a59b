"""Pushing the agent, with a shell of this host in the place of ssh."""

import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from whyperf import __version__
from whyperf.run import pipes
from whyperf.run.errors import RunError

Far = Callable[[str], Path]


@pytest.fixture
def far(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Far:
    """Has `ssh` run a script, which finds the command in `$command`, and returns the far host's home."""
    agent = tmp_path / "agent"
    agent.write_bytes(b"an agent of more than one piece" * 10_000)
    agent.chmod(0o755)
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("WHYPERF_AGENT", str(agent))

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


def test_the_agent_is_written_whole_and_alone(far: Far, tmp_path: Path) -> None:
    home = far('exec sh -c "$command"')
    command = pipes.ssh("host7")
    (name,) = kept(home)
    path = home / ".cache" / "whyperf" / name
    assert path.read_bytes() == (tmp_path / "agent").read_bytes()
    assert path.stat().st_mode & 0o777 == 0o700
    assert command[-1] == f"exec {path} serve"


def test_what_arrives_incomplete_is_not_kept(far: Far) -> None:
    home = far('head -c 1000 | sh -c "$command"')
    with pytest.raises(RunError) as caught:
        pipes.ssh("host7")
    assert str(caught.value) == (
        f"host7 cannot keep the agent: it arrived incomplete; make room there, or install whyperf-agent {__version__}"
    )
    assert kept(home) == []


def test_an_agent_that_half_exists_is_replaced(far: Far) -> None:
    home = far('exec sh -c "$command"')
    pipes.ssh("host7")
    (name,) = kept(home)
    (home / ".cache" / "whyperf" / name).write_bytes(b"half of it")
    pipes.ssh("host7")
    assert kept(home) == [name]
    assert (home / ".cache" / "whyperf" / name).stat().st_size > 100_000


@pytest.mark.parametrize(
    ("script", "says"),
    [
        ("echo This account is currently not available. >&2; exit 1", "This account is currently not available."),
        ("exit 5", "status 5"),
        ("echo Connection refused >&2; exit 255", "Connection refused"),
        ("kill -9 $$", "killed by signal 9"),
        # It lets us look, and breaks while the agent is on its way.
        ('case "$command" in *umask*) echo Broken pipe >&2; exit 255;; esac; exec sh -c "$command"', "Broken pipe"),
    ],
)
def test_a_host_out_of_reach_is_not_told_as_full(far: Far, script: str, says: str) -> None:
    far(script)
    with pytest.raises(RunError) as caught:
        pipes.ssh("host7")
    assert str(caught.value) == f"host7 cannot be reached by ssh: {says}; does `ssh host7 true` work?"


def test_a_host_that_cannot_keep_the_agent_says_why(far: Far) -> None:
    home = far('exec sh -c "$command"')
    (home / ".cache").write_text("in the way")
    with pytest.raises(RunError, match=r"host7 cannot keep the agent: mkdir: .*; make room there, or install"):
        pipes.ssh("host7")
