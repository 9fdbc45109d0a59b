"""What `--evidence` asks for."""

import pytest

from whyperf.cli.exits import UsageError
from whyperf.cli.inputs.evidence import AskedEvidence, asked_evidence
from whyperf.plan import PlannedStages
from whyperf.profile.profile_document import PROFILE_HZ


@pytest.mark.parametrize(
    ("text", "one_in", "wanted"),
    [
        (None, None, AskedEvidence()),
        ("counters", None, AskedEvidence("counters", 0)),
        ("stages", None, AskedEvidence(None, 0, PlannedStages())),
        ("user, stages", "64", AskedEvidence("user", 0, PlannedStages(one_in=64))),
        ("stages,profile,segments", "1", AskedEvidence("segments", PROFILE_HZ, PlannedStages(one_in=1))),
    ],
)
def test_stage_times_go_with_any_level(text: str | None, one_in: str | None, wanted: AskedEvidence) -> None:
    assert asked_evidence(text, None, one_in) == wanted


@pytest.mark.parametrize(
    ("text", "one_in", "problem"),
    [
        ("stage", None, '--evidence "stage" is not known'),
        ("stages", "3", "--stages-one-in 3 is no power of two from 1 to 65536"),
        ("stages", "0", "--stages-one-in 0 is no power of two"),
        ("stages", "131072", "--stages-one-in 131072 is no power of two"),
        ("stages", "9" * 5000, "--stages-one-in 9{40} is no power of two"),
        (None, "4", "--stages-one-in 4 is for --evidence stages"),
    ],
)
def test_what_is_wrong_is_named(text: str | None, one_in: str | None, problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        asked_evidence(text, None, one_in)
