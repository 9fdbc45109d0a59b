"""The plan of experiments: a cell for each, interleaved with the original, which is as it was to the last factor."""

from collections.abc import Mapping
from contextlib import nullcontext

import pytest

from whyperf.explain.causes import Cause
from whyperf.explain.experiments.goals import Obstacle, refuse_other_host, refuse_other_path, refuse_untriable
from whyperf.explain.experiments.ladder import ORIGINAL
from whyperf.explain.experiments.question import BLOCKS, question_of
from whyperf.explain.experiments.tries import CHANGE, Planned, making
from whyperf.explain.explanation import Change, Level, Verdict
from whyperf.plan import MODEL, Cell, Plan, build
from whyperf.profile import Factors, Profile, find, parse, shipped_names

SAMPLE = """
about = "A question."
[fixed]
duration_s = 1
read_size_bytes = "=write_size_bytes"
[[sweep]]
name = "windows"
[sweep.factors]
window_bytes = [4096, 8192]
write_size_bytes = [512, 1024]
"""
OWN_WORKLOAD = """
about = "A question of its own."
[fixed]
duration_s = 1
request_size_bytes = 100
[workload]
name = "mine"
about = "Requests."
[[workload.group]]
name = "clients"
[[workload.group.transaction]]
name = "ask"
steps = [{ op = "write", size = "=request_size_bytes" }, { op = "read", size = 1 }]
"""


def planned(text: str, target: str = "testbed") -> tuple[Profile, Plan]:
    profile = parse(text, name="sample", where="sample.toml")
    return profile, build(profile, target=target)


def tried(profile: Profile, plan: Plan, cell: Cell, change: Mapping[str, Level]) -> Plan:
    """The plan of one experiment with a cell, in trials as long as its own."""
    return question_of(profile, plan, cell, [Planned(CHANGE, change, (Cause.SMALL_MTU,))], None)[1]


def cell_named(plan: Plan, sweep: str) -> Cell:
    return next(cell for cell in plan.cells if cell.sweep == sweep)


def test_a_block_has_both_cells_in_an_order_drawn_from_the_seed() -> None:
    profile, plan = planned(SAMPLE)
    made = tried(profile, plan, plan.cells[0], {"window_bytes": 65536})
    assert len(made.blocks) == BLOCKS
    assert {frozenset(block) for block in made.blocks} == {frozenset({"c0001", "c0002"})}
    assert len(set(made.blocks)) == 2, "so many blocks of a fixed seed come in both orders"
    assert tried(profile, plan, plan.cells[0], {"window_bytes": 65536}).id == made.id


def test_the_change_alone_differs_even_where_the_profile_ties_factors_together() -> None:
    profile, plan = planned(SAMPLE)
    made = tried(profile, plan, plan.cells[0], {"write_size_bytes": 4096})
    before, after = (cell_named(made, name).factors for name in (ORIGINAL, CHANGE))
    assert before == plan.cells[0].factors
    assert {name for name in before if before[name] != after[name]} == {"write_size_bytes"}


@pytest.mark.parametrize("name", [name for name in shipped_names() if not find(name).is_of_model])
def test_the_original_of_every_shipped_profile_is_the_cell_as_it_was(name: str) -> None:
    profile = find(name)
    plan = build(profile)
    for cell in {cell.sweep: cell for cell in plan.cells}.values():
        other = 50 if cell.factors["interval_ms"] != 50 else 60
        made = tried(profile, plan, cell, {"interval_ms": other})
        original, changed = (cell_named(made, sweep) for sweep in (ORIGINAL, CHANGE))
        assert original.factors == cell.factors
        assert changed.factors == cell.factors | {"interval_ms": other}
        assert original.schedule == cell.schedule
        if cell.workload is not None:
            assert made.workload(original.id) == plan.workload(cell.id)


def test_a_cell_of_the_model_is_tried_on_the_model() -> None:
    profile = find("window-sweep")
    plan = build(profile, target=MODEL, overrides={"hosts": "sparc10+sba-200"}, only=("write_size_bytes=4096",))
    made = tried(profile, plan, plan.cells[0], {"window_bytes": 52428})
    assert (made.target, made.testbed.kind) == (MODEL, "model")
    assert cell_named(made, ORIGINAL).factors == plan.cells[0].factors


@pytest.mark.parametrize(
    ("overrides", "change"),
    [
        ({"write_size_bytes": 4096}, {"mtu_bytes": 9000}),  # a factor that the original has none of
        ({"workload": "rr", "connections": 8}, {"quick_ack": True}),  # over epoll, which follows
    ],
)
def test_a_change_of_a_simulated_cell_is_planned(overrides: Factors, change: Factors) -> None:
    profile = parse('about = "Any."\n[fixed]\nduration_s = 1\n', name="any", where="any")
    plan = build(profile, target=MODEL, overrides=overrides | {"hosts": "linux"})
    cells = tried(profile, plan, plan.cells[0], change)
    assert cell_named(cells, ORIGINAL).factors == plan.cells[0].factors
    assert cell_named(cells, CHANGE).factors == plan.cells[0].factors | change


