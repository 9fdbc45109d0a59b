"""`tests/accuracy.txt` says what the rules make of what is stored."""

from lab.truth.levels import View
from tests.accuracy import FILE, Injected, answer, lines
from whyperf.explain.causes import Cause
from whyperf.explain.explanation import Verdict

WINDOW = Injected("receive_buffer", ("receive_buffer", "window_scaling"))
CLEAN = Injected("undisturbed", ("capacity",), is_undisturbed=True)


def verdicts(*causes: Cause) -> list[Verdict]:
    return [Verdict(cause=cause, claim="", confidence="low", evidence=[], refuted_by="") for cause in causes]


def test_the_diagnosis_is_as_good_as_the_stored_table_says() -> None:
    """`make accuracy` writes the table anew; the commit says why it changed."""
    assert list(lines()) == FILE.read_text().splitlines()


def test_only_a_first_verdict_can_be_right_and_only_a_candidate_saves_one_that_is_not_known() -> None:
    buffer, scaling, loss = Cause.RECEIVE_BUFFER, Cause.WINDOW_SCALING, Cause.PATH_LOSS
    cases: tuple[tuple[Injected, list[Cause], str], ...] = (
        (WINDOW, [scaling], "right"),
        (WINDOW, [loss, buffer], "wrong"),
        (WINDOW, [Cause.NOT_KNOWN, loss, buffer], "candidate"),
        (WINDOW, [Cause.NOT_KNOWN, loss], "not known"),
        (WINDOW, [], "not known"),
        (CLEAN, [Cause.NOT_KNOWN], "right"),
        (CLEAN, [Cause.CAPACITY], "right"),
        (CLEAN, [buffer], "wrong"),
    )
    for injected, causes, expected in cases:
        assert answer(injected, View.COUNTERS, verdicts(*causes)) == expected, causes
