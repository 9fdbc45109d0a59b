"""The published result."""

from dataclasses import replace
from typing import Literal

import polars as pl
import pytest

from tests.unit.analyze import synthetic as made
from whyperf.analyze.cell_results import summarize_inputs
from whyperf.analyze.measures import segments
from whyperf.analyze.read.assemble import assemble
from whyperf.analyze.summary import CellResult, Summary
from whyperf.analyze.text import percent
from whyperf.analyze.warnings.catalog import WARNING_TEXTS
from whyperf.cli.exits import DONE, DOUBTFUL, FAILED
from whyperf.cli.output.single import single_lines
from whyperf.cli.output.verdict import verdict


def summary(*trials: made.Trial, testbed: str = "veth") -> Summary:
    return summarize_inputs(made.inputs(trials, testbed))


def codes(cell: CellResult) -> set[str]:
    return {warning.code for warning in cell.warnings}


def test_median_over_trials() -> None:
    result = summary(*made.blocks_of(made.Trial(), [1e9, 3e9, 2e9])).cells[0]
    assert result.trials == 3
    assert result.goodput_bps.median == pytest.approx(2e9)
    assert result.goodput_bps.mean == pytest.approx(2e9)
    assert result.goodput_bps.stdev == pytest.approx(1e9)


def test_an_unfinished_experiment_lists_every_cell() -> None:
    done = made.Trial(cell="c0001", window_bytes=4096)
    open_cell = made.Trial(cell="c0002", window_bytes=8192)
    inputs = made.inputs([done], planned=made.plan([done, open_cell]))
    result = summarize_inputs(inputs)
    assert [cell.trials for cell in result.cells] == [1, 0]
    assert (result.cells[1].goodput_bps.median, result.cells[1].cpu.sender) == (None, None)
    assert "unfinished" in {warning.code for warning in result.warnings}


def test_a_cell_whose_only_trial_failed_is_no_unfinished_one() -> None:
    """The same command would not make it again."""
    found = {warning.code for warning in summary(made.Trial(status="failed", reason="no such address")).warnings}
    assert "failed_trials" in found
    assert "unfinished" not in found


LATE = {"note": "sampler_late", "worst_ns": 80 * made.MS}
CUT = {"note": "buffer_cut", "buffer": "receive", "requested_bytes": 1 << 20, "limit_bytes": 212992}
LOSSY = {"path_rtt_ms": 20.0, "path_loss_ratio": 0.01}


@pytest.mark.parametrize(
    ("trial", "testbed", "expected"),
    [
        (made.Trial(), "veth", set()),
        (made.Trial(window_bytes=16384, announced_bytes=9136), "veth", {"window_differs"}),
        (made.Trial(window_bytes=8192, announced_bytes=8192), "veth", set()),
        # 2000 of 967,000 segments are 0.2 %: too many where nothing is lost, few on a network.
        (made.Trial(retransmitted=2000), "veth", {"retransmissions"}),
        (made.Trial(retransmitted=2000), "loopback", {"retransmissions"}),
        (made.Trial(retransmitted=2000), "network", set()),
        (made.Trial(retransmitted=20_000), "network", {"retransmissions"}),
        # A path that is emulated drops what it was asked to drop.
        (made.Trial(retransmitted=20_000, factors=LOSSY), "veth", set()),
        (made.Trial(busy={"sender": 0.5, "receiver": 0.5}, steal=0.1), "veth", {"steal_high"}),
        (made.Trial(load_share=0.3), "veth", {"other_load"}),
        (made.Trial(exclusive=False), "veth", {"shared_cpus"}),
        (made.Trial(rate_bps=2e9, transfer_bytes=16 << 20), "veth", {"cpu_ticks"}),
        (made.Trial(rate_bps=2e9, transfer_bytes=16 << 20), "model", set()),
        (made.Trial(transfer_bytes=1 << 30, uncertainty_ns=900 * made.MS), "veth", {"clock_uncertain"}),
        (made.Trial(rate_bps=0, duration_s=2), "veth", {"nothing_moved"}),
        (made.Trial(notes=(LATE,)), "veth", {"sampler_late"}),
        (made.Trial(notes=(CUT,)), "veth", {"buffer_cut"}),
        (made.Trial(notes=({"note": "strangers_dropped", "count": 2},)), "veth", {"strangers_dropped"}),
        (made.Trial(notes=({"note": "no_kernel_stamps", "count": 3},)), "veth", {"unstamped_datagrams"}),
        (made.Trial(status="deadline", transfer_bytes=1 << 30), "veth", {"deadline_trials"}),
        (made.Trial(course=made.step(6, 1, 0.5)), "veth", {"no_steady_state"}),
        (made.Trial(course=made.step(3, 2, 1)), "veth", {"slow_down_cut"}),
    ],
)
def test_a_trial_raises_these_warnings_and_no_others(trial: made.Trial, testbed: str, expected: set[str]) -> None:
    found = summary(trial, testbed=testbed)
    assert codes(found.cells[0]) == expected | {"few_trials"}
    of_all = {warning.code for warning in found.warnings} - {"loopback_testbed"}
    assert of_all == expected | {"few_trials"}
    assert verdict(found) == (DOUBTFUL if expected & {"nothing_moved", "deadline_trials"} else DONE)


