"""What is tried of a cell where no verdict is named: the first change, or those of all candidates, and joint ones."""

import pytest

from whyperf.explain.causes import Cause
from whyperf.explain.model import CellExplanation, Change, JointGain, Level, Verdict, Verification
from whyperf.explain.verify import Attempt, attempts_of, summary_of


def verdict(cause: Cause, **factors: Level) -> Verdict:
    change = Change(factors=factors, by_hand="Find it.")
    return Verdict(cause=cause, claim="", confidence="medium", evidence=[], refuted_by="", change=change)


def cell(*verdicts: Verdict, joint: tuple[JointGain, ...] = ()) -> CellExplanation:
    return CellExplanation(
        cell="c0001", trial="t", rate_bps=1e6, dominant_state=None, missing=[], budgets=[], patterns=[],
        verdicts=list(verdicts), joint=list(joint), headline="",
    )  # fmt: skip


def causes(attempts: list[Attempt]) -> list[tuple[int, Cause]]:
    return [(attempt.number, attempt.verdict.cause) for attempt in attempts]


LOSS = verdict(Cause.RANDOM_LOSS, path_loss=0.0)
BURSTS = verdict(Cause.BURST_LOSS, path_loss=0.0)
QUEUE = verdict(Cause.SMALL_QUEUE, path_queue="bdp")
WINDOW = verdict(Cause.RECEIVE_BUFFER, window_bytes="default")
LOAD = verdict(Cause.OTHER_LOAD)
NOT_KNOWN = verdict(Cause.NOT_KNOWN)


@pytest.mark.parametrize(
    ("verdicts", "tried"),
    [
        ((WINDOW, LOSS), [(1, Cause.RECEIVE_BUFFER)]),
        # The first that a plan can change.
        ((LOAD, WINDOW), [(2, Cause.RECEIVE_BUFFER)]),
        # Candidates with the same change are one experiment.
        ((NOT_KNOWN, QUEUE, LOSS, BURSTS), [(2, Cause.SMALL_QUEUE), (3, Cause.RANDOM_LOSS)]),
        # Nothing can be planned: the first verdict's obstacle is reported.
        ((LOAD,), [(1, Cause.OTHER_LOAD)]),
    ],
)
def test_candidates_are_tried_where_the_limit_is_not_known(
    verdicts: tuple[Verdict, ...], tried: list[tuple[int, Cause]]
) -> None:
    assert causes(attempts_of(cell(*verdicts))) == tried


TOGETHER = JointGain(
    causes=[Cause.RECEIVE_BUFFER, Cause.RANDOM_LOSS], alone=1.2, gain=8.4, low=7.0, high=9.0, model_gain=8.5,
    basis="full_link", factors={"window_bytes": "default", "path_loss": 0.0}, words="Both.",
)  # fmt: skip


def test_a_joint_gain_is_tried_after_the_change_alone() -> None:
    alone, together = attempts_of(cell(WINDOW, LOSS, joint=(TOGETHER,)))
    assert alone.joint is None
    assert alone.name == "verdict 1 (receive_buffer) of cell c0001"
    assert together.name == "receive_buffer and random_loss together of cell c0001"
    assert together.joint == TOGETHER
    assert together.verdict.change == Change(factors=TOGETHER.factors)
    assert (together.verdict.predicted_gain, together.verdict.predicted_low) == (8.4, 7.0)
    # One without factors of all its causes cannot be planned, and one of other causes says nothing of this verdict.
    others: tuple[dict[str, object], ...] = ({"factors": {}}, {"causes": [Cause.SMALL_QUEUE, Cause.THINK_TIME]})
    for other in others:
        joint = TOGETHER.model_copy(update=other)
        assert causes(attempts_of(cell(WINDOW, LOSS, joint=(joint,)))) == [(1, Cause.RECEIVE_BUFFER)]


def found(outcome: str) -> Verification:
    return Verification.model_validate(
        {
            "outcome": outcome,
            "predicted_gain": None,
            "measured_gain": 2.0,
            "low": 1.8,
            "high": 2.2,
            "pairs": 6,
            "words": "",
        }
    )


def test_the_summary_names_the_changes_that_raised_the_rate() -> None:
    first, second = attempts_of(cell(NOT_KNOWN, QUEUE, LOSS))
    assert summary_of([(first, found("refuted")), (second, found("confirmed"))]) == (
        "The rate rises with the change of random loss."
    )
    neither = summary_of([(first, found("refuted")), (second, found("undecided"))])
    assert neither.startswith("None of the 2 changes raises the rate")
    assert summary_of([(first, found("confirmed"))]) == ""
