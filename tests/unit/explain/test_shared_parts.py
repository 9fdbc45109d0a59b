"""A bus, or the processor on an adapter, that is busy all the time is named; where it is not, nothing is said of it."""

from pathlib import Path

import pytest

from tests.unit.explain.test_host_limits import counters, found
from tests.unit.explain.test_rules import facts
from whyperf.explain.causes import Cause
from whyperf.explain.host_limits import HostLimits
from whyperf.explain.rules import judge
from whyperf.explain.rules.shared_parts import FULL_RATIO

SECOND = 1_000_000_000


@pytest.mark.parametrize(
    ("part", "code", "start"),
    [
        ("bus", "capacity.bus", "The sender's bus is the limit: it is busy 99 % of the time"),
        ("receive_processor", "capacity.receive_processor", "The receive processor on the sender's adapter"),
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
