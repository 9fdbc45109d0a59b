"""Whole profiles and cells, right and wrong: what is read and planned, or what is said of them."""

import math
from collections.abc import Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.unit.snapshots import Snapshots, outcome
from whyperf.profile import BY_NAME, FACTORS, Profile, ProfileError, find, load, parse, shipped_names
from whyperf.profile.combination import is_plain, resolve
from whyperf.profile.path import one_way_ms, packet_bytes, queue_bytes, rates_bps, red_thresholds_bytes
from whyperf.profile.schedule import SHIPPED, checked_flows, read_schedule
from whyperf.profile.schedule.model import regions
from whyperf.profile.write import as_toml

SNAPSHOTS = Snapshots(Path(__file__).with_suffix(".json"))
DEFAULTS = {factor.name: factor.default for factor in FACTORS}
Given = Mapping[str, Any]

STREAMS: tuple[Given, ...] = (
    {},
    {"transfer_bytes": 1024},
    {"transfer_bytes": 1024, "duration_s": 1.0},
    {"duration_s": 20.0, "warmup_s": 30.0},
    {"duration_s": 60.0, "warmup_s": 0.0, "cooldown_s": 0.0, "deadline_s": 60.0},
    {"duration_s": 59.0, "warmup_s": 0.5, "cooldown_s": 0.4, "deadline_s": 60.0},
    {"workload": "bogus"},
    {"workload": "rr"},
    {"workload": "rr", "connections": 4},
    {"workload": "rr", "connections": 5},
    {"workload": "rr", "transport": "udp"},
    {"workload": "rr", "outstanding": 2, "kernel_timestamps": True},
    {"workload": "rr", "outstanding": 1, "kernel_timestamps": True},
    {"workload": "rr", "zero_copy": True, "kernel_timestamps": True},
    {"workload": "rr", "kernel_timestamps": False},
    {"workload": "stream", "kernel_timestamps": True},
    {"workload": "stream", "request_size_bytes": 8},
    {"workload": "stream-receive", "direction": "receive"},
    {"workload": "stream-receive"},
    {"workload": "udp-stream"},
    {"workload": "udp-stream", "transport": "tcp"},
    {"workload": "udp-rr", "io_model": "io_uring"},
    {"workload": "udp-stream", "transport": "udp", "io_model": "io_uring"},
    {"transport": "udp"},
    {"transport": "quic"},
    {"transport": "quic", "congestion_control": "bbr"},
    {"transport": "quic", "io_model": "epoll"},
    {"transport": "udt"},
    {"transport": "srt", "window_bytes": 4096},
    {"transport": "mptcp"},
    {"transport": "mptcp", "window_bytes": 4096},
    {"transport": "mptcp", "receive_buffer_bytes": 4096},
    {"transport": "unix"},
    {"transport": "unix", "no_delay": True},
    {"transport": "unix", "path_rtt_ms": 3.0},
    {"transport": "=congestion_control"},
    {"io_model": "epoll"},
    {"io_model": "epoll", "write_size_bytes": 8, "zero_copy": True},
    {"io_model": "io_uring", "read_wait": "spin"},
    {"io_model": "blocking", "workload": "rr", "connections": 100},
    {"write_size_bytes": "=read_size_bytes"},
    {"write_size_bytes": "=read_size_bytes", "read_size_bytes": "=write_size_bytes"},
    {"write_size_bytes": "=mtu_bytes"},
    {"write_size_bytes": "=window_bytes"},
    {"write_size_bytes": "=bogus"},
    {"hosts": "sparc2"},
    {"link": "atm-oc3", "mtu_bytes": 9188},
    {"gso": False},
    {"gso": False, "tso": False},
    {"mtu_bytes": 1279, "ip_version": 6},
    {"mtu_bytes": 1280, "ip_version": 6},
    {"mtu_bytes": 576, "ip_version": 4},
    {"rtt_probe": "udp"},
    {"rtt_probe_ms": 20.0},
    {"rtt_probe": "tcp", "rtt_probe_ms": 20.0},
    {"idle_connections": 100},
    {"workload": "rr", "idle_connections": 100},
    {"workload": "rr", "offered_rate_per_s": 100.0, "arrivals": "constant"},
    {"schedule": "bogus"},
    {"schedule": "mixed"},
    {"schedule": "mixed", "competitor": "srt", "schedule_scale": 0.5},
    {"schedule": "mixed", "schedule_scale": 0.001},
    {"schedule": "mixed", "duration_s": 3.0},
    {"schedule": "mixed", "transfer_bytes": 3},
    {"schedule": "mixed", "connections": 3, "direction": "receive"},
    {"schedule": "mixed", "schedule_order": "fifo"},
    {"schedule": "mixed", "transport": "unix"},
    {"schedule": "mixed", "transport": "mptcp"},
    {"schedule": "staircase", "interval_ms": 1000},
    {"schedule": "rrul"},
    {"schedule": "rrul", "window_bytes": 4096},
    {"schedule": "rrul", "receive_buffer_bytes": 4096},
    {"schedule": "rrul", "transport": "quic"},
    {"schedule": "single-and-parallel", "connections": 3},
    {"schedule": "forward-reverse", "direction": "receive"},
    {"schedule": "forward-reverse", "workload": "rr"},
    {"schedule_scale": 0.5},
    {"competitor": "bbr"},
)

