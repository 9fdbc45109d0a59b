"""The window that a latency needs: rate x round trip, next to the buffers of the sockets."""

from dataclasses import replace
from typing import Any

import polars as pl
import pytest

from tests.unit.analyze import synthetic as made
from tests.unit.analyze import workload_samples as samples
from whyperf.analyze.cell_results import summarize_inputs
from whyperf.analyze.read.inputs import Inputs
from whyperf.analyze.window_result import NeededWindow
from whyperf.report.needed_window import needed_window_lines

SYSCTLS = {"net.ipv4.tcp_wmem": "4096 16384 4194304", "net.ipv4.tcp_rmem": "4096 131072 400000"}
ROUND_TRIP_NS = 100_000


def exchange(**changes: Any) -> Inputs:
    """One request at a time that takes 0.1 ms, on hosts with these settings."""
    trial = made.Trial(factors={"workload": "rr", **changes.pop("factors", {})}, **changes)
    made_of = samples.Exchange(trial=trial, latencies=(("service", ROUND_TRIP_NS, ROUND_TRIP_NS, 1000),))
    return replace(samples.inputs(made_of), hosts={end: {"sysctls": SYSCTLS} for end in ("near", "far")})


def needed(inputs: Inputs) -> NeededWindow | None:
    return summarize_inputs(inputs).cells[0].needed_window


def with_devices(inputs: Inputs, near_mbps: int, far_mbps: int, driver: str = "mlx5_core") -> Inputs:
    """The same over devices that state these speeds."""
    hosts = {
        end: {"sysctls": SYSCTLS, "devices": [{"name": "eth0", "driver": driver, "speed_mbps": speed}]}
        for end, speed in (("near", near_mbps), ("far", far_mbps))
    }
    keys = inputs.ends.select("trial", "host").with_columns(
        pl.lit("c0001").alias("cell"), pl.lit("eth0").alias("device")
    )
    rows = keys.with_columns(pl.lit(5).alias("tx_packets"), pl.lit(5).alias("rx_packets"))
    return replace(inputs, devices=rows, hosts=hosts)


def test_without_a_known_rate_there_are_examples() -> None:
    found = made.known(needed(exchange()))
    assert (found.round_trip_ns, found.one_way_ns) == pytest.approx((100_000, 50_000), rel=0.01)
    assert [(at.rate_bps, at.source) for at in found.rates] == [
        (1e9, "example"),
        (10e9, "example"),
        (25e9, "example"),
        (100e9, "example"),
    ]
    ten = found.rates[1]
    assert ten.round_trip_bytes == pytest.approx(125_000, rel=0.01)
    assert ten.one_way_bytes == pytest.approx(62_500, rel=0.01)
    # Half of the receive buffer's limit, 200,000 bytes, holds the windows of 1 and 10 Gbit/s.
    assert [at.is_enough for at in found.rates] == [True, True, False, False]
    # Four rates that nobody asked about are no answer.
    assert list(needed_window_lines(found)) == []
    window, buffers = needed_window_lines(found, asked_bps=100e9)
    assert "round trip 1,250,000 bytes (more than the socket buffers hold) at 100 Gbit/s (--window-for)" in window[1]
    assert buffers == (
        "Socket buffers",
        "send 131,072 bytes, up to 4,194,304 bytes (net.ipv4.tcp_wmem); "
        "receive 131,072 bytes, up to 400,000 bytes (net.ipv4.tcp_rmem)",
    )


def test_the_slower_link_is_the_rate_where_it_is_known() -> None:
    found = made.known(needed(with_devices(exchange(), near_mbps=25_000, far_mbps=10_000)))
    (at,) = found.rates
    assert (at.rate_bps, at.source) == (10e9, "link")
    made_up = made.known(needed(with_devices(exchange(), near_mbps=25_000, far_mbps=10_000, driver="veth")))
    assert {at.source for at in made_up.rates} == {"example"}


def test_an_emulated_path_has_its_own_rate() -> None:
    found = made.known(needed(with_devices(exchange(factors={"path_rate_bps": 100_000_000}), 10_000, 10_000)))
    (at,) = found.rates
    assert (at.rate_bps, at.source) == (1e8, "path")
    assert at.round_trip_bytes == pytest.approx(1250, rel=0.01)


def test_a_requested_buffer_is_not_tuned() -> None:
    found = made.known(needed(exchange(window_bytes=32_768)))
    assert found.send_buffer.model_dump() == {
        "bytes": 65_536,
        "requested_bytes": 32_768,
        "limit_bytes": 65_536,
        "limit": "socket",
    }
    assert [at.is_enough for at in found.rates] == [True, False, False, False]
    assert (
        "receive 65,536 bytes, fixed (32,768 bytes requested)"
        in dict(needed_window_lines(found, asked_bps=1e9))["Socket buffers"]
    )


def test_a_host_that_does_not_state_its_limits_leaves_the_judgement_open() -> None:
    found = made.known(needed(replace(exchange(), hosts={})))
    assert {at.is_enough for at in found.rates} == {None}
    assert (
        dict(needed_window_lines(found, asked_bps=1e9))["Socket buffers"] == "send 131,072 bytes; receive 131,072 bytes"
    )


@pytest.mark.parametrize("factors", [{"outstanding": 4}, {"transport": "unix"}])
def test_other_latencies_are_no_round_trip_of_a_window(factors: dict[str, object]) -> None:
    assert needed(exchange(factors=factors)) is None
    assert needed(made.inputs([made.Trial()])) is None
