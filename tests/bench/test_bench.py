"""The benchmark's own sums: order, ratios, and what is read from the peers' output."""

import json
from collections import Counter
from itertools import pairwise

import pytest

from bench import peers, summary
from bench.plan import CELLS, TOOLS, Turn, turns
from bench.ratio import ratio_of_pairs
from bench.sample import Sample

NUTTCP = """nuttcp-t: v6.1.2: socket
megabytes=100.0000 real_sec=1.00 rate_Mbps=838.86
megabytes=300.0000 real_sec=1.00 rate_Mbps=2516.58
nuttcp-t: megabytes=501.0000 real_seconds=2.00 rate_KBps=1 rate_Mbps=1
nuttcp-r: megabytes=500.0000 real_seconds=2.00 rate_KBps=1 rate_Mbps=1
"""


def test_every_tool_has_one_turn_in_every_cell_of_every_pair() -> None:
    order = turns(CELLS, TOOLS, pairs=3, seed=1)
    assert set(Counter(order).values()) == {1}
    assert len(order) == 3 * len(CELLS) * len(TOOLS)


def test_the_tools_of_a_pair_stand_side_by_side() -> None:
    order = turns(CELLS, TOOLS, pairs=2, seed=1)
    changes = sum((one.pair, one.cell) != (other.pair, other.cell) for one, other in pairwise(order))
    assert changes == 2 * len(CELLS) - 1


def test_the_order_follows_the_seed() -> None:
    assert turns(CELLS, TOOLS, 2, seed=1) == turns(CELLS, TOOLS, 2, seed=1)
    assert turns(CELLS, TOOLS, 2, seed=1) != turns(CELLS, TOOLS, 2, seed=2)


def test_what_a_pair_shares_cancels() -> None:
    speed_of_the_machine = [1.0, 5.0, 0.2, 3.0, 2.0]
    ours = [1.1 * speed for speed in speed_of_the_machine]
    ratio = ratio_of_pairs(ours, speed_of_the_machine, seed=1)
    assert (ratio.median, ratio.low, ratio.high) == pytest.approx((1.1, 1.1, 1.1))


def test_the_interval_covers_the_median_and_is_wider_with_noise() -> None:
    ratio = ratio_of_pairs([0.8, 0.9, 1.0, 1.1, 1.4], [1.0] * 5, seed=1)
    assert ratio.low < ratio.median == 1.0 < ratio.high


def test_lists_that_do_not_pair_are_refused() -> None:
    with pytest.raises(ValueError, match="do not pair"):
        ratio_of_pairs([1.0], [1.0, 2.0], seed=1)


def test_nuttcp_counts_at_the_receiver_without_the_first_interval() -> None:
    assert peers._nuttcp_goodput_bps("", NUTTCP) == pytest.approx(400 * 2**20 * 8)


def test_nuttcp_without_a_receivers_result_is_a_failure() -> None:
    with pytest.raises(peers.ToolError, match="receiver"):
        peers._nuttcp_goodput_bps("", "nuttcp-t: Error: connection refused")


def test_iperf3_counts_at_the_server() -> None:
    server = {"end": {"sum_received": {"bits_per_second": 7e9}, "sum_sent": {"bits_per_second": 8e9}}}
    assert peers._iperf3_goodput_bps(json.dumps(server), "") == 7e9


def sample(tool: str, pair: int, goodput_bps: float, counted_bps: float | None = None) -> Sample:
    return Sample(Turn(pair, CELLS[0], tool), goodput_bps, counted_bps or goodput_bps, 100.0, 200.0, 0)


def test_a_cell_is_compared_pair_by_pair() -> None:
    samples = [sample("whyperf", 1, 30), sample("iperf3", 0, 10), sample("whyperf", 0, 20), sample("iperf3", 1, 15)]
    (cell,) = summary.summarize(samples, seed=1)
    assert cell.against["iperf3"].goodput.median == pytest.approx(2.0)
    assert "nuttcp" not in cell.against


def test_a_figure_far_from_the_devices_counters_is_doubted() -> None:
    assert summary.doubts([sample("iperf3", 0, 10e9, 10.2e9)]) == []
    (doubt,) = summary.doubts([sample("iperf3", 0, 10e9, 14e9)])
    assert "14.00 Gbit/s" in doubt
