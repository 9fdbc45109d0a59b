"""A stream of numbered datagrams: counted exactly where they arrive, whatever happens to them in flight."""

import socket
from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

from tests.protocol.disturber import between, sequence_of
from tests.protocol.pipe_talk import SECOND_NS, Talk, trial

StartTalk = Callable[..., Talk]

# What neighbors send over the loopback fills the queue of a CPU, which drops datagrams then (netdev_max_backlog).
pytestmark = pytest.mark.paced

SIZE = 1000
COUNT = 2000
#: 10 000 datagrams a second, which any receiver here keeps up with.
RATE_BPS = 80_000_000
#: More than a trial sends: what the kernel drops without buffer is not the test's.
ROOMY = {"receive_buffer_bytes": 8 << 20}


def datagrams(**changes: Any) -> dict[str, Any]:
    """Changes that make a trial one of datagrams."""
    stream = {"datagram_bytes": SIZE, "batch_count": 1, "rate_bps": RATE_BPS, "is_merged": False} | changes
    return {
        "transport": "udp",
        "datagrams": stream,
        "stop": {"by": "bytes", "payload_bytes": SIZE * COUNT},
        "socket": ROOMY,
    }


def ran(
    far: Talk, near: Talk, spec: dict[str, Any], address: str = "127.0.0.1", port: int = 0
) -> list[dict[str, pl.DataFrame]]:
    """Runs a prepared far side's trial and returns the tables of the receiver and the sender."""
    near.ask("prepare", **trial("connect", "sender", **spec))
    asked = near.send("connect", address=address, port=port)
    assert near.reply_to(asked)["reply"] == "connected"
    started = [(agent, agent.send("start", at_mono_ns=0)) for agent in (far, near)]
    ends = [agent.finish(identifier) for agent, identifier in started]
    assert [end["outcome"] for end, _ in ends] == [{"ended": "complete"}] * 2
    return [{name: pl.read_parquet(data) for name, data in tables.items()} for _, tables in ends]


def sums(tables: dict[str, pl.DataFrame]) -> dict[str, int]:
    """The counts of all intervals and flows."""
    columns = ("sent_count", "received_count", "payload_bytes", "late_count", "duplicate_count")
    row: dict[str, int] = tables["datagrams"].select(pl.col(columns).sum()).row(0, named=True)
    return row


@pytest.mark.parametrize(
    ("address", "batch", "merged"),
    [("127.0.0.1", 1, False), ("::1", 16, False), ("127.0.0.1", 16, True), ("::1", 1, True)],
)
def test_without_loss_both_sides_count_the_same(talk: StartTalk, address: str, batch: int, merged: bool) -> None:
    far, near = talk().hello(), talk().hello()
    spec = datagrams(batch_count=batch, is_merged=merged) | {"connections_count": 3}
    port = far.ask("prepare", **trial(**spec | {"listen_address": address}))["port"]
    received, sent = ran(far, near, spec, address, port)
    assert sums(sent)["sent_count"] == 3 * COUNT
    assert sums(sent)["payload_bytes"] == 3 * COUNT * SIZE
    # A sender that moves to another CPU is overtaken by itself, even on a loopback.
    assert sums(received) | {"late_count": 0} == {
        "sent_count": 0,
        "received_count": 3 * COUNT,
        "payload_bytes": 3 * COUNT * SIZE,
        "late_count": 0,
        "duplicate_count": 0,
    }
    flows = received["flows"]
    assert flows["transport"].unique().to_list() == ["udp"]
    assert flows["payload_bytes"].to_list() == [COUNT * SIZE] * 3
    assert received["datagrams"]["kernel_drops_count"].max() == 0
    last = received["datagrams"].sort("end_mono_ns").group_by("connection").last()
    assert last["highest_sequence_count"].to_list() == [COUNT] * 3


def test_the_last_datagram_ends_the_payload_and_those_of_others_are_no_part_of_it(talk: StartTalk) -> None:
    far, near = talk().hello(), talk().hello()
    spec = datagrams() | {"stop": {"by": "bytes", "payload_bytes": SIZE * 10 + 123}}
    port = far.ask("prepare", **trial(**spec))["port"]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as intruder:
        for says in (b"", b"WPDC" + bytes(36), b"x" * SIZE):
            intruder.sendto(says, ("127.0.0.1", port))
        received, _ = ran(far, near, spec, port=port)
    assert (sums(received)["received_count"], sums(received)["payload_bytes"]) == (11, SIZE * 10 + 123)


