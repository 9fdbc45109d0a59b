"""Each criterion holds on figures of its shape, and fails on figures of another one."""

from collections.abc import Mapping

import pytest
from pydantic import TypeAdapter, ValidationError

from whyperf.studies.checks import Criterion, Outcome
from whyperf.studies.series import MissingFigureError, Series, StudyFigure, x_of

CRITERION: TypeAdapter[Criterion] = TypeAdapter(Criterion)


def series(**named: Mapping[str, float | str]) -> dict[str, Series]:
    return {
        name: Series(name, tuple(StudyFigure(x_of(x), value) for x, value in figures.items()))
        for name, figures in named.items()
    }


def outcome(written: dict[str, object], **named: Mapping[str, float | str]) -> Outcome:
    return CRITERION.validate_python(written).outcome(series(**named))


STUDY = {"1": 10.0, "2": 20.0, "4": 40.0}

CASES: list[
    tuple[str, dict[str, object], dict[str, Mapping[str, float | str]], dict[str, Mapping[str, float | str]]]
] = [
    (
        "within",
        {"kind": "within", "ratio": 0.1},
        {"study": STUDY, "ours": {"1": 10.9, "2": 20, "4": 40}},
        {"study": STUDY, "ours": {"1": 11.1, "2": 20, "4": 40}},
    ),
    (
        "within: the mean",
        {"kind": "within", "ratio": 0.2, "mean": 0.05},
        {"study": STUDY, "ours": {"1": 11, "2": 20, "4": 40}},
        {"study": STUDY, "ours": {"1": 11, "2": 22, "4": 44}},
    ),
    (
        "order",
        {"kind": "order"},
        {"study": STUDY, "ours": {"1": 1, "2": 2, "4": 3}},
        {"study": STUDY, "ours": {"1": 1, "2": 3, "4": 2}},
    ),
    (
        "order: near figures of the study do not count",
        {"kind": "order", "apart": 0.1},
        {"study": {"1": 10, "2": 10.5, "4": 20}, "ours": {"1": 2, "2": 1, "4": 3}},
        {"study": {"1": 10, "2": 11.5, "4": 20}, "ours": {"1": 2, "2": 1, "4": 3}},
    ),
    (
        "order: a share",
        {"kind": "order", "share": 0.6},
        {"study": STUDY, "ours": {"1": 1, "2": 3, "4": 2}},
        {"study": STUDY, "ours": {"1": 2, "2": 3, "4": 1}},
    ),
    ("monotone", {"kind": "monotone", "direction": "rising"}, {"ours": {"1": 1, "2": 2}}, {"ours": {"1": 2, "2": 1}}),
    (
        "monotone: within the slack",
        {"kind": "monotone", "direction": "rising", "slack": 0.1},
        {"ours": {"1": 10, "2": 9.5, "4": 12}},
        {"ours": {"1": 10, "2": 8.5, "4": 12}},
    ),
    ("peak", {"kind": "peak", "at": [2]}, {"ours": {"1": 1, "2": 3, "4": 2}}, {"ours": {"1": 1, "2": 2, "4": 3}}),
    (
        "peak: a tie",
        {"kind": "peak", "at": [2], "tie": 0.1},
        {"ours": {"1": 1, "2": 2.8, "4": 3}},
        {"ours": {"1": 1, "2": 2.6, "4": 3}},
    ),
    (
        "ratio",
        {"kind": "ratio", "top": "ours@8", "bottom": "ours@1", "at_least": 1.15, "at_most": 1.35},
        {"ours": {"1": 4, "8": 5}},
        {"ours": {"1": 4, "8": 4.4}},
    ),
    (
        "ratio of ratios",
        {"kind": "ratio", "top": "a@2", "bottom": "a@1", "than_top": "b@2", "than_bottom": "b@1", "at_least": 1.5},
        {"a": {"1": 1, "2": 3}, "b": {"1": 1, "2": 2}},
        {"a": {"1": 1, "2": 3}, "b": {"1": 1, "2": 3}},
    ),
    (
        "between",
        {"kind": "between", "at_most": 0.05},
        {"ours": {"1": 0.02, "2": 0.05}},
        {"ours": {"1": 0.02, "2": 0.06}},
    ),
    (
        "between: one place",
        {"kind": "between", "at": 1, "at_least": 2},
        {"ours": {"1": 3, "2": 1}},
        {"ours": {"1": 1, "2": 3}},
    ),
    ("spans", {"kind": "spans", "at_most": 1.05}, {"ours": {"1": 100, "2": 104}}, {"ours": {"1": 100, "2": 106}}),
    (
        "above",
        {"kind": "above", "series": "a", "than": "b", "by": 0.1},
        {"a": {"1": 1.2}, "b": {"1": 1, "2": 9}},
        {"a": {"1": 1.05}, "b": {"1": 1, "2": 0}},
    ),
    (
        "above: a share",
        {"kind": "above", "series": "a", "than": "b", "share": 0.5},
        {"a": {"1": 2, "2": 0}, "b": {"1": 1, "2": 1}},
        {"a": {"1": 0, "2": 0}, "b": {"1": 1, "2": 1}},
    ),
    (
        "multiples",
        {"kind": "multiples", "of": 4},
        {"ours": {"3": 1, "4": 2, "5": 1, "8": 3, "9": 2}},
        {"ours": {"3": 1, "4": 2, "5": 3, "8": 2, "9": 1}},
    ),
    (
        "slope of two series",
        {"kind": "slope", "series": "a", "than": "b", "at_most": 0.3},
        {"a": {"1": 10, "2": 10.2}, "b": {"1": 1, "2": 2}},
        {"a": {"1": 10, "2": 10.5}, "b": {"1": 1, "2": 2}},
    ),
    (
        "slope: the fixed part",
        {"kind": "slope", "fixed_at": 10, "at_least": 0.5},
        {"ours": {"1": 101, "10": 110, "20": 120}},
        {"ours": {"1": 11, "10": 110, "20": 210}},
    ),
    (
        "equals",
        {"kind": "equals", "expected": {"60": ["1440+60", "60+1440"]}},
        {"ours": {"60": "60+1440"}},
        {"ours": {"60": "1460"}},
    ),
    (
        "equals: a part",
        {"kind": "equals", "has": True, "expected": {"60": ["both work"]}},
        {"ours": {"60": "Here both work at the same time."}},
        {"ours": {"60": "They work alternately."}},
    ),
]


