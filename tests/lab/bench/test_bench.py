"""The benchmark's own sums: order, ratios, and what is read from the peers' output."""

import json
from collections import Counter
from itertools import pairwise

import pytest

from lab.bench import summary
from lab.bench.plan import CELLS, TOOLS, Cell, Setting, ToolRun, can, runs
from lab.bench.ratio import ratio_of_pairs
from lab.bench.sample import Sample
from lab.bench.tools import iperf2, iperf3, nuttcp, qperf, sockperf
from lab.bench.tools.process import ToolError

NUTTCP = """nuttcp-t: v6.1.2: socket
megabytes=100.0000 real_sec=1.00 rate_Mbps=838.86
megabytes=300.0000 real_sec=1.00 rate_Mbps=2516.58
nuttcp-t: megabytes=501.0000 real_seconds=2.00 rate_KBps=1 rate_Mbps=1
nuttcp-r: megabytes=500.0000 real_seconds=2.00 rate_KBps=1 rate_Mbps=1
"""


IPERF2 = """[  5] local 198.18.0.2 port 5001 connected with 198.18.0.1 port 42124
[  5] 0.0000-1.0000 sec  1000 Bytes  8000 bits/sec
[  6] 0.0000-1.0000 sec  1500 Bytes  8000 bits/sec
[SUM] 0.0000-1.0000 sec  2500 Bytes  8000 bits/sec
[  5] 1.0000-2.0000 sec  3000 Bytes  8000 bits/sec
[  6] 1.0000-2.0000 sec  5000 Bytes  8000 bits/sec
[SUM] 1.0000-2.0000 sec  8000 Bytes  8000 bits/sec
[  5] 0.0000-2.0144 sec  4000 Bytes  8000 bits/sec
"""
BOUNCED = """[  4] 0.0000-1.0000 sec  1738800 Bytes  13910400 bits/sec    8694=0.114/0.017/72.028/0.834 ms
[  4] 1.0000-2.0000 sec  4839600 Bytes  38716800 bits/sec    24198=0.041/0.015/16.914/0.332 ms
[  1] 1.0000-2.0000 sec  1992400 Bytes  15939200 bits/sec    9962=0.100/0.017/28.158/0.538 ms    0  576K/27 us
[SUM] 1.0000-2.0000 sec  0.000 Bytes  0.000 bits/sec  0/0         0
"""
SETTING = Setting("reno", None, warmup_s=1, measure_s=1)


def test_every_tool_that_can_has_one_run_in_every_cell_of_every_pair() -> None:
    order = runs(CELLS, TOOLS, pairs=3, seed=1)
    assert set(Counter(order).values()) == {1}
    assert len(order) == 3 * sum(can(tool, cell) for cell in CELLS for tool in TOOLS)


def test_the_tools_of_a_pair_stand_side_by_side() -> None:
    order = runs(CELLS, TOOLS, pairs=2, seed=1)
    changes = sum((run.pair, run.cell) != (other.pair, other.cell) for run, other in pairwise(order))
    assert changes == 2 * len(CELLS) - 1


def test_what_a_pair_shares_cancels() -> None:
    speed_of_the_machine = [1.0, 5.0, 0.2, 3.0, 2.0]
    ours = [1.1 * speed for speed in speed_of_the_machine]
    ratio = ratio_of_pairs(ours, speed_of_the_machine, seed=1)
    assert (ratio.median, ratio.low, ratio.high) == pytest.approx((1.1, 1.1, 1.1))


def test_nuttcp_counts_at_the_receiver_without_the_first_interval() -> None:
    assert nuttcp.goodput_bps("", NUTTCP) == pytest.approx(400 * 2**20 * 8)


def test_iperf3_counts_at_the_server() -> None:
    server = {"end": {"sum_received": {"bits_per_second": 7e9}, "sum_sent": {"bits_per_second": 8e9}}}
    assert iperf3.goodput_bps(json.dumps(server), "") == 7e9


def test_iperf2_leaves_out_the_warm_up_and_the_sums() -> None:
    assert iperf2.goodput_bps(IPERF2, SETTING) == 8000 * 8
    assert iperf2.bounced_per_s(BOUNCED, SETTING) == 24198 + 9962
    with pytest.raises(ToolError, match="no intervals"):
        iperf2.goodput_bps("connect failed", SETTING)


def test_sockperf_counts_what_came_back() -> None:
    text = "sockperf: [Valid Duration] RunTime=1.550 sec; SentMessages=44243; ReceivedMessages=44242\n"
    assert sockperf.ping_pongs_per_s(text) == pytest.approx(44242 / 1.55)
    assert sockperf.sent_bps("sockperf: Total of 1000 messages sent in 2.000 sec", 64) == 1000 * 64 * 8 / 2


def test_qperf_figures_have_units() -> None:
    text = "tcp_lat:\n    latency         =    13.7 us\n    bw  =  1,049.9 MB/sec\n"
    assert qperf.figure_of(text, "latency") == pytest.approx(13.7e-6)
    assert qperf.figure_of(text, "bw") == pytest.approx(1049.9e6)


def sample(tool: str, pair: int, rate: float, counted_bps: float | None = None, cell: Cell = CELLS[0]) -> Sample:
    return Sample(ToolRun(pair, cell, tool), rate, counted_bps or rate, 100.0, 200.0, 0)


def test_a_pair_in_which_one_failed_is_left_out() -> None:
    samples = [sample("whyperf", 0, 20), sample("whyperf", 1, 90), sample("iperf3", 0, 10)]
    (cell,) = summary.summarize(samples, seed=1)
    assert (cell.against["iperf3"].rate.median, cell.against["iperf3"].rate.pairs) == (2.0, 1)


def test_a_cell_is_compared_pair_by_pair() -> None:
    samples = [sample("whyperf", 1, 30), sample("iperf3", 0, 10), sample("whyperf", 0, 20), sample("iperf3", 1, 15)]
    (cell,) = summary.summarize(samples, seed=1)
    assert cell.against["iperf3"].rate.median == pytest.approx(2.0)
    assert "nuttcp" not in cell.against


def test_a_figure_far_from_the_devices_counters_is_doubted() -> None:
    assert summary.warnings([sample("iperf3", 0, 10e9, 10.2e9)]) == []
    (warning,) = summary.warnings([sample("iperf3", 0, 10e9, 14e9)])
    assert "14.00 Gbit/s" in warning
