"""The cost of evidence from pairs of one block."""

import polars as pl
import pytest

from tests.unit.analyze.synthetic import Trial, changed, inputs
from whyperf.analyze.read.inputs import Inputs
from whyperf.analyze.tracing_overhead import ProbeCost, level_costs, replaces

RATES = {"user": 10e9, "counters": 9.8e9, "profile": 9.9e9, "segments": 9.5e9}
PAIRS = 6
CONDITIONS = {"c0001": "as fast as possible"}


def measured(slower: float = 1.0, refused: str = "") -> Inputs:
    """Each level once in every block; the host gets slower from block to block, as shared machines do."""
    levels = list(RATES)
    trials = [
        Trial(block=len(levels) * pair + number, rate_bps=RATES[level] * slower**pair)
        for pair in range(1, PAIRS + 1)
        for number, level in enumerate(levels)
    ]
    found = inputs(trials)
    asked = {trial.name: levels[trial.block % len(levels)] for trial in trials}
    level = pl.col("trial").replace_strict(asked, return_dtype=pl.String)
    is_sampled = level == "profile"
    # In the record, the level profile is level user with samples.
    named = pl.when(is_sampled).then(pl.lit("user")).otherwise(level)
    evidence = found.evidence.with_columns(
        named.alias("asked"),
        pl.when(level == refused).then(pl.lit("user")).otherwise(named).alias("got"),
        pl.lit(1).alias("lost"),
        pl.when(is_sampled).then(997).alias("sampled_hz"),
        pl.when(is_sampled & (level == refused)).then(pl.lit("perf events are not allowed")).alias("unsampled"),
    )
    return changed(found, trials=found.trials.with_columns(pl.col("block") // len(levels)), evidence=evidence)


def test_pairs_take_out_what_changes_from_block_to_block() -> None:
    for slower in (1.0, 0.8):
        counters, profile, segments = level_costs(measured(slower), CONDITIONS, 1)
        assert counters.goodput_ratio.median == pytest.approx(0.98, rel=1e-3)
        assert profile.goodput_ratio.median == pytest.approx(0.99, rel=1e-3)
        assert (profile.level, profile.pairs) == ("profile", PAIRS)
        assert segments.goodput_ratio.median == pytest.approx(0.95, rel=1e-3)
        assert (segments.level, segments.pairs, segments.condition) == ("segments", PAIRS, "as fast as possible")
        assert segments.lost_events == 2 * PAIRS


def test_a_trial_that_got_less_than_it_asked_for_is_no_pair() -> None:
    counters, profile = level_costs(measured(refused="segments"), CONDITIONS, 1)
    assert (counters.level, profile.level) == ("counters", "profile")
    assert [found.level for found in level_costs(measured(refused="profile"), CONDITIONS, 1)] == [
        "counters",
        "segments",
    ]


@pytest.mark.parametrize(("pairs", "kept", "is_kept"), [(3, 15, True), (3, None, False), (3, 5, False), (6, 15, False)])
def test_few_pairs_do_not_replace_many(pairs: int, kept: int | None, is_kept: bool) -> None:
    levels = level_costs(measured(), CONDITIONS, 1)

    def of(count: int) -> ProbeCost:
        rows = [row.model_copy(update={"pairs": count}) for row in levels]
        return ProbeCost(hostname="a", kernel="6.1", measured_realtime="2026", levels=rows)

    assert replaces(of(pairs), None if kept is None else of(kept).model_dump(mode="json")) is not is_kept


def test_what_is_kept_and_damaged_is_replaced() -> None:
    cost = ProbeCost(
        hostname="a", kernel="6.1", measured_realtime="2026", levels=level_costs(measured(), CONDITIONS, 1)
    )
    assert replaces(cost, {"levels": [15]})
