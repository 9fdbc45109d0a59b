"""The sums of the proof of costs: doses, blocks, and what perf prints."""

import struct
from collections import Counter

import numpy as np
import pytest

from bench.cost import perf
from bench.cost.__main__ import PARTS
from bench.cost.alike import of_blocks, of_trials, significant_rows
from bench.cost.experiment import Watcher, mean_difference
from bench.cost.pairs import PAIRS, PROFILE, growth
from bench.cost.planted import MAX_ERROR, Planted, mean_cycles, spin_cycles
from bench.cost.program import INSTRUCTION_BYTES, SOURCE, ProgramError, RunTimes, instructions
from bench.row import Row, counted, is_missed
from whyperf.analyze.cost.classes import by_name
from whyperf.compare.costs import CostTable
from whyperf.compare.figures import ResultFigures
from whyperf.compare.model import CellPair, ClassDifference, ComparedCell, Comparison, DifferenceTest, SideDifference
from whyperf.compare.quantities import TrialFigures
from whyperf.profile import parse
from whyperf.profile.conditions import in_two_conditions

COPY = ("copy", ("_copy_to_iter", "kernel", ""))
RARE = ("memory", ("kfree", "kernel", ""))


def table() -> CostTable:
    """Four trials; `kfree` has a sample in the last one only."""
    return CostTable(
        unit="tsc_cycles",
        trials=("t1", "t2", "t3", "t4"),
        rows={RARE: 0, COPY: 1},
        costs=np.array([[0.0, 0.0, 0.0, 7.0], [10.0, 20.0, 30.0, 40.0]]),
        samples=np.array([[0.0, 0.0, 0.0, 1.0], [1.0, 2.0, 3.0, 4.0]]),
        inclusive={("kfree", "kernel", ""): np.array([0.0, 0.0, 0.0, 7.0])},
        per_kbyte={},
        kbytes_each=None,
    )


def test_a_spin_takes_its_time_in_cycles_of_the_time_stamp_counter() -> None:
    assert spin_cycles(50, 2.4e9) == pytest.approx(120_000)


def test_a_program_costs_each_transaction_the_mean_of_the_trials() -> None:
    # 1 µs and 3 µs of each transaction, at 2 GHz.
    assert mean_cycles([1e6, 3e6], [1000, 1000], 2e9) == pytest.approx(4000)
    assert mean_cycles([1e6, 9e6], [1000, 3000], 2e9) == pytest.approx(4000)


def test_doses_are_compared_within_blocks() -> None:
    # Block 2 has no trial with the dose.
    assert mean_difference({1: 12.0, 3: 35.0}, {1: 10.0, 2: 500.0, 3: 30.0}) == pytest.approx(3.5)
    with pytest.raises(LookupError, match="no block"):
        mean_difference({1: 1.0}, {2: 1.0})


@pytest.mark.parametrize(("recovered", "is_ok"), [(1.049, True), (1.051, False), (0.951, True), (0.949, False)])
def test_a_dose_is_recovered_within_five_percent(recovered: float, is_ok: bool) -> None:
    assert MAX_ERROR == 0.05
    row = Planted("a spin", "application", 1000.0, 1000.0 * recovered).row()
    assert row.is_ok is is_ok
    assert not row.is_bar


def test_a_dose_that_cost_nothing_is_none() -> None:
    assert not Planted("rules", "filter_rules", -10.0, -10.0).row().is_ok


def test_the_run_time_of_a_window_is_interpolated() -> None:
    times = RunTimes()
    for instant_ns, run_ns in ((0, 0), (100, 50), (200, 60), (300, 60)):
        times.add(instant_ns, run_ns)
    assert times.within(50, 150) == pytest.approx(55 - 25)
    for start, end in ((-1, 150), (50, 300)):
        with pytest.raises(LookupError):
            times.within(start, end)


def test_trials_of_other_blocks_leave_nothing_behind() -> None:
    some = of_trials(table(), ["t2", "t3"])
    assert some.trials == ("t2", "t3")
    # A row without a sample would be tested, and make the others pass.
    assert dict(some.rows) == {COPY: 0}
    assert some.costs.tolist() == [[20.0, 30.0]]
    assert some.samples.tolist() == [[2.0, 3.0]]
    assert not some.inclusive
    assert dict(of_trials(table(), ["t4"]).rows) == {RARE: 0, COPY: 1}


