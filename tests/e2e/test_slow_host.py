"""A host of a rack is made slow on purpose: it is named, with its cause first, and the others' results are right."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from tests.e2e.whyperf_command import Done, whyperf
from tests.fleet.rack import CONTROL, Rack, rack
from whyperf.record import Experiment, read_table

pytestmark = [pytest.mark.root, pytest.mark.paced]

NAMES = [f"node{number}" for number in range(1, 8)]
SLOW = "node3"


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rack]:
    """Seven hosts that answer to `--via`, one of which may send only a little at a time."""
    with rack(tmp_path_factory.mktemp("rack"), NAMES) as made:
        on_slow = ("nsenter", f"--net=/proc/{made.pids[SLOW]}/ns/net")
        subprocess.run([*on_slow, "sysctl", "-qw", "net.ipv4.tcp_wmem=4096 8192 16384"], check=True)
        yield made


@pytest.fixture(scope="module")
def fan_in(hosts: Rack, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The result of six hosts that send to one."""
    out = tmp_path_factory.mktemp("fan-in") / "out"
    netns = f"/proc/{hosts.pids[CONTROL]}/ns/net"
    arguments = ("--from", "node[1-6]", "--to", "node7", "-t", "1.5", "--set", "warmup_s=0.3", "--no-report")
    done = whyperf(
        "run",
        *arguments,
        "--hosts",
        hosts.inventory,
        "--via",
        hosts.enter,
        "--out",
        out,
        folder=out.parent,
        netns=netns,
    )
    assert done.status in {0, 3}, done.err
    assert f"Slow host       {SLOW} sends at " in done.out
    return out


def command(name: str, out: Path, *options: str) -> Done:
    done = whyperf(name, out, *options, folder=out.parent)
    assert done.status in {0, 3}, done.err
    return done


def test_pairs_add_up_to_the_whole(fan_in: Path) -> None:
    (cell,) = json.loads(command("show", fan_in, "--json").out)["cells"]
    pairs, hosts = cell["fleet"]["pairs"], {host["host"]: host for host in cell["fleet"]["hosts"]}
    assert [pair["sender"] for pair in pairs] == NAMES[:6]
    assert sum(pair["goodput_bps"]["median"] for pair in pairs) == pytest.approx(cell["goodput_bps"]["median"])
    assert hosts["node7"]["received_bps"]["median"] == pytest.approx(cell["goodput_bps"]["median"])
    # The rate of each pair is that of the bytes which its own far side read.
    flows = read_table(Experiment.open(fan_in), "flows").frame.filter(pl.col("role") == "receiver")
    read = dict(flows.select("host", "payload_bytes").iter_rows())
    rates = {f"far{pair['pair'] if pair['pair'] > 1 else ''}": pair["goodput_bps"]["median"] for pair in pairs}
    assert sorted(read, key=lambda end: read[end])[0] == min(rates, key=lambda end: rates[end]) == "far3"


def test_the_slow_host_and_its_cause_come_first(fan_in: Path) -> None:
    found = json.loads(command("explain", fan_in, "--json").out)
    (diagnosis,) = found["fleet"]
    assert (diagnosis["limited_by"], diagnosis["host"], diagnosis["cause"]) == ("slow_host", SLOW, "send_buffer")
    first = found["cells"][0]["verdicts"][0]
    assert first["cause"] == "send_buffer"
    assert first["claim"].startswith(f"Host {SLOW} is slow: as a sender it reaches ")
    assert any("net.ipv4.tcp_wmem" in fact["words"] for fact in first["evidence"])


def test_the_report_has_the_hosts(fan_in: Path) -> None:
    command("report", fan_in)
    page = (fan_in / "report.html").read_text()
    assert f'title="{SLOW} → node7: ' in page
    assert f"Host {SLOW} is slow" in page.replace("\xa0", " ")
