"""Interleaved levels: every level once in each block, in an order of its own."""

from collections import Counter

from tests.unit.record.record_samples import sample_plan
from whyperf.profile.profile_document import PROFILE_HZ
from whyperf.run import interleaved


def test_every_block_has_every_level_of_every_cell_once() -> None:
    plan = sample_plan()
    trials = interleaved(plan, 5)
    counts = Counter((trial.block, trial.cell, trial.evidence, trial.profile_hz) for trial in trials)
    assert len(counts) == 5 * 2 * 4
    assert set(counts.values()) == {1}
    assert len({trial.id for trial in trials}) == len(trials)


def test_the_level_profile_takes_samples_and_nothing_else() -> None:
    asked = {(trial.evidence, trial.profile_hz) for trial in interleaved(sample_plan(), 2, ("user", "profile"))}
    assert asked == {("user", None), ("user", PROFILE_HZ)}


def test_the_order_differs_from_block_to_block_and_not_from_run_to_run() -> None:
    plan = sample_plan()
    trials = interleaved(plan, 8)
    orders = {
        block: tuple((trial.cell, trial.evidence) for trial in trials if trial.block == block) for block in range(1, 9)
    }
    assert len(set(orders.values())) > 1
    assert interleaved(plan, 8) == trials
