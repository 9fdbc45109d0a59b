"""Datagrams handed over many at once, on kernels whose packet sockets cannot take them."""

from typing import Any

import pytest

from tests.e2e.experiments import plan_of
from whyperf.run import RunError
from whyperf.run.super_datagrams import refuse_super_datagrams

PATH: dict[str, Any] = {"path_rtt_ms": 10}
BATCH: dict[str, Any] = {"workload": "udp-stream", "transport": "udp", "datagram_batch": 16}
UNCUT = (
    r"over an emulated path needs Linux 6.2 or newer, and this is 6.1.0-25-amd64: .*choose tso = false and gso = false"
)


def refuse(release: str, **levels: Any) -> None:
    facts: Any = {"near": {"kernel": release}, "far": {"kernel": release}}
    refuse_super_datagrams(plan_of(**levels).cells, facts)


@pytest.mark.parametrize(
    ("levels", "message"),
    [
        (PATH | BATCH, f"datagram_batch 16 {UNCUT}, or datagram_batch = 1$"),
        (PATH | {"transport": "quic"}, f"transport quic {UNCUT}$"),
        (PATH | {"schedule": "mixed", "schedule_scale": 0.05, "competitor": "quic"}, f"transport quic {UNCUT}$"),
    ],
)
def test_an_old_kernel_is_reported_before_the_run(levels: dict[str, Any], message: str) -> None:
    with pytest.raises(RunError, match=message):
        refuse("6.1.0-25-amd64", **levels)
    refuse("6.2.0", **levels)
    refuse("10.0-rc1", **levels)


@pytest.mark.parametrize(
    "levels",
    [
        BATCH,
        PATH | BATCH | {"tso": False, "gso": False},
        PATH | BATCH | {"path_implementation": "netem"},
        PATH | BATCH | {"datagram_batch": 1},
        PATH,
    ],
)
def test_what_never_comes_to_the_router_so_passes(levels: dict[str, Any]) -> None:
    refuse("5.10.0", **levels)
