"""What the answers of experiments with drawn situations are worth."""

import pytest

from lab.situations.labels import Label
from lab.situations.why import JudgedWhy, judged_why, print_why_judged, why_shares
from lab.truth.situation import Ingredient, Situation
from whyperf.explain.causes import Cause
from whyperf.explain.experiments.answer import Answer, Known, Why
from whyperf.explain.explanation import Level

WRITES = Ingredient(name="small-writes", causes=("tiny_writes",), factors={"write_size_bytes": 1000})


def label(*, counts: bool) -> Label:
    situation = Situation(name="s1", group="stream", baseline="base", about="A load.", ingredient=(WRITES,))
    return Label(situation, {"small-writes": 3.0}, 3.0, (WRITES,) if counts else ())


def why(known: Known, *causes: str, **factors: Level) -> Why:
    answer = Answer(
        known=known, causes=list(causes), tried="larger-writes", factors=factors, gain=2.9, low=2.5, high=3.4
    )
    return Why(
        experiment="e", cell="c0001", unit="bit/s", rate=1.0, original=1.0, answer=answer, tried=[], probabilities=[]
    )


@pytest.mark.parametrize(
    ("known", "causes", "counts", "outcome"),
    [
        ("proved", ["tiny_writes"], True, "right"),
        ("likely", ["receive_buffer"], True, "wrong"),
        ("not_known", ["receive_buffer", "tiny_writes"], True, "candidate"),
        ("nothing_raises", ["receive_buffer"], True, "not_known"),
        ("nothing", [], True, "wrong"),
        ("nothing", [], False, "right"),
        ("nothing_raises", ["tiny_writes"], False, "right"),
        ("likely", ["tiny_writes"], False, "wrong"),
    ],
)
def test_what_an_answer_is_worth(known: Known, causes: list[str], counts: bool, outcome: str) -> None:
    assert judged_why(label(counts=counts), why(known, *causes), None, ()).outcome == outcome


def test_what_was_drawn_and_not_injected_is_right_where_it_holds_when_it_is_measured_again() -> None:
    proof = why("proved", Cause.SMALL_QUEUE, path_queue=100_000)
    assert judged_why(label(counts=True), proof, 1.6, ()).outcome == "right"
    assert judged_why(label(counts=True), proof, 1.0, ()).outcome == "wrong"


def test_a_printed_gain_is_compared_with_what_the_removal_brought(capsys: pytest.CaptureFixture[str]) -> None:
    rows: list[JudgedWhy] = [
        judged_why(label(counts=True), why("proved", "tiny_writes", write_size_bytes=131_072), None, ())
    ]
    assert rows[0].measured == 3.0
    print_why_judged(rows)
    assert "printed gains: 1, of which 1 intervals have what the removal brought" in capsys.readouterr().err
    assert why_shares(rows)["right"].number == 1