def test_notes_have_advice_and_facts() -> None:
    result = summary(made.Trial(notes=(CUT, {"note": "no_pmu", "reason": "no such device"})), testbed="loopback")
    advice = {warning.code: warning.advice for warning in result.warnings}
    assert "net.core.rmem_max" in advice["buffer_cut"]
    assert "loopback_testbed" in advice
    assert [fact.code for fact in result.facts] == ["no_pmu"]


def test_failed_and_cut_trials_are_counted_and_named() -> None:
    fine = made.Trial(block=1)
    broken = made.Trial(block=2, status="failed", reason="the far host closed the connection")
    cut = made.Trial(block=3, status="deadline")
    result = summary(fine, broken, cut)
    cell = result.cells[0]
    assert (cell.trials, cell.failed_trials, cell.deadline_trials) == (2, 1, 1)
    assert {"failed_trials", "deadline_trials"} <= codes(cell)
    assert [(row.trial, row.status) for row in result.unfinished] == [
        ("002-c0001", "failed"),
        ("003-c0001", "deadline"),
    ]
    assert any("the far host closed the connection." in warning.text for warning in cell.warnings)


def test_segments_count_within_the_window() -> None:
    # Of 11.2 seconds of load the window has 10; a transfer is its whole load.
    segments = summary(made.Trial(retransmitted=1120)).cells[0]
    assert segments.retransmitted_segments.median == pytest.approx(1000, abs=10)
    assert segments.data_segments_per_s == pytest.approx(1e9 / 8 / 1448, rel=0.01)
    transfer = summary(made.Trial(retransmitted=1120, rate_bps=2e9, transfer_bytes=64 << 20)).cells[0]
    assert transfer.retransmitted_segments.median == 1120


@pytest.mark.parametrize("library", ["srt", "quic"])
def test_packets_of_a_library_count_as_segments_do(library: Literal["srt", "quic"]) -> None:
    cell = summary(made.Trial(retransmitted=1120, library=library)).cells[0]
    again = cell.retransmitted_segments
    assert again.unit == "packets"
    assert again.median == pytest.approx(1000, abs=10)
    assert again.ratio == pytest.approx(1120 / 967_000, rel=0.05)
    # QUIC's packets are not all data.
    assert cell.data_segments_per_s is None
    line = next(line for line in single_lines(cell) if line.startswith("Retransmitted"))
    assert line.endswith(f"packets in the measurement ({percent(again.ratio or 0)} of the data packets)")