PATHS: tuple[Given, ...] = (
    {"path_rtt_ms": 20.0},
    {"path_rtt_ms": "none"},
    {"path_rate_bps": 10**7},
    {"path_rate_bps": 10**7, "path_rtt_ms": 20.0},
    {"path_rate_bps": 10**7, "path_rtt_ms": 1.0},
    {"path_rate_bps": 10**7, "path_queue": "1p"},
    {"path_rate_bps": 10**7, "path_queue": 1513},
    {"path_rate_bps": 10**7, "path_queue": 1514},
    {"path_rate_bps": 10**7, "path_rtt_ms": 20.0, "path_queue": "0.01bdp"},
    {"path_rate_bps": 10**7, "path_rtt_ms": 20.0, "path_rate_back_bps": "none"},
    {"path_rate_bps": 10**7, "path_rtt_ms": 20.0, "path_rate_back_bps": 1000},
    {"path_rate_bps": 10**7, "path_rtt_ms": 20.0, "path_rate_back_bps": 10**6},
    {"path_rate_bps": 10**10, "path_queue": "100p"},
    {"path_rate_bps": 10**10 + 8, "path_queue": "100p"},
    {"path_rate_bps": 10**10 + 8, "path_queue": "100p", "path_implementation": "netem"},
    {"path_rate_bps": 10**9, "path_rtt_ms": 5000.0},
    {"path_rate_bps": 10**9, "path_rtt_ms": 2500.0},
    {"path_rate_bps": 10**9, "path_queue": 2**29},
    {"path_rate_bps": 10**9, "path_queue": 2**29 + 1},
    {"path_loss": 0.01},
    {"path_loss": 0.0},
    {"path_loss": "segments:5+7"},
    {"path_loss": "segments:5+7", "transport": "quic"},
    {"path_loss": "segments:5", "path_implementation": "netem"},
    {"path_loss": "bursts:0.1/0"},
    {"path_loss": "bursts:0/0"},
    {"path_loss": "bursts:0.1/0.2", "path_loss_back": "bursts:0.1/0"},
    {"path_rtt_ms": 20.0, "path_loss_back": "segments:3", "transport": "udt"},
    {"path_queue": "100p"},
    {"path_rtt_ms": 20.0, "path_queue": "100p"},
    {"path_rtt_ms": 20.0, "path_delay_back_ms": 20.0},
    {"path_rtt_ms": 20.0, "path_delay_back_ms": 20.5},
    {"path_rtt_ms": 20.0, "path_delay_back_ms": 5.0, "path_jitter_us": 5000},
    {"path_rtt_ms": 20.0, "path_delay_back_ms": 5.0, "path_jitter_us": 5001},
    {"path_rtt_ms": 20.0, "path_delay_back_ms": 15.0, "path_jitter_us": 5001},
    {"path_rtt_ms": 20.0, "path_reorder": 0.1},
    {"path_loss": 0.1, "path_reorder": 0.1},
    {"path_rtt_ms": 20.0, "path_delay_back_ms": 20.0, "path_reorder": 0.1},
    {"path_rtt_ms": 20.0, "path_discipline": "codel"},
    {"path_rate_bps": 10**7, "path_rtt_ms": 20.0, "path_discipline": "codel", "path_ecn": True},
    {"path_rate_bps": 10**7, "path_rtt_ms": 20.0, "path_ecn": True},
    {"path_rate_bps": 10**7, "path_rtt_ms": 20.0, "path_discipline": "codel", "path_codel_target_ms": 100.0},
    {"path_rate_bps": 10**7, "path_rtt_ms": 20.0, "path_discipline": "codel", "path_codel_target_ms": 99.0},
    {"path_rate_bps": 10**7, "path_rtt_ms": 20.0, "path_discipline": "codel", "path_red_gentle": True},
    {"path_rate_bps": 10**7, "path_rtt_ms": 20.0, "path_discipline": "red"},
    {"path_rate_bps": 10**7, "path_rtt_ms": 20.0, "path_discipline": "red", "path_red_min_bytes": 12500},
    {"path_rate_bps": 10**7, "path_rtt_ms": 20.0, "path_discipline": "red", "path_red_min_bytes": 12499},
    {"path_rate_bps": 10**7, "path_rtt_ms": 20.0, "path_discipline": "red", "path_red_max_bytes": 25000},
    {"path_rate_bps": 10**7, "path_rtt_ms": 20.0, "path_discipline": "red", "path_red_max_bytes": 25001},
    {"path_rate_bps": 10**7, "path_rtt_ms": 20.0, "path_discipline": "red", "path_queue": "50p"},
    {"path_rtt_ms": 20.0, "path_cross_rate_bps": 10**6},
    {"path_rate_bps": 10**7, "path_rtt_ms": 20.0, "path_cross_rate_bps": 10**6, "path_cross_amplitude_bps": 10**6},
    {"path_rate_bps": 10**7, "path_rtt_ms": 20.0, "path_cross_rate_bps": 10**6, "path_cross_amplitude_bps": 1000001},
    {"path_rate_bps": 10**7, "path_rtt_ms": 20.0, "path_cross_amplitude_bps": 10**6},
    {"path_rate_bps": 10**7, "path_rtt_ms": 20.0, "path_ack_thinning": 3, "path_duplicate": 0.5},
    {"path_rtt_ms": 20.0, "path_implementation": "netem"},
    {"path_rtt_ms": 20.0, "path_implementation": "netem", "gro": True},
    {"path_rtt_ms": 20.0, "path_implementation": "netem", "gso": True},
    {"path_rtt_ms": 20.0, "path_implementation": "netem", "tso": True, "gso": True},
    {"path_rtt_ms": 20.0, "path_implementation": "netem", "path_ack_thinning": 2},
    {"path_rtt_ms": 20.0, "path_implementation": "netem", "path_ack_thinning": 1},
    {"path_rate_bps": 10**7, "path_rtt_ms": 20.0, "path_implementation": "netem"},
    {"path_rate_bps": 10**7 + 4, "path_rtt_ms": 20.0, "path_implementation": "netem"},
    {"path_rate_bps": 10**7, "path_rate_back_bps": 10**6 + 1, "path_rtt_ms": 20.0, "path_implementation": "netem"},
    *(
        {
            "path_rate_bps": 10**7,
            "path_rtt_ms": 20.0,
            "path_implementation": "netem",
            "path_discipline": discipline,
            "path_queue": queue,
        }
        for discipline in ("drop_tail", "codel", "red")
        for queue in ("bdp", "100p", 30_000)
    ),
    {"path_rate_bps": 10**7, "path_cross_rate_bps": 8, "path_rtt_ms": 20.0, "path_implementation": "netem"},
    {"path_rate_bps": 10**7, "path_rtt_ms": 20.0, "mtu_bytes": 9000},
    {"path_rate_bps": 10**7, "path_rtt_ms": 5.0, "mtu_bytes": 9000},
    {"path_rtt_ms": 20.0, "ip_version": 6, "mtu_bytes": 1000},
    {"path_rtt_ms": 20.0, "gso": False},
)


