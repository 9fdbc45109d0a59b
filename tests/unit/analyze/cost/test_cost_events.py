"""How often what a class does was done, per KByte."""

from types import SimpleNamespace
from typing import Any, cast

import polars as pl
import pytest

from whyperf.analyze.cost.events import events_per_kbyte
from whyperf.analyze.read.inputs import Cell, Inputs
from whyperf.analyze.trials import Measured

#: Of two trials of a cell: 4 and 12 KBytes.
OCTETS = {"001-c0001": 4096, "002-c0001": 12288}


def end(trial: str, role: str, **given: Any) -> dict[str, Any]:
    """What one side counted in a trial."""
    counted = {"exclusive": True, "scheduled_count": 8.0, "softirqs_count": 32.0, "payload_ratio": 1.0}
    return {"trial": trial, "role": role, **counted, **given}


def events(ends: list[dict[str, Any]], **factors: object) -> dict[tuple[str, str], dict[str, float]]:
    """The events of a cell with these factors; each side made 64 calls."""
    flows = [
        {"cell": "c0001", "role": role, "calls_count": 64, "payload_bytes": 16384} for role in ("sender", "receiver")
    ]
    windows = [
        {"trial": trial, "cell": "c0001", "window_start_ns": 0, "window_end_ns": 10, "window_octets": octets}
        for trial, octets in OCTETS.items()
    ]
    counts = dict.fromkeys(("scheduled_count", "softirqs_count"), pl.Float64())
    measured = SimpleNamespace(
        trials=pl.DataFrame(windows), ends_cpu=pl.DataFrame(ends, schema_overrides=counts, orient="row")
    )
    inputs = SimpleNamespace(flows=pl.DataFrame(flows), cells=(Cell("c0001", "main", factors),))
    return events_per_kbyte(cast("Inputs", inputs), pl.DataFrame(), cast("Measured", measured))


def test_they_are_sums_over_the_trials_by_the_payload_of_these() -> None:
    found = events([end("001-c0001", "sender"), end("002-c0001", "sender", softirqs_count=16.0)])
    assert found["c0001", "sender"] == pytest.approx(
        {"kbytes": 1, "copied_kbytes": 1, "calls": 4, "context_switches": 1, "softirqs": 3}
    )
    assert "softirqs" not in found["c0001", "receiver"]


def test_hosts_of_a_side_add_up_and_the_payload_counts_once() -> None:
    found = events([end(trial, "sender") for trial in OCTETS for _ in range(2)])
    assert found["c0001", "sender"]["context_switches"] == pytest.approx(2)


def test_a_program_with_several_connections_has_its_events_divided_by_payload() -> None:
    whole = events([end(trial, "sender") for trial in OCTETS])["c0001", "sender"]
    part = events([end(trial, "sender", payload_ratio=0.25) for trial in OCTETS])["c0001", "sender"]
    for name in ("context_switches", "softirqs"):
        assert part[name] == pytest.approx(whole[name] / 4)


def test_softirqs_of_shared_cpus_are_nobodys_and_what_one_trial_lacks_is_not_counted() -> None:
    found = events([end("001-c0001", "sender", exclusive=False), end("002-c0001", "sender", scheduled_count=None)])
    assert found["c0001", "sender"].keys() == {"kbytes", "copied_kbytes", "calls"}


@pytest.mark.parametrize(
    ("factors", "copied"),
    [
        ({}, (1.0, 1.0)),
        ({"zero_copy": True}, (0.0, 1.0)),
        ({"send_call": "splice"}, (0.0, 1.0)),
        ({"send_call": "sendfile"}, (0.0, 1.0)),
        ({"send_call": "send", "zero_copy": False, "truncate": True}, (1.0, 0.0)),
    ],
)
def test_a_setting_spares_the_copy_of_its_side(factors: dict[str, object], copied: tuple[float, float]) -> None:
    found = events([end(trial, "sender") for trial in OCTETS], **factors)
    assert tuple(found["c0001", role]["copied_kbytes"] for role in ("sender", "receiver")) == copied
