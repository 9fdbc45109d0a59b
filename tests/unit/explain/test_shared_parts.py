"""A bus, or the processor on an adapter, that is busy all the time is named; where it is not, nothing is said of it."""

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from tests.unit.explain.test_exchanges import trial
from tests.unit.explain.test_host_limits import counters, found
from tests.unit.explain.test_rules import facts
from whyperf.explain.causes import Cause
from whyperf.explain.explanation import CellExplanation
from whyperf.explain.gather import with_link_use
from whyperf.explain.headline import experiment_headline
from whyperf.explain.host_limits import HostLimits
from whyperf.explain.rules import judge
from whyperf.explain.rules.shared_parts import FULL_RATIO

SECOND = 1_000_000_000


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
    (verdict,) = judge(facts({"limits": HostLimits(parts={part: 0.99}), "shares": {"send_buffer": 0.8}}))
    assert (verdict.cause, verdict.code) == (Cause.CAPACITY, code)
    assert verdict.claim.startswith(start)
    assert verdict.change is None


def test_adapters_that_share_a_bus_are_counted() -> None:
    limits = HostLimits(parts={"bus": 0.99}, adapters_count=2)
    (verdict,) = judge(facts({"limits": limits}))
    assert verdict.claim.endswith("Its 2 adapters share that bus.")


def test_of_two_buses_alike_the_senders_is_named() -> None:
    limits = [{"limits": HostLimits(parts={"bus": busy})} for busy in (0.98, 0.981)]
    (verdict,) = judge(facts(limits[0], receiver=limits[1]))
    assert verdict.values["role"] == "sender"


@pytest.mark.parametrize(("busy", "is_named"), [(FULL_RATIO, True), (FULL_RATIO - 0.01, False)])
def test_a_part_is_the_limit_from_a_ratio_on(busy: float, is_named: bool) -> None:
    verdicts = judge(facts(receiver={"limits": HostLimits(parts={"receive_processor": busy})}))
    assert (verdicts[0].code == "capacity.receive_processor") == is_named


def test_a_sweep_names_what_is_shared_apart_from_a_cpu() -> None:
    empty = CellExplanation(
        cell="c", trial="1", rate_bps=None, dominant_state=None, missing=[], budgets=[], patterns=[], verdicts=[],
        headline="",
    )  # fmt: skip
    verdicts = [judge(facts({"limits": HostLimits(parts={part: 0.99})})) for part in ("bus", *["half_duplex"] * 2)]
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
    host = {"parameters": {"a": {"values": {"time_stamps": {"value": time_stamps}}}}}
    found = with_link_use(
        replace(facts(), link_bps=1e9), trial(tmp_path), {"near": host, "far": host}, {"duplex": duplex, "link": link}
    )
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
