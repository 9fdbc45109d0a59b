"""What a cell asks of the embedded testbed, and what a host that lacks it is not asked."""

from typing import Any, cast

import pytest

from tests.e2e.experiments import plan_of, profile_text
from whyperf.plan import MODEL, build
from whyperf.profile import ProfileError, parse
from whyperf.run import Kind, RunError
from whyperf.run.ends import FAR, NEAR, Cpus
from whyperf.run.testbed import missing_settings, refuse_missing_settings, request_for
from whyperf.wire import HostFacts, RequestBuildTestbed

CPUS = {NEAR: Cpus((0,), (0,), exclusive=True), FAR: Cpus((1,), (1,), exclusive=True)}
ROLES = {NEAR: "sender", FAR: "receiver"}
SYSCTLS = {f"net.ipv4.tcp_{name}": "1" for name in ("limit_output_bytes", "autocorking", "tso_win_divisor")}
HOST = cast("HostFacts", {"cpus": [0, 1], "kernel": "6.18.44-fc", "sysctls": SYSCTLS})
OLD = cast("HostFacts", {"cpus": [0, 1], "kernel": "5.10.0-30-amd64", "sysctls": {}})
PATH: Any = {"implementation": "router"}


def asked(path: Any = None, **levels: Any) -> RequestBuildTestbed:
    (cell,) = plan_of(**levels).cells
    return request_for(cell.factors, (0, 1), CPUS, ROLES, path)


def test_a_testbed_without_levels_is_as_before_these_factors() -> None:
    assert asked() == {
        "request": "build_testbed",
        "mtu_bytes": 1500,
        "tso": True,
        "gso": True,
        "gro": True,
        "near_rps_cpus": [0],
        "far_rps_cpus": [1],
    }
    levels: dict[str, Any] = {
        "rps_cpus": "auto",
        "threaded_napi": False,
        "tcp_autocorking": True,
        "tcp_limit_output_bytes": "default",
    }
    assert asked(**levels) == asked()
    assert plan_of(**levels).id == plan_of().id != plan_of(rps_cpus="off").id


def test_packets_go_where_the_level_says() -> None:
    off = asked(rps_cpus="off")
    assert (off["near_rps_cpus"], off["far_rps_cpus"]) == ([], [])
    both = asked(rps_cpus="0-1")
    assert (both["near_rps_cpus"], both["far_rps_cpus"]) == ([0, 1], [0, 1])


def test_threads_poll_on_each_sides_own_cpus_whatever_is_steered() -> None:
    for level in ("off", "auto", "0"):
        assert asked(rps_cpus=level, threaded_napi=True, tso=False)["napi_threads"] == {
            "near_cpus": [0],
            "far_cpus": [1],
        }
    # The router of a path is on the receiver's CPU: threads keep off it, as packets do.
    assert asked(PATH, threaded_napi=True, tso=False)["napi_threads"] == {"near_cpus": [0], "far_cpus": [0]}
    assert asked(PATH, rps_cpus="off")["far_rps_cpus"] == []


def test_parameters_are_set_only_where_they_are_asked_for() -> None:
    assert "tcp" not in asked()
    assert asked(tcp_limit_output_bytes=4096)["tcp"] == {"limit_output_bytes": 4096}
    assert asked(tcp_autocorking=False, tcp_tso_win_divisor=0)["tcp"] == {"autocorking": False, "tso_win_divisor": 0}


@pytest.mark.parametrize(
    ("level", "lacking"),
    [
        ({"rps_cpus": "0,7"}, "this host has no CPU 7; it has 0, 1"),
        ({"threaded_napi": True, "tso": False}, "Linux 5.10.0-30-amd64 has no threaded NAPI, which came with 5.12"),
        ({"tcp_limit_output_bytes": 4096}, "this kernel has no net.ipv4.tcp_limit_output_bytes"),
        ({"tcp_autocorking": False}, "this kernel has no net.ipv4.tcp_autocorking"),
        ({"tcp_tso_win_divisor": 1}, "this kernel has no net.ipv4.tcp_tso_win_divisor"),
    ],
)
def test_a_host_that_lacks_a_setting_is_named(level: dict[str, Any], lacking: str) -> None:
    assert missing_settings(level, OLD) == {next(iter(level)): lacking}
    assert missing_settings(level | {"rps_cpus": "0"}, HOST) == {}
    with pytest.raises(RunError, match=lacking):
        refuse_missing_settings(plan_of(**level).cells, OLD)


def test_what_is_not_set_is_not_missing() -> None:
    assert missing_settings(plan_of().cells[0].factors, OLD) == {}


def test_levels_that_cannot_be_are_refused() -> None:
    without: tuple[dict[str, Any], ...] = ({}, {"tso": False, "gro": False})
    for levels in without:
        with pytest.raises(ProfileError, match="threaded_napi: a veth uses NAPI only with gro on and tso off"):
            plan_of(threaded_napi=True, **levels)
    with pytest.raises(ProfileError, match='invalid value "any"; give auto, off or a list such as "0" or "0,2-3"'):
        plan_of(rps_cpus="any")
    with pytest.raises(ProfileError, match="give a whole number from 0 to 255 or default"):
        plan_of(tcp_tso_win_divisor=256)


@pytest.mark.parametrize(
    "level", [{"rps_cpus": "off"}, {"threaded_napi": True, "tso": False}, {"tcp_tso_win_divisor": 0}]
)
def test_only_the_testbed_has_these_settings(level: dict[str, Any]) -> None:
    name = next(iter(level))
    with pytest.raises(ProfileError, match="the path to host7 has no such setting"):
        build(parse(profile_text(), name="test", where="test.toml"), target="host7", overrides=level)
    assert name not in plan_of(kind=Kind.LOOPBACK).cells[0].factors
    with pytest.raises(ProfileError, match=f"the model has no {name}"):
        build(parse(profile_text(**level, hosts="sparc2+sba-100@2.2.6"), name="test", where="t.toml"), target=MODEL)
