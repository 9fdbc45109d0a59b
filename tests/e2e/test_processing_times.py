"""Processing times from a run to its output: stages of both hosts, messages, and a planted delay in its stage."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.whyperf_command import whyperf

pytestmark = [pytest.mark.root, pytest.mark.paced, pytest.mark.usefixtures("ours")]

SETTINGS = ("duration_s=0.6", "warmup_s=0.2", "request_size_bytes=512", "interval_ms=100")
SENDER = ["call_entry", "tcp_out", "qdisc_out", "driver_out", "call_exit"]
RECEIVER = ["ip_in", "tcp_in", "wakeup", "copy_out", "call_exit"]


@pytest.fixture(scope="module")
def staged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An exchange of messages with a trial for stage times."""
    folder = tmp_path_factory.mktemp("staged") / "rr"
    sets = [part for setting in SETTINGS for part in ("--set", setting)]
    options = ["--testbed", "veth", "--evidence", "stages", "--stages-one-in", "1", "--no-report", "--out", str(folder)]
    done = whyperf("run", "rr", *options, *sets, folder=folder.parent)
    assert done.status in {0, 3}, done.err
    return folder


def flow(folder: Path) -> dict[str, Any]:
    done = whyperf("flow", str(folder), "stages01-c0001", "--json", "--no-page", folder=folder.parent)
    found: dict[str, Any] = json.loads(done.out)["stages"]
    return found


def test_both_hosts_have_all_stages_in_both_directions(staged: Path) -> None:
    found = flow(staged)
    assert {(entry["host"], entry["direction"]) for entry in found["directions"]} == {
        (host, direction) for host in ("near", "far") for direction in ("out", "in")
    }
    for entry in found["directions"]:
        there = {stage["stage"]: stage for stage in entry["stages"]}
        for name in SENDER if entry["direction"] == "out" else RECEIVER:
            assert name in there, (entry["host"], name)
            assert 0 < there[name]["cpu_ns"]["value"] < 1_000_000
        assert entry["cpu_ns"]["low"] < entry["cpu_ns"]["value"] < entry["cpu_ns"]["high"]
        assert 0 < entry["driver_ratio"]["value"] < 0.6
        assert entry["packets"] > 100


def test_messages_are_followed_from_the_write_call_to_the_reader(staged: Path) -> None:
    for messages in flow(staged)["messages"]:
        assert messages["count"] > 100
        assert messages["arrived_early"] < 0.05 * messages["count"]
        stages = {stage["stage"]: stage["mean_ns"] for stage in messages["stages"]}
        assert sum(stages.values()) == pytest.approx(messages["mean_ns"], rel=1e-6)
        assert stages["tcp_out"] > 0
        assert stages["copy_out"] > 0


def test_the_output_names_the_stages_and_the_page_draws_them(staged: Path) -> None:
    done = whyperf("flow", str(staged), "stages01-c0001", folder=staged.parent)
    assert "Sending at the sender (near side)" in " ".join(done.out.split())
    assert "Sender (near side) to receiver (far side), per message of " in " ".join(done.out.split())
    assert (staged / "flow-stages01-c0001.html").read_text().count('class="st-fall"') >= 2
    shown = whyperf("show", str(staged), folder=staged.parent).out
    assert f"Processing times: whyperf show --view flow {staged}" in shown
    assert "Sending at the sender" not in shown
