"""The BPF programs on the kernels of Debian 11, 12 and 13: what cannot be had is named, the rest is exact."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.logs import acks_differ, log_session, log_trials, run_log, unlogged_segments
from tests.e2e.test_log_truth import assert_payload
from tests.kernels.guest import Guest

pytestmark = pytest.mark.timeout(900)

TRANSFER_BYTES = 4_000_000

#: Hooks of the log of calls alone, whose ends of calls came with Linux 6.3.
OF_CALLS = ("raw_syscalls:sys_enter", "sched:sched_switch", "sched:sched_waking")

Facts = dict[str, Any]


@pytest.fixture(scope="session")
def doctor(guest: Guest) -> Facts:
    """What the agent says of the guest."""
    found: Facts = json.loads(guest.run("/whyperf-agent", "doctor"))
    return found


def test_the_guest_has_that_kernel(guest: Guest, doctor: Facts) -> None:
    assert doctor["kernel"].startswith(f"{guest.series}.")


def test_a_hook_is_there_where_the_kernel_has_its_tracepoint(guest: Guest, doctor: Facts) -> None:
    symbols = {line.split()[2] for line in guest.run("/bin/busybox", "cat", "/proc/kallsyms").splitlines()}
    assert doctor["hooks"]
    has_ends = "__tracepoint_sock_send_length" in symbols
    for hook in doctor["hooks"]:
        if hook["name"] in OF_CALLS and not has_ends:
            assert (hook["can"], hook["reason"]) == (False, "of no use without sock:sock_send_length")
            continue
        tracepoint = hook["name"].partition(":")[2]
        assert hook["can"] == (f"__tracepoint_{tracepoint}" in symbols), hook
        assert hook["can"] or hook["reason"] == "this kernel has no such tracepoint"


@pytest.mark.usefixtures("agents_in_guest")
@pytest.mark.parametrize("connections", [1, 3])
@pytest.mark.parametrize("ip_version", [4, 6])
def test_the_log_holds_every_byte(doctor: Facts, tmp_path: Path, ip_version: int, connections: int) -> None:
    levels: dict[str, Any] = {"ip_version": ip_version, "connections": connections, "transfer_bytes": TRANSFER_BYTES}
    with log_session(tmp_path / "results", **levels) as (opened, experiment):
        (planned,) = log_trials(experiment)
        near, far = run_log(opened, experiment, planned)
    missing = [hook["name"] for hook in doctor["hooks"] if not hook["can"]]
    for log in (near, far):
        assert log.manifest.status == "complete"
        assert log.evidence["got"] == "segments", log.evidence
        assert log.evidence["broken_off"] is None
        assert [hook["name"] for hook in log.evidence["missing"]] == missing
        assert log.evidence["lost_events_count"] == []
        assert (log.folder / f"calls.{log.host}.parquet").exists() == (not set(OF_CALLS) & set(missing))
        assert log.evidence["logged_events_count"] == log.segments.height
        assert unlogged_segments(log) == {}
        assert_payload(log, TRANSFER_BYTES)
    assert acks_differ(near, far) is None
