"""Cells whose hosts work in parallel are named, next to one whose hosts take turns."""

import pytest

from whyperf.explain.explanation import CellExplanation, Pattern, Phase
from whyperf.explain.parallel import compared_with_alternating
from whyperf.explain.wording.patterns import acks_per_window
from whyperf.plan import Plan, build
from whyperf.profile import parse

PROFILE = """
[fixed]
hosts = "sparc2+sba-100@2.2.6"
transfer_bytes = 1_048_576
[design]
trials = 1
[[sweep]]
name = "write"
[sweep.factors]
window_bytes = [4096, 8192]
write_size_bytes = [2048, 4096]
"""


def phase(payload: int, *, overlap: float, acks: float, alternating: float, window: int = 4096) -> Phase:
    return Phase(
        begin_ns=0,
        end_ns=1_000_000,
        payloads=[(payload, 4096 // payload)],
        acks_per_turn=acks,
        waits="",
        ratio=1.0,
        words="",
        stop_and_go_ratio=alternating,
        overlap_ratio=overlap,
        window_bytes=window,
    )


PARALLEL = phase(2048, overlap=0.5, acks=2.0, alternating=1.0)
ALTERNATING = phase(4096, overlap=0.0, acks=1.0, alternating=1.0)


@pytest.fixture(scope="module")
def plan() -> Plan:
    return build(parse(PROFILE, name="write", where="write.toml"), target="model")


def cell(plan: Plan, window: int, write: int, rate: float, own: Phase) -> CellExplanation:
    (name,) = [
        each.id
        for each in plan.cells
        if (each.factors["window_bytes"], each.factors["write_size_bytes"]) == (window, write)
    ]
    pattern = Pattern(trial="log01", connection=0, phases=[own], losses=None, words="A cycle.")
    return CellExplanation(
        cell=name,
        trial="log01",
        rate_bps=rate,
        dominant_state=None,
        missing=[],
        budgets=[],
        patterns=[pattern],
        verdicts=[],
        headline="Why.",
    )


def headline(plan: Plan, first: Phase, other: Phase, *, rate: float = 16.6e6, window: int = 4096) -> str:
    cells = [cell(plan, 4096, 2048, rate, first), cell(plan, window, 4096, 14.1e6, other)]
    found = compared_with_alternating(cells, plan)
    assert found[1] == cells[1]
    return found[0].headline


def test_half_a_window_is_faster_because_both_hosts_work(plan: Plan) -> None:
    text = headline(plan, PARALLEL, ALTERNATING)
    assert text.startswith("Why. Sender and receiver work in parallel")
    assert "50 % of the bytes leave while others are in flight, with 2.0 ACKs per window" in text
    assert "1.18 ×" in text


@pytest.mark.parametrize(
    ("first", "other", "changed"),
    [
        (ALTERNATING, ALTERNATING, {}),
        (PARALLEL, PARALLEL, {}),
        (PARALLEL, ALTERNATING, {"rate": 14.5e6}),
        (PARALLEL, ALTERNATING, {"window": 8192}),
        (PARALLEL.model_copy(update={"window_bytes": 65_536}), ALTERNATING, {}),
    ],
    ids=["alternating", "nobody_takes_turns", "as_fast", "another_window", "large_window"],
)
def test_nothing_is_said_of(plan: Plan, first: Phase, other: Phase, changed: dict[str, float]) -> None:
    assert headline(plan, first, other, **changed) == "Why."  # type: ignore[arg-type]  # by name


@pytest.mark.parametrize(
    ("found", "expected"),
    # The last has two ACKs for each 4,096 bytes of its cycle, and so four for its window.
    [(PARALLEL, 2.0), (ALTERNATING, 1.0), (PARALLEL.model_copy(update={"window_bytes": 8192}), 4.0)],
)
def test_acknowledgments_per_window(found: Phase, expected: float) -> None:
    assert acks_per_window(found) == expected
