"""Streams that a library carries over UDP: exact on both sides like TCP's, and as easily ended."""

import os
import signal
import socket
import struct
import time
from collections.abc import Callable

import polars as pl
import pytest

from tests.protocol.pipe_talk import PATIENCE_S, SECOND_NS, Talk, ended, forever, opened, ran, trial

StartTalk = Callable[..., Talk]

LIBRARIES = ["udt", "quic", "srt"]
PAYLOAD_BYTES = 1_000_003
#: What a library needs a look for when nothing comes: longer than any of its timers.
SOON_S = 20.0


@pytest.fixture(params=LIBRARIES)
def transport(request: pytest.FixtureRequest, talk: StartTalk) -> str:
    """Each of them that the agent was built with."""
    name = str(request.param)
    for ability in talk().hello().ask("describe_host", with_hooks=False)["abilities"]:
        if ability["name"] == f"{name}_library" and not ability["can"]:
            pytest.skip(f"needs an agent built with {name}'s library; this one: {ability['reason']}")
    return name


@pytest.mark.parametrize("sender", ["near", "far"])
def test_every_byte_is_counted_on_both_sides(talk: StartTalk, transport: str, sender: str) -> None:
    stop = {"by": "bytes", "payload_bytes": PAYLOAD_BYTES}
    agents = opened(talk, sender, transport=transport, connections_count=5, stop=stop)[:2]
    for _, tables in ran(*agents):
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
    phases = {"by": "duration", "warmup_ns": 0, "measure_ns": SECOND_NS // 4, "cooldown_ns": SECOND_NS // 10}
    far_side, near_side, _ = opened(talk, transport=transport, connections_count=2, stop=phases)
    (far, far_tables), (near, near_tables) = ran(far_side, near_side)
    assert far["payload_bytes"] == near["payload_bytes"] > 0
    counts = [pl.read_parquet(tables["flows"])["payload_bytes"].to_list() for tables in (far_tables, near_tables)]
    assert counts[0] == counts[1]


def test_replies_come_after_every_write(talk: StartTalk, transport: str) -> None:
    stop = {"by": "bytes", "payload_bytes": 80_000}
    far, near, _ = opened(talk, transport=transport, reply_size_bytes=1000, write_size_bytes=8000, stop=stop)
    for _, tables in ran(far, near):
        assert pl.read_parquet(tables["flows"])["payload_bytes"].to_list() == [80_000]


@pytest.mark.parametrize("killed", ["far", "near"])
def test_who_is_killed_is_missed_at_once(talk: StartTalk, transport: str, killed: str) -> None:
    far, near, _ = opened(talk, transport=transport, **forever())
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
    agents = opened(talk, transport=transport, **forever())[:2]
    started = [(agent, agent.send("start", at_mono_ns=0)) for agent in agents]
    while not agents[0].read()[1].get("payload_bytes"):
        pass
    asked = [(agent, agent.send("abort")) for agent in agents]
    outcomes = [agent.finish(identifier)[0]["outcome"]["ended"] for agent, identifier in started]
    # The end that hears of it first goes before the other has heard.
    assert "aborted" in outcomes
    assert set(outcomes) <= {"aborted", "failed"}
    for agent, identifier in asked:
        assert agent.reply_to(identifier)["reply"] == "done"


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


HANDSHAKES = {
    # The header of a control packet and a request, as both libraries have them: version, kind of socket, first number,
    # packet size, packets in flight, request, socket, cookie, address (draft-gg-udt-03, draft-sharabayko-srt-01).
    "udt": struct.pack(">4I", 0x80000000, 0, 0, 0) + struct.pack(">12I", 4, 1, 7, 1500, 25600, 1, 99, 0, 0, 0, 0, 0),
    "srt": struct.pack(">4I", 0x80000000, 0, 0, 0) + struct.pack(">12I", 4, 2, 7, 1500, 8192, 1, 99, 0, 0, 0, 0, 0),
}


@pytest.mark.parametrize("transport", HANDSHAKES, indirect=True)
def test_a_library_reads_no_packet_of_somebody_without_the_token(talk: StartTalk, transport: str) -> None:
    far, near = talk().hello(), talk().hello()
    port = far.ask("prepare", **trial(transport=transport))["port"]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as intruder:
        intruder.connect(("127.0.0.1", port))
        intruder.send(HANDSHAKES[transport])
        near.ask("prepare", **trial("connect", "sender", transport=transport))
        assert near.reply_to(near.send("connect", address="127.0.0.1", port=port))["reply"] == "connected"
        intruder.send(HANDSHAKES[transport])
        (end, _), _ = ended(far, near)
        # A library answers such a request at once.
        with pytest.raises(BlockingIOError):
            intruder.recv(1, socket.MSG_DONTWAIT)
    assert end["outcome"] == {"ended": "complete"}
    assert [note["note"] for note in end["notes"] if note["note"] == "strangers_dropped"] == ["strangers_dropped"]
