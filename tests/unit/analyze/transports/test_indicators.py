"""A whole trial's indicators, and a cell's over its trials."""

from collections.abc import Sequence

import numpy as np
import polars as pl
import pytest

from tests.unit.analyze.made_frames import rows_of_joins
from tests.unit.analyze.synthetic import known
from tests.unit.analyze.transports.scheduled import (
    NO_PROBE,
    NO_TCP_INFO,
    NO_TRANSPORT_INFO,
    NS_PER_S,
    START_NS,
    Flow,
    constant,
    interval_rows,
    schedule_rows,
    tcp_info_rows,
)
from whyperf.analyze.read.assemble import _schedule
from whyperf.analyze.read.inputs import Cell
from whyperf.analyze.transports import time_series
from whyperf.analyze.transports.indicators import Indicators, indicators
from whyperf.analyze.transports.samples import connections, round_trips, sender_samples
from whyperf.analyze.transports.schedule import scheduled_connections
from whyperf.analyze.transports.summary import summarize_transports
from whyperf.analyze.transports.time_series import ActiveInterval
from whyperf.profile.schedule.own_schedule import MAX_FLOWS
from whyperf.record import RecordError

SHARED = [Flow(0, 40, lambda at: 80e6 if at < 10 or at >= 30 else 60e6), Flow(10, 30, constant(20e6))]


def trial(flows: Sequence[Flow], tcp_info: pl.DataFrame = NO_TCP_INFO, probe: pl.DataFrame = NO_PROBE) -> Indicators:
    senders = sender_samples(tcp_info, NO_TRANSPORT_INFO)
    return indicators(schedule_rows(flows), interval_rows(flows), senders, probe)


def probe_rows(rtts: Sequence[tuple[float, float | None]]) -> pl.DataFrame:
    """Requests at an instant in s with a round trip in ms, or without an answer."""
    return pl.DataFrame(
        [(START_NS + round(at_s * NS_PER_S), None if rtt_ms is None else round(rtt_ms * 1e6)) for at_s, rtt_ms in rtts],
        schema={"sent_mono_ns": pl.Int64(), "rtt_ns": pl.Int64()},
        orient="row",
    )


def test_goodput_and_fairness_region_by_region() -> None:
    found = trial(SHARED)
    assert [region.goodput_bps for region in found.regions] == pytest.approx([80e6] * 3)
    assert found.stability == pytest.approx(0, abs=1e-6)
    # 60 and 20: 80² / (2 x 4000).
    assert [region.fairness for region in found.regions] == [None, pytest.approx(0.8), None]
    assert found.fairness_min == pytest.approx(0.8)
    assert found.flows[0].goodput_bps == pytest.approx(70e6)
    assert found.flows[0].stability == pytest.approx(np.std([80.0] * 20 + [60.0] * 20, ddof=1) / 70)


def test_times_of_a_schedule_do_not_decide_how_many_bins_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time_series, "MAX_VALUES", 10_000, raising=False)
    # A flow of a microsecond asks for 36,000 million bins of an hour.
    flows = [Flow(0, 1e-6, constant(10e6)), Flow(0, 3600, constant(10e6))]
    course = time_series.flow_course(schedule_rows(flows), interval_rows(flows, interval_s=60))
    assert course.bps.size <= 10_000 + 2 * len(course.regions)


def test_round_trips_of_the_probe_come_before_those_of_tcp() -> None:
    tcp_info = tcp_info_rows(0, np.arange(0, 40, 0.5).tolist(), [10] * 80, [0] * 80, rtt_ms=50)
    by_tcp = trial(SHARED, tcp_info)
    assert by_tcp.rtt_samples.source == "sender"
    assert by_tcp.rtt.mean_s == pytest.approx(0.05)
    assert by_tcp.rtt.inflation_ratio == pytest.approx(2.5)
    probe = probe_rows([(5, 20), (15, 30), (16, 50), (17, None), (35, 20)])
    by_probe = trial(SHARED, tcp_info, probe)
    assert by_probe.rtt_samples.source == "probe"
    middle = by_probe.regions[1].rtt
    assert middle.mean_s == pytest.approx(0.04)
    assert middle.inflation_ratio == pytest.approx(2)
    assert middle.deviation_s == pytest.approx(np.std([0.03, 0.05], ddof=1))
    assert trial(SHARED).rtt_samples.source is None


