"""Study 1's explanations come out by themselves, from simulated trials of its hosts.

What is asserted is deterministic: the model gives the same segments from the same seed. Whether and when the receiver's
free-running timer hits an announcement of 3080 bytes depends on its phase: of four seeds three change the flow.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.whyperf_command import whyperf

PROFILE = """
about = "Study 1's cases, small"
[fixed]
interval_ms = 5000
read_size_bytes = "=write_size_bytes"
deadline_s = 30
[design]
trials = 2
log_trials = 1
[[sweep]]
name = "small"
[sweep.fixed]
hosts = "sparc2+sba-100@2.2.6"
window_bytes = 4096
transfer_bytes = 16777216
[sweep.factors]
write_size_bytes = [2048, 4096]
[[sweep]]
name = "writes"
[sweep.fixed]
hosts = "sparc2+sba-100@2.2.6"
window_bytes = 8192
transfer_bytes = 4194304
[sweep.factors]
write_size_bytes = [5120, 6144, 7168, 8192, 8704]
[[sweep]]
name = "old-driver"
[sweep.fixed]
hosts = "sparc2+sba-100@2.0"
write_size_bytes = 8192
transfer_bytes = 4194304
[sweep.factors]
window_bytes = [16384, 24576, 32768, 52428]
"""

pytestmark = pytest.mark.slow

Found = dict[str, Any]


@pytest.fixture(scope="module")
def explained(tmp_path_factory: pytest.TempPathFactory) -> Found:
    folder = tmp_path_factory.mktemp("study")
    (folder / "study.toml").write_text(PROFILE)
    done = whyperf("simulate", "study.toml", "--seed", "1", "--out", "result", folder=folder)
    assert done.status in {0, 3}, done.err
    ended = whyperf("explain", "result", "--json", folder=folder)
    assert ended.status in {0, 3}, ended.err
    found: Found = json.loads(ended.out)
    plan = json.loads(Path(folder / "result" / "plan.json").read_bytes())
    factors = {cell["id"]: cell["factors"] for cell in plan["cells"]}
    logged = [cell for cell in found["cells"] if cell["patterns"]]
    return {**found, "cells": {_key(factors[cell["cell"]]): cell for cell in logged}}


def _key(factors: Found) -> str:
    return f"w{factors['window_bytes']}-u{factors['write_size_bytes']}"


def _pattern(explained: Found, key: str) -> Found:
    pattern: Found = explained["cells"][key]["patterns"][0]
    return pattern


def test_w8k_u7168_is_stop_and_go_of_1024_and_6144(explained: Found) -> None:
    pattern = _pattern(explained, "w8192-u7168")
    (phase,) = pattern["phases"]
    assert phase["payloads"] == [[1024, 1], [6144, 1]]
    assert phase["turn"][0]["held_by"] == "small"
    assert phase["stop_and_go_ratio"] > 0.95
    assert pattern["words"].startswith("Repeats: send 1,024 B, send 6,144 B, wait for the ACK (stop-and-go); ")
    assert explained["cells"]["w8192-u7168"]["verdicts"][0]["cause"] == "write_window_mismatch"


def test_w8k_u8704_has_a_third_segment_of_512(explained: Found) -> None:
    pattern = _pattern(explained, "w8192-u8704")
    (phase,) = pattern["phases"]
    assert sorted(place["payload_bytes"] for place in phase["turn"]) == [512, 4096, 4096]
    small = next(place for place in phase["turn"] if place["payload_bytes"] == 512)
    assert (small["held_by"], small["ack_reason"]) == ("small", "read_call")


def test_w4k_u4096_is_changed_by_a_delayed_ack(explained: Found) -> None:
    pattern = _pattern(explained, "w4096-u4096")
    sizes = [sorted(size for size, _ in phase["payloads"]) for phase in pattern["phases"]]
    assert sizes[:2] == [[4096], [1016, 3080]]
    change = pattern["phases"][1]["change"]
    assert (change["code"], change["values"]["window_bytes"]) == ("delayed_ack", 3080)
    assert "send 1,016 B, send 3,080 B" in pattern["words"]
    # A later one leads on.
    assert [2028, 2068] in sizes[2:]


def test_w4k_u2048_is_work_at_the_same_time(explained: Found) -> None:
    phase = _pattern(explained, "w4096-u2048")["phases"][0]
    assert phase["payloads"] == [[2048, 2]]
    assert round(phase["ack_reasons"]["read_call"]) == 2
    assert phase["overlap_ratio"] > 0.4
    assert "both work at the same time" in phase["waits"]
    rates = {key: cell["rate_bps"] for key, cell in explained["cells"].items()}
    assert rates["w4096-u2048"] > 1.1 * rates["w4096-u4096"]


def test_the_old_driver_loses_in_the_receiver_above_40_kb(explained: Found) -> None:
    cell = explained["cells"]["w52428-u8192"]
    losses = cell["patterns"][0]["losses"]
    assert losses["lost_on_path"] == 0
    assert losses["lost_in_receiver"] > 0
    assert losses["kinds"]["timeout"] > losses["kinds"].get("fast", 0)
    assert "it lost them" in cell["patterns"][0]["words"]
    assert cell["verdicts"][0]["cause"] == "receiver_loss"
    drops = [
        anomaly for anomaly in explained["anomalies"] if anomaly["sweep"] == "old-driver" and anomaly["kind"] == "drop"
    ]
    assert [(drop["level"], drop["cause"]) for drop in drops] == [(52428, "receiver_loss")]


def test_the_drop_and_the_peak_of_the_8_kb_window_are_found_with_their_causes(explained: Found) -> None:
    found = {
        (anomaly["kind"], anomaly["level"]): anomaly
        for anomaly in explained["anomalies"]
        if anomaly["sweep"] == "writes"
    }
    assert set(found) <= {("peak", 6144), ("drop", 7168), ("peak", 8192)}
    peak = found["peak", 8192]
    assert peak["cause"] == "write_window_mismatch"
    assert any(difference["code"] == "small_waits" for difference in peak["differences"])
    drop = found["drop", 7168]
    assert drop["ratio"] < 0.9
