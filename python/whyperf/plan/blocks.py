"""Randomized complete blocks: every block is a random permutation of the cells that take part in it."""

from collections.abc import Mapping, Sequence
from random import Random

from whyperf.plan.plan_document import Cell


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
