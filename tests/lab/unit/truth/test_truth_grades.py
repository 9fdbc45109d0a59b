"""Grades of explained cells, the figures made of them, and their page."""

from pathlib import Path

import pytest

from lab.truth.figures import confusion, figures
from lab.truth.grade import Grade
from lab.truth.output.page import as_json, markdown, with_figures
from tests.lab.unit.truth.explained_doses import graded, paced
from whyperf.explain.causes import Cause
from whyperf.explain.explanation import Budget, Chronograph, StateShare, Verdict

PAIR = """
[[pair]]
name = "two"
causes = ["pacing_rate", "send_buffer"]
baseline = "veth"
first = { pacing_rate_bps = 1000000 }
second = { send_buffer_bytes = 4096 }
"""


def verdicts_of(*causes: Cause) -> list[Verdict]:
    return [Verdict(cause=cause, claim="It is.", confidence="high", evidence=[], refuted_by="") for cause in causes]


def budget(*, unknown: float = 0.0, agrees: bool = True) -> Budget:
    def share(state: str, ratio: float) -> StateShare:
        return StateShare(state=state, ns=round(ratio * 1e9), ratio=ratio, spells=1)

    clock = Chronograph(name="busy", kernel_ns=10**9, budget_ns=10**9, agrees=agrees)
    return Budget(
        trial="log01",
        host="near",
        role="sender",
        connection=0,
        begin_ns=0,
        end_ns=10**9,
        shares=[share("pacing", 1 - unknown), share("unknown", unknown)],
        chronographs=[clock],
    )


@pytest.fixture
def grades(tmp_path: Path) -> list[Grade]:
    """Three doses, of which the last does not lower the rate; a pair; a baseline without a wrong cause."""
    rates = {
        "paced-baseline": 10e6,
        "paced-dose1": 1e6,
        "paced-dose2": 8.5e6,
        "paced-dose3": 8.6e6,
        "two-first": 2e6,
        "two-second": 4e6,
        "two-both": 1e6,
    }
    verdicts = {
        "veth-undisturbed": verdicts_of(Cause.CAPACITY, Cause.NOT_KNOWN),
        "paced-dose1": verdicts_of(Cause.BOTTLENECK, Cause.PACING_RATE),
        "paced-dose2": verdicts_of(Cause.NOT_KNOWN),
        "paced-dose3": verdicts_of(Cause.SEND_BUFFER),
        "two-both": verdicts_of(Cause.SEND_BUFFER, Cause.NOT_KNOWN, Cause.PACING_RATE),
    }
    budgets = {role: budget() for role in verdicts}
    budgets |= {"paced-dose1": budget(agrees=False), "paced-dose2": budget(unknown=0.01)}
    more = {role: {"dominant_state": "pacing", "budgets": [given]} for role, given in budgets.items()}
    return graded(tmp_path, paced(1, 2, 3) + PAIR, verdicts, rates, more)


def test_doses_are_compared_with_their_baseline(grades: list[Grade]) -> None:
    lowered = {grade.role.sweep: grade.lowered_by for grade in grades}
    assert lowered["paced-dose1"] == pytest.approx(0.9)
    assert lowered["paced-dose2"] == pytest.approx(0.15)
    # Without the send buffer limit alone the rate is 2 Mbit/s: that cause costs less.
    assert lowered["two-both"] == pytest.approx(0.5)
    assert lowered["veth-undisturbed"] is None


def test_figures_count_doses_that_lower_the_rate(grades: list[Grade]) -> None:
    found = {figure.key: (figure.count, figure.of) for figure in figures(grades)}
    assert found == {
        "first": (0, 2),
        "first_two": (1, 2),
        "misses_not_known": (1, 2),
        "pairs": (1, 1),
        "clean": (1, 1),
        "gains": (0, 0),
        "closed": (4, 5),
        "chronographs": (4, 5),
    }


def test_first_verdicts_are_counted_by_injected_cause(grades: list[Grade]) -> None:
    assert confusion(grades) == {
        "nothing": {Cause.CAPACITY: 1},
        "pacing_rate": {Cause.BOTTLENECK: 1, Cause.NOT_KNOWN: 1},
    }


def test_a_page_is_written_between_its_markers(grades: list[Grade]) -> None:
    section = markdown(grades, ["Linux", "today"])
    page = with_figures("Before.\n<!-- truth -->\nold\n<!-- end -->\nAfter.\n", section)
    assert page.startswith("Before.\n<!-- truth -->\n\nLinux, today.\n")
    assert page.endswith("<!-- end -->\nAfter.\n")
    assert "\nold\n" not in page
    assert "| paced | pacing_rate_bps 1000000 | 90% | `bottleneck`, `pacing_rate` | second | - | - |" in page
    assert with_figures(page, section) == page
    with pytest.raises(ValueError, match="no section between"):
        with_figures("Nothing.", section)


def test_grades_as_json_have_every_figure(grades: list[Grade]) -> None:
    document = as_json(grades, {"where": "here"})
    assert document["where"] == "here"
    assert [grade["rank"] for grade in document["grades"] if grade["part"] == "dose"] == [2, None, None]  # type: ignore[attr-defined]
