"""Scenes, sweeps and pairs of rates that are drawn from seeds: the whole outcome is as it was stored."""

import pytest

from tests.unit.explain.random_inputs import DRAWN, outcome, stored
from tests.unit.explain.situations import differences

#: Small enough that the first difference is found early.
CHUNK = 10


@pytest.mark.parametrize(
    ("name", "start"), [(name, start) for name, (_, seeds) in DRAWN.items() for start in range(0, seeds, CHUNK)]
)
def test_inputs_from_seeds_have_the_stored_outcomes(name: str, start: int) -> None:
    for seed in range(start, start + CHUNK):
        assert list(differences(stored()[f"{name} {seed}"], outcome(name, seed))) == [], f"{name} {seed}"
