"""Whatever the workload language takes, the agents accept: checked against the schema made from the Rust types."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whyperf.plan import PlannedTrial, build
from whyperf.profile import ProfileError, find, shipped_workload_names
from whyperf.profile.workload import read_workload
from whyperf.run.ends import FAR, NEAR, Cpus
from whyperf.run.spec import trial_specs

SCHEMA = json.loads((Path(__file__).parents[3] / "schemas" / "request.json").read_text())
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
CPUS = {NEAR: Cpus((0,), (0,), True), FAR: Cpus((1,), (1,), True)}

BYTES = st.integers(1, 2**30)
SIZES = st.one_of(
    BYTES,
    st.sampled_from(["64K", "1.5 M", "7 bytes", "=request_size_bytes", "=response_size_bytes", "=window_bytes"]),
    st.builds(lambda first, other: {"low": min(first, other), "high": max(first, other)}, BYTES, BYTES),
    st.builds(
        lambda pairs: {"weighted": [list(pair) for pair in pairs]},
        st.lists(st.tuples(BYTES, st.integers(1, 99)), min_size=1),
    ),
    st.builds(lambda sizes: {"sequence": sizes}, st.lists(BYTES, min_size=1)),
)
TIMES = st.one_of(st.sampled_from(["=think_us", "=warmup_s", "1.5 ms", "20 us", "1 s", "0 ns"]), st.just("3 ns"))
COUNTS = st.one_of(st.integers(1, 2**32 - 1), st.sampled_from(["=connections", "=burst_count"]))
CALLS = st.one_of(BYTES, st.just("=write_size_bytes"))


def step(op: str, **keys: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """A step with some of its optional keys."""
    needed: dict[str, st.SearchStrategy[Any]] = {"op": st.just(op)}
    needed |= {key: keys.pop(key) for key in ("size", "time") if key in keys}
    return st.fixed_dictionaries(needed, optional={"count": COUNTS, "can_fail": st.booleans(), **keys})


CONNECTIONS = st.integers(0, 3)
STEPS = st.one_of(
    *(step(op, size=SIZES, call=CALLS, connection=CONNECTIONS) for op in ("write", "send")),
    *(step(op, size=SIZES, call=CALLS, timeout=TIMES, connection=CONNECTIONS) for op in ("read", "recv")),
    step("think", time=TIMES, busy=st.booleans(), mirrored=st.booleans()),
    *(step(op, connection=CONNECTIONS) for op in ("connect", "accept", "disconnect")),
)
TRANSACTIONS = st.fixed_dictionaries(
    {"steps": st.lists(STEPS, min_size=1, max_size=5)},
    optional={
        "iterations": st.integers(0, 2**63 - 1),
        "duration": TIMES,
        "rate_per_s": st.one_of(st.floats(0.001, 1e9), st.just("=offered_rate_per_s")),
        "arrivals": st.sampled_from(["=arrivals", "closed", "constant", "poisson"]),
        "outstanding": st.one_of(st.integers(1, 65_536), st.just("=outstanding")),
    },
)
GROUPS = st.fixed_dictionaries(
    {"transaction": st.lists(TRANSACTIONS, max_size=1)},
    optional={"strands": st.one_of(st.integers(0, 200_000), st.just("=connections")), "connected": st.booleans()},
)
WORKLOADS = st.builds(
    lambda groups: {"name": "own", "group": [group | {"name": f"g{number}"} for number, group in enumerate(groups)]},
    st.lists(GROUPS, min_size=1, max_size=3),
)


def specs(plan_overrides: dict[str, Any], own: Any = None) -> list[Any]:
    """What both sides would receive of the only cell."""
    profile = find("quick") if own is None else find("quick").with_workload(own)
    plan = build(profile, overrides=plan_overrides)
    (cell,) = plan.cells
    trial = PlannedTrial("001-c0001", 1, cell.id)
    return list(trial_specs(trial, cell.factors, CPUS, "198.18.0.2", 0, plan.workload(cell.id), plan.seed).values())


def check(ends: list[Any]) -> None:
    for spec in ends:
        VALIDATOR.validate({"id": 1, "body": spec})


def ends_or_refusal(written: dict[str, Any]) -> list[dict[str, Any]] | str:
    try:
        return specs({}, read_workload(written))
    except ProfileError as error:
        return str(error)


@given(WORKLOADS)
def test_what_is_accepted_is_known_to_the_agents(written: dict[str, Any]) -> None:
    ends = ends_or_refusal(written)
    if isinstance(ends, str):
        assert ends
        assert all(": " in line for line in ends.splitlines())
        return
    check(ends)
    assert ends[0]["workload"] == ends[1]["workload"]
    assert ends[0]["connections_count"] == sum(group["strands_count"] for group in ends[0]["workload"]["groups"])


@pytest.mark.parametrize("name", shipped_workload_names())
@pytest.mark.parametrize("connections", [1, 100])
def test_every_shipped_workload_is_known_to_the_agents(name: str, connections: int) -> None:
    ends = specs({"workload": name, "connections": connections})
    check(ends)
    plain = name in {"stream", "stream-receive"}
    assert (ends[0]["workload"] is None) == (plain or name == "udp-stream")
    assert (ends[0]["datagrams"] is None) == (name != "udp-stream")


@pytest.mark.parametrize(
    "overrides",
    [
        {"transport": "unix"},
        {
            "transport": "mptcp",
            "cork": True,
            "io_model": "blocking",
            "busy_poll_us": 50,
            "dscp": 46,
        },
        {"zero_copy": True, "truncate": True, "send_call": "splice"},
        {"workload": "rr", "io_model": "io_uring", "threads": 2, "outstanding": 8},
        {"workload": "udp-rr", "dscp": 46, "kernel_timestamps": True},
    ],
)
def test_transports_and_options_are_known_to_the_agents(overrides: dict[str, Any]) -> None:
    ends = specs(overrides)
    check(ends)
    assert ends[0]["transport"] == overrides.get("transport", "udp" if overrides.get("workload") == "udp-rr" else "tcp")


def test_the_seed_is_the_trials_own_and_the_same_on_both_sides() -> None:
    near, far = specs({"workload": "rr"})
    assert near["workload"]["seed"] == far["workload"]["seed"] > 0
    plan = build(find("quick"), overrides={"workload": "rr"})
    other: Any = trial_specs(
        PlannedTrial("002-c0001", 2, "c0001"), plan.cells[0].factors, CPUS, "::", 0, plan.workload("c0001"), 1
    )
    assert other[NEAR]["workload"]["seed"] != near["workload"]["seed"]