def cell_of(given: Given, place: str) -> dict[str, Any]:
    """What differs from the defaults in the resolved cell, and which factors have no place in it."""
    cell = resolve(given, testbed=place == "testbed", model=place == "model")
    differs = {name: level for name, level in cell.items() if level != DEFAULTS[name]}
    # Most cells are without the same factors.
    found: dict[str, Any] = {"differs": differs, "without": len(DEFAULTS) - len(cell), "plain": is_plain(cell)}
    found["names"] = sum(place * (1 + ord(name[0]) + len(name)) for place, name in enumerate(cell))
    if cell.get("path_rate_bps", "none") != "none":
        figures = [function(cell) for function in (one_way_ms, rates_bps, packet_bytes)]
        rate = int(cell["path_rate_bps"])
        found["path"] = [*figures, queue_bytes(cell, rate)]
        if cell["path_discipline"] == "red":
            found["path"] += red_thresholds_bytes(cell, rate)
    return found


@pytest.mark.parametrize("place", ["testbed", "network", "model"])
def test_cells(place: str) -> None:
    found = {str(given): outcome(partial(cell_of, given, place), ProfileError) for given in (*STREAMS, *PATHS)}
    if place != "testbed":
        # Only what is another there.
        here = {str(given): outcome(partial(cell_of, given, "testbed"), ProfileError) for given in (*STREAMS, *PATHS)}
        for name, made in found.items():
            if isinstance(made, str) and made == here[name]:
                found[name] = "as on the testbed"
    SNAPSHOTS.check(f"cells, {place}", found)


