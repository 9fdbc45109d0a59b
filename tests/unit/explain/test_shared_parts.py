"""A bus, or the processor on an adapter, that is busy all the time is named; where it is not, nothing is said of it."""

from pathlib import Path

import polars as pl
import pytest

from tests.unit.explain.test_exchanges import trial
from tests.unit.explain.test_host_limits import counters, found
from whyperf.explain.causes import Cause
from whyperf.explain.explanation import CellExplanation
from whyperf.explain.gather import with_link_use
from whyperf.explain.headline import experiment_headline
from whyperf.explain.host_facts import HostFacts, HostLimits
from whyperf.explain.limits.judge import FULL_RATIO, judge, settled
from whyperf.explain.trial_facts import Facts

SECOND = 1_000_000_000


def host(busy: dict[str, float], adapters: int = 1) -> HostFacts:
    """A host whose parts are busy for so much of the time."""
    return HostFacts(limits=HostLimits(parts=busy, adapters_count=adapters), shares={"send_buffer": 0.8})


@pytest.mark.parametrize(
    ("part", "code", "start"),
    [
        ("bus", "capacity.bus", "The sender's bus is the limit: it is busy 99 % of the time"),
        ("receive_processor", "capacity.receive_processor", "The receive processor on the sender's adapter"),
        ("half_duplex", "capacity.half_duplex", "The half-duplex link is the limit: it is busy 99 % of the time"),
        ("send_processor", "capacity.send_processor", "The processor on the sender's adapter is the limit"),
    ],
)
def test_a_part_that_is_always_busy_is_the_only_verdict(part: str, code: str, start: str) -> None:
    (verdict,) = judge(Facts("t", sender=host({part: 0.99})))
    assert (verdict.cause, verdict.code) == (Cause.CAPACITY, code)
    assert verdict.claim.startswith(start)
    assert verdict.change is None


def test_adapters_that_share_a_bus_are_counted() -> None:
    (verdict,) = judge(Facts("t", sender=host({"bus": 0.99}, adapters=2)))
    assert verdict.claim.endswith("Its 2 adapters share that bus.")


def test_of_two_buses_alike_the_senders_is_named() -> None:
    limit = settled(Facts("t", sender=host({"bus": 0.98}), receiver=host({"bus": 0.981})))
    assert limit is not None
    assert limit.values["role"] == "sender"


@pytest.mark.parametrize(("busy", "is_named"), [(FULL_RATIO, True), (FULL_RATIO - 0.01, False)])
def test_a_part_is_the_limit_from_a_ratio_on(busy: float, *, is_named: bool) -> None:
    limit = settled(Facts("t", receiver=host({"receive_processor": busy})))
    assert (limit is not None and limit.code == "capacity.receive_processor") is is_named


def test_a_sweep_names_what_is_shared_apart_from_a_cpu() -> None:
    empty = CellExplanation(
        cell="c", trial="1", rate_bps=None, dominant_state=None, missing=[], budgets=[], patterns=[], verdicts=[],
        headline="",
    )  # fmt: skip
    verdicts = [judge(Facts("t", sender=host({part: 0.99}))) for part in ("bus", *["half_duplex"] * 2)]
    cells = [empty.model_copy(update={"verdicts": found}) for found in verdicts]
    assert experiment_headline(cells) == "2 of 3 settings are limited by a half-duplex link, 1 by a bus."


def sampled(folder: Path, host: str, segments: int, received: int) -> None:
    """Samples at the start of a second and after it: that many segments sent and bytes received by two connections."""
    pl.DataFrame(
        [
            {"connection": connection, "sample_mono_ns": time * SECOND, "host": host}
            | {"segments_out": 7 + time * segments // 2, "bytes_received": 50 + time * received // 2}
            for connection in (0, 1)
            for time in (0, 1)
        ]
    ).write_parquet(folder / f"tcp_info.{host}.parquet")


@pytest.mark.parametrize(
    ("duplex", "link", "time_stamps", "busy"),
    [
        # 80,000 segments with 1,448 bytes of payload and 10,000 ACKs, of 90 bytes without payload: 0.9915 Gbit/s.
        ("half", "ethernet-1G", True, 0.99152),
        ("half", "ethernet-1G", False, 0.98288),
        ("full", "ethernet-1G", True, None),
        ("half", "atm-oc3", True, None),
    ],
)
def test_both_directions_count_on_a_link_of_half_duplex(
    tmp_path: Path, duplex: str, link: str, busy: float | None, *, time_stamps: bool
) -> None:
    sampled(tmp_path, "near", 80_000, 0)
    sampled(tmp_path, "far", 10_000, 80_000 * 1448)
    options = {"parameters": {"a": {"values": {"time_stamps": {"value": time_stamps}}}}}
    ends = Facts("t", link_bps=1e9, sender=HostFacts(host="near"), receiver=HostFacts(host="far"))
    hosts, factors = dict.fromkeys(("near", "far"), options), {"duplex": duplex, "link": link}
    found = with_link_use(ends, trial(tmp_path), hosts, factors)
    assert found.sender.limits.parts.get("half_duplex") == (None if busy is None else pytest.approx(busy, rel=1e-4))


def test_the_table_has_how_long_each_part_was_busy(tmp_path: Path) -> None:
    rows: dict[tuple[str, str, str], tuple[int | None, int | None]] = {
        ("bus_busy", "bus", "model"): (0, SECOND),
        ("adapter_receive_busy", "adapter", "model"): (0, SECOND // 2),
        ("adapters", "host", "model"): (2, 2),
    }
    limits = found(counters(tmp_path, rows))
    assert limits.adapters_count == 2
    assert limits.parts["receive_processor"] == pytest.approx(limits.parts["bus"] / 2)
    assert set(limits.parts) == {"bus", "receive_processor"}
