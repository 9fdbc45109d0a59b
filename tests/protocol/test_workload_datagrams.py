"""Workloads over UDP: exact without loss; what is lost fails its execution, and nothing late is taken for another."""

import pytest

from tests.protocol.disturber import between, sequence_of
from tests.protocol.pipe_talk import Body
from tests.protocol.workload_talk import (
    MS,
    StartTalk,
    execute,
    finish,
    group,
    iterations,
    phases,
    read,
    specs,
    transaction,
    workload,
    write,
)

# What neighbors send over the loopback fills the queue of a CPU, which drops datagrams then (netdev_max_backlog).
pytestmark = pytest.mark.alone

#: Much longer than an answer takes here.
TIMEOUT_NS = 300 * MS
EXCHANGES = [
    pytest.param([write(1), read(1, timeout_ns=10_000 * MS)], 1, 1, id="request and reply of a byte"),
    pytest.param([write(1000), read(300)], 1000, 300, id="without a timeout"),
    pytest.param([read(64), write(1000)], 1000, 64, id="the far side asks"),
    pytest.param([write(10, count=3), read(7, count=2)], 30, 14, id="several"),
]


@pytest.mark.parametrize("io_model", ["epoll", "blocking"])
@pytest.mark.parametrize(("steps", "sent", "received"), EXCHANGES)
def test_without_loss_counts_are_exact(
    talk: StartTalk, io_model: str, steps: list[Body], sent: int, received: int
) -> None:
    load = workload(group(transaction(*steps, repeat=iterations(300)), strands=3))
    far, near = execute(talk, load, {"by": "workload"}, transport="udp", io_model=io_model)
    assert [far.outcome, near.outcome] == ["complete", "complete"], (far.finished, near.finished)
    for end, out, back in ((near, sent, received), (far, received, sent)):
        assert (end.total("transactions_count"), end.total("failed_count")) == (900, 0)
        assert (end.total("sent_bytes"), end.total("received_bytes")) == (900 * out, 900 * back)


def test_what_was_sent_before_the_end_is_counted(talk: StartTalk) -> None:
    load = workload(group(transaction(write(100), repeat=iterations(50)), strands=2))
    far, near = execute(talk, load, {"by": "workload"}, transport="udp")
    assert [far.outcome, near.outcome] == ["complete", "complete"], (far.finished, near.finished)
    assert near.total("sent_bytes") == far.total("received_bytes") == 100 * 100


@pytest.mark.parametrize("io_model", ["epoll", "blocking"])
def test_lost_and_late_requests_fail_and_the_virtual_user_goes_on(talk: StartTalk, io_model: str) -> None:
    """Of 40 requests every seventh is lost, and another comes with the one behind it: its answer is too late."""
    ask = transaction(write(16), read(16, timeout_ns=TIMEOUT_NS), repeat=iterations(40))
    far, near = talk().hello(), talk().hello()
    far_spec, near_spec = specs(workload(group(ask)), {"by": "workload"}, transport="udp", io_model=io_model)
    port = far.ask("prepare", **far_spec)["port"]
    assert near.ask("prepare", **near_spec)["reply"] == "prepared"
    requests = 0
    held: list[bytes] = []

    def disturb(datagram: bytes) -> list[bytes]:
        nonlocal requests
        if sequence_of(datagram) is None:
            return [datagram]
        requests += 1
        if requests % 7 == 3:
            return []
        if requests % 7 == 5:
            held.append(datagram)
            return []
        released, held[:] = list(held), []
        return [*released, datagram]

    with between(port, disturb) as (address, _):
        assert near.reply_to(near.send("connect", address=address, port=port), 20)["reply"] == "connected"
        far_side, near_side = finish(far, near)
    assert [far_side.outcome, near_side.outcome] == ["complete", "complete"], (far_side.finished, near_side.finished)
    lost = sum(number % 7 == 3 for number in range(1, 41))
    late = sum(number % 7 == 5 for number in range(1, 41))
    assert requests == 40
    assert (near_side.total("transactions_count"), near_side.total("failed_count")) == (40, lost + late)
    assert (near_side.total("sent_bytes"), near_side.total("received_bytes")) == (40 * 16, (40 - lost - late) * 16)
    assert far_side.total("received_bytes") >= (40 - lost - late) * 16
    assert near_side.latencies("service")["latency_count"].sum() == 40 - lost - late


@pytest.mark.parametrize(
    ("load", "names"),
    [
        (group(transaction(write(1), read(1), outstanding_count=2)), "can be outstanding"),
        (group(transaction(write(65_508), read(1))), "a datagram of 65508 bytes"),
    ],
)
def test_what_datagrams_cannot_do_is_refused_by_name(talk: StartTalk, load: Body, names: str) -> None:
    far_spec, _ = specs(workload(load), phases(100), transport="udp")
    refused = talk().hello().ask("prepare", **far_spec)
    assert refused["reply"] == "error"
    assert names in refused["text"]
