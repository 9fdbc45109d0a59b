"""Options that set factors."""

import pytest

from whyperf.cli.inputs.overrides import in_words_of, overrides
from whyperf.plan import COMMAND_LINE, build
from whyperf.profile import Factors, ProfileError, find


def test_levels_are_read_and_what_was_not_given_is_left_out() -> None:
    given = {"window_bytes": "64K", "duration_s": "5", "connections": None}
    assert overrides({"congestion_control": "cubic, bbr"}, ["gro=on,off"]) == {
        "congestion_control": ("cubic", "bbr"),
        "gro": (True, False),
    }
    assert overrides(given, ["gro = off", "read_size_bytes==write_size_bytes"]) == {
        "window_bytes": 65536,
        "duration_s": 5.0,
        "gro": False,
        "read_size_bytes": "=write_size_bytes",
    }


@pytest.mark.parametrize(
    ("given", "assignments", "says"),
    [
        ({"window_bytes": "big"}, [], '--window: invalid value "big"'),
        ({}, ["mtu_bytes"], "--set: mtu_bytes: write factor=level"),
        ({}, ["mtu=1500"], "--set: mtu: there is no factor of this name; did you mean mtu_bytes?"),
        ({"window_bytes": "4096"}, ["window_bytes=8192"], "--set: window_bytes: the factor is set twice"),
    ],
)
def test_what_cannot_be_set_names_the_option(given: dict[str, str | None], assignments: list[str], says: str) -> None:
    with pytest.raises(ProfileError) as caught:
        overrides(given, assignments)
    assert str(caught.value).startswith(says)


@pytest.mark.parametrize(
    ("profile", "given", "with_option", "says"),
    [
        (
            "rr",
            {"direction": "receive"},
            ["direction"],
            "--reverse: the workload rr has no such setting; it takes, with --set, ",
        ),
        ("rr", {"direction": "send"}, [], "--set direction: the workload rr has no such setting"),
        (
            "stream",
            {"duration_s": 1.0, "transfer_bytes": 3},
            ["duration_s", "transfer_bytes"],
            "--time: --bytes ends the trial by bytes",
        ),
        ("stream", {"transport": "unix", "no_delay": True}, ["no_delay"], "--no-delay: unix has no such setting"),
    ],
)
def test_what_options_make_impossible_is_reported_in_options(
    profile: str, given: Factors, with_option: list[str], says: str
) -> None:
    with pytest.raises(ProfileError) as caught:
        build(find("quick").with_overrides({"workload": profile}), overrides=given)
    assert caught.value.where == COMMAND_LINE
    assert str(in_words_of(caught.value, given, with_option)).startswith(says)
