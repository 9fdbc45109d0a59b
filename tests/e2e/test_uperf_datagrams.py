"""Profiles of uperf with several connections of each virtual user over UDP, next to what tcpdump sees of them."""

import shutil
import subprocess
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest

from tests.e2e import wire
from tests.e2e.experiments import Quiet, Record, session
from tests.e2e.lossy import dropping
from tests.unit.profile.uperf.uperf_profiles import ACCEPT, CONNECT_REQUEST_RESPONSE, LINKS, VARIABLES
from whyperf.plan import build
from whyperf.profile.uperf.load import profile_of
from whyperf.run import run_plan

pytestmark = [
    pytest.mark.root,
    pytest.mark.usefixtures("ours"),
    pytest.mark.skipif(shutil.which("tcpdump") is None, reason="needs tcpdump, which make test installs"),
    pytest.mark.skipif(shutil.which("tshark") is None, reason="needs tshark, which make test installs"),
]

#: The datagram that opens a connection, and its welcome.
OPENING_BYTES = 48
UDP_HEADER_BYTES = 8

#: What is lost is at least 1,000 bytes long: never an opening, and no reply.
LOSSY = """<profile name="lossy">
  <group nthreads="2">
    <transaction>
      <flowop type="connect" options="remotehost=$h protocol=udp conn=1"/>
      <flowop type="connect" options="remotehost=$h protocol=udp conn=2"/>
    </transaction>
    <transaction iterations="300">
      <flowop type="write" options="size=1200 conn=1"/>
      <flowop type="write" options="size=1200 conn=2"/>
      <flowop type="read" options="size=100 conn=1 timeout=50ms"/>
    </transaction>
    <transaction iterations="300">
      <flowop type="write" options="size=1200 count=2 conn=1"/>
      <flowop type="write" options="size=1200 conn=2"/>
      <flowop type="think" options="duration=200us"/>
    </transaction>
    <transaction iterations="300">
      <flowop type="connect" options="remotehost=$h protocol=udp conn=3"/>
      <flowop type="write" options="size=1200 conn=3"/>
      <flowop type="read" options="size=100 conn=3 timeout=50ms"/>
      <flowop type="disconnect" options="conn=3"/>
    </transaction>
    <transaction>
      <flowop type="disconnect" options="conn=1"/>
      <flowop type="disconnect" options="conn=2"/>
    </transaction>
  </group>
</profile>
"""


@dataclass(frozen=True)
class Found:
    """What a run left, and its datagrams as the far side's device had them."""

    record: Record
    #: From one port of the near or far side to another, by the payload's length.
    flows: dict[tuple[int, int], Counter[int]]
    #: Datagrams of them for which there was no room in the socket.
    full_count: int

    def sums(self, host: str, transaction: str) -> tuple[int, int, int, int]:
        """Transactions, those that failed, bytes sent and received."""
        rows = self.record.table("transactions").filter(host=host, transaction=transaction)
        columns = ("transactions_count", "failed_count", "sent_bytes", "received_bytes")
        sums = rows.select(pl.col(columns).cast(pl.Int64).sum()).row(0)
        return int(sums[0]), int(sums[1]), int(sums[2]), int(sums[3])


def run(folder: Path, text: str, *, io_model: str = "epoll", has_loss: bool = False) -> Found:
    """Runs a profile on the testbed."""
    profile = profile_of(text, name="p", where="p.xml", environment=VARIABLES | {"proto": "udp"})
    plan = build(profile, overrides={"io_model": io_model})
    path = folder / "far.pcap"
    with session(folder / "results", plan) as (opened, experiment), ExitStack() as around:
        assert opened.testbed is not None
        far = opened.testbed["far"]
        if has_loss:
            around.enter_context(dropping(far["netns"], far["device"]))
        around.enter_context(wire.capture(far["netns"], far["device"], path, chosen="udp"))
        run_plan(opened, experiment, Quiet(), lambda _: None)
        full_count = receive_buffer_errors(far["netns"])
        record = Record(experiment)
        assert (record.only.status, record.only.reason) == ("complete", None)
    return Found(record, flows(path), full_count)


def receive_buffer_errors(netns: str) -> int:
    """Datagrams that found a socket's buffer full in a namespace."""
    argv = ["nsenter", f"--net={netns}", "grep", "^Udp:", "/proc/net/snmp"]
    names, values = subprocess.run(argv, capture_output=True, text=True, check=True).stdout.splitlines()
    return int(dict(zip(names.split(), values.split(), strict=True))["RcvbufErrors"])


