"""Workloads as people write them, right and wrong."""

from pathlib import Path
from typing import Any

import pytest

from whyperf.plan import Plan, PlannedWorkload, build
from whyperf.profile import ProfileError, find, load, parse, shipped_workload, shipped_workload_names
from whyperf.profile.workload import read_workload, ready

OWN = """
about = "A question."
[fixed]
connections = 3
request_size_bytes = 100
[workload]
name = "two-steps"
about = "Asks and waits."
[workload.defaults]
response_size_bytes = "=request_size_bytes"
[[workload.group]]
name = "clients"
[[workload.group.transaction]]
name = "ask"
iterations = 10
steps = [
  { op = "write", size = "=request_size_bytes", count = 2 },
  { op = "think", time = "5 ms", busy = true },
  { op = "read", size = { low = 1, high = "4K" } },
]
"""


def planned(text: str, **overrides: Any) -> PlannedWorkload:
    """The workload of the only cell."""
    plan = build(parse(text, name="own", where="own.toml"), overrides=overrides)
    (cell,) = plan.cells
    found = plan.workload(cell.id)
    assert found is not None
    return found


def test_a_workload_of_a_profile_becomes_what_the_agents_know() -> None:
    found = planned(OWN)
    assert (found.name, found.metric, found.strands_count) == ("two-steps", "transactions", 3)
    assert found.workload == {
        "name": "two-steps",
        "seed": 0,
        "groups": [
            {
                "name": "clients",
                "strands_count": 3,
                "is_connected": True,
                "transactions": [
                    {
                        "name": "ask",
                        "repeat": {"by": "iterations", "count": 10},
                        "arrivals": {"by": "closed"},
                        "outstanding_count": 1,
                        "steps": [
                            {
                                "operation": {
                                    "operation": "write",
                                    "connection": 0,
                                    "size": {"by": "fixed", "bytes": 100},
                                    "call_bytes": None,
                                },
                                "count": 2,
                                "can_fail": False,
                            },
                            {
                                "operation": {
                                    "operation": "think",
                                    "duration_ns": 5_000_000,
                                    "is_busy": True,
                                    "is_mirrored": False,
                                },
                                "count": 1,
                                "can_fail": False,
                            },
                            {
                                "operation": {
                                    "operation": "read",
                                    "connection": 0,
                                    "size": {"by": "uniform", "low_bytes": 1, "high_bytes": 4096},
                                    "call_bytes": None,
                                    "timeout_ns": None,
                                },
                                "count": 1,
                                "can_fail": False,
                            },
                        ],
                    }
                ],
            }
        ],
    }


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        ('op = "read"', 'op = "reed"', 'ask.steps.3.op: there is no operation "reed"; did you mean read?'),
        ('high = "4K"', 'high = "4Q"', 'group.clients.ask.steps.3.size.high: "4Q" is not a size; write bytes, or K'),
        ("low = 1,", "low = 5000,", "group.clients.ask.steps.3.size: low (5000) is above high (4096); swap them"),
        ("low = 1,", "lo = 1,", "group.clients.ask.steps.3.size: {lo, high} is no form of a size; write 64"),
        ("low = 1,", "low = 0,", "group.clients.ask.steps.3.size.low: 0 is out of bounds; it takes 1 to"),
        ('"5 ms"', '"5 parsecs"', 'group.clients.ask.steps.2.time: "5 parsecs" is not a time; write a number with one'),
        ('"5 ms"', "5", 'group.clients.ask.steps.2.time: 5 has no unit; write a time such as "5 us"'),
        ('"5 ms"', '"=connections"', 'group.clients.ask.steps.2.time: "=connections" is not a time; refer to'),
        ("busy = true", "size = 5", "group.clients.ask.steps.2.size: think has no such key; it takes busy"),
        ("count = 2", "count = 0", "group.clients.ask.steps.1.count: 0 is out of bounds; it takes 1"),
        ("count = 2", "connection = 7", "group.clients.ask.steps.1: connection 7 is not open here; connect it first"),
        ("count = 2", "counts = 2", "group.clients.ask.steps.1.counts: there is no such key; did you mean count?"),
        ('{ op = "write", size = "=request_size_bytes", count = 2 }', '{ op = "write" }', "1.size: write needs it"),
        ('{ op = "write", size = "=request_size_bytes", count = 2 }', '{ op = "connect" }', "connection 0 is open"),
        ("count = 2", 'call = "=direction"', 'group.clients.ask.steps.1.call: "=direction" is not a size; refer'),
        ('size = "=request_size_bytes", c', 'size = "=request_size", c', '"=request_size" names no factor; did'),
        ("iterations = 10", 'iterations = 10\nduration = "1 s"', "ask.duration: iterations are given too"),
        ("iterations = 10", "outstanding = 2", "outstanding: only transactions of reads and writes can be pipelined"),
        ("iterations = 10", 'arrivals = "poisson"', "rate_per_s: poisson arrivals need a rate; set it"),
        ("iterations = 10", 'arrivals = "random"', "group.clients.ask.arrivals: 'random' is unknown"),
        ("iterations = 10", 'rate_per_s = "3 per second"', "is not a rate; write executions in a second"),
        ("iterations = 10", "rate_per_s = -3", "group.clients.ask.rate_per_s: -3 is not a rate; write executions"),
        ('name = "ask"', 'nom = "ask"', "workload.group.clients.transaction.1.nom: there is no"),
        ('name = "two-steps"', 'name = "rr"', "workload.name: rr is a shipped workload; choose another name"),
        ('name = "two-steps"', 'name = "two-steps"\ntransports = ["quic"]', "transports: groups of operations run"),
        ('name = "two-steps"', 'metric = "speed"', "workload.metric: 'speed' does not fit"),
        ("[workload.defaults]", "[workload.default]", "workload.default: there is no such key; did you mean defaults?"),
        (
            'response_size_bytes = "=request_size_bytes"',
            'response_size_bytes = "=request_size_bytes"\nwindow_bytes = "=send_buffer_bytes"\n'
            'send_buffer_bytes = "=window_bytes"',
            "window_bytes: the references window_bytes = send_buffer_bytes = window_bytes form a circle",
        ),
        ('name = "clients"', 'name = "clients"\nstrands = "=no_delay"', 'strands: "=no_delay" is not a count'),
        ("connections = 3", "connections = 3\nwrite_size_bytes = 5", "write_size_bytes: the workload two-steps has no"),
        ("connections = 3", 'connections = 3\ntransport = "udp"', "transport: two-steps does not run over udp;"),
        ("connections = 3", 'connections = 3\nworkload = "rrr"', 'there is no workload "rrr"; did you mean rr?'),
        ("connections = 3", 'connections = 3\nio_model = "blocking"\nthreads = 2', 'threads: io_model "blocking" has'),
    ],
)  # fmt: skip
def test_the_first_thing_wrong_is_said_with_key_and_remedy(before: str, after: str, says: str) -> None:
    assert OWN.count(before) >= 1
    with pytest.raises(ProfileError) as caught:
        planned(OWN.replace(before, after, 1))
    assert says in str(caught.value)
    assert str(caught.value).startswith("own.toml: ")
    assert "\n" not in str(caught.value)


