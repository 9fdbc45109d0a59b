"""Pairs of a fleet that do different flows of a schedule, and a machine whose CPUs they share."""

from collections.abc import Mapping
from typing import Any

import pytest

from tests.unit.fleet.test_fleet_explained import explained, fleet, verdict
from whyperf.analyze.transports.schedule import scheduled_connections
from whyperf.explain.causes import Cause
from whyperf.explain.fleet import explain_fleet

NAMES = ("first", "second", "both 1", "both 2")
PARTS = (("first", "both 1"), ("second", "both 2"))


def host(first_connection: int, starts: tuple[int, ...]) -> dict[str, Any]:
    flows = [{"connections_count": 1, "role": "sender", "start_ns": start, "stop_ns": start + 4} for start in starts]
    return {"first_connection": first_connection, "spec": {"opening": "connect", "transport": "tcp", "schedule": flows}}


MANIFEST: Mapping[str, Any] = {
    "trial": "001",
    "cell": "c0001",
    "start_mono_ns": 7,
    "hosts": {"near": host(0, (0, 8)), "near2": host(2, (4, 8)), "far": {"spec": {"opening": "listen"}}},
}


def test_each_pair_has_its_own_flows_of_the_schedule() -> None:
    rows = list(scheduled_connections(MANIFEST, NAMES, PARTS))
    found = [(row["connection"], row["flow"], row["name"], row["start_ns"]) for row in rows]
    assert found == [(0, 0, "first", 0), (1, 2, "both 1", 8), (2, 1, "second", 4), (3, 3, "both 2", 8)]


def test_without_parts_all_pairs_do_all_flows() -> None:
    rows = list(scheduled_connections(MANIFEST, ("a", "b")))
    assert [(row["flow"], row["name"]) for row in rows] == [(0, "a"), (1, "b"), (0, "a"), (1, "b")]


@pytest.mark.parametrize(
    ("cause", "machines", "code"),
    [
        (Cause.SENDER_CPU, "one", "machine.shared"),
        (Cause.SENDER_CPU, "senders", "sender.shared"),
        (Cause.SENDER_CPU, "none", "sender"),
        (Cause.SEND_BUFFER, "one", "sender"),
        (Cause.SENDER_CPU, "unknown", "sender"),
    ],
)
def test_a_machine_that_all_pairs_share_is_named(cause: Cause, machines: str, code: str) -> None:
    made = fleet(None)
    senders = {pair.sender for pair in made.pairs}
    names = {found.host for found in made.hosts} | senders | {pair.receiver for pair in made.pairs}
    of = {
        "one": dict.fromkeys(names, "vm"),
        "senders": {name: "vm" if name in senders else name for name in names},
        "none": {name: name for name in names},
        "unknown": {},
    }[machines]
    _, found = explain_fleet("c0001", made, lambda *_: explained(verdict(cause)), of)
    assert found.code == code
    if code.endswith("shared"):
        assert found.values["host"] == "vm"
        assert "The CPUs of the " in found.words
