"""Transports that a library carries: which factors have a meaning there, and what is said of the others."""

import pytest

from whyperf.profile import ProfileError
from whyperf.profile.combination import resolve


@pytest.mark.parametrize("transport", ["udt", "quic", "srt"])
def test_a_cell_has_what_the_library_can_do_and_nothing_of_the_kernels_sockets(transport: str) -> None:
    cell = resolve({"transport": transport, "window_bytes": 1 << 20}, testbed=True)
    assert cell["window_bytes"] == 1 << 20
    assert {"write_size_bytes", "read_size_bytes", "reply_size_bytes", "connections", "direction"} <= cell.keys()
    for name in (
        "no_delay",
        "quick_ack",
        "cork",
        "mss_bytes",
        "dscp",
        "busy_poll_us",
        "zero_copy",
        "read_wait",
        "truncate",
    ):
        assert name not in cell, name


@pytest.mark.parametrize(
    ("transport", "name", "level"),
    [
        ("udt", "no_delay", True),
        ("udt", "congestion_control", "reno"),
        ("udt", "dscp", 8),
        ("udt", "read_wait", "block"),
        ("udt", "truncate", True),
        ("udt", "zero_copy", True),
        ("udt", "send_call", "splice"),
        ("quic", "no_delay", True),
        ("quic", "mss_bytes", 1000),
    ],
)
def test_what_it_does_not_have_is_refused_before_the_run(transport: str, name: str, level: bool | int | str) -> None:
    with pytest.raises(ProfileError, match=f"{transport} has no such setting") as caught:
        resolve({"transport": transport, name: level}, testbed=True)
    assert name in str(caught.value)


@pytest.mark.parametrize("transport", ["udt", "quic", "srt"])
def test_workloads_but_streams_do_not_run_over_it(transport: str) -> None:
    with pytest.raises(ProfileError, match=f"rr does not run over {transport}"):
        resolve({"transport": transport, "workload": "rr"}, testbed=True)


def test_quic_has_congestion_controls_of_its_own() -> None:
    assert resolve({"transport": "quic", "congestion_control": "bbr"}, testbed=True)["congestion_control"] == "bbr"


@pytest.mark.parametrize("transport", ["udt", "quic", "srt"])
def test_the_probe_goes_beside_it(transport: str) -> None:
    cell = resolve({"transport": transport, "rtt_probe_ms": 5, "rtt_probe": "icmp"}, testbed=True)
    assert (cell["rtt_probe_ms"], cell["rtt_probe"]) == (5, "icmp")


def test_what_carries_the_probe_needs_a_probe() -> None:
    with pytest.raises(ProfileError, match="set rtt_probe_ms too") as caught:
        resolve({"rtt_probe": "icmp"}, testbed=True)
    assert "rtt_probe" in str(caught.value)


def test_two_libraries_may_compete() -> None:
    cell = resolve({"transport": "udt", "schedule": "mixed", "competitor": "quic"}, testbed=True)
    assert (cell["transport"], cell["competitor"]) == ("udt", "quic")