@pytest.mark.parametrize(("written", "right", "wrong"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_a_criterion_holds_on_its_shape_and_on_no_other(
    written: dict[str, object],
    right: dict[str, Mapping[str, float | str]],
    wrong: dict[str, Mapping[str, float | str]],
) -> None:
    assert outcome(written, **right).holds
    assert not outcome(written, **wrong).holds


@pytest.mark.parametrize(
    ("written", "figures", "missing"),
    [
        ({"kind": "within", "ratio": 0.1}, {"study": STUDY, "ours": {"1": 10}}, "ours has no figure at 2"),
        ({"kind": "within", "ratio": 0.1}, {"study": STUDY}, "no series ours"),
        ({"kind": "order", "apart": 9}, {"study": STUDY, "ours": STUDY}, "no two figures"),
        ({"kind": "monotone", "direction": "rising"}, {"ours": {"1": 1}}, "one figure"),
        ({"kind": "ratio", "top": "ours@1", "bottom": "ours@2", "at_least": 1}, {"ours": {"1": 1, "2": 0}}, "is 0"),
        (
            {"kind": "ratio", "top": "ours", "bottom": "ours@1", "at_least": 1},
            {"ours": {"1": 1, "2": 1}},
            "one is needed",
        ),
        ({"kind": "between", "at_most": 1}, {"ours": {"1": "text"}}, "no number"),
        ({"kind": "spans", "at_most": 2}, {"ours": {"1": 0, "2": 1}}, "too few figures above 0"),
        ({"kind": "multiples", "of": 4}, {"ours": {"4": 1, "8": 2}}, "no multiple of 4"),
        ({"kind": "slope", "than": "b", "at_least": 1}, {"ours": {"1": 1}, "b": {"1": 1}}, "fewer than two places"),
        ({"kind": "equals", "expected": {"2": ["a"]}}, {"ours": {"1": "a"}}, "no figure at 2"),
    ],
)
def test_what_is_missing_is_no_shape(
    written: dict[str, object], figures: dict[str, Mapping[str, float | str]], missing: str
) -> None:
    with pytest.raises(MissingFigureError, match=missing):
        outcome(written, **figures)


@pytest.mark.parametrize(
    "written", [{"kind": "spans"}, {"kind": "between"}, {"kind": "ratio", "top": "a", "bottom": "b"}]
)
def test_a_criterion_that_always_holds_is_refused(written: dict[str, object]) -> None:
    with pytest.raises(ValidationError, match="always holds"):
        CRITERION.validate_python(written)


def test_an_outcome_has_the_figures_that_decide() -> None:
    text = outcome({"kind": "within", "ratio": 0.1}, study=STUDY, ours={"1": 12, "2": 20, "4": 40}).text
    assert text == "2 of 3 within 10 %; mean error 6.7 %, largest +20 % at 1"
    text = outcome({"kind": "ratio", "top": "ours@8", "bottom": "ours@1", "at_least": 1.2}, ours={"1": 4, "8": 5}).text
    assert text == "ours@8 / ours@1 = 1.25 (required: at least 1.2)"


def test_an_order_is_that_of_the_places_and_not_of_the_plan() -> None:
    assert outcome({"kind": "monotone", "direction": "rising"}, ours={"4": 40, "1": 10, "2": 20}).holds
    assert not outcome({"kind": "monotone", "direction": "rising"}, ours={"4": 10, "1": 20, "2": 40}).holds