def test_sizes_and_instants_from_files(tmp_path: Path) -> None:
    (tmp_path / "sizes.txt").write_text("64 # most\n1K\n")
    (tmp_path / "weights.txt").write_text("64 9\n1024 1\n")
    (tmp_path / "trace.txt").write_text("0\n0.5\n0.500000001\n")
    (tmp_path / "own.toml").write_text(
        'about = "a"\n[workload]\nname = "files"\n[[workload.group]]\n[[workload.group.transaction]]\n'
        'arrivals = { file = "trace.txt" }\n'
        'steps = [{ op = "write", size = { file = "sizes.txt" } }, { op = "read", size = { file = "weights.txt" } }]\n'
    )
    plan = build(load(tmp_path / "own.toml"))
    workload = plan.workload("c0001")
    assert workload is not None
    assert workload.workload is not None
    (transaction,) = workload.workload["groups"][0]["transactions"]
    assert transaction["arrivals"] == {"by": "trace", "intended_ns": [0, 500_000_000, 500_000_001]}
    operations: list[Any] = [step["operation"] for step in transaction["steps"]]
    sizes = [operation["size"] for operation in operations]
    assert sizes[0] == {"by": "sequence", "bytes": [64, 1024]}
    assert sizes[1] == {"by": "weighted", "values": [{"bytes": 64, "weight": 9}, {"bytes": 1024, "weight": 1}]}


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("sizes.txt", "", "has no values"),
        ("sizes.txt", "64\n64 3\n", "mixes forms"),
        ("sizes.txt", "sixty\n", '"sixty" is not a size'),
        ("trace.txt", "1\n0.5\n", "0.5 is not an instant in seconds after the one before it"),
        ("trace.txt", "inf\n", "inf is not an instant"),
    ],
)
def test_files_that_cannot_be_used(tmp_path: Path, name: str, content: str, says: str) -> None:
    files = {"sizes.txt": "64\n", "trace.txt": "1\n"} | {name: content}
    for file, text in files.items():
        (tmp_path / file).write_text(text)
    written = {
        "group": [
            {
                "transaction": [
                    {"arrivals": {"file": "trace.txt"}, "steps": [{"op": "write", "size": {"file": "sizes.txt"}}]}
                ]
            }
        ]
    }
    with pytest.raises(ProfileError, match=says):
        read_workload(written, folder=tmp_path)
    (tmp_path / name).unlink()
    with pytest.raises(ProfileError, match="cannot be read"):
        read_workload(written, folder=tmp_path)


