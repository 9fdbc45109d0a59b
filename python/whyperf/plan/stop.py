"""Sequential stopping: which cells still need trials, from the goodputs so far. Pure and repeatable.

Randomized complete blocks: every block is a random permutation of the cells that take part in it.
"""

import hashlib
from collections.abc import Mapping, Sequence
from functools import lru_cache
from random import Random

from whyperf.plan.plan_document import Cell, Plan, StopRule


def randomized_blocks(
    cells: Sequence[Cell], trials_of_sweep: Mapping[str, int], seed: int
) -> tuple[tuple[str, ...], ...]:
    """Block after block, the cells in their order of execution.

    A sweep with fewer trials takes no part in later blocks. Each block is drawn from a generator of
    its own, so more trials leave the first blocks as they are.
    """
    blocks = []
    for block in range(1, max(trials_of_sweep.values()) + 1):
        taking_part = [cell.id for cell in cells if trials_of_sweep[cell.sweep] >= block]
        blocks.append(tuple(permutation(taking_part, Random(f"whyperf block {block} of seed {seed}"))))
    return tuple(blocks)


def permutation(items: Sequence[str], generator: Random) -> list[str]:
    """A random order, each equally likely (Fisher and Yates; Knuth, volume 2, algorithm 3.4.2 P).

    Written out because Python keeps the sequence of `random()` for a seed between its versions, but
    does not promise the same for `shuffle()`; a seed should give the same plan for years.
    """
    order = list(items)
    for last in range(len(order) - 1, 0, -1):
        chosen = int(generator.random() * (last + 1))
        order[last], order[chosen] = order[chosen], order[last]
    return order


#: Resamples of the bootstrap; the interval's ends then vary by a few per cent of its width.
RESAMPLES = 2000
CONFIDENCE = 0.95


def cells_wanting(plan: Plan, goodputs: Mapping[str, Sequence[float]], tried: Mapping[str, int]) -> set[str]:
    """The ids of the cells that need another trial.

    Args:
        plan: the plan.
        goodputs: goodput of each trial with a result, by cell id; any unit.
        tried: trials made, failed ones included, by cell id: a cell that keeps failing ends at its maximum.
    """
    return {
        cell.id
        for cell in plan.cells
        if wants_trial(plan.stop, cell.sweep, goodputs.get(cell.id, ()), tried.get(cell.id, 0), f"{plan.id} {cell.id}")
    }


def wants_trial(rule: StopRule, sweep: str, goodputs: Sequence[float], tried: int, seed: str) -> bool:
    """True where a cell of that sweep needs another trial after `tried`, with these goodputs."""
    fixed = rule.sweep_trials.get(sweep, rule.trials)
    if fixed is not None:
        return tried < fixed
    if rule.trials_min is None or rule.trials_max is None or rule.interval_width is None:
        raise ValueError("a stop rule has trials, or trials_min, trials_max and interval_width")
    if tried >= rule.trials_max or tried < rule.trials_min:
        return tried < rule.trials_max
    return len(goodputs) < rule.trials_min or relative_width(goodputs, seed) > rule.interval_width


def relative_width(goodputs: Sequence[float], seed: str) -> float:
    """Width of the 95 % bootstrap interval of the median, over the median.

    Percentile interval (Efron 1979), trials taken as independent: blocks in random order make that
    reasonable. Infinite when the median is 0.
    """
    return _relative_width(tuple(goodputs), seed)


@lru_cache(maxsize=100_000)
def _relative_width(goodputs: tuple[float, ...], seed: str) -> float:
    """Kept, because a runner asks for every cell after every trial, and one cell has changed."""
    import numpy as np  # noqa: PLC0415 - most plans have a fixed number of trials

    values = np.asarray(goodputs, dtype=np.float64)
    median = float(np.median(values))
    if median == 0:
        return float("inf")
    digest = hashlib.sha256(f"{seed} {len(values)}".encode()).digest()
    generator = np.random.Generator(np.random.PCG64(int.from_bytes(digest[:8], "big")))
    drawn = values[generator.integers(0, len(values), size=(RESAMPLES, len(values)))]
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(np.median(drawn, axis=1), [tail, 1 - tail])
    return float(high - low) / abs(median)
