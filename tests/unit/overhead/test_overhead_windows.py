"""Windows, against what their formulas give."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whyperf.overhead import Window, link_named, overhead, protocol_named
from whyperf.overhead.windows import Sent, windowed_rate

FRAME = Sent(1000, 100e-6)
ACKNOWLEDGMENT_S = 10e-6


def rate(window: Window, *, shared: bool = False, frames: tuple[Sent, ...] = (FRAME,)) -> float:
    return windowed_rate(frames, ACKNOWLEDGMENT_S, window, shared=shared)


@pytest.mark.parametrize("shared", [False, True])
def test_stop_and_go(shared: bool) -> None:
    """A frame, its way, the acknowledgment, its way."""
    cycle_s = 100e-6 + 500e-6 + 10e-6 + 500e-6
    assert rate(Window(1, True, 1, 500e-6), shared=shared) == pytest.approx(1000 / cycle_s)


def test_a_window_that_is_acknowledged_frame_by_frame_slides() -> None:
    """Three frames a round trip of 1110 µs, as long as they take less."""
    assert rate(Window(3, True, 1, 500e-6)) == pytest.approx(3 * 1000 / 1110e-6)
    assert rate(Window(20, True, 1, 500e-6)) == pytest.approx(1000 / 100e-6)


def test_a_window_that_is_acknowledged_at_its_end_stops() -> None:
    """A burst of four: four frames, then a round trip."""
    assert rate(Window(4, True, 4, 500e-6)) == pytest.approx(4 * 1000 / (400e-6 + 1010e-6))


def test_a_window_in_bytes() -> None:
    """2500 bytes let two frames of 1000 through, and the receiver acknowledges every second one."""
    assert rate(Window(2500, False, 2, 500e-6)) == pytest.approx(2 * 1000 / (200e-6 + 1010e-6))


def test_a_window_below_one_frame_lets_one_through() -> None:
    assert rate(Window(500, False, 2, 500e-6)) == pytest.approx(rate(Window(1000, False, 1, 500e-6)))


def test_on_a_shared_line_acknowledgments_take_their_time() -> None:
    assert rate(Window(50, True, 1, 0.0), shared=True) == pytest.approx(1000 / 110e-6)
    assert rate(Window(50, True, 10, 0.0), shared=True) == pytest.approx(10_000 / (1000e-6 + 10e-6))


@given(
    limit=st.integers(1, 40),
    every=st.integers(1, 40),
    latency_us=st.integers(0, 5000),
    sizes=st.lists(st.integers(1, 1500), min_size=1, max_size=5),
)
def test_between_stop_and_go_and_the_line(limit: int, every: int, latency_us: int, sizes: list[int]) -> None:
    frames = tuple(Sent(size, size * 1e-7) for size in sizes)
    latency_s = latency_us * 1e-6
    found = rate(Window(limit, True, min(every, limit), latency_s), frames=frames)
    line = sum(sizes) / sum(frame.seconds for frame in frames)
    slowest = rate(Window(1, True, 1, latency_s), frames=frames)
    assert slowest * (1 - 1e-9) <= found <= line * (1 + 1e-9)
    larger = rate(Window(limit + 1, True, min(every, limit), latency_s), frames=frames)
    assert larger >= found * (1 - 1e-9)


def test_files_are_read_faster_in_bursts() -> None:
    """Study 5: burst mode sends many packets a request."""
    link = link_named("token-ring-16M")
    single = overhead(link, protocol_named("ncp"), [16_384], mtu=1500, window=Window(1, True, 1, 1e-3))
    bursts = overhead(link, protocol_named("ncp-burst"), [16_384], mtu=1500, window=Window(10, True, 10, 1e-3))
    assert bursts.points[0].user_bps > 2 * single.points[0].user_bps


def test_a_cost_per_frame_sets_the_pace_where_it_is_longer() -> None:
    """200 µs a frame: 5000 frames a second, whatever the line could."""
    (point,) = overhead(link_named("ethernet-1G"), protocol_named("tcp"), [1448], frame_s=200e-6).points
    assert point.user_bps == pytest.approx(5000 * 1448 * 8)
