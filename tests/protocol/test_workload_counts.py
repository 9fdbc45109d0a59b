"""Both sides of a workload count the same bytes and executions, whatever its operations are."""

import pytest

from tests.protocol.pipe_talk import Body
from tests.protocol.workload_talk import (
    MS,
    StartTalk,
    assert_exact,
    assert_same,
    end_of,
    execute,
    group,
    iterations,
    phases,
    prepare,
    read,
    specs,
    think,
    transaction,
    workload,
    write,
)

WORKLOAD: Body = {"by": "workload"}
IO_MODELS = ("epoll", "blocking", "io_uring")
UNIFORM: Body = {"by": "uniform", "low_bytes": 1, "high_bytes": 5000}
WEIGHTED: Body = {"by": "weighted", "values": [{"bytes": 1, "weight": 3}, {"bytes": 100_000, "weight": 1}]}
SEQUENCE: Body = {"by": "sequence", "bytes": [1, 10, 100]}

# 40 executions of each virtual user.
COUNTED = [
    pytest.param([write(100)], 100, 0, id="write"),
    pytest.param([read(100)], 0, 100, id="read"),
    pytest.param([write(1), read(1)], 1, 1, id="request and reply"),
    pytest.param([read(64), write(1000)], 1000, 64, id="the far side asks"),
    pytest.param([write(10, count=3), read(7, count=2)], 30, 14, id="several"),
    pytest.param([write(5000, call_bytes=999), read(1)], 5000, 1, id="in calls"),
    pytest.param([write(3_000_000)], 3_000_000, 0, id="more than a buffer"),
    pytest.param([write(1), think(MS), read(1)], 1, 1, id="pause"),
    pytest.param([write(1), think(MS, is_busy=True, is_mirrored=True), read(1)], 1, 1, id="busy on both sides"),
]


@pytest.mark.parametrize("io_model", IO_MODELS)
@pytest.mark.parametrize(("steps", "sent", "received"), COUNTED)
def test_counts_are_exact_on_both_sides(
    talk: StartTalk, io_model: str, steps: list[Body], sent: int, received: int
) -> None:
    load = workload(group(transaction(*steps, repeat=iterations(40)), strands=3))
    for end in assert_exact(execute(talk, load, phases(50_000), io_model=io_model), 120, 120 * sent, 120 * received):
        assert end.total("begun_count") == 120
        assert end.finished["payload_bytes"] == 120 * (sent + received)
        assert end.tables["flows"]["payload_bytes"].to_list() == [40 * (sent + received)] * 3
        assert end.latencies("service")["latency_count"].sum() == 120


@pytest.mark.parametrize("size", [UNIFORM, WEIGHTED, SEQUENCE], ids=["uniform", "weighted", "sequence"])
@pytest.mark.parametrize(("outstanding_count", "io_model"), [(1, "epoll"), (8, "epoll"), (8, "io_uring")])
def test_both_sides_know_random_sizes(talk: StartTalk, size: Body, outstanding_count: int, io_model: str) -> None:
    main = transaction(write(size), read(size), repeat=iterations(200), outstanding_count=outstanding_count)
    _, near = assert_same(execute(talk, workload(group(main, strands=4), seed=7), phases(50_000), io_model=io_model))
    assert near.total("transactions_count") == 800


@pytest.mark.parametrize("steps", [[write(65_536)], [read(65_536)], [write(64), read(64)]], ids=["out", "in", "both"])
@pytest.mark.parametrize(("outstanding_count", "io_model"), [(1, "io_uring"), (16, "epoll"), (16, "io_uring")])
def test_time_ends_both_at_the_same_byte(
    talk: StartTalk, steps: list[Body], outstanding_count: int, io_model: str
) -> None:
    load = workload(group(transaction(*steps, outstanding_count=outstanding_count), strands=5))
    far, near = assert_same(execute(talk, load, phases(200, 50, 50), io_model=io_model))
    assert near.finished["payload_bytes"] == far.finished["payload_bytes"] > 0