def test_many_flows_over_several_ports(talk: StartTalk) -> None:
    far, near = talk().hello(), talk().hello()
    spec = datagrams(rate_bps=800_000) | {"connections_count": 100, "stop": {"by": "bytes", "payload_bytes": SIZE * 20}}
    port = far.ask("prepare", **trial(**spec))["port"]
    received, sent = ran(far, near, spec, port=port)
    assert sums(sent)["sent_count"] == sums(received)["received_count"] == 2000
    assert received["flows"]["local_address"].n_unique() == 4


@pytest.mark.parametrize("tail", [False, True])
def test_loss_repetition_and_reordering_are_counted_exactly(talk: StartTalk, tail: bool) -> None:
    far, near = talk().hello(), talk().hello()
    spec = datagrams(rate_bps=RATE_BPS // 4)
    port = far.ask("prepare", **trial(**spec))["port"]
    held: list[bytes] = []

    def disturb(datagram: bytes) -> list[bytes]:
        sequence = sequence_of(datagram)
        if sequence is None:
            return [datagram]
        if sequence % 10 == 3 or (tail and sequence >= COUNT - 50):
            return []
        if sequence % 7 == 5:
            held.append(datagram)
            return []
        released, held[:] = held[:] if sequence % 3 == 0 else [], [] if sequence % 3 == 0 else held
        return [datagram, *released, *([datagram] if sequence % 11 == 0 else [])]

    with between(port, disturb) as (address, passed):
        received, sent = ran(far, near, spec, address, port)
    arrived = sums(received)
    assert sums(sent)["sent_count"] == COUNT
    assert arrived["received_count"] == len(set(passed.sequences)) < COUNT
    assert arrived["duplicate_count"] == len(passed.sequences) - len(set(passed.sequences)) > 0
    assert arrived["late_count"] == passed.late > 0
    assert received["datagrams"]["highest_sequence_count"].max() == max(passed.sequences) + 1


def test_lost_preambles_and_welcomes_come_again(talk: StartTalk) -> None:
    far, near = talk().hello(), talk().hello()
    spec = datagrams(rate_bps=RATE_BPS // 4)
    port = far.ask("prepare", **trial(**spec))["port"]
    preambles = 0

    def disturb(datagram: bytes) -> list[bytes]:
        nonlocal preambles
        preambles += sequence_of(datagram) is None
        return [] if sequence_of(datagram) is None and preambles < 4 else [datagram]

    with between(port, disturb) as (address, _):
        received, _ = ran(far, near, spec, address, port)
    assert preambles >= 4
    assert sums(received)["received_count"] == COUNT


def test_what_the_socket_drops_is_reported(talk: StartTalk) -> None:
    """A buffer of a few datagrams and no pause: the kernel's own count explains the loss."""
    far, near = talk().hello(), talk().hello()
    spec = datagrams(rate_bps=0, batch_count=32) | {"socket": {"receive_buffer_bytes": 2304}}
    port = far.ask("prepare", **trial(**spec))["port"]
    received, sent = ran(far, near, spec, port=port)
    lost = sums(sent)["sent_count"] - sums(received)["received_count"]
    assert lost > 0
    assert received["datagrams"]["kernel_drops_count"].max() == lost


@pytest.mark.parametrize(
    ("changes", "names"),
    [
        ({"transport": "tcp"}, "tcp carries no datagrams; choose udp or quic"),
        ({"datagrams": None}, "udp carries no stream; choose tcp, mptcp"),
        (
            {"datagrams": {"datagram_bytes": 23, "batch_count": 1, "rate_bps": 0, "is_merged": False}},
            "datagram_bytes is 23",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(talk: StartTalk, changes: dict[str, Any], names: str) -> None:
    reply = talk().hello().ask("prepare", **trial(**datagrams() | changes))
    assert (reply["reply"], reply["fault"]) == ("error", "usage")
    assert names in reply["text"]


def test_a_sender_that_is_gone_ends_the_trial(talk: StartTalk) -> None:
    far, near = talk().hello(), talk().hello()
    phases = {"by": "duration", "warmup_ns": 0, "measure_ns": 60 * SECOND_NS, "cooldown_ns": 0}
    spec = datagrams() | {"stop": phases, "deadline_ns": 70 * SECOND_NS}
    port = far.ask("prepare", **trial(**spec))["port"]
    near.ask("prepare", **trial("connect", "sender", **spec))
    assert near.ask("connect", address="127.0.0.1", port=port)["reply"] == "connected"
    started = far.send("start", at_mono_ns=0)
    near.send("start", at_mono_ns=0)
    near.kill()
    finished, tables = far.finish(started, within_s=10)
    assert finished["outcome"]["reason"] == "receiving datagrams of flow 0: the sender is gone"
    assert tables["datagrams"].startswith(b"PAR1")