def test_of_a_multitude_of_connections_segments_have_a_ratio_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segments, "MAX_SINGLE", 1)
    again = summary(made.Trial(retransmitted=2000, connections=2)).cells[0].retransmitted_segments
    assert again.median is None
    assert again.ratio == pytest.approx(2000 / 967_000, rel=0.05)


def test_a_restless_trial_is_reported_with_evidence() -> None:
    cell = summary(made.Trial(rate_bps=2e9, course=made.step(6, 1, 0.5))).cells[0]
    assert cell.unsteady_trials == 1
    text = next(warning.text for warning in cell.warnings if warning.code == "no_steady_state")
    assert "2.00 Gbit/s to 1.00 Gbit/s after 5.0 s" in text


def test_a_cut_warm_up_is_reported() -> None:
    cell = summary(made.Trial(rate_bps=2e9, course=made.step(3, 0.5, 1))).cells[0]
    text = next(warning.text for warning in cell.warnings if warning.code == "warm_up_cut")
    assert "up to 2.00 s cut off, where goodput was 1.00 Gbit/s" in text
    cut = made.known(cell.cut)
    assert (cut.trials, cut.from_s, cut.to_s) == (1, 1.0, 3.0)
    assert cut.whole_window_bps == pytest.approx(1.8e9, rel=1e-6)
    lines = single_lines(cell)
    assert "Cut             1.00-3.00 s as warm-up (1.00 Gbit/s)" in lines
    assert "Whole window    1.80 Gbit/s, with the part that is cut" in lines
    same = cell.model_copy(update={"cut": cut.model_copy(update={"whole_window_bps": cell.goodput_bps.median})})
    assert not any(line.startswith("Whole window") for line in single_lines(same))


@pytest.mark.parametrize("status", ["void", "failed", "interrupted"])
def test_a_trial_without_a_result_has_a_provisional_rate(status: str) -> None:
    trial = made.Trial(rate_bps=2e9, duration_s=3, status=status)
    inputs = made.inputs([trial])
    if status == "failed":
        inputs = assemble(made.plan([trial]), [made.manifest(trial)], made.all_tables([trial]))
    result = summarize_inputs(inputs)
    cell = result.cells[0]
    assert (cell.trials, cell.goodput_bps.median) == (0, None)
    assert cell.failed_trials == (status != "interrupted")
    assert cell.provisional is not None
    assert cell.provisional.status == status
    assert cell.provisional.goodput_bps == pytest.approx(2e9, rel=1e-6)
    (line,) = (line for line in single_lines(cell) if line.startswith("Provisional"))
    end = ", until it was stopped" if status == "interrupted" else " of the measurement; not a result: the trial"
    assert f"2.00 Gbit/s over 3.00 s{end}" in line
    assert [(row.trial, row.status) for row in result.unfinished] == [("001-c0001", status)]
    assert verdict(result) == (DOUBTFUL if status == "interrupted" else FAILED)


def test_a_trial_that_was_stopped_in_its_warmup_says_so() -> None:
    trial = made.Trial(rate_bps=2e9, duration_s=3, status="interrupted")
    tables = made.all_tables([trial])
    phases = pl.when(pl.col("phase") == "measure").then(pl.lit("warmup")).otherwise(pl.col("phase")).alias("phase")
    stopped = {**tables, "intervals": tables["intervals"].with_columns(phases)}
    cell = summarize_inputs(assemble(made.plan([trial]), [made.manifest(trial)], stopped)).cells[0]
    assert cell.provisional is not None
    assert cell.provisional.in_warmup
    assert cell.provisional.goodput_bps == pytest.approx(2e9, rel=1e-6)
    assert any(" of the warm-up, until it was stopped" in line for line in single_lines(cell))


def test_a_result_is_never_provisional() -> None:
    cell = summary(made.Trial(block=1), made.Trial(block=2, status="void")).cells[0]
    assert (cell.trials, cell.failed_trials, cell.provisional) == (1, 1, None)


