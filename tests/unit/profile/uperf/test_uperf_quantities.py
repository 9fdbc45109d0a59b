"""Numbers and times as uperf reads them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.profile.given import parts
from whyperf.profile.uperf.quantities import integer, is_perhaps_minutes, leading_integer, time_ns

#: Texts | the number that each of them is.
INTEGERS = """
0 .0 | 0
8192 8k 8K 8kb 8kfoo 8192b | 8192
1m 1024k | 1048576
1g | 1073741824
1.5k | 1536
1 1. 1.9 01 1b | 1
.5k | 512
2147483647 1.9999999999g | 2147483647
"""
#: Texts | ns.
TIMES = """
20 20s 20sec 20000ms | 20000000000
20ms | 20000000
2min 2M 2mil 2ms | 2000000
3us 3u | 3000
4ns | 4
1.5s | 1500000000
.25 | 250000000
0.1ms | 100000
3162240000s | 3162240000000000000
"""


@pytest.mark.parametrize(("texts", "value"), parts(INTEGERS))
def test_integers(texts: str, value: str) -> None:
    assert {integer(text) for text in texts.split()} == {int(value)}


@pytest.mark.parametrize(("texts", "value_ns"), parts(TIMES))
def test_times(texts: str, value_ns: str) -> None:
    assert {time_ns(text) for text in texts.split()} == {int(value_ns)}


@pytest.mark.parametrize(
    ("texts", "says"),
    [
        (("", "abc", "-5", "+5", ".", "٣"), "is not a number; write digits and a suffix such as K or M"),
        (("5x", "5>"), 'has the unknown suffix "[x>]"; there are B, K, M and G'),
        (("3g", "1t", "2147483648"), "is too large; uperf's numbers end at 2147483647"),
        (("9" * 101,), "has too many digits; write fewer"),
    ],
)
def test_what_is_no_integer(texts: tuple[str, ...], says: str) -> None:
    for text in texts:
        with pytest.raises(ValueError, match=f"^{says}$"):
            integer(text)


@pytest.mark.parametrize(
    ("texts", "says"),
    [
        (("0", "0.5n"), "is no time; give one above 0"),
        (("1h",), 'has the unknown unit "h"; there are s, ms, us and ns'),
        (("s", "", "-1s"), "is not a number; write digits and s, ms, us or ns"),
        (("3162240001s",), "is over a hundred years; give a shorter time"),
    ],
)
def test_what_is_no_time(texts: tuple[str, ...], says: str) -> None:
    for text in texts:
        with pytest.raises(ValueError, match=f"^{says}$"):
            time_ns(text)


@given(st.integers(1, 10**9), st.sampled_from([("s", 10**9), ("ms", 10**6), ("us", 10**3), ("ns", 1)]))
def test_numbers_and_times_are_exact(value: int, unit: tuple[str, int]) -> None:
    name, length_ns = unit
    assert integer(str(value)) == value
    assert time_ns(f"{value}{name}") == value * length_ns


def test_minutes_are_suspected() -> None:
    assert [text for text in ("2", "2s", "2ms", "2millis", "2m", "2min", "x") if is_perhaps_minutes(text)] == [
        "2m",
        "2min",
    ]


def test_digits_at_the_beginning() -> None:
    assert [leading_integer(text) for text in ("16", "16k", " 7x", "abc", "", "-3", "+4")] == [16, 16, 7, 0, 0, -3, 4]
    with pytest.raises(ValueError, match="is too large"):
        leading_integer("2147483648")