def test_figures_of_blocks_are_those_of_their_trials() -> None:
    values = {"c0001": {"goodput": {"t1": 1.0, "t2": 2.0}, "latency_p50": {"t1": 3.0}}}
    whole = ResultFigures(
        TrialFigures(values, {"c0001": "tsc_cycles"}, 0.0),
        {"t1": 1, "t2": 2, "t3": 3, "t4": 4},
        {("c0001", "sender"): table()},
    )
    part = of_blocks(whole, frozenset({2, 3}))
    assert dict(part.blocks) == {"t2": 2, "t3": 3}
    assert part.figures.values == {"c0001": {"goodput": {"t2": 2.0}}}
    assert part.costs is not None
    assert part.costs["c0001", "sender"].trials == ("t2", "t3")


def difference(name: str, grown: float, *, is_significant: bool = False) -> ClassDifference:
    return ClassDifference(
        name=name,
        title=name,
        a=0.0,
        b=grown,
        ratio=None,
        test=DifferenceTest(difference=grown, is_significant=is_significant),
        functions=(),
    )


def pair_of(*classes: ClassDifference) -> CellPair:
    side = SideDifference(
        role="sender",
        unit="tsc_cycles",
        work="KByte",
        a=0.0,
        b=0.0,
        ratio=None,
        test=DifferenceTest(difference=0.0),
        classes=classes,
        functions=(),
    )
    cell = ComparedCell(label="A", cell="c0001")
    return CellPair(a=cell, b=cell, setting={}, differ={}, quantities=(), sides=(side,), budgets=())


def test_the_class_that_grows_most_is_first() -> None:
    pair = pair_of(difference("copy", 5.0), difference("memory", -90.0), difference("ip", 7.0))
    assert [name for name, _ in growth(pair, "sender")] == ["ip", "copy", "memory"]
    assert growth(pair, "receiver") == []


def test_a_significant_class_is_an_alarm() -> None:
    def of(pair: CellPair) -> list[str]:
        found = Comparison(
            results=(), conditions=(), pairs=(pair,), unpaired=(), false_discovery_rate=0.05, tests=2, significant=0
        )
        return list(significant_rows(found))

    assert of(pair_of(difference("copy", 5.0), difference("ip", 1.0, is_significant=True))) == ["ip.sender"]
    assert of(pair_of(difference("copy", 5.0))) == []


def test_all_pairs_are_two_conditions_with_known_classes() -> None:
    assert len(PAIRS) == 12
    for pair in PAIRS:
        assert 1 <= len(pair.classes) <= 2
        assert set(pair.classes) <= by_name().keys()
        profile = parse(f'about = ""\n{PROFILE}', name="pairs", where="pairs").with_overrides(dict(pair.both))
        assert len(in_two_conditions(profile, dict(pair.before), dict(pair.after)).sweeps) == 2


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


def test_the_program_is_found_in_its_object_file() -> None:
    code = bytes(range(INSTRUCTION_BYTES))
    names = b"\0program\0.shstrtab\0"
    start = 64
    sections = [(0, 0, 0), (1, start, len(code)), (9, start + len(code), len(names))]
    headers = b"".join(struct.pack("<IIQQQQIIQQ", name, 0, 0, 0, at, size, 0, 0, 0, 0) for name, at, size in sections)
    head = struct.pack(
        "<16sHHIQQQIHHHHHH", b"\x7fELF", 1, 247, 1, 0, 0, start + len(code) + len(names), *(0, 64, 0, 0, 64, 3, 2)
    )
    elf = head + code + names + headers
    assert instructions(elf) == code
    with pytest.raises(ProgramError, match="no section"):
        instructions(elf, "other")
    assert 'section("program")' in SOURCE.read_text(encoding="utf-8")


def test_a_bar_is_missed_by_too_few_rows() -> None:
    rows = [Row("planted", "", "", "", is_ok, is_bar=False) for is_ok in (True, True, False)]
    assert not is_missed(rows)
    assert is_missed([*rows, counted("planted", "all", rows, least=3)])
    assert not is_missed([*rows, counted("planted", "all", rows, least=2)])


def test_parts_are_those_of_the_issue_and_a_failed_trial_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert list(PARTS) == ["sums", "planted", "pairs", "alike", "perf", "overhead"]
    calls: list[int] = []
    Watcher(lambda: calls.append(1)).on_trial_finished("001-c0001", "failed", "no route")
    assert calls == [1]
    assert "001-c0001: failed: no route" in capsys.readouterr().out
