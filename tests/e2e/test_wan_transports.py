"""The shipped experiment `wan-transports`, small: every transport's flows come and go over the emulated path.

0.5 % of its times, one round trip: `make test` runs two of TCP's controls and one library, `make test-long`
all of them. `make test-wan` runs the whole experiment at 5 % of its times.
"""

import json
from pathlib import Path

import pytest

from tests.e2e.whyperf_command import whyperf
from whyperf.profile.schedule import regions

pytestmark = [pytest.mark.paced, pytest.mark.root, pytest.mark.usefixtures("ours")]

SCALE = 0.005
RATE_BPS = 20_000_000
ALWAYS = {"reno", "cubic", "quic"}


@pytest.mark.parametrize(
    "only",
    [
        # A library's transport stands in the table as the default control, cubic.
        pytest.param(("--only", "congestion_control=reno,cubic"), id="some"),
        pytest.param((), id="all", marks=pytest.mark.slow),
    ],
)
def test_wan_transports(tmp_path: Path, only: tuple[str, ...]) -> None:
    done = whyperf(
        *("run", "wan-transports", "--leave-out-missing", "--only", "path_rtt_ms=10", *only),
        *("--set", f"path_rate_bps={RATE_BPS}", "--set", f"schedule_scale={SCALE}", "--set", "interval_ms=50"),
        *("--out", tmp_path / "wan", "--json"),
        folder=tmp_path,
        timeout_s=240,
    )
    assert done.status == 0, done.err
    cells = json.loads(done.out)["cells"]
    assert {cell["transports"]["protocol"] for cell in cells} >= ALWAYS
    for cell in cells:
        found = cell["transports"]
        active = [(round(flow["start_s"] * 1e9), round(flow["stop_s"] * 1e9)) for flow in found["flows"]]
        assert [len(region["flows"]) for region in found["regions"]] == [1, 2, 3, 4, 3, 2, 1]
        assert [len(region.flows) for region in regions(active)] == [1, 2, 3, 4, 3, 2, 1]
        # Nothing but the path's rate bounds it, and a round trip is at least the path's.
        assert 0 < found["goodput_bps"]["median"] <= RATE_BPS
        assert found["rfc6349"]["transfer_time_ratio"]["median"] >= 1
        assert found["rtt_source"] == "probe"
        assert found["rtt_baseline_s"]["median"] >= 0.01
        assert 1 / 4 <= found["fairness_min"]["median"] <= 1
        assert cell["connections"] is None
        assert cell["unsteady_trials"] == 0
    reno = next(cell["transports"] for cell in cells if cell["transports"]["protocol"] == "reno")
    assert reno["retransmitted_ratio"]["median"] is not None
    report = (tmp_path / "wan" / "report.html").read_text()
    assert "Comparison with the study" in report