@pytest.mark.parametrize("io_model", ["epoll", "io_uring"])
def test_bytes_end_each_virtual_user(talk: StartTalk, io_model: str) -> None:
    load = workload(group(transaction(write(8192), read(100)), strands=3))
    for end in execute(talk, load, {"by": "bytes", "payload_bytes": 100_000}, io_model=io_model):
        assert end.outcome == "complete"
        assert end.tables["flows"]["payload_bytes"].to_list() == [100_000] * 3


@pytest.mark.parametrize("io_model", ["epoll", "io_uring"])
def test_transactions_of_all_groups_begin_together(talk: StartTalk, io_model: str) -> None:
    quick = transaction(write(10), name="first", repeat=iterations(1))
    slow = transaction(think(150 * MS), write(10), name="first", repeat=iterations(1))
    after = transaction(write(20), read(1), name="second", repeat=iterations(5))
    load = workload(group(quick, after, name="quick", strands=2), group(slow, after, name="slow", strands=2))
    ends = assert_same(execute(talk, load, WORKLOAD, interval_ns=50 * MS, io_model=io_model))
    for end in ends:
        assert [end.total("transactions_count", name, "second") for name in ("quick", "slow")] == [10, 10]
    rows = ends[1].tables["transactions"].sort("interval")
    begun = rows.filter((rows["transaction"] == "second") & (rows["begun_count"] > 0))
    assert begun["end_mono_ns"][0] - rows["start_mono_ns"][0] >= 150 * MS


def test_what_a_transaction_left_under_way_does_not_touch_the_next(talk: StartTalk) -> None:
    """The far side waits for an execution that time forbids when it learns that there are no more."""
    main: Body = {"by": "duration", "duration_ns": 50 * MS}
    load = workload(
        group(
            transaction(write(5000), think(MS), name="first", repeat=main),
            transaction(write(3), read(7), name="second", repeat=iterations(9)),
            transaction(write(100), read(4000), name="third", repeat=main, outstanding_count=4),
            transaction(write(1), read(2), name="fourth", repeat=iterations(9)),
            strands=3,
        )
    )
    ends = execute(talk, load, WORKLOAD, io_model="io_uring")
    for name in ("first", "second", "third", "fourth"):
        assert_same(ends, name)


@pytest.mark.parametrize(
    ("body", "changes", "names"),
    [
        (transaction(write(1), read(1)), {"transport": "udp", "io_model": "io_uring"}, "choose blocking or epoll"),
        (transaction(write(1), read(1), outstanding_count=2), {"transport": "udp"}, "can be outstanding"),
        (transaction(write(65_508), read(1)), {"transport": "udp"}, "a datagram of 65508 bytes"),
        (transaction(write(10, connection=3)), {}, 'transaction "main", step 1: connection 3 is not open'),
    ],
)
def test_what_makes_no_sense_is_refused_with_its_place(talk: StartTalk, body: Body, changes: Body, names: str) -> None:
    refused = talk().hello().ask("prepare", **specs(workload(group(body)), phases(100), **changes)[0])
    assert (refused["reply"], refused["fault"]) == ("error", "usage")
    assert names in refused["text"]


@pytest.mark.parametrize("io_model", ["epoll", "io_uring"])
def test_a_far_side_that_dies_is_named(talk: StartTalk, io_model: str) -> None:
    load = workload(group(transaction(write(1), read(1)), strands=4))
    far, near = prepare(talk, load, phases(5_000), io_model=io_model)
    started = [(agent, agent.send("start", at_mono_ns=0)) for agent in (far, near)]
    # The far side may begin later.
    while near.read()[1]["payload_bytes"] == 0:
        pass
    far.process.kill()
    finished, tables = near.finish(started[1][1])
    end = end_of(finished, tables)
    assert end.outcome == "failed"
    assert "virtual user" in end.finished["outcome"]["reason"]
    # What was done until then is kept, and every virtual user says that it was not all.
    assert end.total("transactions_count") > 0
    assert all("virtual user" in ended for ended in end.tables["flows"]["ended"])
