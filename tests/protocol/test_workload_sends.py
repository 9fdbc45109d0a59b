"""Ways of sending in workloads: corked, without copying, from a file in memory, through a pipe."""

import contextlib
from pathlib import Path
from typing import Any

import pytest

from tests.protocol.pipe_talk import Body
from tests.protocol.workload_talk import (
    End,
    StartTalk,
    assert_exact,
    crr,
    execute,
    group,
    iterations,
    prepare,
    read,
    transaction,
    workload,
    write,
)

WAYS = [
    {"cork": True},
    {"zero_copy": True},
    {"send_call": "sendfile"},
    {"send_call": "splice"},
    {"send_call": "splice", "cork": True},
    {"zero_copy": True, "cork": True},
]
IO_MODELS = ["blocking", "epoll", "io_uring"]
WORKLOAD: Body = {"by": "workload"}


def exchange(request: int, reply: int, times: int, outstanding_count: int = 1) -> Body:
    """Requests and replies."""
    steps = [write(request), read(reply)]
    return transaction(*steps, repeat=iterations(times), outstanding_count=outstanding_count)


def copies(end: End) -> Body | None:
    """What a side reports of sends without copying."""
    return next((note for note in end.finished["notes"] if note["note"] == "zero_copy_copied"), None)


@pytest.mark.parametrize("io_model", IO_MODELS)
@pytest.mark.parametrize("way", WAYS, ids=str)
def test_every_way_is_exact_on_both_sides(talk: StartTalk, way: dict[str, Any], io_model: str) -> None:
    load = workload(
        group(exchange(100, 1_000, 100), name="small", strands=2),
        group(exchange(1_000_000, 70_000, 5), name="large", strands=2),
        group(exchange(500, 700, 50, outstanding_count=8), name="ahead", strands=2),
        group(crr(300, 200_000, iterations(20)), name="opened", strands=2, connected=False),
    )
    sent = 2 * (100 * 100 + 5 * 1_000_000 + 50 * 500 + 20 * 300)
    received = 2 * (100 * 1_000 + 5 * 70_000 + 50 * 700 + 20 * 200_000)
    executions = 2 * (100 + 5 + 50 + 20)
    ends = execute(talk, load, WORKLOAD, socket=way | {"no_delay": True}, io_model=io_model)
    for end in assert_exact(ends, executions, sent, received):
        copied = copies(end)
        if way.get("zero_copy"):
            # Nothing leaves a loopback without a copy, and every call is accounted for.
            assert copied is not None
            assert copied["count"] == copied["sent_count"] >= executions
        else:
            assert copied is None


@pytest.mark.parametrize("way", [{"send_call": "sendfile"}, {"send_call": "splice"}], ids=str)
def test_unix_sockets_take_files_and_pipes(talk: StartTalk, way: dict[str, Any]) -> None:
    load = workload(group(exchange(100_000, 300, 50), strands=2))
    assert_exact(execute(talk, load, WORKLOAD, socket=way, transport="unix"), 100, 100 * 100_000, 100 * 300)


@pytest.mark.parametrize(("way", "kind"), [("sendfile", "/memfd:whyperf-payload"), ("splice", "pipe:")])
def test_the_payload_comes_from_where_it_is_said_to(talk: StartTalk, way: str, kind: str) -> None:
    """The process has the file or the pipe open while it sends; a plain send has neither."""

    def open_ones(process: int) -> int:
        count = 0
        for entry in Path(f"/proc/{process}/fd").iterdir():
            # Others are closed meanwhile.
            with contextlib.suppress(FileNotFoundError):
                count += str(entry.readlink()).startswith(kind)
        return count

    load = workload(group(transaction(write(1000), read(1), repeat={"by": "duration", "duration_ns": 500_000_000})))
    far, near = prepare(talk, load, WORKLOAD, socket={"send_call": way})
    before = open_ones(near.process.pid)
    identifiers = [(agent, agent.send("start", at_mono_ns=0)) for agent in (far, near)]
    seen = before
    answered, body = near.read()
    while body.get("reply") == "progress":
        seen = max(seen, open_ones(near.process.pid))
        answered, body = near.read()
    assert (answered, body["reply"], body["outcome"]["ended"]) == (identifiers[1][1], "finished", "complete")
    # A thread has one, on both sides of a pipe.
    assert seen - before == (1 if way == "sendfile" else 2)
    far.finish(identifiers[0][1])


def data_segments(end: End) -> int:
    """Segments with payload, by TCP's count at the end; one was the token's, or its welcome."""
    return int(end.tables["tcp_info"]["data_segments_out"].max()) - 1  # type: ignore[arg-type]


@pytest.mark.paced
def test_a_cork_gathers_the_calls_of_a_write_and_no_more(talk: StartTalk) -> None:
    """Writes of 100 calls each: without Nagle a segment a call, corked a segment a write, on both sides."""
    write_in_calls = write(10_000, call_bytes=100)
    answer = read(1000)
    load = workload(group(transaction(write_in_calls, answer, repeat=iterations(20))))
    counts = {}
    for cork in (False, True):
        ends = execute(talk, load, WORKLOAD, socket={"cork": cork, "no_delay": True})
        far, near = assert_exact(ends, 20, 20 * 10_000, 20 * 1000)
        # A write is one operation, in how many calls it may be.
        assert near.total("operations_count") == far.total("operations_count") == 2 * 20
        counts[cork] = data_segments(near), data_segments(far)
    # TCP gathers a few by itself while earlier ones wait in the device.
    assert counts[False][0] >= 20 * 10
    assert counts[True] == (20, 20)
