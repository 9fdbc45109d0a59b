"""Schedules: when flows start and stop, which schedules cannot be, and what becomes of them in a plan."""
# ruff: noqa: E501 - a case is a line.

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whyperf.plan import Plan, PlannedTrial, build
from whyperf.profile import Profile, ProfileError, find, parse
from whyperf.profile.schedule import SHIPPED, Region, regions
from whyperf.run.ends import Cpus
from whyperf.run.spec import trial_specs

SECOND = 1_000_000_000
CPUS = {"near": Cpus((0,), (0,), exclusive=True), "far": Cpus((1,), (1,), exclusive=True)}


def profile_of(text: str) -> Profile:
    return parse(f'about = "A question."\n{text}', name="sample", where="sample.toml")


def with_schedule(name: str, **levels: object) -> Plan:
    fixed = "\n".join(f"{factor} = {level!r}" for factor, level in levels.items())
    return build(profile_of(f'[fixed]\nschedule = "{name}"\n{fixed}\n'))


def regions_of(plan: Plan) -> tuple[Region, ...]:
    flows = plan.cells[0].schedule
    assert flows is not None
    return regions([(flow.start_ns, flow.stop_ns) for flow in flows])


def flows_at_work(plan: Plan) -> list[tuple[int, int]]:
    """Seconds and number of flows of each region."""
    return [((region.stop_ns - region.start_ns) // SECOND, len(region.flows)) for region in regions_of(plan)]


def test_seven_regions_are_the_studys() -> None:
    studys = [(120, 1), (120, 2), (120, 3), (240, 4), (120, 3), (120, 2), (120, 1)]
    last_in_first_out = with_schedule("seven-regions")
    first_in_first_out = with_schedule("seven-regions", schedule_order="fifo")
    assert flows_at_work(last_in_first_out) == flows_at_work(first_in_first_out) == studys
    assert regions_of(last_in_first_out)[-1].flows == (0,)
    assert regions_of(first_in_first_out)[-1].flows == (3,)


def test_the_other_shipped_schedules() -> None:
    assert flows_at_work(with_schedule("staircase")) == [(30, flows) for flows in range(1, 9)]
    assert flows_at_work(with_schedule("mixed")) == [(120, 1), (240, 2), (120, 1)]
    parallel = with_schedule("single-and-parallel")
    assert [flow.connections for flow in parallel.cells[0].schedule or ()] == [1, 2, 4, 8, 16]
    assert all(len(region.flows) <= 1 for region in regions_of(parallel))


@pytest.mark.parametrize("name", SHIPPED)
@given(scale=st.floats(0.05, 20))
def test_a_scaled_schedule_has_the_same_regions_and_the_cell_its_length(name: str, scale: float) -> None:
    plain, scaled = with_schedule(name), with_schedule(name, schedule_scale=scale)
    assert [region.flows for region in regions_of(plain)] == [region.flows for region in regions_of(scaled)]
    end_ns = max(flow.stop_ns for flow in scaled.cells[0].schedule or ())
    assert scaled.cells[0].factors["duration_s"] == pytest.approx(end_ns / 1e9)
    assert scaled.cells[0].factors["warmup_s"] == 0


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(1, 50)), min_size=1, max_size=6))
def test_regions_tile_the_time_and_know_who_is_at_work(spans: list[tuple[int, int]]) -> None:
    active = [(start, start + length) for start, length in spans]
    found = regions(active)
    assert all(region.stop_ns == other.start_ns for region, other in pairwise(found))
    assert (found[0].start_ns, found[-1].stop_ns) == (0, max(stop for _, stop in active))
    for instant in range(found[-1].stop_ns):
        (region,) = [found_region for found_region in found if found_region.start_ns <= instant < found_region.stop_ns]
        assert set(region.flows) == {flow for flow, (start, stop) in enumerate(active) if start <= instant < stop}


OWN = """
[schedule]
name = "late-guest"
[[schedule.flow]]
start_s = 0
stop_s = 60
[[schedule.flow]]
name = "guest"
start_s = 20
stop_s = 40
connections = 2
congestion_control = "reno"
direction = "receive"
"""


def test_an_own_schedule_reaches_both_sides() -> None:
    cell = build(profile_of(OWN)).cells[0]
    specs = trial_specs(
        PlannedTrial("001-c0001", 1, cell.id), cell.factors, CPUS, "::", 0, None, 0, cell.schedule or ()
    )
    near, far = specs["near"], specs["far"]
    assert (near["role"], near["connections_count"]) == ("sender", 3)
    assert [flow["role"] for flow in near["schedule"]] == ["sender", "receiver"]
    assert [flow["role"] for flow in far["schedule"]] == ["receiver", "sender"]
    assert near["schedule"][1] == {
        "start_ns": 20 * SECOND,
        "stop_ns": 40 * SECOND,
        "connections_count": 2,
        "transport": None,
        "congestion_control": "reno",
        "dscp": None,
        "role": "receiver",
    }
    assert near["stop"] == {"by": "duration", "warmup_ns": 0, "measure_ns": 60 * SECOND, "cooldown_ns": 0}


