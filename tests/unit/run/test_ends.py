"""Which CPUs each side gets, and when they are its alone."""

from typing import Any

import pytest

from whyperf.run import Kind, RunError
from whyperf.run.ends import FAR, NEAR, Cpus, named_cpus, place_router, share_cpus


def _facts(near: list[int], far: list[int], *, one_machine: bool = False) -> Any:
    return {NEAR: {"cpus": near, "boot_id": "a"}, FAR: {"cpus": far, "boot_id": "a" if one_machine else "b"}}


def _factors(near: str = "auto", far: str = "auto") -> dict[str, str]:
    return {"near_cpus": near, "far_cpus": far}


def test_a_machine_of_both_sides_is_split_in_halves() -> None:
    shares = share_cpus(Kind.VETH, _factors(), _facts([0, 1, 2, 3], [0, 1, 2, 3], one_machine=True))
    assert shares == {NEAR: Cpus((0, 1), (0, 1), True), FAR: Cpus((2, 3), (2, 3), True)}


def test_one_cpu_cannot_be_split() -> None:
    shares = share_cpus(Kind.LOOPBACK, _factors(), _facts([0], [0], one_machine=True))
    assert shares[NEAR] == shares[FAR] == Cpus((), (0,), False)


def test_two_machines_are_each_its_ends_alone() -> None:
    shares = share_cpus(Kind.NETWORK, _factors(), _facts([0, 1], [0, 1, 2]))
    assert shares == {NEAR: Cpus((), (0, 1), True), FAR: Cpus((), (0, 1, 2), True)}


def test_an_ssh_host_that_is_this_machine_is_no_second_one() -> None:
    shares = share_cpus(Kind.NETWORK, _factors(), _facts([0, 1], [0, 1], one_machine=True))
    assert shares == {NEAR: Cpus((0,), (0,), True), FAR: Cpus((1,), (1,), True)}


def test_cpus_thon_both_sides_name_are_neithers_alone() -> None:
    shares = share_cpus(Kind.VETH, _factors("0-2", "2,3"), _facts([0, 1, 2, 3], [0, 1, 2, 3], one_machine=True))
    assert shares == {NEAR: Cpus((0, 1, 2), (0, 1, 2), False), FAR: Cpus((2, 3), (2, 3), False)}


def test_a_cpu_that_is_not_there_is_named() -> None:
    with pytest.raises(RunError, match="far_cpus: the far host has no CPU 7 to use; it has 0, 1"):
        share_cpus(Kind.VETH, _factors("0", "7"), _facts([0, 1], [0, 1], one_machine=True))


@pytest.mark.parametrize(
    ("level", "cpus"), [("0", {0}), ("0,2-3", {0, 2, 3}), ("auto", set()), ("any", set()), ("=near_cpus", set())]
)
def test_the_cpus_that_a_level_names(level: str, cpus: set[int]) -> None:
    assert named_cpus(level) == cpus


@pytest.mark.parametrize(
    ("near", "far", "online", "near_sends", "placed"),
    [
        # Two CPUs: the receiver's is the router's, and nobody else's softirqs run there.
        ([0], [1], [0, 1], True, (1, [0], [0])),
        ([0], [1], [0, 1], False, (0, [1], [1])),
        # A CPU of neither end is free for it.
        ([0], [1], [0, 1, 2], True, (2, [0], [1])),
        ([0, 1], [2, 3], [0, 1, 2, 3], True, (3, [0, 1], [2])),
        ([0], [0], [0], True, (0, [], [])),
    ],
)
def test_the_router_keeps_off_the_sender(
    near: list[int], far: list[int], online: list[int], near_sends: bool, placed: tuple[int, list[int], list[int]]
) -> None:
    cpus = {NEAR: Cpus((), tuple(near), True), FAR: Cpus((), tuple(far), True)}
    roles = {NEAR: "sender" if near_sends else "receiver", FAR: "receiver" if near_sends else "sender"}
    path_cpu, near_rps_cpus, far_rps_cpus = placed
    assert place_router(online, cpus, roles) == (path_cpu, {NEAR: near_rps_cpus, FAR: far_rps_cpus})
