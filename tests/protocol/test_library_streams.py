"""Streams that a library carries over UDP: exact on both sides like TCP's, and as easily ended."""

import os
import signal
import socket
import time
from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

from tests.protocol.pipe_talk import PATIENCE_S, SECOND_NS, Talk, forever, trial

StartTalk = Callable[..., Talk]

LIBRARIES = ["udt", "quic", "srt"]
PAYLOAD_BYTES = 1_000_003
#: What a library needs a look for when nothing comes: longer than any of its timers.
SOON_S = 5.0


@pytest.fixture(params=LIBRARIES)
def transport(request: pytest.FixtureRequest, talk: StartTalk) -> str:
    """Each of them that the agent was built with."""
    name = str(request.param)
    for ability in talk().hello().ask("describe_host", with_hooks=False)["abilities"]:
        if ability["name"] == f"{name}_library" and not ability["can"]:
            pytest.skip(f"needs an agent built with {name}'s library; this one: {ability['reason']}")
    return name


def opened(talk: StartTalk, sender: str, **changes: Any) -> tuple[Talk, Talk]:
    """Both sides of a trial with all its connections open; `sender` is near or far."""
    far, near = talk().hello(), talk().hello()
    port = far.ask("prepare", **trial("listen", "sender" if sender == "far" else "receiver", **changes))["port"]
    near.ask("prepare", **trial("connect", "sender" if sender == "near" else "receiver", **changes))
    reply = near.reply_to(near.send("connect", address="127.0.0.1", port=port))
    assert reply["reply"] == "connected", reply
    return far, near


def ended(*agents: Talk) -> list[tuple[dict[str, Any], dict[str, bytes]]]:
    """How the load ended on both sides, and its tables."""
    started = [(agent, agent.send("start", at_mono_ns=0)) for agent in agents]
    return [agent.finish(identifier) for agent, identifier in started]


@pytest.mark.parametrize("sender", ["near", "far"])
def test_every_byte_is_counted_on_both_sides(talk: StartTalk, transport: str, sender: str) -> None:
    stop = {"by": "bytes", "payload_bytes": PAYLOAD_BYTES}
    agents = opened(talk, sender, transport=transport, connections_count=5, stop=stop)
    for end, tables in ended(*agents):
        assert end["outcome"] == {"ended": "complete"}
        flows = pl.read_parquet(tables["flows"])
        assert flows["payload_bytes"].to_list() == [PAYLOAD_BYTES] * 5
        assert flows["transport"].unique().to_list() == [transport]
        assert flows["connection"].to_list() == list(range(5))
        assert (flows["opening_mono_ns"] < flows["opened_mono_ns"]).all()
        assert flows["remote_address"].str.starts_with("127.0.0.1:").all()
        intervals = pl.read_parquet(tables["intervals"])
        assert intervals["payload_bytes"].sum() == 5 * PAYLOAD_BYTES
        assert pl.read_parquet(tables["tcp_info"]).is_empty()
        info = pl.read_parquet(tables["transport_info"])
        last = info.filter("final").sort("connection")
        assert last["connection"].to_list() == list(range(5))
        packets = PAYLOAD_BYTES / last["packet_payload_bytes"]
        moved = last["sent_packets" if flows["role"][0] == "sender" else "received_packets"]
        assert (moved >= packets).all()
        assert last["transport"].unique().to_list() == [transport]
        # The library's own threads are counted with the load's.
        threads = pl.read_parquet(tables["threads"])
        assert threads["thread"].n_unique() >= flows["thread"].n_unique()


