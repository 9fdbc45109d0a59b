"""The published result."""

import json
from typing import Literal

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


def test_the_contracts_fields_are_there() -> None:
    document = json.loads(json.dumps(summary(made.Trial()).model_dump(mode="json")))
    assert {"experiment", "origin", "profile", "plan_id", "testbed", "cells", "warnings"} <= document.keys()
    cell = document["cells"][0]
    assert {"id", "sweep", "factors", "trials", "failed_trials"} <= cell.keys()
    assert {"median", "low", "high", "mean", "stdev"} <= cell["goodput_bps"].keys()
    assert {"sender", "receiver", "unit"} <= cell["cycles_per_kbyte"].keys()
    assert cell["window"]["announced_bytes"].keys() >= {"min", "median", "max"}
    assert {"median", "max"} <= cell["retransmitted_segments"].keys()
    assert {"code", "text", "advice"} <= document["warnings"][0].keys()


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
    assert result.cells[1].goodput_bps.median is None
    assert "unfinished" in {warning.code for warning in result.warnings}


def test_an_experiment_without_any_trial() -> None:
    planned = made.plan([made.Trial()])
    result = summarize_inputs(made.inputs([], planned=planned))
    assert result.cells[0].trials == 0
    assert result.cells[0].cpu.sender is None


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


def test_a_window_announced_smaller_than_asked_is_reported() -> None:
    assert "window_differs" in codes(summary(made.Trial(window_bytes=16384, announced_bytes=9136)).cells[0])
    assert "window_differs" not in codes(summary(made.Trial(window_bytes=8192, announced_bytes=8192)).cells[0])


def test_notes_become_warnings() -> None:
    notes = (
        {"note": "buffer_cut", "buffer": "receive", "requested_bytes": 1 << 20, "limit_bytes": 212992},
        {"note": "strangers_dropped", "count": 2},
        {"note": "sampler_late", "worst_ns": 80 * made.MS},
        {"note": "no_pmu", "reason": "no such device"},
    )
    result = summary(made.Trial(notes=notes))
    assert {"buffer_cut", "strangers_dropped", "sampler_late"} <= codes(result.cells[0])
    advice = next(warning for warning in result.warnings if warning.code == "buffer_cut")
    assert "net.core.rmem_max" in advice.advice
    assert [fact.code for fact in result.facts] == ["no_pmu"]


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
    assert line.endswith(f"packets ({percent(again.ratio or 0)} of the data packets)")


def test_of_a_multitude_of_connections_segments_have_a_ratio_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segments, "MAX_SINGLE", 1)
    again = summary(made.Trial(retransmitted=2000, connections=2)).cells[0].retransmitted_segments
    assert again.median is None
    assert again.ratio == pytest.approx(2000 / 967_000, rel=0.05)


def test_retransmissions_are_judged_by_where_they_happen() -> None:
    # 2000 of 863 000 segments: 0.2 %.
    trial = made.Trial(retransmitted=2000)
    assert "retransmissions" in codes(summary(trial, testbed="veth").cells[0])
    assert "retransmissions" not in codes(summary(trial, testbed="network").cells[0])


def test_steal_clock_and_loopback() -> None:
    result = summary(made.Trial(busy={"sender": 0.5, "receiver": 0.5}, steal=0.1), testbed="loopback")
    assert "steal_high" in codes(result.cells[0])
    assert "loopback_testbed" in {warning.code for warning in result.warnings}
    uncertain = made.Trial(rate_bps=2e9, transfer_bytes=16 << 20, uncertainty_ns=5 * made.MS)
    assert "clock_uncertain" in codes(summary(uncertain).cells[0])


def test_a_trial_in_which_nothing_moved_is_reported_and_doubtful() -> None:
    idle = summary(made.Trial(rate_bps=0, duration_s=1))
    assert idle.cells[0].goodput_bps.median == 0
    assert "nothing_moved" in codes(idle.cells[0])
    assert verdict(idle) == DOUBTFUL
    busy = summary(made.Trial(duration_s=1))
    assert "nothing_moved" not in codes(busy.cells[0])
    assert verdict(busy) == DONE


def test_a_restless_trial_is_reported_with_evidence() -> None:
    def course(seconds: float) -> float:
        return 1.0 if seconds < 6 else 0.5

    result = summary(made.Trial(rate_bps=2e9, course=course))
    assert result.cells[0].unsteady_trials == 1
    text = next(warning.text for warning in result.cells[0].warnings if warning.code == "no_steady_state")
    assert "2.00 Gbit/s to 1.00 Gbit/s after 5.0 s" in text


def test_a_cut_warm_up_is_reported() -> None:
    def course(seconds: float) -> float:
        return 0.5 if seconds < 3 else 1.0

    cell = summary(made.Trial(rate_bps=2e9, course=course)).cells[0]
    text = next(warning.text for warning in cell.warnings if warning.code == "warm_up_cut")
    assert "up to 2.00 s cut off, where goodput was 1.00 Gbit/s" in text
    assert cell.cut is not None
    assert (cell.cut.trials, cell.cut.from_s, cell.cut.to_s) == (1, 1.0, 3.0)
    assert cell.cut.whole_window_bps == pytest.approx(1.8e9, rel=1e-6)
    lines = single_lines(cell)
    assert "Cut             1.00-3.00 s as warm-up (1.00 Gbit/s)" in lines
    assert "Whole window    1.80 Gbit/s, with the part that is cut" in lines
    same = cell.model_copy(update={"cut": cell.cut.model_copy(update={"whole_window_bps": cell.goodput_bps.median})})
    assert not any(line.startswith("Whole window") for line in single_lines(same))
    whole = summary(made.Trial()).cells[0]
    assert "warm_up_cut" not in codes(whole)
    assert whole.cut is None


