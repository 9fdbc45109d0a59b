"""Opening many connections: over several ports, in one go, and what a host must allow for it."""

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import polars as pl
import pytest

from tests.protocol.pipe_talk import Talk, opened, ran, trial
from whyperf.run import clean

StartTalk = Callable[..., Talk]

#: Both sides hold a file for each; a host's usual hard limit is higher than this.
MANY = 5_000


def test_many_connections_open_over_several_ports(talk: StartTalk) -> None:
    far, near, _ = opened(talk, connections_count=MANY, io_model="epoll")
    for agent in (far, near):
        assert agent.ask("clock")["reply"] == "clock"
        assert agent.ask("abort")["reply"] == "done"


def test_the_record_reports_how_long_opening_took(talk: StartTalk) -> None:
    for _, tables in ran(*opened(talk, connections_count=20)[:2]):
        flows = pl.read_parquet(tables["flows"])
        assert flows["connection"].to_list() == list(range(20))
        assert (flows["opening_mono_ns"] < flows["opened_mono_ns"]).all()
        assert (flows["opened_mono_ns"] < flows["first_call_mono_ns"]).all()
        assert flows["transport"].unique().to_list() == ["tcp"]


@pytest.mark.parametrize("transport", ["mptcp", "unix"])
def test_other_streams_are_exact(talk: StartTalk, transport: str) -> None:
    before = set(Path("/tmp").glob("whyperf-????????????????"))
    ends = ran(*opened(talk, connections_count=5, transport=transport)[:2])
    assert set(Path("/tmp").glob("whyperf-????????????????")) <= before
    for _, tables in ends:
        flows = pl.read_parquet(tables["flows"])
        assert flows["payload_bytes"].to_list() == [100_000] * 5
        assert flows["transport"].unique().to_list() == [transport]
        # The kernel reports the same for a first subflow as for TCP, and nothing for a Unix socket.
        has_tcp_info = pl.read_parquet(tables["tcp_info"]).height > 0
        assert has_tcp_info == (transport == "mptcp")


def killed_while_it_listens(talk: StartTalk, token: str) -> Path:
    """A listening agent dies; the folder that it leaves."""
    far = talk().hello()
    assert far.ask("prepare", **trial(transport="unix", token=token))["reply"] == "prepared"
    held = set()
    for entry in Path(f"/proc/{far.process.pid}/fd").iterdir():
        # What the agent has opened for a moment may be closed by now.
        with suppress(FileNotFoundError):
            held.add(str(entry.readlink()))
    rows = (row.split() for row in Path("/proc/net/unix").read_text().splitlines()[1:])
    (left,) = {Path(row[7]).parent for row in rows if len(row) > 7 and f"socket:[{row[6]}]" in held}
    far.kill()
    assert left.exists()
    return left


def test_the_folder_of_a_killed_host_is_removed_by_the_other(talk: StartTalk) -> None:
    near = talk().hello()
    near.ask("prepare", **trial("connect", "sender", transport="unix", token="c4" * 32))
    left = killed_while_it_listens(talk, "c4" * 32)
    assert near.ask("abort")["reply"] == "done"
    assert not left.exists()


def test_a_folder_that_nobody_removed_is_cleaned_when_it_is_old(talk: StartTalk) -> None:
    left = killed_while_it_listens(talk, "c5" * 32)
    clean()
    assert left.exists(), "it could be one that is being made"
    os.utime(left, (0, 0))
    assert {"leftover": "socket_folder", "path": str(left), "outcome": "removed"} in clean()
    assert not left.exists()


def test_a_unix_socket_of_another_host_is_named(talk: StartTalk) -> None:
    near = talk().hello()
    near.ask("prepare", **trial("connect", "sender", transport="unix", token="c3" * 32))
    reply = near.ask("connect", address="127.0.0.1", port=1)
    assert (reply["reply"], reply["fault"]) == ("error", "host")
    assert "both agents must run on one host" in reply["text"]