GOOD = """
about = "A question."
[fixed]
mtu_bytes = 9188
read_size_bytes = "=write_size_bytes"
[design]
trials = 3
[[sweep]]
name = "throughput"
[sweep.fixed]
transfer_bytes = 1048576
[sweep.factors]
window_bytes = [4096, 8192]
write_size_bytes = { from = 512, to = 1024, step = 512 }
[[sweep]]
name = "other"
trials = 2
log_trials = 1
exclude = [{ no_delay = true, connections = [1, 2] }]
[sweep.factors]
no_delay = [true, false]
connections = [1, 2, 3]
"""
OWN = """
[workload]
name = "asks"
[[workload.group]]
[[workload.group.transaction]]
steps = [{ op = "write", size = 3 }, { op = "read", size = 5 }]
[schedule]
name = "own"
[[schedule.flow]]
start_s = 0.0
stop_s = 10.0
"""
#: What replaces what in `GOOD`.
MISTAKES: tuple[tuple[str, str], ...] = (
    ("", ""),
    ("[design]\ntrials = 3", ""),
    ("[design]\ntrials = 3", "[design]\ntrials = 0"),
    ("[design]\ntrials = 3", "[design]\ntrials = 100000\npause_ms = 3600000\nlog_trials = 99"),
    ("[design]\ntrials = 3", "[design]\ntrials = 100001\npause_ms = 3600001\nlog_trials = 100"),
    ("[design]\ntrials = 3", "[design]\ntrials = 1\npause_ms = -1\nlog_trials = -1"),
    ("[design]\ntrials = 3", "[design]\ntrials_max = 3\ninterval_width = 0.1"),
    ("[design]\ntrials = 3", "[design]\ntrials_max = 2\ninterval_width = 0.1"),
    ("[design]\ntrials = 3", "[design]\ntrials_max = 9\ntrials_min = 9\ninterval_width = 10"),
    ("[design]\ntrials = 3", "[design]\ntrials_max = 9\ntrials_min = 2\ninterval_width = 10.1"),
    ("[design]\ntrials = 3", "[design]\ntrials_max = 9\ntrials_min = 10\ninterval_width = 0"),
    ("[design]\ntrials = 3", "[design]\ntrials_max = 9\ntrials_min = 10\ninterval_width = 1"),
    ("[design]\ntrials = 3", "[design]\ntrials_max = 9"),
    ("[design]\ntrials = 3", "[design]\ninterval_width = 0.1"),
    ("[design]\ntrials = 3", "[design]\ntrials_min = 3"),
    ("[design]\ntrials = 3", "[design]\ntrials = 3\ntrials_min = 3"),
    ("[design]\ntrials = 3", "[design]\ntrails = 3"),
    ('about = "A question."', "seed = -1"),
    ('about = "A question."', "seed = 9223372036854775807"),
    ('about = "A question."', "seed = 0\nabuot = 3"),
    ('about = "A question."', "testbed.kind = 'loopback'"),
    ('about = "A question."\n[fixed]\nmtu_bytes = 9188', "testbed.kind = 'loopback'\n[fixed]"),
    ('about = "A question."', "testbed.kind = 'veth'"),
    ('about = "A question."', "testbed.kin = 'veth'"),
    ("mtu_bytes = 9188", "mtu_bytes = [1]"),
    ("mtu_bytes = 9188", "mtu = 9188"),
    ("mtu_bytes = 9188", "mtu_bytes = '=mtu_bytes'"),
    ('name = "throughput"', 'name = "other"'),
    ('name = "throughput"', ""),
    ('name = "throughput"', 'name = "-"'),
    ('name = "throughput"', f'name = "{"a" * 41}"'),
    ('name = "throughput"', f'name = "{"a" * 40}"'),
    ('name = "throughput"', "name = 7"),
    ("transfer_bytes = 1048576", "window_bytes = 1"),
    ("[4096, 8192]", "[]"),
    ("[4096, 8192]", "[4096, 4096]"),
    ("exclude = [{ no_delay = true, connections = [1, 2] }]", "exclude = [{}]"),
    ("exclude = [{ no_delay = true, connections = [1, 2] }]", "exclude = [{ no_delay = 3, bogus = 2 }]"),
    ("exclude = [{ no_delay = true, connections = [1, 2] }]", "exclude = 3"),
    ("[sweep.factors]\nno_delay = [true, false]\nconnections = [1, 2, 3]", ""),
    ("[sweep.factors]\nno_delay = [true, false]", "[sweep.factor]\nno_delay = [true, false]"),
    ("trials = 2\nlog_trials = 1", "trials = 0\nlog_trials = 100"),
    ("connections = [1, 2, 3]", f"connections = [1, 2, 3]{OWN}"),
    ("connections = [1, 2, 3]", f"connections = [1, 2, 3]{OWN.replace('asks', 'rr')}"),
    ("connections = [1, 2, 3]", f"connections = [1, 2, 3]{OWN.replace('size = 5', 'siz = 5')}"),
    ("connections = [1, 2, 3]", f"connections = [x{OWN}"),
    ("connections = [1, 2, 3]", f"connections = [0]{OWN.replace('size = 5', 'siz = 5').replace('10.0', '-1')}"),
    ("connections = [1, 2, 3]", f"connections = [1, 2, 3]{OWN.replace('own', 'mixed')}"),
    ("connections = [1, 2, 3]", f"connections = [1, 2, 3]{OWN.replace('stop_s = 10.0', '')}"),
)


