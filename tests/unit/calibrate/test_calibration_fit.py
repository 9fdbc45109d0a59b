"""The fit finds the costs that made the data, as far as the data determine them, and names the others."""

from collections.abc import Mapping, Sequence

import pytest

from whyperf.calibrate import Answer, Point, Prior, fit, held_out, identify, judge
from whyperf.calibrate.fit import Fit

WINDOWS = (16_384, 65_536, 262_144, 1_048_576)
SIZES = (512, 2048, 8192, 32_768)
TRUTH = {"write_call_us": 0.7, "copy_ns_per_byte": 0.12, "ack_us": 9.0, "wake_us": 21.0}
PRIORS = [
    Prior("write_call_us", 0.4, 0.1, 1.6, "timed"),
    Prior("copy_ns_per_byte", 0.2, 0.05, 0.8, "timed"),
    Prior("ack_us", 15.0, 1.5, 60.0, "usual"),
    Prior("wake_us", 15.0, 1.5, 60.0, "usual"),
]


def host(costs: Mapping[str, float], window: int, size: int) -> Answer:
    """A host whose time for a byte can be written down: of ACK and wake-up only the sum shows."""
    us_per_byte = costs["write_call_us"] / size + costs["copy_ns_per_byte"] / 1000
    us_per_byte += (costs["ack_us"] + costs["wake_us"]) / window
    return Answer(goodput_bps=8e6 / us_per_byte, busy=(1.0, 0.5), bytes_per_ack=None)


def ask(asked: Sequence[tuple[Mapping[str, float], Point]]) -> list[Answer | None]:
    return [host(costs, *point.place) for costs, point in asked]


def points() -> list[Point]:
    return [
        Point({"window_bytes": window, "write_size_bytes": size}, host(TRUTH, window, size).goodput_bps)
        for window in WINDOWS
        for size in SIZES
    ]


@pytest.fixture(scope="module")
def done() -> tuple[Fit, list[bool]]:
    is_out = held_out(points(), seed=3)
    seen = [point for point, out in zip(points(), is_out, strict=True) if not out]
    return fit(PRIORS, seen, ask, generations=60, population=24, members=20, seed=5), is_out


def test_held_out_cells_form_a_checkerboard_that_the_seed_rotates() -> None:
    boards = {tuple(held_out(points(), seed)) for seed in range(8)}
    assert len(boards) == 2
    for board in boards:
        rows = [board[start : start + 4] for start in range(0, 16, 4)]
        assert all(sum(row) == 2 for row in [*rows, *zip(*rows, strict=True)])


def test_costs_that_the_data_show_are_found(done: tuple[Fit, list[bool]]) -> None:
    best = done[0].best.costs
    assert best["write_call_us"] == pytest.approx(TRUTH["write_call_us"], rel=0.1)
    assert best["copy_ns_per_byte"] == pytest.approx(TRUTH["copy_ns_per_byte"], rel=0.1)
    assert best["ack_us"] + best["wake_us"] == pytest.approx(30, rel=0.1)


def test_the_rest_is_known_to_be_open(done: tuple[Fit, list[bool]]) -> None:
    found = {cost.prior.key: cost for cost in identify(PRIORS, done[0])}
    assert found["write_call_us"].is_determined
    assert 0.5 < found["write_call_us"].low <= found["write_call_us"].high < 0.9
    assert found["ack_us"].used_ratio > 2 * found["write_call_us"].used_ratio
    assert found["ack_us"].traded_with == ("wake_us",)


def test_the_ensemble_holds_where_no_fit_has_looked(done: tuple[Fit, list[bool]]) -> None:
    ensemble, is_out = done
    said = [[host(member.costs, *point.place).goodput_bps for member in ensemble.members] for point in points()]
    verdict = judge(points(), is_out, said)
    assert len(ensemble.members) == 20
    assert verdict.held_out_median < 0.05
    assert verdict.held_out_signs.pairs >= 6
    assert verdict.held_out_signs.right == verdict.held_out_signs.pairs
    assert verdict.holds


def test_a_model_that_is_wrong_is_reported() -> None:
    is_out = held_out(points(), seed=3)
    said = [
        [point.goodput_bps * 2 if size > 2048 else point.goodput_bps] for point in points() for size in [point.place[1]]
    ]
    verdict = judge(points(), is_out, said)
    assert abs(verdict.held_out_worst.error_ratio) == pytest.approx(1.0)
    assert not verdict.holds


def test_a_cost_whose_best_is_beyond_its_bound_stays_inside() -> None:
    """The model reads a cost by another parser than its bound, and refuses one that is beyond by the last bit."""
    low = Prior("write_call_us", 0.3, 0.1, 0.3, "timed")
    done = fit([low, *PRIORS[1:]], points(), ask, generations=25, population=16, members=5, seed=5)
    assert done.best.costs["write_call_us"] == pytest.approx(0.3, rel=0.01)
    costs = [member.costs["write_call_us"] for member in done.members]
    assert max(costs) < low.high * (1 - 1e-13)
