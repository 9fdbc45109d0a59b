"""What varied decides what a chart shows."""

from collections.abc import Sequence

import pytest

from tests.unit.analyze import synthetic as made
from whyperf.analyze.cell_results import summarize_inputs
from whyperf.analyze.summary import CellResult
from whyperf.report.charts.figures import factor_chart
from whyperf.report.charts.layout import Axis, choose, distinguishing_axes
from whyperf.report.charts.ticks import axis_ticks, bar_labels


def cells(*trials: made.Trial) -> list[CellResult]:
    return summarize_inputs(made.inputs(trials)).cells


def test_the_factor_with_most_levels_is_x_and_the_window_makes_lines() -> None:
    layout = choose(cells(*made.sweep([4096, 8192], [512, 1024, 2048], blocks=1)))
    assert layout is not None
    assert layout.x.factor == "write_size_bytes"
    assert layout.x.aliases == ("read_size_bytes",)
    assert layout.lines is not None
    assert layout.lines.factor == "window_bytes"
    assert layout.panels == ()
    found = layout.cell(1024, 8192, ())
    assert found is not None
    assert (found.factors["write_size_bytes"], found.factors["window_bytes"]) == (1024, 8192)


def test_factors_that_vary_together_are_one_axis() -> None:
    sizes = [64, 128, 256]
    trials = [
        made.Trial(
            cell=f"c{size:04d}", window_bytes=size, write_size_bytes=size, read_size_bytes=size, transfer_bytes=4096
        )
        for size in sizes
    ]
    layout = choose(cells(*trials))
    assert layout is not None
    assert layout.lines is None
    assert {layout.x.factor, *layout.x.aliases} == {"window_bytes", "write_size_bytes", "read_size_bytes"}
    assert layout.x.title.endswith("(bytes)")


def test_further_factors_are_chosen_from_lists() -> None:
    trials = [
        made.Trial(cell=f"c{number:04d}", window_bytes=window, connections=many, direction=way)
        for number, (window, many, way) in enumerate(
            (window, many, way) for window in (1, 2, 4) for many in (1, 2) for way in ("send", "receive")
        )
    ]
    layout = choose(cells(*trials))
    assert layout is not None
    assert layout.x.factor == "window_bytes"
    assert len(layout.panels) == 1
    assert {axis.factor for axis in (layout.lines, *layout.panels) if axis} == {"connections", "direction"}


def of_sweeps(*sweeps: Sequence[dict[str, object]]) -> list[CellResult]:
    """Cells with these factors, a sequence of them for each sweep."""
    placed = [(f"sweep{number}", factors) for number, own in enumerate(sweeps) for factors in own]
    trials = [made.Trial(cell=f"c{number:04d}", factors=factors) for number, (_, factors) in enumerate(placed)]
    return [
        cell.model_copy(update={"sweep": sweep, "factors": factors})
        for cell, (sweep, factors) in zip(cells(*trials), placed, strict=True)
    ]


def test_sweeps_are_distinguished_by_all_that_they_fix_at_different_levels() -> None:
    found = of_sweeps(
        [{"write_size_bytes": size, "window_bytes": 262_144, "connections": 15} for size in (1024, 8192)],
        [{"write_size_bytes": 8192, "window_bytes": 32_768, "connections": 1000}],
    )
    assert [axis.factor for axis in distinguishing_axes(found)] == ["write_size_bytes", "window_bytes", "connections"]
    assert all(axis.numeric for axis in distinguishing_axes(found))


def test_timing_distinguishes_sweeps_only_where_nothing_else_does() -> None:
    near: dict[str, object] = {"path_rtt_ms": 10.0, "duration_s": 1.0, "interval_ms": 20}
    far: dict[str, object] = {"path_rtt_ms": 180.0, "duration_s": 32.0, "interval_ms": 200}
    assert [axis.factor for axis in distinguishing_axes(of_sweeps([near], [far]))] == ["path_rtt_ms"]
    assert [axis.factor for axis in distinguishing_axes(of_sweeps([near], [{**near, "duration_s": 9.0}]))] == [
        "duration_s"
    ]


def test_nothing_varied() -> None:
    assert choose(cells(made.Trial())) is None


@pytest.mark.parametrize(
    ("levels", "geometric"),
    [
        ((16384, 32768, 65536, 131072, 262144), True),
        ((4096, 8192, 16384, 24576, 32768, 40960, 52428), False),
        (tuple(range(512, 32769, 512)), False),
        (("cubic", "reno", "bbr"), False),
    ],
)
def test_levels_spread_by_ratio_get_a_logarithmic_axis(levels: tuple[object, ...], geometric: bool) -> None:
    assert Axis("window_bytes", levels).geometric is geometric


def test_ticks_are_round_and_few() -> None:
    ticks, labels = axis_ticks(Axis("write_size_bytes", tuple(range(512, 32769, 512))))
    assert ticks == [4096 * count for count in range(1, 9)]
    assert labels[8192] == "8 Ki"
    _, labels = axis_ticks(Axis("congestion_control", ("cubic", "bbr")))
    assert labels == {0.0: "cubic", 1.0: "bbr"}


def test_the_peak_has_a_tick_and_no_label_touches_it() -> None:
    rates = tuple(1000 << power for power in range(9))
    _, labels = axis_ticks(Axis("offered_rate_per_s", rates), peak=32000)
    assert list(labels.values()) == ["1,000", "4,000", "32,000", "256,000"]
    ticks, labels = axis_ticks(Axis("write_size_bytes", tuple(range(512, 32769, 512))), peak=4608)
    assert ticks == [4608, 16384, 24576, 32768]
    assert labels[4608] == "4,608"


def test_a_chart_of_two_levels_is_small() -> None:
    assert (
        factor_chart(Axis("congestion_control", ("bbr", "cubic")), "").height
        < factor_chart(Axis("congestion_control", ("bbr", "cubic", "reno")), "").height
    )


def test_lists_of_cpus_stand_by_their_number() -> None:
    axis = Axis("near_cpus", ("0", "0-1", "0,2-3"))
    assert (axis.numeric, axis.values(), axis.title) == (True, [1.0, 2.0, 3.0], "Number of near CPUs")
    assert axis_ticks(axis) == ([1.0, 2.0, 3.0], {1.0: "1", 2.0: "2", 3.0: "3"})
    assert not Axis("near_cpus", ("0", "1")).numeric
    assert not Axis("near_cpus", ("auto", "0-1")).numeric


def test_labels_do_not_touch_on_a_narrow_screen_and_keep_one_stride() -> None:
    rates = tuple(1000 << power for power in range(9))
    _, labels = axis_ticks(Axis("offered_rate_per_s", rates))
    assert list(labels.values()) == ["1,000", "4,000", "16,000", "64,000", "256,000"]
    sizes = (60, 100, 250, 536, 1024, 1460)
    _, labels = axis_ticks(Axis("write_size_bytes", sizes))
    assert list(labels.values()) == ["60", "100", "250", "536", "1,460"]
    assert bar_labels(Axis("write_size_bytes", sizes), sizes)[-2:] == ["1,024", "1,460"]
    assert bar_labels(Axis("write_size_bytes", (1024, 8192)), (1024, 8192)) == ["1 Ki", "8 Ki"]
