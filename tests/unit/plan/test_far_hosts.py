"""What is reported of far hosts that a profile names by itself."""

import pytest

from whyperf.plan.far_hosts import far_host_notes, parts_of

STANDS = "stands for h, the profile's far host; --host h measures the path to it."


@pytest.mark.parametrize(
    ("named", "target", "notes"),
    [
        ((), "testbed", []),
        (("host7",), "host7", []),
        (("h",), "testbed", [f"The embedded testbed {STANDS}"]),
        (("h",), "loopback", [f"The loopback {STANDS}"]),
        (("h",), "host7", ["host7 (--host) stands for h, the profile's far host."]),
        (("a", "b"), "a,b", []),
        (("a", "b"), "x,y", ["x,y (--host) stand for a, b, the profile's far hosts."]),
        (("a", "b"), "a", ["The profile names 2 far hosts (a, b); all connections go to one far host, a."]),
    ],
)
def test_far_hosts(named: tuple[str, ...], target: str, notes: list[str]) -> None:
    assert far_host_notes(named, target) == notes


@pytest.mark.parametrize(
    ("parts", "target", "taken"),
    [
        ((("g1",), ("g2", "g3")), "a,b", (("g1",), ("g2", "g3"))),
        ((("g1",), ("g2",)), "a", ()),
        ((("g1",), ("g2",)), "testbed", ()),
        ((), "a,b", ()),
        ((), "a", ()),
    ],
)
def test_each_of_several_far_hosts_has_its_groups(
    parts: tuple[tuple[str, ...], ...], target: str, taken: tuple[tuple[str, ...], ...]
) -> None:
    assert parts_of(parts, target) == taken