def described(profile: Profile) -> dict[str, Any]:
    """A profile without its text."""
    names = (
        "name",
        "about",
        "seed",
        "kind",
        "fixed",
        "design",
        "sweeps",
        "overrides",
        "notes",
        "far_hosts",
        "variables",
    )
    found = {name: getattr(profile, name) for name in names}
    own = {"workloads": sorted(profile.workloads), "schedules": sorted(profile.schedules)}
    return found | own | {"most": profile.design.most_trials, "model": profile.is_of_model}


def test_profiles() -> None:
    found = {}
    for before, after in MISTAKES:
        assert before in GOOD
        text = GOOD.replace(before, after, 1) if before else GOOD
        found[f"{before} → {after}"] = outcome(
            lambda text=text: described(parse(text, name="x", where="x.toml")), ProfileError
        )
    for name in ("", "a b", "-a", "a.b_c-d", "ä"):
        found[f"named {name}"] = outcome(lambda name=name: parse(GOOD, name=name, where="x.toml").name, ProfileError)
    SNAPSHOTS.check("profiles", found)


OVERRIDES: tuple[Given, ...] = (
    {},
    {"window_bytes": 4096},
    {"window_bytes": (4096, 8192), "no_delay": True},
    {"transfer_bytes": 1024},
    {"transfer_bytes": "default"},
    {"duration_s": 3.0},
    {"duration_s": 3.0, "transfer_bytes": 1024},
    {"schedule": "mixed"},
    {"schedule": "none"},
    {"schedule": "mixed", "duration_s": 3.0},
    {"workload": "asks"},
)


@pytest.mark.parametrize("given", OVERRIDES, ids=str)
def test_overrides_and_what_is_written_of_them(given: Given) -> None:
    for text in (GOOD, f'about = "\\u007f é \\" x"\n{OWN}', "[fixed]\nduration_s = 4\nwarmup_s = 1\n"):
        profile = parse(text, name="x", where="x.toml").with_overrides(given)
        written = as_toml(profile)
        again = described(parse(written, name="x", where="x.toml"))
        expected = described(profile) | {"overrides": {}}
        SNAPSHOTS.check(f"{given} of {text[:30]!r}", [expected, written])
        same = {name for name in expected if expected[name] == again[name]}
        assert set(expected) - same <= ({"workloads"} if given.get("workload") else set())


@pytest.mark.parametrize("name", shipped_names())
def test_shipped_profiles(name: str) -> None:
    profile = find(name)
    SNAPSHOTS.check(f"shipped: {name}", described(profile))
    again = described(parse(as_toml(profile), name=name, where="x.toml"))
    assert again == described(profile)


