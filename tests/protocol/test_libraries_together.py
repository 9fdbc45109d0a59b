"""Streams over several libraries and TCP in one trial, with the round-trip probe next to them."""

import socket
from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

from tests.protocol.pipe_talk import SECOND_NS, Talk, trial

StartTalk = Callable[..., Talk]

TRANSPORTS = ["quic", "tcp", "udt", "quic"]
PHASES = {"by": "duration", "warmup_ns": 0, "measure_ns": SECOND_NS // 2, "cooldown_ns": 0}


def flows(role: str) -> list[dict[str, Any]]:
    """A schedule of all of them at once, each of one connection."""
    return [
        {"start_ns": 0, "stop_ns": SECOND_NS // 2, "connections_count": 1, "transport": name, "role": role}
        for name in TRANSPORTS
    ]


def changes(role: str, **others: Any) -> dict[str, Any]:
    """What makes a trial of one side the scheduled one."""
    common: dict[str, Any] = {"stop": PHASES, "connections_count": len(TRANSPORTS), "round_trip_probe_ns": 10_000_000}
    return common | {"schedule": flows(role)} | others


def can(agent: Talk, ability: str) -> bool:
    """Whether the agent's host can do it."""
    abilities = agent.ask("describe_host", with_hooks=False)["abilities"]
    return any(found["name"] == ability and found["can"] for found in abilities)


@pytest.mark.parametrize(("by", "own"), [("icmp", "udt"), ("udp", "quic")])
def test_each_library_has_a_port_of_its_own_and_the_probe_goes_next_to(talk: StartTalk, by: str, own: str) -> None:
    far, near = talk().hello(), talk().hello()
    if not can(far, "udt_library"):
        pytest.skip("needs an agent built with the UDT library (package libudt-dev), which make setup-run installs")
    if by == "icmp" and not can(near, "icmp_probe"):
        pytest.skip("needs a socket for ICMP echoes: privilege, or net.ipv4.ping_group_range with this user's group")
    # The trial's own transport takes no other port for its being the trial's.
    asked: dict[str, Any] = {"transport": own, "round_trip_probe_by": by}
    if own == "quic":
        asked["socket"] = {"congestion_control": None}
    prepared = far.ask("prepare", **trial(**changes("receiver", **asked)))
    assert prepared["reply"] == "prepared", prepared
    assert (prepared["echo_port"] is None) == (by == "icmp")
    near.ask("prepare", **trial("connect", "sender", **changes("sender", **asked)))
    ports = {name: prepared[name] for name in ("port", "echo_port")}
    reply = near.reply_to(near.send("connect", address="127.0.0.1", **ports))
    assert reply["reply"] == "connected", reply
    started = [(agent, agent.send("start", at_mono_ns=0)) for agent in (far, near)]
    (far_side, far_tables), (near_side, near_tables) = (agent.finish(identifier) for agent, identifier in started)
    assert far_side["outcome"] == near_side["outcome"] == {"ended": "complete"}
    arrived, sent = (pl.read_parquet(tables["flows"]).sort("connection") for tables in (far_tables, near_tables))
    assert sent["payload_bytes"].to_list() == arrived["payload_bytes"].to_list()
    assert min(arrived["payload_bytes"]) > 0
    assert sent["transport"].to_list() == TRANSPORTS
    first = prepared["port"]
    remotes = [int(address.rpartition(":")[2]) for address in sent["remote_address"]]
    assert remotes == [first + 2, first, first, first + 2]
    trips = pl.read_parquet(near_tables["round_trips"])
    assert trips.height > 1
    assert trips["rtt_ns"].drop_nulls().len() > 0


def test_a_port_without_room_for_the_next_library_is_named(talk: StartTalk) -> None:
    far = talk().hello()
    if not can(far, "udt_library"):
        pytest.skip("needs an agent built with the UDT library (package libudt-dev), which make setup-run installs")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        refused = far.ask("prepare", **trial(listen_port=port - 2, **changes("receiver")))
    assert refused["reply"] == "error", refused
    assert f"listening on 127.0.0.1:{port} for QUIC" in refused["text"]
    assert "choose another port" in refused["text"]
