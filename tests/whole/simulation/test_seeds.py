"""Seeds of runs and of watches in virtual time, with faults: none violates an invariant."""

import pytest

from tests.simulation.life import run_seed
from tests.simulation.watches import watch_seed

#: Two workers have a half each, in which every kind of fault comes.
PARTS = 2
SEEDS = 100
WATCH_SEEDS = 200


@pytest.mark.parametrize("part", range(PARTS))
def test_no_seed_violates_an_invariant(part: int) -> None:
    outcomes = [run_seed(seed) for seed in range(part, SEEDS, PARTS)]
    assert [str(outcome) for outcome in outcomes if outcome.violation is not None] == []
    # Faults came, and controllers were started again.
    assert sum(len(outcome.lives) for outcome in outcomes) > len(outcomes)


@pytest.mark.parametrize("part", range(PARTS))
def test_no_seed_of_a_watch_violates_an_invariant(part: int) -> None:
    outcomes = [watch_seed(seed) for seed in range(part, WATCH_SEEDS, PARTS)]
    assert [str(outcome) for outcome in outcomes if outcome.violation is not None] == []
    for is_there in (
        lambda outcome: outcome.is_killed,
        lambda outcome: isinstance(outcome.error, KeyboardInterrupt),
        lambda outcome: outcome.far_lost is not None,
        lambda outcome: len(outcome.results) == 2,
    ):
        assert any(is_there(outcome) for outcome in outcomes)