def test_a_rate_that_falls_is_not_called_warming_up() -> None:
    def course(seconds: float) -> float:
        return 2.0 if seconds < 3 else 1.0

    found = summary(made.Trial(rate_bps=1e9, course=course))
    cell = found.cells[0]
    (warning,) = [warning for warning in cell.warnings if warning.code in {"warm_up_cut", "slow_down_cut"}]
    assert warning.code == "slow_down_cut"
    assert "1 of 1 trial was slowing down when the measurement started; up to 2.00 s cut off" in warning.text
    assert "where goodput was 2.00 Gbit/s" in warning.text
    (advice,) = [advice.advice for advice in found.warnings if advice.code == "slow_down_cut"]
    assert "Find what ends the fast start" in advice
    assert "Cut             1.00-3.00 s before it slowed down (2.00 Gbit/s)" in single_lines(cell)


@pytest.mark.parametrize(("start", "direction"), [(1.0, "rising"), (-1.0, "falling")])
def test_a_rate_that_never_settles_is_named_by_its_direction(start: float, direction: str) -> None:
    result = summary(made.Trial(rate_bps=2e9, course=lambda seconds: 1.3 + start * (seconds - 6) / 8))
    text = next(warning.text for warning in result.cells[0].warnings if warning.code == "no_steady_state")
    assert f"goodput was still {direction} half-way through" in text


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
    assert "2.00 Gbit/s over 3.00 s of the measurement; not a result: the trial" in line
    assert [(row.trial, row.status) for row in result.unfinished] == [("001-c0001", status)]
    assert verdict(result) == FAILED


def test_a_result_is_never_provisional() -> None:
    cell = summary(made.Trial(block=1), made.Trial(block=2, status="void")).cells[0]
    assert (cell.trials, cell.failed_trials, cell.provisional) == (1, 1, None)


def test_a_busy_process_is_named() -> None:
    busy = {"note": "busy_process", "name": "cc1", "pid": 7, "cpu_ns": 9 * made.SECOND, "wall_ns": 10 * made.SECOND}
    late = {"note": "sampler_late", "worst_ns": 80 * made.MS}
    for notes, says in (
        ((busy, late), "intervals of 100 ms; cc1 (process 7) used 90 % of a CPU."),
        ((late,), "100 ms."),
    ):
        warnings = summary(made.Trial(notes=notes)).cells[0].warnings
        (text,) = (warning.text for warning in warnings if warning.code == "sampler_late")
        assert text.endswith(says)


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
    probe = summarize_inputs(made.inputs([trial])).cells[0].rtt_probe
    assert probe is not None
    assert (probe.sent_count, probe.lost_count) == (300, 3)
    assert probe.idle is not None
    assert probe.load is not None
    assert (probe.idle.count, probe.idle.p50_ns, probe.idle.p90_ns) == (99, 10_000_000, 10_000_000)
    assert (probe.load.count, probe.load.p50_ns, probe.load.p99_ns) == (198, 30_000_000, 30_000_000)


def test_the_rtt_probe_is_printed() -> None:
    trips = tuple((at / 100, 1_000_000 * (1 + at % 10)) for at in range(100, 1100))
    cell = summary(made.Trial(round_trips=trips)).cells[0]
    assert "RTT under load  50 % 5.00 ms, 90 % 9.00 ms, 99 % 10.0 ms, 99.9 % 10.0 ms, largest 10.0 ms" in single_lines(
        cell
    )
    assert cell.rtt_probe is not None
    assert cell.rtt_probe.idle is None
    assert summary(made.Trial()).cells[0].rtt_probe is None


def test_a_warning_about_both_sides_names_each() -> None:
    stolen = made.Trial(busy={"sender": 0.5, "receiver": 0.5}, steal=0.1)
    warnings = [warning.text for warning in summary(stolen).warnings if warning.code == "steal_high"]
    assert [text.partition(" of the ")[2] for text in warnings] == ["sender's CPU time.", "receiver's CPU time."]


def test_warnings_of_many_cells_are_reported_once() -> None:
    trials = [made.Trial(cell=f"c{n:04d}", window_bytes=n * 10_000, announced_bytes=1000) for n in range(1, 5)]
    warnings = [warning for warning in summary(*trials).warnings if warning.code == "window_differs"]
    assert len(warnings) == 1
    assert warnings[0].text.startswith("In 4 of 4 cells")


def test_every_kind_has_advice_for_every_testbed() -> None:
    for kind in WARNING_TEXTS.values():
        assert kind.text.endswith((".", "}"))
        assert kind.advice
        assert set(kind.advice_on) <= {"veth", "loopback", "network", "model", "watched"}


def test_connections_are_summarized() -> None:
    cell = summary(made.Trial(rate_bps=4e9, connections=2, shares=(0.75, 0.25))).cells[0]
    assert cell.connections is not None
    assert cell.connections.max_bps == pytest.approx(3e9, rel=1e-6)
    assert cell.connections.fairness == pytest.approx(0.8, rel=1e-6)


def test_the_same_record_gives_the_same_result() -> None:
    trials = made.sweep([4096, 8192], [512, 4096], blocks=5)
    assert summary(*trials) == summary(*trials)


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