def test_rrul_has_four_marks_each_way_after_a_time_without_load() -> None:
    flows = build(find("rrul")).cells[0].schedule or ()
    assert [(flow.direction, flow.dscp) for flow in flows] == [
        (direction, dscp) for direction in ("send", "receive") for dscp in (0, 8, 40, 46)
    ]
    assert {(flow.start_ns, flow.stop_ns) for flow in flows} == {(5 * SECOND, 65 * SECOND)}
    (region, *_) = regions([(flow.start_ns, flow.stop_ns) for flow in flows])
    assert region.flows == ()


@pytest.mark.parametrize(("name", "direction"), [("tcp-up", "send"), ("tcp-down", "receive")])
def test_one_way_loads_take_connections(name: str, direction: str) -> None:
    (flow,) = build(find(name), overrides={"connections": 4}).cells[0].schedule or ()
    assert (flow.direction, flow.connections, flow.dscp) == (direction, 4, None)


def test_a_mark_of_a_flow_names_a_plan_and_its_absence_does_not() -> None:
    """A plan from before there were marks is found again."""
    assert build(profile_of(OWN)).id == "6be719a20cc0"
    assert build(profile_of(OWN.replace('"reno"', '"reno"\ndscp = 0'))).id != build(profile_of(OWN)).id


def test_the_competitor_is_another_congestion_control_or_another_transport() -> None:
    reno = with_schedule("mixed", competitor="reno").cells[0].schedule
    assert reno is not None
    assert [(flow.transport, flow.congestion_control) for flow in reno] == [(None, None), ("tcp", "reno")]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (OWN.replace("stop_s = 40", "stop_s = 10"), 'flow "guest" of late-guest stops at 10 s, not after it starts'),
        (OWN.replace('"reno"', '"reno"\ndscp = 64'), "schedule.flow.2.dscp"),
        (OWN.replace('congestion_control = "reno"', 'transport = "quic"\ndscp = 46'), "sets dscp, which quic does not"),
        (OWN.replace("stop_s = 40", "stop_s = 20.5"), "region 2 of late-guest lasts 0.5 s, less than 10 samples"),
        (OWN.replace('"late-guest"', '"mixed"'), "schedule.name: mixed is a shipped schedule"),
        (OWN.replace('"reno"', '"no such"'), "schedule.flow.2.congestion_control"),
        (OWN.replace("start_s = 20", "begin_s = 20"), "schedule.flow.2."),
        (OWN.replace('name = "guest"', 'name = "flow 1"'), 'two flows have the name "flow 1"'),
        ('[schedule]\nname = "empty"', "schedule.flow: the schedule has no flow"),
        (OWN + "[fixed]\nwindow_bytes = 65536", "window_bytes: flows of late-guest go both ways"),
        (OWN.replace("congestion_control", "transport").replace('"reno"', '"udp"'), "wants the transport udp"),
        ('[fixed]\nschedule = "seven-region"', "did you mean seven-regions?"),
        ('[fixed]\nschedule = "seven-regions"\nduration_s = 5', "duration_s: the schedule seven-regions decides"),
        ('[fixed]\nschedule = "seven-regions"\ntransfer_bytes = 5', "transfer_bytes: the schedule seven-regions decides"),
        ('[fixed]\nschedule = "seven-regions"\ndeadline_s = 5', "deadline_s: 5 s end before"),
        ('[fixed]\nschedule = "seven-regions"\nschedule_scale = 0.001', "raise schedule_scale or lower interval_ms"),
        ('[fixed]\nschedule = "seven-regions"\ncompetitor = "reno"', "the schedule seven-regions has no use for it"),
        ('[fixed]\nschedule = "single-and-parallel"\nconnections = 2', "connections: the schedule single-and-parallel"),
        ("[fixed]\nschedule_scale = 2", "schedule_scale: it belongs to a schedule"),
        ('[fixed]\nschedule = "mixed"\nworkload = "rr"', "schedule: the workload rr has no such setting"),
        ('[fixed]\nschedule = "mixed"\nio_model = "epoll"', "schedule: a stream in blocking calls has it"),
    ],
)  # fmt: skip
def test_impossible_schedules_are_refused_by_name(text: str, says: str) -> None:
    with pytest.raises(ProfileError) as caught:
        build(profile_of(text))
    assert says in str(caught.value)