def test_samples_of_a_connection_that_is_not_at_work_say_nothing() -> None:
    early = tcp_info_rows(1, [1.0, 2.0, 12.0], [10] * 3, [0] * 3, rtt_ms=90)
    found = trial(SHARED, early)
    assert found.regions[0].rtt.mean_s is None
    assert found.regions[1].rtt.mean_s == pytest.approx(0.09)


def test_samples_and_spans_of_a_connection_are_not_joined_with_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """A forged trial may have any number of both."""
    spans = [(10.0, 20.0), (12.0, 14.0), (30.0, 40.0), *[(50.0 + place, 60.0 + place) for place in range(60)]]
    flows = [ActiveInterval(place, "", "", (0,), start, stop) for place, (start, stop) in enumerate(spans)]
    at_s = [place / 2 for place in range(260)]
    senders = sender_samples(tcp_info_rows(0, at_s, [10] * 260, [0] * 260), NO_TRANSPORT_INFO)
    heights = rows_of_joins(monkeypatch)
    found = round_trips(NO_PROBE, senders, flows, START_NS)
    assert max(heights) <= 260
    assert found.at_s == pytest.approx([at for at in at_s if any(start <= at < stop for start, stop in spans)])


def test_the_retransmitted_share_is_of_the_region_in_which_it_happened() -> None:
    at_s = np.arange(0, 40.5, 0.5).tolist()
    again = [0 if at < 15 else 5 for at in at_s]
    found = trial(SHARED, tcp_info_rows(0, at_s, [10] * 81, again))
    shares = [region.retransmitted_ratio for region in found.regions]
    # 200 data segments a second.
    assert shares == [0, pytest.approx(5 / 4000), 0]
    assert found.retransmitted_ratio == pytest.approx(5 / 8000)
    assert found.flows[1].retransmitted_ratio is None


def test_a_library_is_heard_as_the_kernel_is() -> None:
    """Two packets of 1456 bytes in the window, one of ten sent again, or one lost where nothing says so."""
    row = {"connection": 1, "role": "sender", "sample_mono_ns": START_NS, "rtt_ns": 9, "packet_payload_bytes": 1456}
    counters = {"cwnd_bytes": 2912, "sent_packets": 10, "lost_packets": 3, "retransmitted_packets": 1}
    silent = {"cwnd_bytes": None, "sent_packets": 20, "lost_packets": 4, "retransmitted_packets": None}
    rows = pl.DataFrame([row | counters, row | {"connection": 2} | silent], schema=NO_TRANSPORT_INFO.schema)
    found = connections(sender_samples(NO_TCP_INFO, rows), START_NS)
    assert (found[1].cwnd_segments[0], found[1].retransmitted_segments[0], found[1].data_segments[0]) == (2, 1, 10)
    assert (found[2].cwnd_segments[0], found[2].retransmitted_segments[0], found[2].data_segments[0]) == (0, 4, 20)


def test_harm_is_between_protocols_only() -> None:
    assert trial(SHARED).harmed == ()
    mixed = [
        Flow(0, 30, lambda at: 80e6 if at < 10 else 20e6, "reno"),
        Flow(10, 40, lambda at: 60e6 if at < 30 else 75e6, "cubic"),
    ]
    probe = probe_rows([(5, 40), (20, 160), (35, 100)])
    found = trial(mixed, probe=probe)
    assert found.fairness_min is None
    assert [(harm.flow, harm.by) for harm in found.harmed] == [(0, "cubic"), (1, "reno")]
    assert [harm.goodput_ratio for harm in found.harmed] == pytest.approx([0.75, 0.2])
    assert [harm.rtt_ratio for harm in found.harmed] == pytest.approx([0.75, 0.375])


