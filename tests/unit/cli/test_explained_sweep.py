"""What `whyperf explain` prints first of a sweep: its fastest and its slowest setting."""

from collections.abc import Sequence

from whyperf.cli.output.explanation import extremes, has_curve
from whyperf.explain.explanation import CellExplanation
from whyperf.plan import Plan, build
from whyperf.profile import find


def explained(plan: Plan, rates_bps: Sequence[float | None]) -> list[CellExplanation]:
    return [
        CellExplanation(
            cell=cell.id,
            trial=None if rate is None else f"001-{cell.id}",
            rate_bps=rate,
            dominant_state=None,
            missing=[],
            budgets=[],
            patterns=[],
            verdicts=[],
            headline=f"Limited in {cell.id}.",
        )
        for cell, rate in zip(plan.cells, rates_bps, strict=False)
    ]


def windows(*sizes: int, **more: tuple[int, ...]) -> Plan:
    varied = {"window_bytes": sizes} | more
    return build(find("quick"), target="loopback", overrides=varied)


def test_the_fastest_and_the_slowest_setting_are_named() -> None:
    plan = windows(4096, 8192, 16384)
    fastest, slowest = extremes(explained(plan, [1e9, 4e9, 2e9]), plan)
    assert fastest == "Fastest: c0002 (window 8,192 bytes), 4.00 Gbit/s. Limited in c0002."
    assert slowest == "Slowest: c0001 (window 4,096 bytes), 1.00 Gbit/s, 25 % of the fastest. Limited in c0001."


def test_transactions_order_the_settings_whose_metric_they_are() -> None:
    plan = windows(4096, 8192)
    cells = explained(plan, [1e9, 4e9])
    counted = [
        cell.model_copy(update={"transactions_per_s": rate}) for cell, rate in zip(cells, (2430.0, 180.4), strict=True)
    ]
    fastest, slowest = extremes(counted, plan)
    assert fastest.startswith("Fastest: c0001 (window 4,096 bytes), 2,430 transactions/s.")
    assert slowest.startswith("Slowest: c0002 (window 8,192 bytes), 180.4 transactions/s, 7.4 % of the fastest.")
    assert next(iter(extremes([counted[0], cells[1]], plan))).startswith("Fastest: c0002")


def test_a_setting_without_a_rate_is_neither() -> None:
    plan = windows(4096, 8192, 16384)
    fastest, slowest = extremes(explained(plan, [None, 4e9, 0.0]), plan)
    assert fastest.startswith("Fastest: c0002 ")
    assert slowest.startswith("Slowest: c0003 (window 16,384 bytes), 0 bit/s, 0.0 % of the fastest.")
    assert list(extremes(explained(plan, [None, 4e9, None]), plan)) == []


def test_a_point_stands_out_only_from_neighbors() -> None:
    plan = windows(4096, 8192, 16384)
    assert has_curve(explained(plan, [1e9, 4e9, 2e9]), plan)
    assert not has_curve(explained(plan, [1e9, None, 2e9]), plan)
    names = build(
        find("quick"), target="loopback", overrides={"write_size_bytes": (512, 1024), "no_delay": (True, False)}
    )
    assert not has_curve(explained(names, [1e9] * 4), names)
