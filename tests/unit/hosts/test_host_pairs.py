"""Which host loads which."""
# ruff: noqa: E501 - a case is a line.

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whyperf.hosts import MAX_PAIRS, HostSetError, pair_hosts


def pairs(pattern: str | None, near: str, far: str) -> str:
    """`a>x b>y` for such pairs."""
    return " ".join(f"{pair.near}>{pair.far}" for pair in pair_hosts(pattern, near.split(), far.split()))


@pytest.mark.parametrize(
    ("pattern", "near", "far", "expected"),
    [
        ("pairs", "a b", "x y", "a>x b>y"),
        ("pairs", "a b", "b a", "a>b b>a"),
        ("fan-in", "a b", "x", "a>x b>x"),
        ("fan-out", "a", "x y", "a>x a>y"),
        ("mesh", "a b", "x y", "a>x a>y b>x b>y"),
        ("mesh", "a b c", "a b c", "a>b a>c b>a b>c c>a c>b"),
        ("mesh", "a b", "b c", "a>b a>c b>c"),
        ("mesh", "local", "x", "local>x"),
        # Without a pattern, where the numbers of hosts allow one only.
        (None, "a b", "x y", "a>x b>y"),
        (None, "a b", "x", "a>x b>x"),
        (None, "a", "x y", "a>x a>y"),
        (None, "a", "x", "a>x"),
    ],
)
def test_a_pattern_makes_these_pairs(pattern: str | None, near: str, far: str, expected: str) -> None:
    assert pairs(pattern, near, far) == expected


@pytest.mark.parametrize(
    ("pattern", "near", "far", "sentence"),
    [
        ("ring", "a", "x", '--pattern: there is no pattern "ring"; choose one of pairs, fan-in, fan-out, mesh'),
        ("fanin", "a", "x", '--pattern: there is no pattern "fanin"; did you mean fan-in?'),
        (None, "a b", "x y z", "--from and --to: they have 2 and 3 hosts; write --pattern mesh for each to each, or name as many hosts in both for --pattern pairs"),
        ("pairs", "a b", "x y z", "--from and --to: pairs need as many hosts in both, and they have 2 and 3; name as many in both, or write --pattern mesh"),
        ("fan-in", "a b", "x y", "--to: fan-in goes to one host, and this set has 2; name one, or write --pattern mesh"),
        ("fan-out", "a b", "x y", "--from: fan-out starts at one host, and this set has 2; name one, or write --pattern mesh"),
        ("pairs", "a b", "x b", '--from and --to: "b" would load itself by --pattern pairs; ' "change the order of one set, or write --pattern mesh"),
        ("fan-in", "a b", "b", '--from and --to: "b" would load itself by --pattern fan-in; remove it from --from'),
        ("fan-out", "a", "a b", '--from and --to: "a" would load itself by --pattern fan-out; remove it from --to'),
        ("mesh", "a", "a", '--from and --to: both are "a", which would load itself; name another host in one of them'),
    ],
)  # fmt: skip
def test_what_fits_no_pattern_is_one_sentence(pattern: str | None, near: str, far: str, sentence: str) -> None:
    with pytest.raises(HostSetError) as caught:
        pairs(pattern, near, far)
    assert str(caught.value) == sentence


def test_as_many_pairs_as_a_run_takes() -> None:
    near, far = ([f"{side}{number}" for number in range(64)] for side in "nx")
    assert len(pair_hosts("mesh", near, far)) == MAX_PAIRS == 64 * 64
    with pytest.raises(HostSetError, match="makes 4,160 pairs of them, and a run takes up to 4,096; name fewer hosts"):
        pair_hosts("mesh", [*near, "n64"], far)


@given(
    st.lists(st.sampled_from("abcdef"), min_size=1, unique=True),
    st.lists(st.sampled_from("defghi"), min_size=1, unique=True),
)
def test_a_mesh_has_each_pair_of_different_hosts_once(near: list[str], far: list[str]) -> None:
    expected = {(host, peer) for host in near for peer in far if host != peer}
    if not expected:
        return
    found = pair_hosts("mesh", near, far)
    assert len(found) == len(expected)
    assert set(found) == expected
