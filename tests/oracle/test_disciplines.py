"""CoDel and RED of the model next to the kernel's, under the same load: UDP at a rate above the bottleneck's.

UDP does not yield, so that what is dropped follows from the discipline alone.
"""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.oracle.conftest import MODEL
from tests.oracle.kernel import ask
from whyperf.profile import resolve
from whyperf.run.path import path_spec

RATE_BPS = 10_000_000
DELAY_MS = 20
SECONDS = 10
#: Room for ten packets lets tbf keep its rate though its timer is late; the queue is in its child.
SHAPER = "root handle 1: tbf rate 10mbit burst 15140 limit 30000000"
RED = {"path_red_min_bytes": 50_000, "path_red_max_bytes": 250_000, "path_red_probability": 0.2}


def is_fit(flow: dict[str, float]) -> bool:
    """Whether the guest's bottleneck was as fast as it was to be, but for the delay and 2 %."""
    most = RATE_BPS / 8 / 1514 * (SECONDS - DELAY_MS / 1000)
    return flow["received_while_sending_packets"] > 0.98 * most


def modeled(packets: int, *, ecn: bool, **factors: Any) -> dict[str, float]:
    """What the model makes of as many packets."""
    cell = resolve(
        {"path_rate_bps": RATE_BPS, "path_rtt_ms": 2 * DELAY_MS, "path_queue": "100000p", **factors}, testbed=True
    )
    spec = json.dumps(path_spec(cell, seed=1))
    command = [os.environ[MODEL], spec, str(packets), str(SECONDS), str(ecn).lower()]
    found: dict[str, float] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return found


@pytest.mark.parametrize("ecn", [False, True])
def test_codel_drops_and_marks_as_many_as_the_kernel(tmp_path: Path, *, ecn: bool) -> None:
    child = f"parent 1:1 handle 10: codel limit 100000 target 5ms interval 100ms {'ecn' if ecn else 'noecn'}"
    asked = {"bottleneck": [SHAPER, child], "delay_ms": DELAY_MS, "ecn": ecn, "rate_bps": 1.2 * RATE_BPS}
    real = ask(tmp_path, is_fit, **asked, seconds=SECONDS)
    model = modeled(real["flow"]["sent_packets"], ecn=ecn, path_discipline="codel", path_ecn=ecn)
    codel = real["qdiscs"]["codel"]
    if ecn:
        assert codel["drops"] == model["dropped_early_packets"] == 0
        assert model["marked_packets"] == pytest.approx(codel["ecn_mark"], rel=0.05)
    else:
        assert model["dropped_early_packets"] == pytest.approx(codel["drops"], rel=0.05)


def test_red_keeps_the_queue_of_the_kernel(tmp_path: Path) -> None:
    """10 % too much: the average settles where these 10 % are dropped, so its height shows the law."""
    # The burst makes tc choose a weight of 2^-9.
    weight = "avpkt 1514 burst 180 bandwidth 10mbit"
    child = f"parent 1:1 handle 10: red limit 1000000 min 50000 max 250000 probability 0.2 {weight}"
    asked = {"bottleneck": [SHAPER, child], "delay_ms": DELAY_MS, "ecn": False, "rate_bps": 1.1 * RATE_BPS}
    real = ask(tmp_path, is_fit, **asked, seconds=SECONDS)
    model = modeled(real["flow"]["sent_packets"], ecn=False, path_discipline="red", **RED)
    assert real["qdiscs"]["red"]["pdrop"] == 0
    assert model["dropped_early_packets"] == pytest.approx(real["qdiscs"]["red"]["early"], rel=0.05)
    assert model["delay_ms_mean"] == pytest.approx(real["flow"]["delay_ms_mean"], rel=0.05)
