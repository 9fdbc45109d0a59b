"""Options that set factors."""

import pytest

from whyperf.cli.overrides import OPTIONS, overrides
from whyperf.profile import BY_NAME, ProfileError


def test_every_option_stands_for_a_factor() -> None:
    assert set(OPTIONS) <= set(BY_NAME)


def test_levels_are_read_and_what_was_not_given_is_left_out() -> None:
    given = {"window_bytes": "64K", "duration_s": "5", "connections": None}
    assert overrides(given, ["gro=off", "read_size_bytes==write_size_bytes"]) == {
        "window_bytes": 65536,
        "duration_s": 5.0,
        "gro": False,
        "read_size_bytes": "=write_size_bytes",
    }


@pytest.mark.parametrize(
    ("given", "assignments", "says"),
    [
        ({"window_bytes": "big"}, [], '--window: window_bytes: "big" is not a level'),
        ({}, ["mtu_bytes"], "--set: mtu_bytes: write factor=level"),
        ({}, ["mtu=1500"], "--set: mtu: there is no factor of this name; did you mean mtu_bytes?"),
        ({"window_bytes": "4096"}, ["window_bytes=8192"], "--set: window_bytes: the factor is set twice"),
    ],
)
def test_what_cannot_be_set_names_the_option(given: dict[str, str | None], assignments: list[str], says: str) -> None:
    with pytest.raises(ProfileError) as caught:
        overrides(given, assignments)
    assert str(caught.value).startswith(says)