def test_a_timed_load_ends_with_the_same_count_on_both_sides(talk: StartTalk, transport: str) -> None:
    phases = {"by": "duration", "warmup_ns": 0, "measure_ns": SECOND_NS // 2, "cooldown_ns": SECOND_NS // 10}
    agents = opened(talk, "near", transport=transport, connections_count=2, stop=phases)
    (far, far_tables), (near, near_tables) = ended(*agents)
    assert far["outcome"] == near["outcome"] == {"ended": "complete"}
    assert far["payload_bytes"] == near["payload_bytes"] > 0
    counts = [pl.read_parquet(tables["flows"])["payload_bytes"].to_list() for tables in (far_tables, near_tables)]
    assert counts[0] == counts[1]


def test_replies_come_after_every_write(talk: StartTalk, transport: str) -> None:
    stop = {"by": "bytes", "payload_bytes": 80_000}
    agents = opened(talk, "near", transport=transport, reply_size_bytes=1000, write_size_bytes=8000, stop=stop)
    for end, tables in ended(*agents):
        assert end["outcome"] == {"ended": "complete"}
        assert pl.read_parquet(tables["flows"])["payload_bytes"].to_list() == [80_000]


@pytest.mark.parametrize("killed", ["far", "near"])
def test_who_is_killed_is_missed_at_once(talk: StartTalk, transport: str, killed: str) -> None:
    far, near = opened(talk, "near", transport=transport, **forever())
    victim, other = (far, near) if killed == "far" else (near, far)
    started = {agent: agent.send("start", at_mono_ns=0) for agent in (far, near)}
    while not other.read()[1].get("payload_bytes"):
        pass
    os.kill(victim.process.pid, signal.SIGKILL)
    before = time.monotonic()
    end, tables = other.finish(started[other])
    assert time.monotonic() - before < SOON_S
    assert end["outcome"]["ended"] == "failed", end
    assert "connection 0" in end["outcome"]["reason"]
    assert pl.read_parquet(tables["flows"])["payload_bytes"][0] > 0


def test_an_abort_ends_it(talk: StartTalk, transport: str) -> None:
    agents = opened(talk, "near", transport=transport, **forever())
    started = [(agent, agent.send("start", at_mono_ns=0)) for agent in agents]
    time.sleep(0.3)
    asked = [(agent, agent.send("abort")) for agent in agents]
    outcomes = [agent.finish(identifier)[0]["outcome"]["ended"] for agent, identifier in started]
    # The end that hears of it first goes before the other has heard.
    assert "aborted" in outcomes
    assert set(outcomes) <= {"aborted", "failed"}
    for agent, identifier in asked:
        assert agent.reply_to(identifier)["reply"] == "done"


def test_the_deadline_ends_it(talk: StartTalk, transport: str) -> None:
    agents = opened(talk, "near", transport=transport, **forever(deadline_ns=SECOND_NS))
    for end, _ in ended(*agents):
        assert end["outcome"]["ended"] in {"deadline", "failed"}, end
    # Both are ready for another trial.
    for agent in agents:
        assert agent.ask("prepare", **trial(transport=transport))["reply"] == "prepared"


def test_whoever_sends_datagrams_to_the_port_is_no_connection(talk: StartTalk, transport: str) -> None:
    far, near = talk().hello(), talk().hello()
    changes: dict[str, Any] = {"transport": transport}
    port = far.ask("prepare", **trial(**changes))["port"]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as intruder:
        for length in (0, 1, 40, 64, 1200, 1472):
            intruder.sendto(os.urandom(length), ("127.0.0.1", port))
    near.ask("prepare", **trial("connect", "sender", **changes))
    assert near.reply_to(near.send("connect", address="127.0.0.1", port=port))["reply"] == "connected"
    for end, _ in ended(far, near):
        assert end["outcome"] == {"ended": "complete"}


def test_another_trials_connection_is_an_unauthenticated_peer(talk: StartTalk, transport: str) -> None:
    far, near, intruder = talk().hello(), talk().hello(), talk().hello()
    port = far.ask("prepare", **trial(transport=transport))["port"]
    intruder.ask("prepare", **trial("connect", "sender", transport=transport, token="c3" * 32))
    intruder.send("connect", address="127.0.0.1", port=port)
    # It is let go and comes again, until opening has taken too long.
    end_s = time.monotonic() + PATIENCE_S
    while far.ask("describe_opening")["strangers_count"] == 0:
        assert time.monotonic() < end_s, "the intruder does not come"
        time.sleep(0.01)
    near.ask("prepare", **trial("connect", "sender", transport=transport))
    assert near.reply_to(near.send("connect", address="127.0.0.1", port=port))["reply"] == "connected"
    (end, _), _ = ended(far, near)
    assert end["outcome"] == {"ended": "complete"}
    assert [note["note"] for note in end["notes"] if note["note"] == "strangers_dropped"] == ["strangers_dropped"]


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"socket": {"no_delay": True}}, "no_delay is no option"),
        ({"socket": {"dscp": 8}}, "dscp is no option"),
        ({"socket": {"zero_copy": True}}, "zero_copy is no option"),
        ({"io_model": "epoll"}, "has no I/O model epoll"),
        ({"connections_count": 100_000}, "connections_count is 100000"),
    ],
)
def test_what_it_does_not_have_is_refused(talk: StartTalk, transport: str, changes: dict[str, Any], says: str) -> None:
    refused = talk().hello().ask("prepare", **trial(transport=transport, **changes))
    assert refused["reply"] == "error"
    assert says in refused["text"], refused
