"""The one-line diagnosis of an experiment, by how many settings each cause limits."""

import pytest

from whyperf.explain.causes import Cause
from whyperf.explain.explanation import CellExplanation, Change, Verdict
from whyperf.explain.headline import cell_headline, experiment_headline


def cell(cause: Cause, *, is_read: bool = True) -> CellExplanation:
    verdict = Verdict(cause=cause, claim="It is so.", confidence="high", evidence=[], refuted_by="")
    return CellExplanation(
        cell="c0001", trial="t" if is_read else None, rate_bps=None, dominant_state=None, missing=[], budgets=[],
        patterns=[], verdicts=[verdict], headline="Its own.",
    )  # fmt: skip


LOSS, QUEUE, WINDOW, COPY = Cause.RANDOM_LOSS, Cause.SMALL_QUEUE, Cause.RECEIVE_BUFFER, Cause.SEND_BUFFER
UNREAD = cell(Cause.NOT_KNOWN, is_read=False)


@pytest.mark.parametrize(
    ("cells", "start", "end"),
    [
        ([], "No setting to explain.", ""),
        ([cell(LOSS)], "Its own.", ""),
        ([UNREAD, UNREAD], "No trial can be read.", ""),
        ([cell(LOSS), cell(LOSS)], "2 of 2 settings are limited by ", "."),
        ([cell(LOSS), cell(Cause.NOT_KNOWN)], "1 of 2 settings is limited by ", ", for 1 the limit is not known."),
        ([cell(Cause.NOT_KNOWN), cell(Cause.NOT_KNOWN)], "For none of 2 settings is the limit known.", ""),
        ([cell(LOSS), UNREAD], "1 of 1 setting is limited by ", ", 1 has no trial that can be read."),
        ([cell(LOSS), UNREAD, UNREAD], "1 of 1 setting is limited by ", ", 2 have no trial that can be read."),
        (
            [cell(cause) for cause in (LOSS, QUEUE, WINDOW, COPY, Cause.PAUSE, Cause.CPU_QUOTA)],
            "1 of 6 settings is limited by ",
            ", 2 by other causes.",
        ),
    ],
)
def test_the_diagnosis_counts_settings(cells: list[CellExplanation], start: str, end: str) -> None:
    found = experiment_headline(cells)
    assert found.startswith(start)
    assert found.endswith(end)


def test_the_cause_of_most_settings_comes_first() -> None:
    found = experiment_headline([cell(QUEUE), cell(LOSS), cell(LOSS)])
    both = experiment_headline([cell(LOSS), cell(LOSS), cell(QUEUE)])
    assert found == both
    assert found.startswith("2 of 3 settings are limited by ")
    assert ", 1 by " in found


def test_causes_of_equally_many_settings_are_in_the_order_of_their_names() -> None:
    assert sorted((LOSS, QUEUE)) == [LOSS, QUEUE]
    assert experiment_headline([cell(QUEUE), cell(LOSS)]) == experiment_headline([cell(LOSS), cell(QUEUE)])


@pytest.mark.parametrize(("cause", "fixed"), [(Cause.ASKED_RATE, False), (Cause.SEND_BUFFER, True)])
def test_a_rate_that_was_asked_for_is_not_to_be_fixed(cause: Cause, fixed: bool) -> None:
    verdict = Verdict(
        cause=cause,
        claim="It is so.",
        lost_ratio=0.5,
        confidence="high",
        evidence=[],
        refuted_by="",
        change=Change(by_hand="Change it."),
        predicted_gain=2.0,
        predicted_low=1.5,
        predicted_high=2.5,
    )
    assert ("Fixing this" in cell_headline([verdict], "segments")) is fixed
