"""What stage times do not show is named: no NAPI, steering, busy polling, a bridge, and clocks of two hosts."""

import shutil
import subprocess
from pathlib import Path

import polars as pl
import pytest

from tests.e2e.conftest import Ours
from tests.e2e.far_host import SSHD, FarHost, far_host
from tests.e2e.whyperf_command import whyperf
from whyperf.cli.exits import DONE
from whyperf.record import Experiment

pytestmark = pytest.mark.root


def limits(results: Path) -> dict[str, dict[str, tuple[str | None, str]]]:
    """Device and value of each kind of limit, by host, of the only trial with stage times."""
    (manifest,) = Experiment.open(results).trials().staged.values()
    return {
        host: {limit["kind"]: (limit["device"], limit["value"]) for limit in end.evidence["stages"]["limits"]}
        for host, end in manifest.hosts.items()
    }


def gaps(results: Path, host: str) -> dict[str, int]:
    """What was not followed, by reason."""
    (name,) = Experiment.open(results).trials().staged
    table = pl.read_parquet(results / "trials" / name / f"stage_gaps.{host}.parquet")
    return dict(table.group_by(pl.col("reason").cast(pl.String)).agg(pl.col("gaps_count").sum()).iter_rows())


@pytest.mark.usefixtures("ours")
def test_a_testbed_has_no_napi_and_steers_and_a_busy_poller_is_named(tmp_path: Path) -> None:
    results = tmp_path / "results"
    asked = ("-t", 0.5, "--evidence", "stages", "--set", "busy_poll_us=50", "--no-report", "--out", results)
    done = whyperf("run", "--testbed", "veth", *asked, folder=tmp_path)
    assert done.status == DONE, done.err
    found = limits(results)
    for host in ("near", "far"):
        device = f"veth-{host}"
        assert found[host]["no_napi"] == (device, "veth")
        assert found[host]["steering"][0] == device
        assert found[host]["busy_polling"] == (None, "50 µs")
        assert "unknown" not in found[host]
    notes = " ".join(whyperf("show", results, "--notes", folder=tmp_path).out.split())
    assert "No GRO stage at veth-near (veth); veth-far (veth)" in notes
    assert "Busy polling for up to 50 µs" in notes


@pytest.mark.slow
@pytest.mark.skipif(not SSHD.exists() or shutil.which("ssh") is None, reason="needs ssh and sshd")
def test_a_bridge_is_followed_and_named_and_clocks_of_two_hosts_are_compared(ours: Ours, tmp_path: Path) -> None:
    with far_host(tmp_path, ours.mark) as far:
        for netns, device, address in (
            (far.near_netns, "veth-near", "198.18.0.1/24"),
            (far.far_netns, "veth-far", "198.18.0.2/24"),
        ):
            _bridge(netns, device, address)
        _run(far)
    found = limits(far.results)
    for host, device in (("near", "veth-near"), ("far", "veth-far")):
        assert found[host]["stacked_device"] == ("br0", f"bridge on {device}")
        assert found[host]["no_napi"] == (device, "veth")
    notes = " ".join(whyperf("show", far.results, "--notes", folder=tmp_path).out.split())
    assert "Stacked devices, br0 (bridge on veth-near); br0 (bridge on veth-far)" in notes
    counted = gaps(far.results, "near")
    assert counted["stacked_device"] > 100
    # A packet that goes through two devices is not one that was cut in two.
    assert counted.get("split", 0) < counted["stacked_device"] / 10
    flow = whyperf("flow", far.results, "stages01-c0001", "--no-page", folder=tmp_path)
    assert flow.status == DONE, flow.err
    assert "The clocks of the hosts were compared to within" in " ".join(flow.out.split())


def _run(far: FarHost) -> None:
    done = far.run("-t", 1, "--evidence", "stages", "--stages-one-in", 4)
    assert done.status == DONE, done.err


def _bridge(netns: str, device: str, address: str) -> None:
    """Puts the device under a bridge that takes its address."""
    for command in (
        "link add name br0 type bridge",
        "link set br0 up",
        f"addr flush dev {device}",
        f"link set {device} master br0",
        f"addr add {address} dev br0",
    ):
        subprocess.run(["nsenter", f"--net={netns}", "ip", *command.split()], check=True)
