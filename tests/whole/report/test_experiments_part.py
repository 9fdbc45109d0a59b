"""Experiments on the page: the page begins with their answer, and each has a bar that is where its gain is."""

import math
import re
from pathlib import Path

import pytest

from tests.unit.analyze import synthetic as made
from tests.unit.explain.experiment_samples import keep_next_to, tried, why
from tests.whole.report.test_explanation_page import cell, explanation, verdict
from tests.whole.report.test_page import checked, page, plain_text
from whyperf.analyze import summarize_inputs
from whyperf.explain.causes import Cause
from whyperf.explain.experiments.answer import Answer, Why
from whyperf.explain.explanation import Change
from whyperf.record import Experiment
from whyperf.report.explanation import Explained, explanation_section
from whyperf.report.explanation.experiments import MAX_FOLDED, MAX_MARKS, MAX_SHOWN, Axis, axis_of, experiments_view


def test_an_axis_goes_from_mark_to_mark_around_one() -> None:
    assert axis_of([]) == axis_of([0.97, 1.03]) == Axis(0.5, 2)
    assert axis_of([0.26, 4.98]) == Axis(0.2, 5)
    assert axis_of([0.0, -1.0, 1e300, math.nan, math.inf]) == Axis(0.001, 1000)


def test_equal_factors_are_equal_ways_on_the_axis() -> None:
    axis = Axis(0.1, 10)
    assert [axis.place(times) for times in (0.1, 1, 10)] == [0, 50, 100]
    assert axis.place(4) - axis.place(2) == pytest.approx(axis.place(0.5) - axis.place(0.25), abs=0.02)
    assert (axis.place(-1), axis.place(0), axis.place(1e9)) == (0, 0, 100)
    assert axis.span(1, 10) == axis.span(10, 1) == (50, 50)
    assert axis.span(1, math.nan) is None


@pytest.mark.parametrize("gains", [(), (0.3, 30), (1e-9, 2), (0.001, 1000)])
def test_an_axis_has_few_marks_and_one_of_them_is_one(gains: tuple[float, ...]) -> None:
    axis = axis_of(gains)
    marks = axis.marks
    assert len(marks) <= MAX_MARKS
    assert (axis.center, "1 ×") in marks
    assert [place for place, _ in marks] == sorted({place for place, _ in marks})


def test_the_proof_is_first_and_the_others_keep_their_order() -> None:
    found = experiments_view(why())
    assert [rung.name for rung in found.shown] == ["larger writes", "a path without loss", "no Nagle", "quick ACKs"]
    proof, of_path, same, lowered = found.shown
    assert [rung.is_proof for rung in found.shown] == [True, False, False, False]
    assert (proof.gain, proof.interval, proof.remark, proof.shows) == ("8.00 ×", "7.00–9.00", "", "small writes")
    assert proof.change == "write_size_bytes = 131,072 bytes"
    assert of_path.is_of_path
    assert (same.interval, same.remark) == ("0.900–1.10", "no difference")
    assert same.shows == "not Nagle's algorithm with delayed ACKs"
    assert lowered.bar is not None
    assert lowered.whisker is not None
    assert sum(lowered.bar) == pytest.approx(found.axis.center, abs=0.02), "the bar of a loss ends at 1 ×"
    assert lowered.whisker[0] < lowered.bar[0] < sum(lowered.whisker)
    assert found.made == "14 trials in 22.3 s"
    assert experiments_view(why(ended="budget")).made == "14 trials in 22.3 s; the time was over; --budget gives more"


def test_odd_values_are_left_out_of_the_drawing_and_not_of_the_list() -> None:
    odd = [
        tried("not-known", math.nan, math.nan, math.nan),
        tried("huge", 1e300, 0.0, math.inf, relieves=[], outcome="raises"),
        tried("none", 0.0, 5.0, -5.0, relieves=["no_such_cause"], is_remedy=True, outcome="same"),
        tried("", 1e-9, 1e-9, 1e-9),
    ]
    answer = Answer(known="proved", causes=["no_such_cause"], tried="huge", gain=math.nan, low=0.0, high=math.inf)
    view = experiments_view(why(tried=odd, answer=answer, original=math.inf, seconds=math.inf, trials=0))
    assert "no_such_cause" in view.headline
    assert view.made == "0 trials"
    huge, unknown, none, unnamed = view.shown
    assert (huge.name, huge.gain, huge.interval, huge.whisker) == ("huge", "1.0e+300 ×", "", None)
    assert (unknown.name, unknown.gain, unknown.bar) == ("not-known", "gain not known", None)
    assert (none.gain, none.interval, none.shows) == ("0 ×", "-5.00–5.00", "")
    assert unnamed.gain == "1.0e-09 ×"
    for rung in view.shown:
        for left, width in filter(None, (rung.bar, rung.whisker)):
            assert 0 <= left <= left + width <= 100.01


