"""The options of a flowop."""

import re

import pytest

from whyperf.profile.uperf.options import KINDS, RandomSize, Value, parse_options

ENVIRONMENT = {"h": "Far.Example", "s": "8K", "range": "rand(1,2k)", "empty": "", "UPPER": "x"}


def given(text: str) -> dict[str, Value]:
    """The options alone."""
    return parse_options(text, ENVIRONMENT).given


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", {}),
        ("size=8k", {"size": 8192}),
        ("  size=8k\t count=3 ", {"size": 8192, "count": 3}),
        ("SIZE=8K Tcp_NoDelay", {"size": 8192, "tcp_nodelay": 1}),
        ("size=rand(1,8k)", {"size": RandomSize(1, 8192)}),
        ("size=$range", {"size": RandomSize(1, 2048)}),
        ("size=$s remotehost=$h", {"size": 8192, "remotehost": "Far.Example"}),
        ("duration=10ms idle", {"duration": 10_000_000, "idle": 1}),
        ("timeout=1.5s", {"timeout": 1_500_000_000}),
        ("count=16k", {"count": 16}),
        ("cc=cubic", {"cc": "cubic"}),
        ("dir=/a=b", {"dir": "/a=b"}),
        ("sctp_nodelay sctp_pr_policy=ttl", {"sctp_nodelay": 1, "sctp_pr_policy": "ttl"}),
    ],
)
def test_options(text: str, expected: dict[str, Value]) -> None:
    assert given(text) == expected


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("sice=8k", 'option "sice=8k" is not one of uperf\'s; did you mean size?'),
        ("nodelay", 'option "nodelay" is not one of uperf\'s; '),
        ("tcp_nodelay=1", 'option "tcp_nodelay=1" is not one of uperf\'s; it stands without a value'),
        ("size", 'option "size" has no value; write size=…'),
        ("size=", 'option "size=" has no value'),
        ("size=0", "size=0 is no size"),
        ("size==8", "size==8 is not a number"),
        ("size=rand(1, 8k)", "size=rand(1, is not complete; write rand(min,max) without blanks"),
        ("size=rand(1)", "size=rand(1) is not complete"),
        ("size=rand(9,8)", "size=rand(9,8) cannot be: min is at least 1, and max not below it"),
        ("size=rand(a,8)", 'size=rand(a,8) cannot be: "a" is not a number'),
        ("size=rand($a,$b)", "size=rand($a,$b) has a variable inside, which uperf does not replace"),
        ("size=$unset", "option size takes its value from $unset, which is not set; set it in the environment: unset="),
        ("size=$empty", "option size takes its value from $empty, which is not set"),
        ("size=$upper", "uperf knows variables by their names in small letters only"),
        ("size=$", "option size takes its value from $, which is not set; write its name behind the $"),
    ],
)  # fmt: skip
def test_refused_options(text: str, says: str) -> None:
    with pytest.raises(ValueError, match=re.escape(says)):
        parse_options(text, ENVIRONMENT)


def test_what_uperf_ignores_is_reported() -> None:
    found = parse_options("size=8 8k) , count=4x duration=2min", ENVIRONMENT)
    assert found.given == {"size": 8, "count": 4, "duration": 2_000_000}
    assert found.notes == [
        '"8k)" among the options does not begin with a letter and is ignored, as by uperf',
        '"," among the options does not begin with a letter and is ignored, as by uperf',
        "count=4x counts as 4, as in uperf: it takes no suffix",
        "duration=2min is in milliseconds, as in uperf",
    ]


@pytest.mark.parametrize("name", [name for name, kind in KINDS.items() if kind != "flag"])
def test_every_option_takes_a_value_from_the_environment(name: str) -> None:
    assert parse_options(f"{name}=$value", {"value": "7"}).given.keys() == {name}
