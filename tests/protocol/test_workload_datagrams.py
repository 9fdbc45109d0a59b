"""Workloads over UDP: exact without loss; what is lost fails its execution, and nothing late is taken for another."""

import pytest

from tests.protocol.disturber import between, sequence_of
from tests.protocol.pipe_talk import Body
from tests.protocol.workload_talk import (
    MS,
    StartTalk,
    assert_exact,
    execute,
    finish,
    group,
    iterations,
    read,
    specs,
    transaction,
    workload,
    write,
)

# What neighbors send over the loopback fills the queue of a CPU, which drops datagrams then (netdev_max_backlog).
pytestmark = pytest.mark.paced

#: Much longer than an answer takes here.
TIMEOUT_NS = 300 * MS
WORKLOAD: Body = {"by": "workload"}
#: Steps, and the bytes that each execution sends and receives.
EXCHANGES: list[tuple[list[Body], int, int]] = [
    ([write(1), read(1, timeout_ns=10_000 * MS)], 1, 1),
    ([write(1000), read(300)], 1000, 300),
    ([read(64), write(1000)], 1000, 64),
    ([write(10, count=3), read(7, count=2)], 30, 14),
    ([write(100)], 100, 0),
]


@pytest.mark.parametrize("io_model", ["epoll", "blocking"])
def test_without_loss_counts_are_exact(talk: StartTalk, io_model: str) -> None:
    """All in one load: each group has other steps, and the last one writes and is not answered."""
    groups = [
        group(transaction(*steps, repeat=iterations(100)), name=f"g{number}", strands=2)
        for number, (steps, *_) in enumerate(EXCHANGES)
    ]
    sent = 200 * sum(sent_bytes for _, sent_bytes, _ in EXCHANGES)
    received = 200 * sum(received_bytes for _, _, received_bytes in EXCHANGES)
    ends = execute(talk, workload(*groups), WORKLOAD, transport="udp", io_model=io_model)
    for end in assert_exact(ends, 200 * len(EXCHANGES), sent, received):
        assert end.total("failed_count") == 0


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
    assert [far_side.outcome, near_side.outcome] == ["complete", "complete"]
    lost = sum(number % 7 == 3 for number in range(1, 41))
    late = sum(number % 7 == 5 for number in range(1, 41))
    assert requests == 40
    assert (near_side.total("transactions_count"), near_side.total("failed_count")) == (40, lost + late)
    assert (near_side.total("sent_bytes"), near_side.total("received_bytes")) == (40 * 16, (40 - lost - late) * 16)
    assert far_side.total("received_bytes") >= (40 - lost - late) * 16
    assert near_side.latencies("service")["latency_count"].sum() == 40 - lost - late