def test_a_cell_is_reported_over_its_trials() -> None:
    factors = {"schedule": "own", "path_rate_bps": 100_000_000, "mtu_bytes": 1500, "ip_version": 4}
    trials = [trial([Flow(0, 20, constant(rate))]) for rate in (70e6, 80e6, 90e6)]
    found = known(
        summarize_transports(
            Cell("c0001", "main", factors), trials, {"sender": [8192.0, 16384.0, 24576.0]}, "TSC reference cycles", 7
        )
    )
    assert found.goodput_bps.median == pytest.approx(80e6)
    assert found.goodput_bps.low is not None
    # 8192 bits in a KByte: 16384 cycles for them are 2 GHz per Gbit/s.
    assert found.cpu_ghz_per_gbps.sender.median == pytest.approx(2)
    assert found.rfc6349.transfer_time_ratio.median == pytest.approx(100e6 * 1448 / 1514 / 80e6)
    assert found.rfc6349.buffer_delay_ratio.median is None
    assert summarize_transports(Cell("c0001", "main", factors), [], {}, None, 7) is None


def test_connections_of_several_near_ends_are_numbered_through() -> None:
    flows: list[dict[str, object]] = [
        {"start_ns": 0, "stop_ns": 2, "connections_count": 1, "transport": None, "congestion_control": None},
        {"start_ns": 1, "stop_ns": 2, "connections_count": 2, "transport": "quic", "congestion_control": None},
    ]
    spec = {"opening": "connect", "transport": "tcp", "socket": {"congestion_control": "bbr"}, "schedule": flows}
    hosts = {
        "near": {"spec": spec, "first_connection": 0},
        "far": {"spec": spec | {"opening": "listen"}},
        "near-2": {"spec": spec, "first_connection": 3},
    }
    rows = list(scheduled_connections({"trial": "t", "cell": "c", "start_mono_ns": 9, "hosts": hosts}, ["a"]))
    assert [row["connection"] for row in rows] == [0, 1, 2, 3, 4, 5]
    assert [row["flow"] for row in rows] == [0, 1, 1, 0, 1, 1]
    assert [row["protocol"] for row in rows[:3]] == ["bbr", "quic", "quic"]
    assert [row["name"] for row in rows[:2]] == ["a", "flow 2"]
    # The author of a result can write any number.
    huge: dict[str, object] = {**spec, "schedule": [{**flows[0], "connections_count": 10**12}]}
    many = scheduled_connections({"trial": "t", "cell": "c", "hosts": {"near": {"spec": huge}}}, ["a"])
    assert sum(1 for _ in many) == 65_536


def test_a_short_manifest_names_no_endless_flows_and_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    flow = {"start_ns": 0, "stop_ns": 2, "connections_count": 1}
    spec: dict[str, object] = {"opening": "connect", "schedule": [flow] * 100}
    hosts = {f"near{pair}": {"spec": spec} for pair in range(2, 12)}
    manifest: dict[str, object] = {"trial": "t", "cell": "c", "hosts": hosts}
    rows = list(scheduled_connections(manifest, [str(number) for number in range(100)], [()] * 2))
    assert len(rows) == 10 * MAX_FLOWS
    assert {row["flow"] for row in rows} == set(range(MAX_FLOWS))
    monkeypatch.setattr("whyperf.analyze.transports.schedule.MAX_OF_TRIAL", 100)
    assert len(list(scheduled_connections(manifest, []))) == 100
    monkeypatch.setattr("whyperf.analyze.read.assemble.MAX_SCHEDULED", 250)
    assert _schedule([manifest] * 2, {}, []).height == 200
    with pytest.raises(RecordError, match="have over 250 connections"):
        _schedule([manifest] * 3, {}, [])
