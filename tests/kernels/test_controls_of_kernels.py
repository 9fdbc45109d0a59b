"""Congestion controls of our own next to the kernels' on Debian's kernels."""

import json
import re
import time
from pathlib import Path
from typing import Any, cast

import pytest

from tests.e2e.experiments import measure
from tests.kernels.conftest import agent_of_guest
from tests.kernels.guest import Guest
from tests.protocol.pipe_talk import trial
from whyperf.run import AgentError, RunError
from whyperf.run.agents import pipes

pytestmark = pytest.mark.timeout(900)

OURS = ("scalable", "highspeed", "hslp", "bic", "htcp", "fast", "ltcp")
#: Those that the guests' kernels have, too.
NATIVE = ("scalable", "highspeed", "bic", "htcp")
#: The oldest kernel that takes ours.
OLDEST = (6, 1)
TRANSFER_BYTES = 1_000_000
GONE_WITHIN_S = 20.0


def can(guest: Guest) -> bool:
    return tuple(int(part) for part in guest.series.split(".")) >= OLDEST


def registered(guest: Guest) -> list[str]:
    names = guest.run("/bin/busybox", "cat", "/proc/sys/net/ipv4/tcp_available_congestion_control").split()
    return [name for name in names if name.startswith("wp_")]


def test_the_list_says_what_the_kernel_takes_and_why_not(guest: Guest) -> None:
    offers = {offer["name"]: offer for offer in json.loads(guest.run("/whyperf-agent", "transports"))}
    for name in NATIVE:
        assert (offers[name]["source"], offers[name]["state"]) == ("module", "loaded"), offers[name]
    for name in OURS:
        ours = offers[f"wp_{name}" if name in NATIVE else name]
        assert ours["source"] == "whyperf"
        assert ours["state"] == ("loadable" if can(guest) else "refused"), ours
        assert can(guest) or ours["reason"] == f"needs Linux 6.1 or newer; this is {guest.series}"


def refusal(guest: Guest) -> str:
    """What an older kernel answers to each of ours, before anything runs."""
    return re.escape(f"needs Linux 6.1 or newer; this is {guest.series}")


@pytest.mark.usefixtures("agents_in_guest")
def test_every_control_carries_all_bytes(guest: Guest, tmp_path: Path) -> None:
    ours = [f"wp_{name}" for name in OURS]
    if not can(guest):
        for name in ours:
            with pytest.raises(RunError, match=refusal(guest)):
                measure(tmp_path / name, congestion_control=name, transfer_bytes=TRANSFER_BYTES)
    names = [*NATIVE, *(ours if can(guest) else [])]
    record = measure(tmp_path, congestion_control=names, transfer_bytes=TRANSFER_BYTES)
    flows = record.table("flows")
    for found, manifest in record.trials.items():
        wanted = record.factors(manifest.cell)["congestion_control"]
        rows = flows.filter(flows["trial"] == found)
        assert rows["congestion_control"].to_list() == [wanted] * 2
        assert rows["payload_bytes"].to_list() == [TRANSFER_BYTES] * 2
    assert registered(guest) == []


@pytest.mark.usefixtures("agents_in_guest")
def test_nothing_stays_registered_after_kill(guest: Guest) -> None:
    with agent_of_guest("guest", pipes.local()) as agent:
        if not can(guest):
            with pytest.raises(AgentError, match=refusal(guest)):
                agent.call(cast("Any", {"request": "prepare"} | trial(socket={"congestion_control": "wp_htcp"})))
            assert registered(guest) == []
            return
        (pid,) = guest.run("/bin/busybox", "pidof", "whyperf-agent").split()
        agent.call(cast("Any", {"request": "prepare"} | trial(socket={"congestion_control": "wp_htcp"})))
        assert registered(guest) == ["wp_htcp"]
        guest.run("/bin/busybox", "kill", "-9", pid)
        given_up = time.monotonic() + GONE_WITHIN_S
        while registered(guest) and time.monotonic() < given_up:
            time.sleep(0.2)
        assert registered(guest) == []
