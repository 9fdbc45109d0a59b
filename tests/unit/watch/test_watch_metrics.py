"""What is watched as OpenMetrics, read by a parser of the format and by a client over HTTP."""

from collections.abc import Iterator

import pytest
from prometheus_client.openmetrics.exposition import generate_latest as generate_openmetrics
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from tests.unit.watch.snapshots_of import SECOND_NS, connection, report
from whyperf.watch.metrics import WatchMetrics, peer_group
from whyperf.watch.tracker import Tracker
from whyperf.wire import ReplyWatched


def taken(*reports: ReplyWatched, max_groups: int = 100) -> WatchMetrics:
    metrics, tracker = WatchMetrics(max_groups), Tracker()
    for watched in reports:
        metrics.take(tracker.take("near", watched))
    return metrics


def samples(metrics: WatchMetrics) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    text = generate_openmetrics(metrics.registry).decode()
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if not sample.name.endswith("_created")
    }


def value(metrics: WatchMetrics, name: str, **labels: str) -> float:
    return samples(metrics)[f"whyperf_watch_{name}", frozenset({"side": "near", **labels}.items())]


GROUP = {"program": "iperf3", "peer_group": "10.0.0.0/24"}


def test_sums_are_by_program_and_group_of_peers() -> None:
    metrics = taken(
        report(1, connection(0), connection(1)),
        report(
            2,
            connection(0, acked_bytes=700, busy_ns=SECOND_NS, rwnd_limited_ns=SECOND_NS, retransmitted_segments=2),
            connection(1, acked_bytes=50, received_bytes=8, data_segments_out=4),
        ),
    )
    assert value(metrics, "payload_bytes_total", direction="send", **GROUP) == 750
    assert value(metrics, "payload_bytes_total", direction="receive", **GROUP) == 8
    assert value(metrics, "retransmitted_segments_total", **GROUP) == 2
    assert value(metrics, "sent_segments_total", **GROUP) == 4
    assert value(metrics, "limit_seconds_total", direction="send", limit="receive_window", **GROUP) == 1
    assert value(metrics, "limit_seconds_total", direction="send", limit="nothing_to_send", **GROUP) == 1
    assert value(metrics, "rtt_seconds_count", **GROUP) == 2
    assert value(metrics, "rtt_seconds_sum", **GROUP) == pytest.approx(0.002)
    assert value(metrics, "connections") == 2
    assert value(metrics, "unwatched_connections") == 3
    assert value(metrics, "evidence_level", level="user") == 1
    assert value(metrics, "evidence_level", level="counters") == 0


@pytest.mark.parametrize("count", [2, 300])
def test_the_number_of_series_is_bounded(count: int) -> None:
    """However many programs and networks there are."""

    def snapshots(moved: int) -> Iterator[object]:
        for number in range(count):
            remote = f"10.{number // 250}.{number % 250}.9:80"
            yield connection(
                number,
                program=f"program{number}",
                endpoints={"local": "10.0.0.1:4000", "remote": remote},
                acked_bytes=moved,
            )

    metrics = taken(report(1, *snapshots(0)), report(2, *snapshots(5)), max_groups=10)  # type: ignore[arg-type]
    sums = {
        labels: sample
        for (name, labels), sample in samples(metrics).items()
        if name == "whyperf_watch_payload_bytes_total" and ("direction", "send") in labels
    }
    assert len(sums) == min(count, 11)
    assert sum(sums.values()) == 5 * count
    if count > 10:
        rest = {"program": "other", "peer_group": "other", "direction": "send"}
        assert value(metrics, "payload_bytes_total", **rest) == 5 * (count - 10)


def test_a_program_may_have_any_name() -> None:
    """The name of a program is whatever its owner wrote there."""
    names = ['a"b\\c\nd', "\ud800", "", "x" * 500]
    before = [connection(number, program=name) for number, name in enumerate(names)]
    after = [connection(number, program=name, acked_bytes=1) for number, name in enumerate(names)]
    found = {dict(labels).get("program") for _, labels in samples(taken(report(1, *before), report(2, *after)))}
    assert {'a"b\\c\\nd', "\\ud800", "unknown", "x" * 64} <= found


@pytest.mark.parametrize(
    ("remote", "group"),
    [
        ("10.1.2.3:80", "10.1.2.0/24"),
        ("[::ffff:10.1.2.3]:80", "10.1.2.0/24"),
        ("[2001:db8:1:2:3::4]:80", "2001:db8:1:2::/64"),
        ("[fe80::1%eth0]:80", "fe80::/64"),
        ("127.0.0.5:80", "loopback"),
        ("[::1]:80", "loopback"),
        ("[::ffff:127.0.0.1]:80", "loopback"),
        ("nonsense", "other"),
    ],
)
def test_peers_are_grouped_by_network(remote: str, group: str) -> None:
    assert peer_group(remote) == group
