"""The bias of sampling: the rule is that of the programs in the kernel, and packets of equal sizes are compared."""

import numpy as np
import polars as pl
import pytest

from lab.bench.stages.bias import CONNECTING, MIN_PACKETS, at_equal_sizes, is_chosen

#: Blocks of 1 MiB of which a trial of 1 in 64 had rows, in both directions of that connection's port.
BLOCK_BYTES = 1 << 20
PORT = 60258
KNOWN = [56, 60, 160, 185, 251, 420, 423, 429, 495, 509, 510, 550]
SEEN = range(56, 551)


def test_the_rule_chooses_the_blocks_that_the_programs_chose() -> None:
    starts = np.array([block * BLOCK_BYTES for block in SEEN])
    for within in (0, BLOCK_BYTES - 1):
        chosen = is_chosen(starts + within, CONNECTING, PORT, BLOCK_BYTES, 64)
        assert [block for block, is_one in zip(SEEN, chosen, strict=True) if is_one] == KNOWN


def test_one_of_eight_is_chosen_among_which_are_those_of_64() -> None:
    starts = np.arange(4096) * BLOCK_BYTES
    few, many = (is_chosen(starts, CONNECTING, PORT, BLOCK_BYTES, one_in) for one_in in (64, 8))
    assert many.mean() == pytest.approx(1 / 8, rel=0.15)
    assert (many | ~few).all()


def test_sizes_of_the_few_count_in_both() -> None:
    def packets(counts: dict[int, int], factor: float) -> pl.DataFrame:
        sizes = [size for size, count in counts.items() for _ in range(count)]
        return pl.DataFrame({"payload_bytes": sizes, "copied_bytes": 0, "own_ns": [factor * size for size in sizes]})

    # The same time for each size, but other shares of small and large packets.
    few, every = packets({1000: 30, 64_000: 10}, 1.0), packets({1000: 10, 64_000: 90}, 1.0)
    own, other = at_equal_sizes(few, every)
    assert own == other == pytest.approx((30 * 1000 + 10 * 64_000) / 40)
    own, other = at_equal_sizes(packets({1000: 30, 64_000: 10}, 1.1), every)
    assert own / other == pytest.approx(1.1)
    # A size of which one of both has too few is left out.
    own, other = at_equal_sizes(packets({1000: 30, 64_000: MIN_PACKETS - 1}, 1.0), every)
    assert own == other == pytest.approx(1000)
    with pytest.raises(LookupError, match="no size"):
        at_equal_sizes(packets({500: 30}, 1.0), every)
