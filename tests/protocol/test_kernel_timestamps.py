"""The kernel's time stamps: what passes between the hosts, next to what passes in the near one."""

from typing import Any

import polars as pl
import pytest

from tests.protocol.pipe_talk import Body, trial
from tests.protocol.test_datagram_streams import COUNT, datagrams, ran, sums
from tests.protocol.workload_talk import (
    MS,
    End,
    StartTalk,
    execute,
    group,
    iterations,
    read,
    think,
    transaction,
    workload,
    write,
)

STAMPED: Body = {"kernel_timestamps": True, "no_delay": True}
STAMPED_UDP: Body = {"kernel_timestamps": True}
WORKLOAD: Body = {"by": "workload"}


def median(rows: pl.DataFrame) -> int:
    """The median of a histogram, the largest value that counts as it."""
    ascending = rows.sort("latency_ns_high")
    is_reached = ascending["latency_count"].cum_sum() * 2 >= ascending["latency_count"].sum()
    return int(ascending.filter(is_reached)["latency_ns_high"][0])


def count(end: End, kind: str) -> int:
    """Executions in a histogram."""
    return int(end.latencies(kind)["latency_count"].sum())


#: The kernel begins to stamp what arrives a little later than it is asked to, on a busy host much later.
SETTLE = transaction(think(200 * MS), name="settle", repeat=iterations(1))


WITH = [
    pytest.param({"socket": STAMPED, "io_model": "epoll", "threads_count": 2}, id="two threads"),
    pytest.param({"socket": STAMPED, "io_model": "blocking"}, id="blocking"),
    pytest.param({"socket": STAMPED | {"send_call": "splice", "cork": True}}, id="spliced"),
    pytest.param({"socket": STAMPED_UDP, "transport": "udp"}, id="udp", marks=pytest.mark.paced),
    pytest.param(
        {"socket": STAMPED_UDP, "transport": "udp", "io_model": "blocking"},
        id="udp, blocking",
        marks=pytest.mark.paced,
    ),
]


@pytest.mark.parametrize("changes", WITH)
def test_wire_and_host_share_the_time_of_an_execution(talk: StartTalk, changes: Body) -> None:
    """The stamps lie between the call that sends and the return of the one that receives."""
    steps = [write(3_000), read(20_000)] * 2
    load = workload(group(SETTLE, transaction(*steps, repeat=iterations(300)), strands=3))
    far, near = execute(talk, load, WORKLOAD, **changes)
    assert [far.outcome, near.outcome] == ["complete", "complete"], (far.finished, near.finished)
    assert near.total("transactions_count", transaction="main") == 900
    assert 450 <= count(near, "wire") == count(near, "host") <= 900
    assert near.latencies("wire")["latency_ns_low"].min() > 0  # type: ignore[operator]
    service = near.latencies("service").filter(pl.col("transaction") == "main")
    assert median(near.latencies("wire")) <= median(service)
    # Only the end that begins asks for stamps.
    assert far.latencies("wire").is_empty()


def test_where_the_time_passes_is_distinguished(talk: StartTalk) -> None:
    """The far side thinks before it answers; or the near one before it looks whether there is an answer."""
    delay = 5 * MS
    both_think = [write(10), think(delay, is_mirrored=True), read(10)]
    near_thinks = [write(10), think(delay), read(10)]
    shares = {}
    for name, steps in (("both", both_think), ("near", near_thinks)):
        load = workload(group(SETTLE, transaction(*steps, repeat=iterations(30))))
        _, near = execute(talk, load, WORKLOAD, socket=STAMPED)
        shares[name] = near.latencies("wire"), near.latencies("host")
    wire, _ = shares["both"]
    # The answer leaves the far side after its pause, whatever the near one does.
    assert min(wire["latency_ns_high"]) >= delay
    wire, host = shares["near"]
    assert median(wire) < median(host)
    assert median(wire) + median(host) >= delay


@pytest.mark.paced
@pytest.mark.parametrize("merged", [False, True])
def test_datagrams_of_a_stream_are_stamped_where_they_arrive(talk: StartTalk, merged: bool) -> None:
    far, near = talk().hello(), talk().hello()
    spec = datagrams(batch_count=16 if merged else 1, is_merged=merged)
    spec["socket"] = spec["socket"] | STAMPED_UDP
    port = far.ask("prepare", **trial(**spec))["port"]
    received, _ = ran(far, near, spec, "127.0.0.1", port)
    assert sums(received)["received_count"] == COUNT
    assert received["datagrams"]["jitter_ns"].drop_nulls().len() > 0


ASK = transaction(write(10), read(10), repeat=iterations(9))
PIPELINED = transaction(write(10), read(10), outstanding_count=4, repeat=iterations(9))
ONE_WAY = transaction(write(10), repeat=iterations(9))


def of(body: Body) -> Body:
    """Changes for a workload of one transaction."""
    return {"workload": workload(group(body)), "stop": WORKLOAD, "io_model": "epoll"}


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        (of(PIPELINED), "set outstanding to 1"),
        (of(ONE_WAY), "the workload has none"),
        (of(ASK) | {"io_model": "io_uring"}, "choose blocking or epoll"),
        (of(ASK) | {"transport": "mptcp"}, "no option of the transport mptcp"),
        (of(ASK) | {"socket": STAMPED | {"zero_copy": True}}, "leave one of them out"),
        ({}, "no option of a load of stream"),
    ],
)
def test_what_cannot_be_stamped_is_refused(talk: StartTalk, changes: dict[str, Any], why: str) -> None:
    reply = talk().hello().ask("prepare", **trial("connect", "sender", **({"socket": STAMPED} | changes)))
    assert (reply["reply"], reply["fault"]) == ("error", "usage"), reply
    assert why in reply["text"]