def flows(path: Path) -> dict[tuple[int, int], Counter[int]]:
    """The datagrams of a capture."""
    argv = ["tshark", "-n", "-r", str(path), "-Y", "udp && !icmp", "-T", "fields"]
    for field in ("udp.srcport", "udp.dstport", "udp.length"):
        argv += ["-e", field]
    text = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=120).stdout
    found: dict[tuple[int, int], Counter[int]] = {}
    for line in text.splitlines():
        source, destination, length = map(int, line.split("\t"))
        found.setdefault((source, destination), Counter())[length - UDP_HEADER_BYTES] += 1
    return found


def payload(found: Found) -> list[Counter[int]]:
    """What each flow carried in each direction, without its opening."""
    each = (
        Counter({size: count for size, count in sizes.items() if size != OPENING_BYTES})
        for sizes in found.flows.values()
    )
    return sorted((sizes for sizes in each if sizes), key=lambda sizes: sorted(sizes.items()))


def test_each_connection_carries_its_own_datagrams(tmp_path: Path) -> None:
    found = run(tmp_path, LINKS)
    # Of two virtual users: three connections to the far side, and replies on one of them.
    assert payload(found) == 2 * [Counter({100: 30})] + 2 * [Counter({200: 60})] + 2 * [Counter({300: 30})] + 2 * [
        Counter({400: 30})
    ]
    assert len(found.flows) == 2 * 2 * 3
    assert all(sizes[OPENING_BYTES] for sizes in found.flows.values()), "each is asked for, and welcomed"
    sent, received = 2 * 30 * (100 + 2 * 200 + 300), 2 * 30 * 400
    assert found.sums("near", "Txn2") == (60, 0, sent, received)
    assert found.sums("far", "Txn2") == (60, 0, received, sent)
    assert found.record.table("flows")["transport"].unique().to_list() == ["udp"]
    opened = found.record.table("latencies").filter(host="near", transaction="Txn1", kind="connect")
    assert opened["latency_count"].sum() == 2 * 3


def test_each_reconnect_is_another_flow(tmp_path: Path) -> None:
    text = CONNECT_REQUEST_RESPONSE.replace("tcp", "udp").replace('duration="$dur"', 'iterations="200"')
    found = run(tmp_path, text, io_model="blocking")
    assert found.sums("near", "Txn1") == (400, 0, 400 * 200, 400 * 1000)
    assert found.sums("far", "Txn1") == (400, 0, 400 * 1000, 400 * 200)
    assert payload(found) == 400 * [Counter({200: 1})] + 400 * [Counter({1000: 1})]


def test_the_far_side_connects_where_the_profile_accepts(tmp_path: Path) -> None:
    found = run(tmp_path, ACCEPT.replace("tcp", "udp"))
    assert found.sums("near", "Txn1")[:2] == (15, 0)
    # The welcomes come from the near side, which listens at a port of its own.
    assert len(found.flows) == 2 * 15
    assert connects(found, "far")["latency_count"].sum() == 15
    assert connects(found, "near").is_empty()


def connects(found: Found, host: str) -> pl.DataFrame:
    """The latencies of connects at a host."""
    return found.record.table("latencies").filter(host=host, kind="connect")


def test_what_is_lost_fails_its_transaction_and_no_other(tmp_path: Path) -> None:
    found = run(tmp_path, LOSSY, has_loss=True)
    arrived = sum((sizes for sizes in found.flows.values()), Counter[int]())[1200]
    written = {"Txn2": 2, "Txn3": 3, "Txn4": 1}
    lost = 600 * sum(written.values()) - arrived
    # One in 64 of 3,600.
    assert 20 <= lost <= 120
    near = {name: found.sums("near", name) for name in written}
    far = {name: found.sums("far", name) for name in written}
    for name, each in written.items():
        assert (near[name][0], near[name][2]) == (600, 600 * each * 1200), "all are executed and sent"
    # All that arrived is counted, those of failed transactions too.
    assert sum(received for *_, received in far.values()) == (arrived - found.full_count) * 1200
    # Nobody waits for an answer in one of them. In the others those fail that have none, and no other.
    assert near["Txn3"][1] == 0
    for name in ("Txn2", "Txn4"):
        assert near[name][3] == (600 - near[name][1]) * 100
    assert near["Txn4"][1] >= 600 - far["Txn4"][3] // 1200 > 0