def test_an_open_loop_needs_nothing_but_a_rate() -> None:
    text = 'about = "a"\n[fixed]\nworkload = "rr"\n'
    closed, poisson = planned(text), planned(text, offered_rate_per_s=2.5)
    steady = planned(text, offered_rate_per_s=2.5, arrivals="constant")
    arrivals = [
        cell.workload["groups"][0]["transactions"][0]["arrivals"] for cell in (closed, poisson, steady) if cell.workload
    ]
    assert arrivals == [
        {"by": "closed"},
        {"by": "poisson", "per_kilosecond": 2500},
        {"by": "constant", "per_kilosecond": 2500},
    ]
    with pytest.raises(ProfileError, match=r"offered_rate_per_s: a closed loop has no rate"):
        planned(text, offered_rate_per_s=2.5, arrivals="closed")


def test_a_plain_stream_has_no_workload_and_an_event_loop_one() -> None:
    plain = build(find("quick"))
    assert plain.workload("c0001") is None
    for direction, operation in (("send", "write"), ("receive", "read")):
        plan = build(find("quick"), overrides={"io_model": "epoll", "direction": direction})
        found = plan.workload("c0001")
        assert found is not None
        assert found.workload is not None
        (step,) = found.workload["groups"][0]["transactions"][0]["steps"]
        assert step["operation"]["operation"] == operation


def test_every_shipped_workload_can_be_planned_and_says_what_it_does() -> None:
    assert len(shipped_workload_names()) == 12
    for name in shipped_workload_names():
        workload = shipped_workload(name)
        assert workload.about.endswith(".")
        plan = build(find("quick"), overrides={"workload": name})
        assert Plan.from_json(plan.to_json(), "plan.json") == plan
        assert plan.cells[0].factors["transport"] in workload.transports


def test_many_connections_are_carried_by_few_threads() -> None:
    models = {
        many: build(find("quick"), overrides={"workload": "rr", "connections": many}).cells[0].factors["io_model"]
        for many in (1, 4, 5, 1000)
    }
    assert models == {1: "blocking", 4: "blocking", 5: "epoll", 1000: "epoll"}


def test_a_ready_workload_runs_as_it_is() -> None:
    document = planned(OWN).workload
    assert document is not None
    made = ready(document, about="From elsewhere.", metric="transactions", transport="tcp")
    plan = build(find("quick").with_workload(made))
    found = plan.workload("c0001")
    assert found is not None
    assert found.workload == document
    assert "connections" not in plan.cells[0].factors


def test_cells_that_do_the_same_share_a_workload() -> None:
    text = (
        'about = "a"\n[[sweep]]\nname = "s"\n[sweep.factors]\nworkload = ["rr", "stream"]\nno_delay = [true, false]\n'
    )
    plan = build(parse(text, name="x", where="x.toml"))
    assert [cell.workload is not None for cell in plan.cells] == [True, True, False, False]
    assert len(plan.workloads) == 1


def test_a_workload_that_ends_by_itself_has_no_phases() -> None:
    text = OWN.replace("iterations = 10", 'duration = "90 s"')
    plan = build(parse(text, name="own", where="own.toml"))
    assert "duration_s" not in plan.cells[0].factors
    # The deadline stretches with the times of the transactions.
    assert plan.cells[0].factors["deadline_s"] == 120.0
    for factor, level in (("warmup_s", 1.0), ("transfer_bytes", 4096)):
        with pytest.raises(ProfileError, match="the workload two-steps ends by itself"):
            build(parse(text, name="own", where="own.toml"), overrides={factor: level})
    document = planned(OWN).workload
    assert document is not None
    made = ready(document, about="From elsewhere.", metric="transactions", transport="tcp")
    assert made.ends_itself
    assert "duration_s" not in build(find("quick").with_workload(made)).cells[0].factors


def test_an_empty_list_and_rates_in_thousands() -> None:
    step = {"op": "write", "size": 1}
    with pytest.raises(ProfileError, match=r"^group.a.b.steps: the list is empty; write at least one step$"):
        read_workload({"group": [{"name": "a", "transaction": [{"name": "b", "steps": []}]}]})
    rated = read_workload({"group": [{"transaction": [{"steps": [step], "rate_per_s": "1.5K"}]}]}).document(
        {"connections": 1}
    )
    assert rated is not None
    assert rated["groups"][0]["transactions"][0]["arrivals"] == {"by": "poisson", "per_kilosecond": 1_500_000}
    sent = read_workload(
        {"transports": ["udp"], "datagrams": {"rate_bps": "100M", "size": 100, "batch": 1, "merge": False}}
    )
    datagrams = sent.datagrams({})
    assert datagrams is not None
    assert datagrams["rate_bps"] == 100_000_000
