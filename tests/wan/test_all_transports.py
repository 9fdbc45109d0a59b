"""`wan-transports` as a whole at 20 Mbit/s and 5 % of its time, and what it must show.

An experiment that was stopped goes on, and one that is complete is judged without running anything.
"""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.whyperf_command import whyperf
from tests.wan.conftest import RESULTS

pytestmark = pytest.mark.timeout(3600)

RATE_BPS = 20_000_000
Cells = dict[tuple[str, int], dict[str, Any]]


@pytest.fixture(scope="module")
def cells(tmp_path_factory: pytest.TempPathFactory) -> Cells:
    """What was found, by protocol and round trip in ms."""
    done = whyperf(
        *("run", "wan-transports", "--leave-out-missing", "--json", "--out", Path(os.environ[RESULTS]) / "wan"),
        *("--set", f"path_rate_bps={RATE_BPS}", "--set", "schedule_scale=0.05"),
        folder=tmp_path_factory.mktemp("wan"),
        timeout_s=3500,
    )
    found = json.loads(done.out)["cells"]
    # A trial that the host could not carry in time is void, and says so; it is reported, and shows nothing.
    void = [cell["cell"] for cell in found if cell["transports"] is None]
    print("void:", void)
    return {
        (cell["transports"]["protocol"], cell["factors"]["path_rtt_ms"]): cell["transports"]
        for cell in found
        if cell["transports"] is not None
    }


def median(cell: dict[str, Any], *path: str) -> float:
    """A figure's median."""
    value: Any = cell
    for step in path:
        value = value[step]
    return float(value["median"])


def of(cells: Cells, protocol: str, rtt_ms: int) -> dict[str, Any]:
    """A cell, or a skipped test where its trial was void."""
    if (protocol, rtt_ms) not in cells:
        pytest.skip(f"{protocol} at {rtt_ms} ms was void or left out")
    return cells[protocol, rtt_ms]


def test_most_cells_were_carried(cells: Cells) -> None:
    assert len(cells) >= 24
    for (_, rtt_ms), cell in cells.items():
        assert 0 < median(cell, "goodput_bps") <= RATE_BPS
        assert median(cell, "rtt_baseline_s") >= rtt_ms / 1000
        assert cell["rtt_source"] == "probe"
        assert len(cell["regions"]) == 7


def test_reno_recovers_slowly_over_a_long_path(cells: Cells) -> None:
    near, far = of(cells, "reno", 10)["recovery"], of(cells, "reno", 180)["recovery"]
    assert far["count"] > 0
    # A loss at 180 ms takes longer than there is to see, or several times as long as at 10 ms.
    assert far["median_s"] is None or far["median_s"] > 5 * near["median_s"]


def test_reno_leaves_the_slack_of_a_long_path(cells: Cells) -> None:
    near, far = of(cells, "reno", 10), of(cells, "reno", 180)
    assert median(far, "slack_ratio") < median(near, "slack_ratio")
    assert median(far, "goodput_bps") < median(near, "goodput_bps")


# At 10 ms the queue, one bandwidth-delay product, has room for 17 packets, fewer than FAST wants to keep there of each
# flow: it fills it as the others do.
@pytest.mark.parametrize("rtt_ms", [80, 180])
def test_fast_keeps_the_round_trip_low(cells: Cells, rtt_ms: int) -> None:
    fast = of(cells, "fast", rtt_ms)
    for other in ("cubic", "scalable"):
        assert median(fast, "rtt", "mean_s") < median(of(cells, other, rtt_ms), "rtt", "mean_s")
