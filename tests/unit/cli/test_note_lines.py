"""Warnings and notes below a result: the first of each, and the command that prints the others."""

from pathlib import Path

import pytest

from tests.unit.analyze import synthetic as made
from whyperf.analyze import summarize_inputs
from whyperf.analyze.summary import Advice, Fact, Summary
from whyperf.cli.exits import UsageError
from whyperf.cli.output.formats import window_rate
from whyperf.cli.output.result import note_lines


def noted(warnings: str, notes: str) -> Summary:
    """A result with warnings and notes of these codes."""
    return summarize_inputs(made.inputs([made.Trial()])).model_copy(
        update={
            "warnings": [Advice(code=code, text=f"{code}.", advice="Do.") for code in warnings.split()],
            "facts": [Fact(code=code, text=f"{code}.") for code in notes.split()],
        }
    )


@pytest.mark.parametrize(
    ("warnings", "notes", "lines"),
    [
        ("few_trials", "no_pmu unseen_segments evidence_cost", []),
        ("few_trials steal_high", "no_pmu stage_times", ["Warning: steal_high. Do.", "Note: stage_times."]),
        (
            "steal_high other_load sampler_late",
            "a b",
            [
                "Warning: steal_high. Do.",
                "Note: a.",
                "2 more warnings and 1 more note: whyperf show 'my result' --notes",
            ],
        ),
        (
            "few_trials steal_high other_load",
            "a no_pmu evidence_cost",
            [
                "Warning: steal_high. Do.",
                "Note: a.",
                "2 more warnings and 2 more notes: whyperf show 'my result' --notes",
            ],
        ),
    ],
)
def test_a_result_has_one_warning_and_one_note(warnings: str, notes: str, lines: list[str]) -> None:
    found = noted(warnings, notes)
    assert note_lines(found, Path("my result"), wants_all=False) == lines
    everything = note_lines(found, Path("my result"), wants_all=True)
    assert len(everything) == len(warnings.split()) + len(notes.split())


@pytest.mark.parametrize(("text", "rate"), [(None, None), ("10G", 10e9), ("1000000", 1e6), ("2.5Gbit/s", 2.5e9)])
def test_a_rate_to_compute_the_window_for(text: str | None, rate: float | None) -> None:
    assert window_rate(text) == rate


@pytest.mark.parametrize("text", ["", "fast", "0", "-1", "nan", "1e30", "10ms"])
def test_what_is_no_rate_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"--window-for .* is no rate; give bit/s such as 10G, up to 100T"):
        window_rate(text)