def test_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("good.toml").write_text(GOOD)
    Path("bytes.toml").write_bytes(b"\xff\xfe")
    Path("latin.xml").write_bytes(b'<profile name="\xe9" >')
    Path("folder.toml").mkdir()
    arguments = (
        "good.toml",
        "./good.toml",
        "bytes.toml",
        "folder.toml",
        "none.toml",
        "demoo",
        "good",
        "latin.xml",
        "demo",
    )
    found = {name: outcome(lambda name=name: find(name).name, ProfileError) for name in arguments}
    found["folder"] = outcome(lambda: load(Path("folder.toml")).name, ProfileError)
    SNAPSHOTS.check("files", found)


FLOWS: Mapping[str, list[dict[str, Any]]] = {
    "one": [{"start_s": 0.0, "stop_s": 10.0}],
    "no flow": [],
    "names": [
        {"name": "a", "start_s": 0.0, "stop_s": 10.0, "dscp": 63},
        {"start_s": 2, "stop_s": 4.0, "direction": "receive"},
    ],
    "a name twice": [{"name": "flow 2", "start_s": 0.0, "stop_s": 1.0}, {"start_s": 0.0, "stop_s": 1.0}],
    "wrong values": [
        {"start_s": -1.0, "stop_s": 604801.0, "connections": 0, "dscp": 64, "direction": "up", "name": ""}
    ],
    "largest values": [{"start_s": 0.0, "stop_s": 604800.0, "connections": 1000, "congestion_control": "bbr"}],
    "larger values": [{"start_s": 0.0, "stop_s": 1.0, "connections": 1001, "congestion_control": "b b", "dscp": -1}],
    "no stop": [{"start_s": 0.0, "stop": 3}],
    "ends before": [{"start_s": 3.0, "stop_s": 3.0}],
    "short": [{"start_s": 0.0, "stop_s": 1.0}],
    "too short": [{"start_s": 0.0, "stop_s": 0.999}],
    "a short region": [{"start_s": 0.0, "stop_s": 9.0}, {"start_s": 0.5, "stop_s": 9.0}],
    "many": [{"start_s": 0.0, "stop_s": 2.0}] * 64,
    "too many": [{"start_s": 0.0, "stop_s": 2.0}] * 65,
}


CHANGES_OF_FLOWS: tuple[dict[str, Any], ...] = (
    {},
    {"connections": 3, "direction": "receive", "schedule_order": "fifo", "competitor": "srt"},
)


def test_schedules() -> None:
    found: dict[str, Any] = {}
    for name, flows in FLOWS.items():
        for scale in (1.0, 2.0):
            table: dict[str, Any] = {"name": "own", "about": " x ", "flow": flows}
            factors = {**DEFAULTS, "schedule_scale": scale, "interval_ms": 100}
            made = outcome(
                lambda table=table, factors=factors: checked_flows(read_schedule(table), factors), ProfileError
            )
            found[f"{name} at {scale}"] = made[:3] if isinstance(made, list) else made
    for name in ("mixed", "none", "Own", "a" * 41, ""):
        table = {"name": name, "flow": FLOWS["one"], "abuot": 3} if name == "" else {"name": name, "flow": FLOWS["one"]}
        found[f"named {name}"] = outcome(lambda table=table: read_schedule(table).name, ProfileError)
    for name, schedule in SHIPPED.items():
        for changed in CHANGES_OF_FLOWS:
            factors = {**DEFAULTS, "schedule_scale": 0.5, **changed}
            found[f"{name} {changed}"] = [sorted(schedule.uses), checked_flows(schedule, factors)]
            spans = [(round(flow.start_s * 1e9), round(flow.stop_s * 1e9)) for flow in checked_flows(schedule, factors)]
            found[f"regions of {name} {changed}"] = regions(spans)
    SNAPSHOTS.check("schedules", found)


def test_every_factor_is_known_by_its_name() -> None:
    assert [BY_NAME[factor.name] for factor in FACTORS] == list(FACTORS)


def test_what_each_factor_takes() -> None:
    """A default is what stored plans mean where they do not say it, so it changes for a new format at most."""
    facts = {
        factor.name: {
            name: value
            for name, value in asdict(factor).items()
            if name not in {"name", "help"} and value not in {math.inf, -math.inf}
        }
        for factor in FACTORS
    }
    SNAPSHOTS.check("factors", facts)