def test_long_ladders_are_folded_and_bounded() -> None:
    many = [tried(f"try-{number}", 2.0, 1.5, 3.0) for number in range(MAX_SHOWN + MAX_FOLDED + 5)]
    proof = tried("larger-writes", 1.5, 1.2, 1.8)
    view = experiments_view(why(tried=[*many, proof]))
    assert (len(view.shown), len(view.folded), view.left) == (MAX_SHOWN, MAX_FOLDED, 6)
    assert view.shown[0].is_proof, "what proves the answer is never folded away"


@pytest.fixture
def result(tmp_path: Path) -> Experiment:
    return Experiment.open(made.write(tmp_path / "result", [made.Trial()]))


def test_the_page_begins_with_what_experiments_show(result: Experiment) -> None:
    many = [tried(f"<b>{number}</b>", 1.0, 0.9, 1.1) for number in range(MAX_SHOWN)]
    keep_next_to(result, why(tried=[*why().tried, *many]))
    text = page(result.folder)
    checked(text)
    hero, rest = re.split(r"<section id=.explanation.", text)
    headline = "Small writes: proved. The rate rises from 1.00 Gbit/s to 8.00 Gbit/s"
    assert f"on the embedded testbed. {headline} (8.00 ×; 7.00–9.00 in 3 pairs)" in plain_text(hero)
    below = plain_text(rest)
    parts = ["Experiments", "14 trials in 22.3 s", "larger writes ✓ proved 8.00 × (7.00–9.00) → small writes"]
    parts += ["a path without loss (of the emulated path)", "no Nagle", "<b>7</b>", "4 more experiments", "<b>8</b>"]
    at = [below.index(part.replace("<", "&lt;").replace(">", "&gt;")) for part in parts]
    assert at == sorted(at)
    assert rest.index("why-experiments") < rest.index("why-cards")
    assert "<b>7</b>" not in rest


def test_a_page_without_experiments_has_none(result: Experiment) -> None:
    folder = keep_next_to(result, why())
    path = folder / "why.json"
    path.write_text(path.read_text().replace("larger-writes", "smaller-writes"))
    text = page(result.folder)
    assert 'class="group why-experiments"' not in text
    assert "proved" not in plain_text(text)


def section_of(found: Why, *cells: str) -> tuple[object, ...]:
    """Claim, change and place of experiments on a page of two verdicts in each cell."""
    first = verdict(Cause.RECEIVE_BUFFER, change=Change(factors={"window_bytes": "default"}))
    second = verdict(
        Cause.TINY_WRITES,
        change=Change(factors={"write_size_bytes": 131072}),
        lost_ratio=0.2,
        predicted_gain=2.0,
        predicted_low=1.8,
        predicted_high=2.2,
    )
    summary = summarize_inputs(made.inputs(made.sweep([4096, 8192][: len(cells)], [512], blocks=1)))
    explained = Explained(explanation(*(cell(name, first, second) for name in cells)), why=found)
    section = explanation_section(explained, summary)
    assert section.experiments is not None
    if section.answer is None:
        return None, None, section.experiments.place
    card = section.answer.card
    return section.answer.claim, (card.factors, card.gain) if card else None, section.experiments.place


def test_the_change_is_that_of_the_cause_that_experiments_name() -> None:
    claim, change, place = section_of(why(), "c0001")
    assert str(claim).startswith("Small writes: proved")
    assert change == (("write_size_bytes=131072",), ""), "the gain is measured"
    assert place == ""
    open_answer = Answer(known="not_known", causes=["receive_buffer", "tiny_writes"], probability=0.5)
    seen = why().answer.model_copy(update={"known": "seen"})
    assert section_of(why(answer=seen), "c0001")[1] == (
        ("write_size_bytes=131072",),
        "Predicted gain: about 2.0 × (1.8–2.2 ×)",
    )
    claim, change, _ = section_of(why(answer=open_answer), "c0001")
    assert str(claim).startswith("Not known for sure.")
    assert change is None, "the first verdict's change would contradict it"


def test_experiments_at_another_rate_are_doubted() -> None:
    claim, _, _ = section_of(why(is_reproduced=False, rate=5e9), "c0001")
    assert "Not reproduced: the original has 1.00 Gbit/s now, and had 5.00 Gbit/s at first" in str(claim)


def test_of_a_sweep_the_part_names_the_cell() -> None:
    assert section_of(why(cell="c0002"), "c0001", "c0002") == (None, None, "window 8,192 bytes")
    assert section_of(why(cell="c0009"), "c0001", "c0002")[2] == "c0009"