def test_what_belongs_to_a_bottleneck_goes_with_it() -> None:
    text = 'about = "Slow."\n[fixed]\nduration_s = 1\npath_rtt_ms = 10\npath_rate_bps = 100000000\npath_queue = 20000\n'
    profile, plan = planned(text)
    cells = tried(profile, plan, plan.cells[0], {"path_rate_bps": "none"})
    assert cell_named(cells, ORIGINAL).factors == plan.cells[0].factors
    changed = cell_named(cells, CHANGE).factors
    assert changed["path_rtt_ms"] == 10
    assert "path_queue" not in changed


def test_a_profile_keeps_its_own_workload_in_the_text_of_its_experiments() -> None:
    profile, plan = planned(OWN_WORKLOAD)
    change = Planned(CHANGE, {"request_size_bytes": 10}, (Cause.SMALL_MTU,))
    question, made = question_of(profile, plan, plan.cells[0], [change], None)
    again = parse(question.text, name="why", where="why")
    assert build(again, target=plan.target, evidence=plan.evidence or "counters").id == made.id


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"window_bytes": 0}, "invalid value 0"),
        ({"gso": False}, "segmentation offload"),
    ],
)
def test_what_cannot_be_changed_is_said_in_a_sentence(change: dict[str, int | bool], said: str) -> None:
    profile, plan = planned(SAMPLE)
    with pytest.raises(Obstacle, match=said) as refused:
        tried(profile, plan, plan.cells[0], change)
    assert "\n" not in str(refused.value)


def made_by(**factors: int | bool | str) -> Verdict:
    change = Change(factors=dict(factors), by_hand="Raise the MTU on both hosts.")
    return Verdict(
        cause=Cause.SMALL_MTU, claim="A claim.", confidence="high", evidence=[], refuted_by="", change=change
    )


def test_a_setting_of_the_path_to_a_far_host_is_left_to_its_owner() -> None:
    _, plan = planned(SAMPLE, target="far")
    with pytest.raises(Obstacle) as refused:
        refuse_other_path(made_by(mtu_bytes=9000, window_bytes=65536), plan)
    assert refused.value.code == "other_path"
    assert refused.value.values == {
        "change": "mtu_bytes = 9,000 bytes",
        "place": "the path to far",
        "by_hand": "Raise the MTU on both hosts",
    }
    with pytest.raises(Obstacle, match="path_queue = bdp"):
        refuse_other_path(made_by(path_queue="bdp"), plan)
    # On the testbed it can be tried.
    refuse_other_path(made_by(mtu_bytes=9000), planned(SAMPLE)[1])


@pytest.mark.parametrize(
    ("here", "is_refused"),
    [
        ({"hostname": "b", "cpu_model": "one"}, True),
        ({"hostname": "a", "cpu_model": "other"}, True),
        ({"hostname": "a", "cpu_model": "one"}, False),
    ],
)
def test_a_result_is_tried_on_the_host_that_made_it(here: dict[str, str], *, is_refused: bool) -> None:
    """A host with the same CPU or the same name alone is another one."""
    _, plan = planned(SAMPLE)
    made_on = {"hostname": "a", "cpu_model": "one"}
    with pytest.raises(Obstacle, match=r"a \(one\)") if is_refused else nullcontext():
        refuse_other_host(plan, made_on, here)


def test_options_of_sockets_at_a_far_host_are_changed_in_the_plan() -> None:
    profile, plan = planned(SAMPLE, target="far")
    refuse_other_path(made_by(receive_buffer_bytes=8192), plan)
    made = tried(profile, plan, plan.cells[0], {"receive_buffer_bytes": 8192})
    assert (made.testbed.kind, made.target) == ("network", "far")
    changed = cell_named(made, CHANGE).factors
    assert changed["receive_buffer_bytes"] == 8192
    assert cell_named(made, ORIGINAL).factors["receive_buffer_bytes"] == "default"


def test_where_nothing_is_blamed_there_is_nothing_to_try() -> None:
    idle = made_by()
    nothing = idle.model_copy(update={"cause": Cause.CAPACITY, "change": None})
    with pytest.raises(Obstacle) as refused:
        refuse_untriable(nothing, 1, [nothing])
    assert (refused.value.code, refused.value.values["other"]) == ("capacity", None)
    with pytest.raises(Obstacle, match="choose another verdict with --verdict"):
        refuse_untriable(nothing, 1, [nothing, made_by(mtu_bytes=9000)])


def test_of_a_named_verdict_only_what_makes_its_change_is_tried() -> None:
    larger = Planned("larger", {"window_bytes": "default"}, (Cause.RECEIVE_BUFFER,))
    both = Planned("both", {"window_bytes": "default", "no_delay": True}, (Cause.RECEIVE_BUFFER,))
    other = Planned("other", {"no_delay": True}, (Cause.NAGLE_DELAYED_ACK,))
    joined = Planned("all", both.factors, (Cause.RECEIVE_BUFFER,), parts=("larger", "other"))
    assert making([larger, both, other, joined], made_by(window_bytes="default")) == [larger, both]
    # One of which the ladder has no experiment is made as it is.
    assert making([larger], made_by(mtu_bytes=9000)) == [Planned(CHANGE, {"mtu_bytes": 9000}, (Cause.SMALL_MTU,))]
