"""Ranges: arithmetic, ends, and what cannot be a range."""

from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whyperf.profile import BY_NAME, ProfileError
from whyperf.profile.levels import all_levels

WRITE_SIZE = BY_NAME["write_size_bytes"]
DURATION = BY_NAME["duration_s"]


def test_doubling() -> None:
    levels = all_levels(WRITE_SIZE, {"from": 16384, "to": 1 << 20, "times": 2})
    assert levels == (16384, 32768, 65536, 131072, 262144, 524288, 1048576)


def test_decimal_steps_come_out_as_written() -> None:
    assert all_levels(DURATION, {"from": 0.1, "to": 0.7, "step": 0.1}) == (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7)


@given(first=st.integers(1, 10_000), step=st.integers(1, 5_000), more=st.integers(0, 50_000))
def test_a_linear_range_has_every_step_up_to_its_end_and_no_more(first: int, step: int, more: int) -> None:
    if more // step >= 10_000:
        return
    levels = [int(level) for level in all_levels(WRITE_SIZE, {"from": first, "to": first + more, "step": step})]
    assert levels[0] == first
    assert all(after - before == step for before, after in pairwise(levels))
    assert levels[-1] <= first + more < levels[-1] + step


@given(first=st.integers(1, 1000), last=st.integers(1, 1 << 30), times=st.sampled_from([2, 3, 10, 1.5, 2.5]))
def test_a_geometric_range_keeps_its_ratio_but_for_rounding(first: int, last: int, times: float) -> None:
    written = {"from": first, "to": max(first, last), "times": times}
    try:
        levels = [int(level) for level in all_levels(WRITE_SIZE, written)]
    except ProfileError as error:
        # From 1 by 1.5: 1, 1.5 → 2, 2.25 → 2. Said, not silently merged.
        assert "fall together" in str(error)  # noqa: PT017
        return
    for index, level in enumerate(levels):
        assert abs(level - first * Fraction(str(times)) ** index) <= Fraction(1, 2)
    assert levels[-1] <= max(first, last) + 0.5


@pytest.mark.parametrize(
    ("written", "word"),
    [
        ([], "empty"),
        ([4096, 8192, 4096], "twice"),
        ({"from": 512, "to": 256, "step": 512}, "swap"),
        ({"from": 512, "to": 1024, "step": 0}, "above 0"),
        ({"from": 512, "to": 1024, "step": -1}, "above 0"),
        ({"from": 512, "to": 1024, "times": 1}, "above 1"),
        ({"from": 512, "to": 1024}, "a range is"),
        ({"from": 512, "to": 1024, "step": 1, "times": 2}, "a range is"),
        ({"from": "512", "to": 1024, "step": 1}, "must be a number"),
        ({"from": 1, "to": 1 << 30, "step": 1}, "over 10000 levels"),
        ({"from": 1, "to": 3, "step": 0.25}, "fall together"),
        ({"from": 0, "to": 1024, "step": 512}, "invalid value"),
        ([[4096]], "one level"),
        ({"from": True, "to": 3, "step": 1}, "must be a number"),
        ({"from": 1, "to": float("inf"), "step": 1}, "must be a number"),
        ({"from": 0, "to": 3, "times": 2}, 'of a range with "times" must be above 0'),
        ([4096, True], "invalid value"),
    ],
)
def test_what_cannot_be_levels_is_refused(written: object, word: str) -> None:
    with pytest.raises(ProfileError, match=word) as caught:
        all_levels(WRITE_SIZE, written)
    assert caught.value.key == "write_size_bytes"


def test_a_geometric_range_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whyperf.profile.levels.MAX_LEVELS", 10)
    with pytest.raises(ProfileError, match="over 10 levels"):
        all_levels(WRITE_SIZE, {"from": 1, "to": 1024, "times": 2})


def test_a_range_of_names_is_refused() -> None:
    with pytest.raises(ProfileError, match="list the levels"):
        all_levels(BY_NAME["direction"], {"from": 1, "to": 2, "step": 1})


def test_the_ends_and_the_step_of_a_range_take_units_and_its_ratio_does_not() -> None:
    assert all_levels(BY_NAME["path_rtt_ms"], {"from": "500us", "to": "2ms", "step": "0.5ms"}) == (0.5, 1.0, 1.5, 2.0)
    assert all_levels(WRITE_SIZE, {"from": "1K", "to": "4KiB", "times": 2}) == (1024, 2048, 4096)
    with pytest.raises(ProfileError, match='"times" of the range must be a number'):
        all_levels(WRITE_SIZE, {"from": "1K", "to": "4K", "times": "2B"})
