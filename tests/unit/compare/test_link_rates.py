"""Rates on the link: headers by the segments that were counted, and the most that the link has room for."""

from types import SimpleNamespace
from typing import Any

import pytest

from whyperf.compare.link import link_of_host, with_link_rates

HOSTS: dict[str, dict[str, Any]] = {
    side: {
        "devices": [
            {"name": "lo", "driver": None, "mtu_bytes": 65536, "speed_mbps": None},
            {"name": "eth0", "driver": "ixgbe", "mtu_bytes": 1500, "speed_mbps": speed},
            {"name": "veth0", "driver": "veth", "mtu_bytes": 1500, "speed_mbps": 10_000},
        ]
    }
    for side, speed in (("near", 10_000), ("far", 1_000))
}


def rates(values: dict[str, dict[str, float]], kind: str = "network", hosts: Any = HOSTS, **factors: object) -> Any:
    cell: Any = SimpleNamespace(factors=factors)
    plan = SimpleNamespace(testbed=SimpleNamespace(kind=kind))
    return with_link_rates(values, cell, SimpleNamespace(plan=plan, hosts=lambda: hosts))  # type: ignore[arg-type]


def test_full_segments_on_gigabit_ethernet_leave_941_mbit_per_second() -> None:
    # 1,448 bytes of payload need 1,538 on the line: 20 + 32 of headers, 18 of Ethernet, 20 of preamble and gap.
    goodput = 1e9 * 1448 / 1538
    found = rates({"goodput": {"t": goodput}, "segments": {"t": goodput / 8 / 1448}})
    assert found["wire_rate"]["t"] == pytest.approx(1e9)
    # The slower host has 1 Gbit/s.
    assert found["link_share"]["t"] == pytest.approx(1.0)


def test_small_segments_have_more_headers() -> None:
    found = rates({"goodput": {"t": 8e6}, "segments": {"t": 1e6 / 100}})
    assert found["wire_rate"]["t"] == pytest.approx(8e6 * 190 / 100)
    six = rates({"goodput": {"t": 8e6}, "segments": {"t": 1e6 / 100}}, ip_version=6)
    assert six["wire_rate"]["t"] == pytest.approx(8e6 * 210 / 100)


def test_what_is_sent_again_is_on_the_link_too() -> None:
    found = rates({"goodput": {"t": 8e6}, "segments": {"t": 1100.0}, "retransmitted": {"t": 0.1}})
    assert found["wire_rate"]["t"] == pytest.approx(8e6 * 1.1 + 8 * 90 * 1100)


def test_datagrams_have_their_own_headers() -> None:
    found = rates({"goodput": {"t": 8 * 1472e3}, "datagrams": {"t": 1000.0}}, workload="udp-stream")
    assert found["wire_rate"]["t"] == pytest.approx(8 * 1000 * 1538)


def test_an_emulated_path_counts_no_preamble() -> None:
    goodput = 1e8 * 1448 / 1514
    values = {"goodput": {"t": goodput}, "segments": {"t": goodput / 8 / 1448}}
    found = rates(values, kind="veth", hosts={}, path_rate_bps=100_000_000)
    assert found["link_share"]["t"] == pytest.approx(1.0)
    # Two virtual devices have no rate of their own.
    assert "link_share" not in rates(values, kind="veth", hosts={})


def test_the_back_direction_may_have_another_rate() -> None:
    values = {"goodput": {"t": 1e6}, "segments": {"t": 100.0}}
    back = rates(values, "veth", {}, path_rate_bps=10**8, path_rate_back_bps=10**7, direction="receive")
    there = rates(values, "veth", {}, path_rate_bps=10**8, path_rate_back_bps=10**7, direction="send")
    assert back["link_share"]["t"] == pytest.approx(10 * there["link_share"]["t"])


@pytest.mark.parametrize("kind", ["loopback", "model"])
def test_without_frames_of_ethernet_nothing_is_added(kind: str) -> None:
    values = {"goodput": {"t": 8e6}, "segments": {"t": 1000.0}}
    assert rates(values, kind=kind) is values
    assert rates(values, transport="unix") is values


def test_a_host_with_two_links_has_none_that_is_known() -> None:
    assert link_of_host(HOSTS["far"]) is not None
    both = {"devices": [*HOSTS["far"]["devices"], *HOSTS["near"]["devices"]]}
    assert link_of_host(both) is None


def test_datagrams_are_cut_at_the_mtu_of_the_link() -> None:
    def with_mtu(mtu: int) -> Any:
        return {side: {"devices": [{**HOSTS["far"]["devices"][1], "mtu_bytes": mtu}]} for side in ("near", "far")}

    values = {"goodput": {"t": 8e6}, "datagrams": {"t": 1000.0}}
    datagrams: dict[str, Any] = {"workload": "udp-stream", "datagram_size_bytes": 8972}
    assert rates(values, hosts=with_mtu(9000), **datagrams)["wire_rate"]["t"] == pytest.approx(8000 * (8972 + 28 + 38))
    # Seven fragments, each with headers of its own.
    assert rates(values, hosts=with_mtu(1500), **datagrams)["wire_rate"]["t"] > 8000 * (8972 + 8 + 7 * (20 + 38)) - 1
    assert rates(values, hosts={"near": {}, "far": {}}, **datagrams) is values
