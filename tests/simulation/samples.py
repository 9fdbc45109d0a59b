"""What the simulated hosts answer, and the plans that are run on them."""

import io
import json
from functools import cache
from typing import Any, NamedTuple

import polars as pl

from whyperf import __version__
from whyperf.plan import LOCAL, Plan, build
from whyperf.profile import parse
from whyperf.record.kinds import COLUMNS
from whyperf.run.target import Kind, Target

FACTS: dict[str, Any] = {
    "abilities": [],
    "agent_version": __version__,
    "boot_id": "",
    "clock_source": "tsc",
    "congestion_controls": ["reno", "cubic", "bbr"],
    "cpu_model": "simulated",
    "cpus": [0, 1, 2, 3],
    "devices": [],
    "distribution": "none",
    "hooks": [],
    "stage_hooks": [],
    "hostname": "here",
    "kernel": "6.12.0",
    "machine": "x86_64",
    "memory_bytes": 1 << 30,
    "privileges": None,
    "sysctls": {},
    "tsc_hz": None,
}
TESTBED_END: dict[str, Any] = {
    "device": "veth0",
    "gso_max_segments": 64,
    "ipv6": "fd00::1",
    "mtu_bytes": 1500,
    "offloads": {"gro": True, "gso": True, "rx_checksum": True, "tso": True, "tx_checksum": True},
    "rps_cpus": [],
    "napi_thread_cpus": None,
    "tcp_limit_output_bytes": 4_194_304,
    "tcp_autocorking": True,
    "tcp_tso_win_divisor": 3,
}
#: Of a watched connection.
_COUNTS = (
    *("acked_bytes", "received_bytes", "retransmitted_segments", "data_segments_out", "rtt_ns", "cwnd_segments"),
    *("mss_bytes", "unsent_bytes", "send_queue_bytes", "receive_queue_bytes", "busy_ns", "rwnd_limited_ns"),
    "send_buffer_limited_ns",
)
_TYPES = {"u32": pl.UInt32, "u64": pl.UInt64, "bool": pl.Boolean, "text": pl.String}


def evidence(asked: str) -> dict[str, Any]:
    """How complete a trial's evidence is: nothing was asked of the kernel that it did not give."""
    return {
        "asked": asked,
        "got": asked,
        "reason": None,
        "missing": [],
        "logged_events_count": 0,
        "lost_events_count": [],
        "logged_calls_count": 0,
        "lost_calls_count": [],
        "missed_runs_count": 0,
        "unseen_segments_count": 0,
        "broken_off": None,
    }


def progress(interval: int, payload_bytes: int) -> dict[str, Any]:
    return {
        "reply": "progress",
        "interval": interval,
        "phase": "measure",
        "start_mono_ns": interval,
        "end_mono_ns": interval + 1,
        "payload_bytes": payload_bytes,
        "load_cpu_ns": 0,
        "retransmitted_segments": 0,
        "cwnd_segments": 10,
        "srtt_ns": 1,
        "announced_window_bytes": 65_536,
    }


def watched(host: str, reports: int, mono_ns: int, *, is_empty: bool) -> dict[str, Any]:
    """A report of a watch: one connection, or none."""
    connection = {
        "connection": 0,
        "endpoints": {"local": f"192.0.2.1:{len(host)}", "remote": "192.0.2.2:5201"},
        "program": "iperf3",
        "process": 4711,
        "state": 1,
        "is_whole": False,
        **dict.fromkeys(_COUNTS, reports),
        "peer_window_bytes": 65_536,
        "own_window_bytes": None,
    }
    return {
        "reply": "watched",
        "mono_ns": mono_ns,
        "level": "user",
        "reason": None,
        "connections": [] if is_empty else [connection],
        "others_count": 0,
        "beyond_limit_count": 0,
        "unknown_owner_count": 0,
        "look_ns": 1,
        "sample_ns": 1,
        "instead": None,
    }


@cache
def table(name: str, label: str, serial: int) -> bytes:
    """A table whose content is that of one trial and one host alone."""
    columns: dict[str, Any] = json.loads(COLUMNS.read_text())[name]
    data = {}
    for column, kind in columns.items():
        text = label if kind == "text" else kind[0] if isinstance(kind, list) else None
        value = text if text is not None else bool(serial) if kind == "bool" else serial
        data[column] = pl.Series([value], dtype=_TYPES[kind if text is None else "text"])
    buffer = io.BytesIO()
    pl.DataFrame(data).write_parquet(buffer, compression="uncompressed")
    return buffer.getvalue()


class Setting(NamedTuple):
    """What is run where."""

    name: str
    profile_text: str
    plan: Plan
    target: Target


_PROFILE = """
about = "A question."
[fixed]
{stop}
interval_ms = {interval_ms}
deadline_s = 20
congestion_control = "cubic"
{path}
[design]
trials = {trials}
[[sweep]]
name = "one"
[sweep.factors]
write_size_bytes = {sizes}
"""


@cache
def settings() -> tuple[Setting, ...]:
    """Every kind of target, with one and several cells, pairs of hosts, and emulated paths."""
    timed = "warmup_s = 0\nduration_s = 0.8\ncooldown_s = 0"
    path = "path_rtt_ms = 10\npath_rate_bps = 100000000"
    network: dict[str, Any] = {"target": "beta", "where": Target(Kind.NETWORK, "beta")}
    pairs: dict[str, Any] = {
        "target": "beta",
        "near": (LOCAL, "alpha"),
        "where": Target(Kind.NETWORK, "beta", near=(LOCAL, "alpha")),
    }
    loopback: dict[str, Any] = {"target": "loopback", "where": Target(Kind.LOOPBACK)}
    veth: dict[str, Any] = {"target": "testbed", "where": Target(Kind.VETH)}
    found = []
    for name, options, stop, on_path, trials, sizes in (
        ("loopback", loopback, "transfer_bytes = 100000", "", 2, "[1024, 2048]"),
        ("loopback of one trial", loopback, timed, "", 1, "[1024]"),
        ("network", network, timed, "", 2, "[1024, 2048]"),
        ("network of one trial", network, timed, "", 1, "[1024]"),
        ("two pairs", pairs, timed, "", 2, "[1024]"),
        ("testbed", veth, "transfer_bytes = 100000", "", 2, "[1024, 2048]"),
        ("testbed with a path", veth, timed, path, 2, "[1024]"),
    ):
        text = _PROFILE.format(stop=stop, path=on_path, trials=trials, sizes=sizes, interval_ms=100)
        target = options["where"]
        profile = parse(text, name="simulated", where="simulated.toml")
        plan = build(profile, **{key: value for key, value in options.items() if key != "where"})
        found.append(Setting(name, text, plan, target))
    return tuple(found)
