"""An emulated path as other programs see it: ping's round trips, and what tcpdump writes on both sides."""

import re
import shutil
import subprocess
from pathlib import Path
from statistics import median

import pytest

from tests.e2e.experiments import plan_of, session

pytestmark = [pytest.mark.paced, pytest.mark.root, pytest.mark.usefixtures("ours")]


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
        argv = ["nsenter", f"--net={near['netns']}", "ping", "-n", "-c", "25", "-i", "0.02", far["ipv4"]]
        said = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=30).stdout
    times_ms = [float(time) for time in re.findall(r"time=([0-9.]+)", said)]
    assert len(times_ms) == 25
    # Never less than the path, but for the unit of ping; half of them no more than 1 % above it.
    assert min(times_ms) >= rtt_ms * 0.999
    assert median(times_ms) <= rtt_ms * 1.01
