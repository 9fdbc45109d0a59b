"""An emulated path as other programs see it: ping's round trips, and what tcpdump writes on both sides."""

import re
import shutil
import subprocess
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import Any

import polars as pl
import pytest

from tests.e2e import pcap, wire
from tests.e2e.experiments import Quiet, Record, numbers, plan_of, session
from whyperf.run import run_plan

pytestmark = [pytest.mark.paced, pytest.mark.root, pytest.mark.usefixtures("ours")]

MSS_BYTES = 1448
#: Nothing of a super-segment is cut.
WHOLE_BYTES = 262_144
#: Sequence number and payload.
Packet = tuple[int, bytes]


def packets(file: Path, to_port: int) -> list[Packet]:
    """The packets that super-segments towards a port stand for, in the order in which they passed."""
    found = []
    for port, sequence, payload in pcap.payloads(file):
        if port == to_port:
            parts = range(0, len(payload), MSS_BYTES)
            found += [((sequence + at) % 2**32, payload[at : at + MSS_BYTES]) for at in parts]
    return found


def missing(sent: list[Packet], came: list[Packet]) -> list[int]:
    """Which packets did not come; those that did come in their order and byte for byte, or this fails."""
    lost = []
    rest = iter(came)
    following = next(rest, None)
    for position, packet in enumerate(sent):
        if packet == following:
            following = next(rest, None)
        else:
            lost.append(position)
    assert following is None, f"{following[0]} came, and was not sent or not in this order"
    return lost


@pytest.mark.skipif(
    shutil.which("tcpdump") is None, reason="needs tcpdump (package tcpdump), to see what is on both sides of the path"
)
def test_what_is_missing_at_the_far_side_is_what_the_path_lost(tmp_path: Path) -> None:
    levels: dict[str, Any] = {"path_rtt_ms": 10.0, "path_rate_bps": 20_000_000, "path_queue": "10p"}
    levels |= {"path_loss": "segments:200+201+400", "congestion_control": "reno", "transfer_bytes": 1_500_000}
    files = {end: tmp_path / f"{end}.pcap" for end in ("near", "far")}
    with session(tmp_path / "results", plan_of(**levels)) as (opened, experiment):
        assert opened.testbed is not None
        with ExitStack() as captures:
            for end, file in files.items():
                place = opened.testbed["near" if end == "near" else "far"]
                captures.enter_context(wire.capture(place["netns"], place["device"], file, WHOLE_BYTES))
            run_plan(opened, experiment, Quiet(), lambda _: None)
        record = Record(experiment)
    (address,) = record.table("flows").filter(host="far")["local_address"]
    sent, came = (packets(file, int(address.rpartition(":")[2])) for file in files.values())
    lost = missing(sent, came)
    counted = record.table("path").filter(pl.col("direction") == "forward")
    scripted, full = (sum(numbers(counted, f"{why}_packets")) for why in ("lost_scripted", "dropped_full"))
    assert scripted == 3
    assert full > 0
    assert len(lost) == scripted + full
    # The load begins with a full packet; what comes before it opens the connection.
    first = next(position for position, (_, payload) in enumerate(sent) if len(payload) == MSS_BYTES)
    assert {first + 199, first + 200, first + 399} <= set(lost)


@pytest.mark.skipif(
    shutil.which("ping") is None, reason="needs ping (package iputils-ping), a second opinion of the round trip"
)
def test_ping_sees_the_round_trip_that_was_asked_for(tmp_path: Path) -> None:
    rtt_ms = 80.0
    plan = plan_of(path_rtt_ms=rtt_ms, path_rate_bps=1_000_000_000, transfer_bytes=100_000)
    with session(tmp_path / "results", plan) as (opened, _):
        assert opened.testbed is not None
        path = opened.path_for(plan.cells[0], "")
        assert path is not None
        path.carry()
        near, far = opened.testbed["near"], opened.testbed["far"]
        argv = ["nsenter", f"--net={near['netns']}", "ping", "-n", "-c", "101", "-i", "0.02", far["ipv4"]]
        said = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=30).stdout
    times_ms = [float(time) for time in re.findall(r"time=([0-9.]+)", said)]
    assert len(times_ms) == 101
    # Never less than the path, but for the unit of ping; half of them no more than 1 % above it.
    assert min(times_ms) >= rtt_ms * 0.999
    assert median(times_ms) <= rtt_ms * 1.01