@pytest.mark.parametrize(
    ("active", "idle_s"), [(((0, 1), (2, 3)), 1), (((1, 3), (2, 3)), 0)], ids=["between two flows", "before the first"]
)
def test_the_rtt_probe_has_percentiles_under_load_and_idle(
    active: tuple[tuple[float, float], ...], idle_s: int
) -> None:
    """A second without a flow; a request each 10 ms, the fifth of each second without an answer."""
    trips = [
        (at / 100, None if at % 100 == 5 else 10_000_000 if at // 100 == idle_s else 30_000_000) for at in range(300)
    ]
    trial = made.Trial(
        warmup_s=0,
        duration_s=3,
        cooldown_s=0,
        connections=2,
        active=active,
        round_trips=tuple(trips),
        factors={"schedule": "two", "rtt_probe_ms": 10},
    )
    probe = made.known(summarize_inputs(made.inputs([trial])).cells[0].rtt_probe)
    assert (probe.sent_count, probe.lost_count) == (300, 3)
    assert probe.idle is not None
    assert probe.load is not None
    assert (probe.idle.count, probe.idle.p50_ns, probe.idle.p90_ns) == (99, 10_000_000, 10_000_000)
    assert (probe.load.count, probe.load.p50_ns, probe.load.p99_ns) == (198, 30_000_000, 30_000_000)


def test_warnings_of_many_cells_are_reported_once() -> None:
    trials = [made.Trial(cell=f"c{n:04d}", window_bytes=n * 10_000, announced_bytes=1000) for n in range(1, 5)]
    warnings = [warning for warning in summary(*trials).warnings if warning.code == "window_differs"]
    assert len(warnings) == 1
    assert warnings[0].text.endswith(" 4 of 4 cells are concerned.")


def test_every_kind_has_advice_for_every_testbed() -> None:
    for kind in WARNING_TEXTS.values():
        assert kind.text.endswith((".", "}"))
        assert kind.advice
        assert set(kind.advice_on) <= {"veth", "loopback", "network", "model", "watched"}


def test_without_a_result_nothing_is_said_of_a_window() -> None:
    failed = summary(made.Trial(window_bytes=65536, status="failed", reason="the host went away")).cells[0]
    assert [line.split()[0] for line in single_lines(failed)][:2] == ["Goodput"]


def test_the_loads_own_cpu_time_comes_before_that_of_the_host() -> None:
    lines = single_lines(summary(made.Trial(busy={"sender": 0.8, "receiver": 0.6}, load_share=0.5)).cells[0])
    (sender,) = (line for line in lines if line.startswith("CPU sender"))
    assert sender.startswith("CPU sender      whyperf's own threads 40 %; host 80 % of CPU ")
    shared = single_lines(summary(made.Trial(exclusive=False, load_share=0.5)).cells[0])
    (sender,) = (line for line in shared if line.startswith("CPU sender"))
    assert sender == "CPU sender      whyperf's own threads 20 %; both hosts share their CPUs"


def test_facts_about_what_was_left_to_the_hosts_and_not_seen() -> None:
    left = made.Trial(factors={"congestion_control": "default"})
    inputs = made.inputs([left, replace(left, block=2)])
    unseen = pl.when(pl.col("host") == "near").then(pl.col("trial").rank("dense") * 4).otherwise(0)
    refused = pl.when(pl.col("host") == "far").then(pl.lit("not allowed"))
    evidence = inputs.evidence.with_columns(unseen.alias("unseen"), refused.alias("unsampled"))
    facts = {fact.code: fact.text for fact in summarize_inputs(made.changed(inputs, evidence=evidence)).facts}
    assert facts == {
        "own_congestion_control": "Congestion control was each host's own: cubic at the sender, cubic at the receiver.",
        "unseen_segments": "In 2 trials BPF missed up to 8 segments; its counts are low by that. "
        "Goodput is not affected.",
        "not_sampled": "The stacks of the far side could not be sampled: not allowed.",
    }
