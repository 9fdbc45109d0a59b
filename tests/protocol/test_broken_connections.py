"""One end of a connection fails: the other side hears of it at once, and both say what happened."""

import socket
import struct
from collections.abc import Callable

import polars as pl
import pytest

from tests.protocol.pipe_talk import SECOND_NS, Talk, forever, opened, trial
from tests.protocol.test_unauthenticated_peers import is_dropped, preamble

StartTalk = Callable[..., Talk]

#: What the peer learns, it learns within this time on a busy host too, and not at the deadline of 60 s.
AT_ONCE_S = 20
#: A timed load without a cool-down: the sender closes at the very end of the window.
TIMED = {"by": "duration", "warmup_ns": 0, "measure_ns": 300_000_000, "cooldown_ns": 0}


def test_a_sender_that_closes_early_is_answered_by_a_close(talk: StartTalk) -> None:
    far = talk().hello()
    port = far.ask("prepare", **trial(**forever()))["port"]
    with socket.create_connection(("127.0.0.1", port)) as sender:
        sender.sendall(preamble(0))
        assert sender.recv(100) == b"+" * 40
        started = far.send("start", at_mono_ns=0)
        sender.sendall(b"x" * 1000)
        sender.shutdown(socket.SHUT_WR)
        assert is_dropped(sender, within_s=AT_ONCE_S)
        address = "{}:{}".format(*sender.getsockname())
        finished, tables = far.finish(started)
    assert finished["payload_bytes"] == 1000
    assert finished["outcome"] == {
        "ended": "failed",
        "reason": "receiving on connection 0: the sender closed early, after 1000 bytes",
    }
    # A closed socket no longer shows its peer; the record does.
    assert pl.read_parquet(tables["flows"])["remote_address"].to_list() == [address]


@pytest.mark.parametrize(
    ("says", "reason"),
    [
        (b"", "the receiver closed without its count of the payload"),
        (struct.pack(">Q", 99_999), "sent 100000 bytes, the receiver counts 99999"),
    ],
)
def test_a_receiver_that_lost_payload_is_found_out(talk: StartTalk, says: bytes, reason: str) -> None:
    near = talk().hello()
    near.ask("prepare", **trial("connect", "sender"))
    with socket.create_server(("127.0.0.1", 0)) as server:
        asked = near.send("connect", address="127.0.0.1", port=server.getsockname()[1])
        with server.accept()[0] as receiver:
            assert receiver.recv(40, socket.MSG_WAITALL) == preamble(0)
            receiver.sendall(b"+" * 40)
            assert near.reply_to(asked)["reply"] == "connected"
            started = near.send("start", at_mono_ns=0)
            assert len(receiver.recv(200_000, socket.MSG_WAITALL)) == 100_000
            receiver.sendall(says)
        finished, _ = near.finish(started, within_s=AT_ONCE_S)
    assert finished["outcome"] == {"ended": "failed", "reason": f"sending on connection 0: {reason}"}


@pytest.mark.parametrize("late", ["near", "far"])
def test_without_a_cool_down_ends_need_not_agree_to_the_millisecond(talk: StartTalk, late: str) -> None:
    far, near, _ = opened(talk, stop=TIMED)
    start_mono_ns = near.ask("clock")["mono_ns"] + SECOND_NS
    lag_ns = 20_000_000
    started = [
        (agent, agent.send("start", at_mono_ns=start_mono_ns + (lag_ns if name == late else 0)))
        for name, agent in (("far", far), ("near", near))
    ]
    finished = [agent.finish(identifier)[0] for agent, identifier in started]
    assert [end["outcome"] for end in finished] == [{"ended": "complete"}] * 2
    assert finished[0]["payload_bytes"] == finished[1]["payload_bytes"]
