"""Numbers and times as uperf reads them."""

import pytest

from whyperf.profile.uperf.quantities import integer, is_perhaps_minutes, leading_integer, time_ns


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0),
        ("8192", 8192),
        ("10b", 10),
        ("8k", 8192),
        ("64KB", 65536),
        ("64kfoo", 65536),
        ("1m", 2**20),
        ("1g", 2**30),
        ("1.5k", 1536),
        ("1.", 1),
        (".5k", 512),
        ("1.9", 1),
        ("007", 7),
        ("2147483647", 2**31 - 1),
    ],
)
def test_integers(text: str, value: int) -> None:
    assert integer(text) == value


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "is not a number"),
        ("abc", "is not a number"),
        ("-5", "is not a number"),
        ("+5", "is not a number"),
        (".", "is not a number"),
        ("٣", "is not a number"),
        ("4>", 'has the unknown suffix ">"'),
        ("5x", 'has the unknown suffix "x"'),
        ("3g", "is too large"),
        ("1t", "is too large"),
        ("2147483648", "is too large"),
        ("9" * 101, "has too many digits"),
    ],
)
def test_what_is_no_integer(text: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        integer(text)


@pytest.mark.parametrize(
    ("text", "value_ns"),
    [
        ("20", 20_000_000_000),
        ("20s", 20_000_000_000),
        ("20sec", 20_000_000_000),
        ("20ms", 20_000_000),
        ("2min", 2_000_000),
        ("2M", 2_000_000),
        ("3us", 3_000),
        ("4ns", 4),
        ("1.5s", 1_500_000_000),
        (".25", 250_000_000),
        ("0.1ms", 100_000),
    ],
)
def test_times(text: str, value_ns: int) -> None:
    assert time_ns(text) == value_ns


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("0", "is no time"),
        ("0.5n", "is no time"),
        ("1h", 'has the unknown unit "h"'),
        ("s", "is not a number"),
        ("", "is not a number"),
        ("99999999999", "is over a hundred years"),
    ],
)
def test_what_is_no_time(text: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        time_ns(text)


def test_minutes_are_suspected() -> None:
    assert [text for text in ("2", "2s", "2ms", "2millis", "2m", "2min", "x") if is_perhaps_minutes(text)] == [
        "2m",
        "2min",
    ]


@pytest.mark.parametrize(("text", "value"), [("16", 16), ("16k", 16), ("abc", 0), ("", 0), ("-3", -3), ("+4", 4)])
def test_digits_at_the_beginning(text: str, value: int) -> None:
    assert leading_integer(text) == value


def test_digits_beyond_an_int() -> None:
    with pytest.raises(ValueError, match="is too large"):
        leading_integer("2147483648")
