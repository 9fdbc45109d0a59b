"""The rules on several hundred situations: every verdict, figure, piece of evidence and change is as reviewed."""

import pytest

from tests.unit.explain.situations import differences, facts_of, outcome, outcomes, rows

#: Small enough that the first difference is found early.
CHUNK = 25


@pytest.mark.parametrize("start", range(0, len(rows()), CHUNK))
def test_situations_have_the_stored_outcomes(start: int) -> None:
    for row, stored in zip(rows()[start : start + CHUNK], outcomes()[start : start + CHUNK], strict=True):
        found = list(differences(stored, outcome(*facts_of(row))))
        assert found == [], row["name"]


def test_each_situation_has_an_outcome() -> None:
    assert len(rows()) == len(outcomes())
