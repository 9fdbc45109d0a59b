"""The sums of the proof of costs: doses, blocks, and what perf prints."""

from collections import Counter

import pytest

from lab.bench.cost import perf
from lab.bench.cost.experiment import mean_difference
from lab.bench.cost.planted import mean_cycles
from lab.bench.cost.program import RunTimes
from lab.bench.row import Row, counted, is_missed


def test_a_program_costs_each_transaction_the_mean_of_the_trials() -> None:
    # 1 µs and 3 µs of each transaction, at 2 GHz.
    assert mean_cycles([1e6, 3e6], [1000, 1000], 2e9) == pytest.approx(4000)
    assert mean_cycles([1e6, 9e6], [1000, 3000], 2e9) == pytest.approx(4000)


def test_doses_are_compared_within_blocks() -> None:
    # Block 2 has no trial with the dose.
    assert mean_difference({1: 12.0, 3: 35.0}, {1: 10.0, 2: 500.0, 3: 30.0}) == pytest.approx(3.5)
    with pytest.raises(LookupError, match="no block"):
        mean_difference({1: 1.0}, {2: 1.0})


def test_the_run_time_of_a_window_is_interpolated() -> None:
    times = RunTimes()
    for instant_ns, run_ns in ((0, 0), (100, 50), (200, 60), (300, 60)):
        times.add(instant_ns, run_ns)
    assert times.within(50, 150) == pytest.approx(55 - 25)
    for start, end in ((-1, 150), (50, 300)):
        with pytest.raises(LookupError):
            times.within(start, end)


SCRIPT = """\
         swapper     0 [001]  3805.100000000:  ffffffff8152d25d pv_native_safe_halt ([kernel.kallsyms])
         swapper     0 [001]  3805.100000000:  ffffffff8152d25d handle_softirqs ([kernel.kallsyms])
 tokio runtime w 27426 [000]  3805.200000000:  ffffffff822010c9 _raw_spin_unlock_irqrestore+0x12 ([kernel.kallsyms])
          python 27340 [000]  3805.200000001:      7fcc76cb3b7b <&T as core::fmt::Debug>::fmt (/lib/a.so)
   whyperf-agent 27340 [000]  3805.200000002:      7fcc76cb3b7b [unknown] (/usr/bin/whyperf-agent (deleted))
            perf 27340 [000]  3805.200000003:  ffffffff822010c9 copy_page ([kernel.kallsyms])
        iperf3:1     7 [000]  3805.200000004:  ffffffffc0001234 bpf_prog_6deef7357e7b4530_queue (bpf_prog)
        iperf3:1     7 [000]  3805.999999999:  ffffffff822010c9 late ([kernel.kallsyms])
"""


def test_samples_of_perf_are_read_and_counted_like_ours() -> None:
    samples = list(perf.samples_of(SCRIPT.splitlines()))
    assert len(samples) == 8
    assert samples[2] == perf.Sample(
        3_805_200_000_000, "tokio runtime w", "_raw_spin_unlock_irqrestore", is_kernel=True
    )
    window = (3_805_100_000_000, 3_805_900_000_000)
    assert perf.perf_counts(samples, window) == {"handle_softirqs": 1, "_raw_spin_unlock_irqrestore": 1, perf.USER: 2}


def test_agreement_is_in_points_of_each_samplers_own_total() -> None:
    theirs = Counter({perf.USER: 50, "copy": 30, "memory": 20})
    ours = Counter({perf.USER: 5, "copy": 4, "other": 1})
    assert perf.agreement(theirs, ours) == [
        ("copy", 30.0, 40.0),
        ("memory", 20.0, 0.0),
        (perf.USER, 50.0, 50.0),
    ]


def test_a_bar_is_missed_by_too_few_rows() -> None:
    rows = [Row("planted", "", "", "", is_ok, is_bar=False) for is_ok in (True, True, False)]
    assert not is_missed(rows)
    assert is_missed([*rows, counted("planted", "all", rows, least=3)])
    assert not is_missed([*rows, counted("planted", "all", rows, least=2)])
