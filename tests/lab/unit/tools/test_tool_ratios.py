"""Rates of runs in one window, ratios by block, and tests of reasons on runs that are made up."""

import polars as pl
import pytest

from lab.tools.comparison import ToolsQuestion, compared_tools
from lab.tools.differences import figures_of, ratio_of, verdicts_of
from lab.tools.evidence import own_rate, progress_of
from lab.tools.report import page
from lab.tools.tool_runs import OWN, Load, Look, Run, SideLook, ToolsComparison, Variant, Workload
from tests.lab.unit.tools.made_up_runs import LOAD, NOISE, blocks, run

SECOND = 1_000_000_000


def grown(rates: list[int], step_ns: int = SECOND // 2, first: int = 0) -> list[tuple[int, int]]:
    """Samples at every step, the first of `first` bytes, with so many bytes per second between them."""
    samples = [(10 * SECOND, first)]
    for rate in rates:
        samples.append((samples[-1][0] + step_ns, samples[-1][1] + rate * step_ns // SECOND))
    return samples


def test_the_window_begins_after_the_warm_up_and_lacks_what_comes_later() -> None:
    # Half a second of nothing, one of 1 MB/s, two of 4 MB/s, and 1 MB/s after the window.
    found = progress_of(grown([0, 1_000_000, 1_000_000, *[4_000_000] * 4, 1_000_000]), LOAD, 10 * SECOND)
    assert found is not None
    assert found.first_bps == pytest.approx(8e6)
    assert found.window_bps == pytest.approx(32e6)
    assert found.seconds == pytest.approx(3.5)
    assert found.payload_bytes == 9_500_000


def test_a_connection_that_was_found_late_began_when_the_load_was_started() -> None:
    late = grown([4_000_000] * 5, first=2_000_000)
    found = progress_of(late, LOAD, late[0][0] - SECOND // 2)
    assert found is not None
    assert found.whole_bps == pytest.approx(32e6)
    assert found.window_bps == pytest.approx(32e6)


@pytest.mark.parametrize("samples", [[], [(1, 5)], grown([0, 0, 0]), grown([1_000_000])])
def test_a_run_without_payload_in_the_window_has_no_rate(samples: list[tuple[int, int]]) -> None:
    assert progress_of(samples, LOAD, 0) is None


def test_a_ratio_is_that_of_blocks_and_leaves_out_what_is_void() -> None:
    runs = [*blocks(OWN, 1e9), *blocks("iperf3", 0.9e9)]
    void = runs[0].model_copy(update={"void": "it failed"})
    found = ratio_of([void, *runs[1:]], LOAD, "window", "iperf3", OWN)
    assert found is not None
    assert found.pairs == 4
    assert found.ratio == pytest.approx(0.9, rel=0.02)
    assert found.low is not None
    assert found.high is not None
    # The fivefold change from block to block is not in it.
    assert 0.85 < found.low < found.ratio < found.high < 0.95


def test_the_ratio_that_is_reported_is_the_product_of_moving_and_counting() -> None:
    runs = [*blocks(OWN, 1e9), *blocks("iperf3", 0.8e9, counted=0.9)]
    reported, window, counting = (
        ratio_of(runs, LOAD, name, "iperf3", OWN) for name in ("reported", "window", "counting")
    )
    assert reported is not None
    assert window is not None
    assert counting is not None
    assert reported.ratio == pytest.approx(window.ratio * counting.ratio)


def test_transactions_are_counted_by_their_requests() -> None:
    load = LOAD.model_copy(update={"workload": "rr", "request_bytes": 10})
    found = figures_of([run("netperf", 1, 8000.0)], load, "netperf")
    assert found is not None
    assert found.window == 100
    assert found.rate_unit == "1/s"


def variants(variant: Variant, of: str | None, window: float, **more: object) -> list[Run]:
    return blocks(OWN, window, 6, variant=variant, variant_of=of, **more)


@pytest.mark.parametrize(
    ("as_tool", "outcome"), [(0.7e9, "vanishes"), (0.85e9, "shrinks"), (1.0e9, "stays"), (1.3e9, "stays")]
)
def test_a_reason_is_what_makes_the_difference_vanish(as_tool: float, outcome: str) -> None:
    runs = [*blocks(OWN, 1e9, 6), *blocks("nuttcp", 0.7e9, 6), *variants("calls", "nuttcp", as_tool)]
    found = {verdict.of: verdict for verdict in verdicts_of(runs, LOAD, "nuttcp", ("calls",))}
    assert found["window"].outcome == outcome
    assert found["window"].sentence.endswith("the reason." if outcome != "shrinks" else "a part of the reason.")


@pytest.mark.parametrize(
    ("factors", "outcome"), [((1, 1.004, 0.996, 1.002, 0.998), "vanishes"), ((1, 1.09, 0.92, 1.06, 0.93), "shrinks")]
)
def test_a_difference_vanishes_only_where_what_is_left_is_known_to_be_little(
    factors: tuple[float, ...], outcome: str
) -> None:
    as_tool = [
        run(OWN, 6 + number, 0.5e9 * noise * factor * (1 + number), variant="calls", variant_of="nuttcp")
        for number, (noise, factor) in enumerate(zip(reversed(NOISE), factors, strict=True))
    ]
    runs = [*blocks(OWN, 1e9, 6), *blocks("nuttcp", 0.5e9, 6), *as_tool]
    found = {verdict.of: verdict for verdict in verdicts_of(runs, LOAD, "nuttcp", ("calls",))}["window"]
    # No significant difference is left in either of them.
    assert not found.after.is_significant
    assert found.outcome == outcome
    assert found.sentence.endswith("is not known well enough." if outcome == "shrinks" else "This is the reason.")


def test_the_warm_up_is_tested_by_what_is_counted() -> None:
    runs = [
        *blocks(OWN, 1e9, 6),
        *blocks("nuttcp", 1e9, 6, counted=0.8),
        *variants("warm_up", None, 1e9, counted=0.8),
    ]
    (verdict,) = verdicts_of(runs, LOAD, "nuttcp", ("warm_up",))
    assert (verdict.of, verdict.outcome) == ("counting", "vanishes")


def compared(runs: list[Run], looks: list[Look], load: Load = LOAD) -> ToolsComparison:
    asked = ToolsQuestion("folder", load.workload, load, {}, "host", 1, 5, ("nuttcp",))
    return compared_tools(asked, runs, looks, ("netperf is missing",))


def a_look(tool: str, asked_bytes: int, waits: int) -> Look:
    side = SideLook(data_call="read", asked_bytes=asked_bytes, data_calls_count=100, waits_count=waits, waits="poll")
    return Look(tool=tool, sender=side, receiver=side)


def test_the_comparison_names_every_difference_and_its_test() -> None:
    runs = [*blocks(OWN, 1e9), *blocks("nuttcp", 0.7e9)]
    tests = [*blocks(OWN, 1e9, 6), *blocks("nuttcp", 0.7e9, 6), *variants("calls", "nuttcp", 0.7e9)]
    looks = [a_look(OWN, 131072, 100), a_look("nuttcp", 65536, 0)]
    found = compared([*runs, *tests], looks)
    assert [each.tool for each in found.figures] == [OWN, "nuttcp"]
    assert found.pairs == 5
    (report,) = found.reports
    rows = {row.name: row for row in report.differences}
    assert rows["read_wait"].tool == "inside read"
    assert rows["read_wait"].own == "poll before a call (1.00 for each read)"
    assert [verdict.of for verdict in rows["read_wait"].verdicts if verdict.outcome == "vanishes"] == ["window"]
    assert "half" not in rows["warm_up"].tool
    assert "50 % of the rate of the rest" in rows["warm_up"].tool
    assert rows["counted"].tool == "receiver: 1,073,741,824, what the receiver read"
    # Tests are in blocks of their own and change no figure.
    assert compared(runs, looks).figures == found.figures
    assert any("--verify" in note for note in compared(runs, looks).notes)
    assert not any("--verify" in note for note in found.notes)
    assert ToolsComparison.model_validate_json(found.model_dump_json()) == found


def test_void_runs_are_counted_those_of_tests_and_of_tools_without_figures_included() -> None:
    tests = [*blocks(OWN, 1e9, 6), *blocks("nuttcp", 0.7e9, 6), *variants("calls", "nuttcp", 0.7e9)]
    tests[-1] = tests[-1].model_copy(update={"void": "it hung", "reported": None})
    found = compared([*blocks(OWN, 1e9), *blocks("nuttcp", 0.7e9), *tests], [])
    assert found.void_runs == 1
    assert "1 run of the tests of reasons did not count: it hung" in found.notes
    void = [each.model_copy(update={"void": "it failed"}) for each in blocks("nuttcp", 0.7e9)]
    found = compared([*blocks(OWN, 1e9), *void], [])
    assert [each.tool for each in found.figures] == [OWN]
    assert found.void_runs == 5


@pytest.mark.parametrize(("workload", "has_row"), [("stream", True), ("rr", False)])
def test_bytes_of_both_directions_are_not_compared_with_those_of_one(workload: Workload, has_row: bool) -> None:
    load = LOAD.model_copy(update={"workload": workload})
    (report,) = compared([*blocks(OWN, 1e9), *blocks("nuttcp", 0.7e9)], [], load).reports
    assert ("counted" in {row.name for row in report.differences}) is has_row


def of_two_tools() -> ToolsComparison:
    """whyperf and nuttcp, of which one run is void and printed markup."""
    runs = [*blocks(OWN, 1e9), *blocks("nuttcp", 0.7e9)]
    void = runs[-1].model_copy(update={"void": "<script>alert(1)</script>"})
    return compared([*runs[:-1], void], [a_look(OWN, 131072, 100), a_look("nuttcp", 65536, 0)])


def test_the_page_has_every_difference_and_nothing_that_a_tool_printed_as_markup() -> None:
    found = of_two_tools()
    text = page(found)
    assert "whyperf and nuttcp" in text
    assert "alert(1)" in text
    assert "<script>alert(1)" not in text
    assert "http://" not in text.replace("http://www.w3.org", "")
    (report,) = found.reports
    assert all(row.title in text for row in report.differences)


@pytest.mark.parametrize(
    ("workload", "variant", "rate"),
    [("stream", None, 9e9), ("stream", "calls", 9e9), ("stream", "warm_up", 8e9), ("rr", "warm_up", 7e4)],
)
def test_the_own_load_without_warm_up_counts_from_its_first_byte(
    workload: Workload, variant: Variant | None, rate: float
) -> None:
    # What is left of a warm-up was cut off: the goodput is higher than the rate of the whole run.
    trials = pl.DataFrame({"goodput_bps": [9e9], "whole_bps": [8e9]})
    transactions = pl.DataFrame({"transactions_per_s": [7e4]})
    load = LOAD.model_copy(update={"workload": workload})
    assert own_rate(trials, transactions, load, variant) == rate
    assert own_rate(trials.clear(), transactions.clear(), load, variant) is None
