"""What the planner lets through the agents carry: transports, workloads and I/O models by single factors."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.e2e.experiments import Quiet
from whyperf.plan import Plan, build
from whyperf.profile import FACTORS, Level, ProfileError, parse
from whyperf.profile.workload import shipped_workload_names
from whyperf.record import Experiment
from whyperf.record.manifest import LOST
from whyperf.run import Kind, Session, Target, run_levels

TRANSPORTS = ("tcp", "mptcp", "udp", "unix", "udt", "quic", "srt", "tls")
IO_MODELS = ("blocking", "epoll", "io_uring")
#: A level or more of each factor, none of them the default, with what it cannot be without.
TRIED: dict[str, tuple[dict[str, Level], ...]] = {
    "window_bytes": ({"window_bytes": 65_536},),
    "send_buffer_bytes": ({"send_buffer_bytes": 65_536},),
    "receive_buffer_bytes": ({"receive_buffer_bytes": 65_536},),
    "threads": ({"threads": 2},),
    "write_size_bytes": ({"write_size_bytes": 1000},),
    "read_size_bytes": ({"read_size_bytes": 1000},),
    "read_wait": ({"read_wait": "block"},),
    "reply_size_bytes": ({"reply_size_bytes": 64},),
    "write_rate_bps": ({"write_rate_bps": 8_000_000},),
    "request_size_bytes": ({"request_size_bytes": 100},),
    "response_size_bytes": ({"response_size_bytes": 100},),
    "outstanding": ({"outstanding": 2},),
    "burst_count": ({"burst_count": 4},),
    "think_us": ({"think_us": 10},),
    "offered_rate_per_s": ({"offered_rate_per_s": 500.0},),
    "arrivals": ({"arrivals": "constant", "offered_rate_per_s": 500.0},),
    "datagram_size_bytes": ({"datagram_size_bytes": 1000},),
    "datagram_batch": ({"datagram_batch": 4},),
    "datagram_merge": ({"datagram_merge": True},),
    "connections": ({"connections": 3},),
    "idle_connections": ({"idle_connections": 5},),
    "direction": ({"direction": "receive"},),
    "no_delay": ({"no_delay": True},),
    "quick_ack": ({"quick_ack": True},),
    "cork": ({"cork": True},),
    "congestion_control": ({"congestion_control": "default"}, {"congestion_control": "bbr"}),
    "mss_bytes": ({"mss_bytes": 1000},),
    "pacing_rate_bps": ({"pacing_rate_bps": 80_000_000},),
    "busy_poll_us": ({"busy_poll_us": 50},),
    "dscp": ({"dscp": 8},),
    "source_address": ({"source_address": "127.0.0.9"},),
    "zero_copy": ({"zero_copy": True},),
    "truncate": ({"truncate": True},),
    "send_call": ({"send_call": "sendfile"}, {"send_call": "splice"}),
    "tls_version": ({"tls_version": "1.2"}, {"tls_version": "1.3"}),
    "tls_cipher": ({"tls_cipher": "aes-256-gcm"}, {"tls_cipher": "chacha20-poly1305"}),
    "tls_record_bytes": ({"tls_record_bytes": 500},),
    "kernel_timestamps": ({"kernel_timestamps": True},),
    "transfer_bytes": ({"transfer_bytes": 2000},),
    "rtt_probe_ms": ({"rtt_probe_ms": 20},),
    "rtt_probe": ({"rtt_probe_ms": 20, "rtt_probe": "icmp"},),
    "schedule": ({"schedule": "staircase", "schedule_scale": 0.007},),
    "competitor": ({"schedule": "mixed", "schedule_scale": 0.002, "competitor": "reno"},),
    "rest_s": ({"rest_s": 0.05},),
}
#: Factors that say where and how long, or what the cell is tried with. tests/kernels tries ktls and SCTP, where kernels
#: have them.
GIVEN = {
    "ktls",
    "sctp_streams",
    "workload", "transport", "io_model", "ip_version", "duration_s", "warmup_s", "cooldown_s", "interval_ms",
    "deadline_s", "near_cpus", "far_cpus", "schedule_scale", "schedule_order",
}  # fmt: skip
PHASES: dict[str, Level] = {"duration_s": 0.05, "warmup_s": 0.0, "cooldown_s": 0.0}


def test_every_factor_is_tried() -> None:
    of_hosts = {factor.name for factor in FACTORS if not (factor.testbed or factor.model or factor.scope == "path")}
    assert of_hosts == TRIED.keys() | GIVEN


def plan_of(cells: Sequence[dict[str, Level]]) -> Plan:
    """The plan of a profile with a sweep for each of these."""
    sweeps = []
    for number, levels in enumerate(cells):
        fixed = [f"{name} = {json.dumps(level)}" for name, level in levels.items()]
        sweeps += ["[[sweep]]", f'name = "s{number}"', "[sweep.fixed]", *fixed]
    text = "\n".join(['about = "A test."', "[fixed]", "interval_ms = 20", "deadline_s = 5", *sweeps]) + "\n"
    return build(parse(text, name="sample", where="sample.toml"), target="loopback", evidence="user")


def planned(levels: dict[str, Level]) -> dict[str, Level] | None:
    """The cell, with short phases where it has any; None where the planner refuses it."""
    for cell in (levels | PHASES, levels):
        try:
            plan_of([cell])
        except ProfileError:
            continue
        return cell
    return None


def failures(accepted: Sequence[dict[str, Level]], folder: Path) -> list[str]:
    """Which of the cells that the planner lets through fail, with the reason."""
    if not accepted:
        return []
    plan = plan_of(accepted)
    with (
        Session(plan, Target(Kind.LOOPBACK)) as session,
        Experiment.create(folder / "results", plan, "") as experiment,
    ):
        run_levels(session, experiment, list(plan.trials()), Quiet())
        manifests = experiment.trials().manifests.values()
    sweeps = {cell.id: int(cell.sweep.removeprefix("s")) for cell in plan.cells}
    # Few bytes in each transaction may not be through when the load is cut.
    failed = [manifest for manifest in manifests if manifest.status in LOST]
    return [f"{accepted[sweeps[manifest.cell]]}: {manifest.reason}" for manifest in failed]


OPTIONS: tuple[dict[str, Level], ...] = ({}, *(levels for tried in TRIED.values() for levels in tried))


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_each_option_works_over_a_transport_or_is_refused_by_the_planner(transport: str, tmp_path: Path) -> None:
    """Every option over TCP, every third over another one, with one of two loads, in turn; with all loads below."""
    loads = {"udp": ("udp-stream", "udp-rr"), "quic": ("stream", "udp-stream")}.get(transport, ("stream", "rr"))
    accepted = []
    for number, levels in list(enumerate(OPTIONS))[TRANSPORTS.index(transport) % 3 :: 1 if transport == "tcp" else 3]:
        ordered = loads if number % 2 == 0 else loads[::-1]
        cells = (planned({"transport": transport, "workload": load, **levels}) for load in ordered)
        if (cell := next((cell for cell in cells if cell is not None), None)) is not None:
            accepted.append(cell)
    assert len(accepted) > 3
    assert failures(accepted, tmp_path) == []


@pytest.mark.slow
@pytest.mark.parametrize("io_model", IO_MODELS)
@pytest.mark.parametrize("load", shipped_workload_names())
def test_each_option_works_with_a_workload_or_is_refused_by_the_planner(
    load: str, io_model: str, tmp_path: Path
) -> None:
    cells: list[dict[str, Level]] = [
        {"transport": transport, "workload": load, "io_model": io_model, **levels}
        for transport in TRANSPORTS
        for levels in OPTIONS
    ]
    accepted = [cell for levels in cells if (cell := planned(levels)) is not None]
    assert failures(accepted, tmp_path) == []
