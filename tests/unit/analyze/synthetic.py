"""Synthetic experiments with a known truth, written exactly as whyperf's record.

`Trial` says what happened; `tables` makes the record's tables from it and `write` a whole results
folder. Rates are what they say they are: nothing is sampled unless a test asks for noise.
"""

import itertools
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np
import polars as pl

from whyperf.analyze.read.assemble import assemble
from whyperf.analyze.read.inputs import Inputs
from whyperf.plan.plan_document import Plan, identify

SECOND = 1_000_000_000
MS = 1_000_000
TSC_HZ = 2_000_000_000

U32, U64, TEXT, BOOL = pl.UInt32(), pl.UInt64(), pl.String(), pl.Boolean()


T = TypeVar("T")


def known(value: T | None) -> T:
    """The value, which must be there."""
    assert value is not None
    return value


def _steady(_seconds: float) -> float:
    return 1.0


def step(at_s: float, before: float, after: float) -> Callable[[float], float]:
    """A course that changes once."""
    return lambda seconds: before if seconds < at_s else after


@dataclass(frozen=True)
class Trial:
    """What happened in one trial. `course` scales the rate over the seconds since the load's start."""

    cell: str = "c0001"
    block: int = 1
    rate_bps: float = 1e9
    connections: int = 1
    shares: tuple[float, ...] = ()
    course: Callable[[float], float] = _steady
    transfer_bytes: int | None = None
    warmup_s: float = 1.0
    duration_s: float = 10.0
    cooldown_s: float = 0.2
    interval_ms: int = 100
    window_bytes: int | None = None
    announced_bytes: int = 65536
    write_size_bytes: int = 131072
    read_size_bytes: int = 131072
    busy: Mapping[str, float] = field(default_factory=lambda: {"sender": 0.8, "receiver": 0.6})
    load_share: float = 0.9
    ksoftirqd_share: float = 0.0
    traced_softirq: Mapping[str, float] | None = None
    retransmitted: int = 0
    #: A library carries the connections: one that counts what it sends again, or one that counts only what is lost.
    library: Literal["srt", "quic"] | None = None
    status: str = "complete"
    reason: str | None = None
    far_offset_ns: int = 0
    uncertainty_ns: int = 1000
    exclusive: bool = True
    path: Mapping[str, object] = field(default_factory=dict)
    pmu_hz: float | None = None
    steal: float = 0.0
    notes: tuple[Mapping[str, object], ...] = ()
    start_ns: int = 1000 * SECOND
    stagger_ns: int = 0
    direction: str = "send"
    factors: Mapping[str, object] = field(default_factory=dict)
    #: With a schedule: when each connection, a flow of its own, is at work; those at work share the rate evenly.
    active: tuple[tuple[float, float], ...] = ()
    #: Requests of the RTT probe: when, in s after the start of the load, and the round-trip time in ns, if answered.
    round_trips: tuple[tuple[float, int | None], ...] = ()

    @property
    def name(self) -> str:
        return f"{self.block:03d}-{self.cell}"


def factors(trial: Trial) -> dict[str, object]:
    return {
        "window_bytes": trial.window_bytes or "default",
        "send_buffer_bytes": "default",
        "receive_buffer_bytes": "default",
        "write_size_bytes": trial.write_size_bytes,
        "read_size_bytes": trial.read_size_bytes,
        "connections": trial.connections,
        "direction": trial.direction,
        "no_delay": False,
        "quick_ack": False,
        "congestion_control": "cubic",
        "mss_bytes": "default",
        "ip_version": 4,
        "transfer_bytes": trial.transfer_bytes or "default",
        **({} if trial.transfer_bytes else {"duration_s": trial.duration_s}),
        "warmup_s": trial.warmup_s,
        "cooldown_s": trial.cooldown_s,
        "interval_ms": trial.interval_ms,
        "deadline_s": 60,
        "near_cpus": "auto",
        "far_cpus": "auto",
        "mtu_bytes": 1500,
        "tso": True,
        "gso": True,
        "gro": True,
        **trial.factors,
    }


def _spans(trial: Trial) -> list[tuple[str, int, int]]:
    """The sampler's intervals: phase, start and end in ns after the start of the load."""
    step = trial.interval_ms * MS
    if trial.transfer_bytes:
        length = int(max(_connection_ns(trial, index) + index * trial.stagger_ns for index in range(trial.connections)))
        edges = [*range(0, length, step), length]
        return [("measure", start, end) for start, end in itertools.pairwise(edges)]
    spans = []
    at = 0
    phases = (("warm-up", trial.warmup_s), ("measure", trial.duration_s), ("cool-down", trial.cooldown_s))
    for phase, seconds in phases:
        end = at + round(seconds * SECOND)
        edges = [*range(at, end, step), end]
        spans += [(phase, start, stop) for start, stop in itertools.pairwise(edges) if stop > start]
        at = end
    return spans


def _share(trial: Trial, connection: int) -> float:
    return trial.shares[connection] if trial.shares else 1 / trial.connections


def _connection_ns(trial: Trial, connection: int) -> float:
    assert trial.transfer_bytes
    return trial.transfer_bytes * 8e9 / (trial.rate_bps * _share(trial, connection))


def _octets(trial: Trial, connection: int, start: int, end: int) -> int:
    rate = trial.rate_bps * _share(trial, connection) / 8e9
    if trial.transfer_bytes:
        first = connection * trial.stagger_ns
        last = first + _connection_ns(trial, connection)
        return round(max(0.0, min(end, last) - max(start, first)) * rate)
    center_s = (start + end) / 2 / SECOND
    if trial.active:
        at_work = [number for number, (start_s, stop_s) in enumerate(trial.active) if start_s <= center_s < stop_s]
        rate = trial.rate_bps / len(at_work) / 8e9 if connection in at_work else 0.0
    return round((end - start) * rate * trial.course(center_s))


def tables(trial: Trial) -> dict[tuple[str, str], pl.DataFrame]:
    """The record's tables of `trial` by table and host."""
    result = {}
    sender = "near" if trial.direction == "send" else "far"
    for host in ("near", "far"):
        role = "sender" if host == sender else "receiver"
        base = trial.start_ns + (trial.far_offset_ns if host == "far" else 0)
        result["flows", host] = _flows(trial, host, role, base)
        result["intervals", host] = _intervals(trial, host, role, base)
        if trial.library is None:
            result["tcp_info", host] = _tcp_info(trial, host, role, base)
        else:
            result["transport_info", host] = _transport_info(trial, host, role, base)
        result["cpu", host] = _cpu(trial, host, role, base)
        result["threads", host] = _threads(trial, host, role, base)
        if trial.round_trips and host == "near":
            result["round_trips", host] = _round_trips(trial, host, base)
        if trial.traced_softirq:
            result["softirqs", host] = _softirqs(trial, host, role, base)
    return result


def _flows(trial: Trial, host: str, role: str, base: int) -> pl.DataFrame:
    spans = _spans(trial)
    rows = []
    for index in range(trial.connections):
        first = index * trial.stagger_ns
        last = first + round(_connection_ns(trial, index)) if trial.transfer_bytes else spans[-1][2]
        moved = trial.transfer_bytes or sum(_octets(trial, index, start, end) for _, start, end in spans)
        size = trial.write_size_bytes if role == "sender" else trial.read_size_bytes
        calls = -(-moved // size)
        rows.append(
            (
                *(host, index, role, "10.0.0.1:1", "10.0.0.2:2"),
                *(trial.window_bytes, None, 2 * (trial.window_bytes or 65536), None),
                *(2 * (trial.window_bytes or 65536), trial.window_bytes or 2**31 - 1, 1448, "cubic"),
                *(False, False, 100 + index, base + first, base + last, moved, calls, calls // 10, 1, trial.status),
            )
        )
    schema = {"host": TEXT, "connection": U32, "role": TEXT, "local_address": TEXT, "remote_address": TEXT}
    schema |= {"window_requested_bytes": U32, "send_buffer_requested_bytes": U32, "send_buffer_granted_bytes": U32}
    schema |= {"receive_buffer_requested_bytes": U32, "receive_buffer_granted_bytes": U32, "window_clamp_bytes": U32}
    schema |= {"mss_bytes": U32, "congestion_control": TEXT, "no_delay": BOOL, "quick_ack": BOOL, "thread": U32}
    schema |= {"first_call_mono_ns": U64, "last_call_mono_ns": U64, "payload_bytes": U64, "calls_count": U64}
    schema |= {"short_calls_count": U64, "other_calls_count": U64, "ended": TEXT}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _intervals(trial: Trial, host: str, role: str, base: int) -> pl.DataFrame:
    rows = []
    for number, (phase, start, end) in enumerate(_spans(trial)):
        for index in range(trial.connections):
            moved = _octets(trial, index, start, end)
            rows.append((host, index, role, number, phase, base + start, base + end, moved, moved // 65536 + 1))
    schema = {"host": TEXT, "connection": U32, "role": TEXT, "interval": U32, "phase": TEXT, "start_mono_ns": U64}
    return pl.DataFrame(
        rows, schema={**schema, "end_mono_ns": U64, "payload_bytes": U64, "calls_count": U64}, orient="row"
    )


def _tcp_info(trial: Trial, host: str, role: str, base: int) -> pl.DataFrame:
    spans = _spans(trial)
    rows = []
    total = spans[-1][2]
    windows = (trial.announced_bytes, 0) if role == "sender" else (0, trial.announced_bytes)
    for number, (phase, _, end) in enumerate(spans):
        wave = trial.course(end / SECOND)
        timers, rtt = (200 * MS, 40 * MS, 1448, 1448, 4, 0), (round(60_000 / wave), 5_000, 40_000)
        cwnd, times = (2**31 - 1, round(40 * wave), 1500, 3, 50_000, 14480), (10**8, end, end // 3, 0)
        for index in range(trial.connections):
            again = trial.retransmitted * (number + 1) // len(spans) if role == "sender" and index == 0 else 0
            sent = round(trial.rate_bps * _share(trial, index) / 8e9 * end / 1448) if role == "sender" else 0
            counts = (2**64 - 1, sent * 1448, 0, sent, sent // 2, sent, 0, 0)
            sample = (host, index, role, phase, base + end, end == total, 1, 0)
            rows.append((*sample, *timers, *rtt, *cwnd, again, *counts, *times, None, None, None, *windows))
    names32 = "receive_mss_bytes unacked_segments lost_segments"
    schema = {"host": TEXT, "connection": U32, "role": TEXT, "phase": TEXT, "sample_mono_ns": U64, "final": BOOL}
    schema |= {"state": U32, "ca_state": U32, "rto_ns": U64, "ato_ns": U64, "send_mss_bytes": U32}
    schema |= dict.fromkeys(names32.split(), U32) | dict.fromkeys(("rtt_ns", "rtt_ns_deviation", "rtt_ns_min"), U64)
    schema |= dict.fromkeys(("ssthresh_segments", "cwnd_segments", "pmtu_bytes", "reordering_segments"), U32)
    schema |= {"receive_rtt_ns": U64, "receive_space_bytes": U32, "retransmitted_segments": U32}
    schema |= dict.fromkeys(("pacing_rate_bytes_per_second", "bytes_acked", "bytes_received", "segments_out"), U64)
    schema |= dict.fromkeys(("segments_in", "data_segments_out", "data_segments_in"), U64) | {"not_sent_bytes": U32}
    schema |= dict.fromkeys(("delivery_rate_bytes_per_second", "busy_ns", "rwnd_limited_ns"), U64)
    schema |= {"send_buffer_limited_ns": U64, "bytes_sent": U64, "bytes_retransmitted": U64}
    schema |= {"out_of_order_segments": U32, "peer_window_bytes": U32, "own_window_bytes": U32}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _transport_info(trial: Trial, host: str, role: str, base: int) -> pl.DataFrame:
    """What the kernel would have reported for segments, as reported for a library's packets."""
    again = pl.col("retransmitted_segments").cast(U64)
    is_silent = trial.library == "quic"
    return _tcp_info(trial, host, role, base).select(
        *("host", "connection", "role", "phase", "sample_mono_ns", "final"),
        pl.lit(trial.library).alias("transport"),
        "rtt_ns",
        pl.lit(1456, U32).alias("packet_payload_bytes"),
        pl.col("data_segments_out").alias("sent_packets"),
        (again if is_silent else again * 2).alias("lost_packets"),
        (pl.lit(None, U64) if is_silent else again).alias("retransmitted_packets"),
    )


def _cpu(trial: Trial, host: str, role: str, base: int) -> pl.DataFrame:
    own = 0 if host == "near" else 1
    rows = []
    for number, (phase, start, end) in enumerate(_spans(trial)):
        length = end - start
        for cpu in (0, 1):
            busy = trial.busy[role] if cpu == own else 0.5
            parts = [round(length * busy * part) for part in (0.1, 0.6, 0.0, 0.3)]
            idle = round(length * (1 - busy - trial.steal))
            cycles = None if trial.pmu_hz is None else round(length * busy * trial.pmu_hz / 1e9)
            ksoftirqd = round(length * trial.ksoftirqd_share)
            mine = cpu == own if trial.exclusive else True
            times = (*parts, round(length * trial.steal), idle, ksoftirqd, cycles)
            rows.append((host, cpu, mine, number, phase, base + start, base + end, *times))
    schema = {"host": TEXT, "cpu": U32, "own": BOOL, "interval": U32, "phase": TEXT, "start_mono_ns": U64}
    kinds = ("user", "system", "irq", "softirq", "steal", "idle", "ksoftirqd")
    schema |= {"end_mono_ns": U64, **{f"{kind}_ns": U64 for kind in kinds}, "pmu_cycles_count": U64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _round_trips(trial: Trial, host: str, base: int) -> pl.DataFrame:
    rows = [(host, number, base + round(at * SECOND), rtt_ns) for number, (at, rtt_ns) in enumerate(trial.round_trips)]
    schema = {"host": TEXT, "probe": U64, "sent_mono_ns": U64, "rtt_ns": U64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _softirqs(trial: Trial, host: str, role: str, base: int) -> pl.DataFrame:
    assert trial.traced_softirq
    rows = [
        (host, cpu, cpu == own, number, phase, base + start, base + end, vector, 10, round((end - start) * share))
        for number, (phase, start, end) in enumerate(_spans(trial))
        for own in (0 if host == "near" else 1,)
        for cpu in (0, 1)
        for vector, share in (("net_rx", 0.9 * trial.traced_softirq[role]), ("timer", 0.1 * trial.traced_softirq[role]))
    ]
    schema = {"host": TEXT, "cpu": U32, "own": BOOL, "interval": U32, "phase": TEXT, "start_mono_ns": U64}
    schema |= {"end_mono_ns": U64, "vector": TEXT, "runs_count": U64, "softirq_ns": U64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _threads(trial: Trial, host: str, role: str, base: int) -> pl.DataFrame:
    rows = [
        (
            *(host, 100, role, number, phase, base + start, base + end, 0 if host == "near" else 1),
            *(round((end - start) * trial.busy[role] * trial.load_share), 0),
        )
        for number, (phase, start, end) in enumerate(_spans(trial))
    ]
    schema = {"host": TEXT, "thread": U32, "role": TEXT, "interval": U32, "phase": TEXT, "start_mono_ns": U64}
    schema |= {"end_mono_ns": U64, "cpu": U32, "cpu_ns": U64, "run_queue_ns": U64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def manifest(trial: Trial, testbed: str = "veth") -> dict[str, Any]:
    """The manifest of `trial`."""
    sender = "near" if trial.direction == "send" else "far"
    hosts = {}
    for label, cpu in (("near", 0), ("far", 1)):
        offset = trial.far_offset_ns if label == "far" else 0
        hosts[label] = {
            "role": "sender" if label == sender else "receiver",
            "outcome": {"ended": trial.status},
            "payload_bytes": 0,
            "notes": list(trial.notes) if label == "near" else [],
            "clock": {"offset_ns": offset, "uncertainty_ns": trial.uncertainty_ns, "pairs": []},
            "own_cpus": [cpu] if trial.exclusive else [0, 1],
            "own_cpus_exclusive": trial.exclusive,
            "tsc_hz": TSC_HZ,
            "spec": _spec(trial, label),
        }
    return {
        "record_version": 1,
        "trial": trial.name,
        "cell": trial.cell,
        "block": trial.block,
        "status": trial.status,
        "reason": trial.reason,
        "origin": "host",
        "testbed": testbed,
        "started_realtime": "2026-01-02T03:04:05Z",
        "versions": {"controller": "0.1.0", "near": "0.1.0", "far": "0.1.0"},
        "factors": factors(trial),
        "hosts": hosts,
        "warnings": [],
        **({"path": trial.path} if trial.path else {}),
        "start_mono_ns": trial.start_ns,
    }


def _spec(trial: Trial, label: str) -> dict[str, Any]:
    """What of an end's TrialSpec the analysis reads: the schedule."""
    if not trial.active:
        return {}
    return {
        "opening": "connect" if label == "near" else "listen",
        "transport": factors(trial).get("transport", "tcp"),
        "socket": {"congestion_control": factors(trial)["congestion_control"]},
        "schedule": [
            {"start_ns": round(start * SECOND), "stop_ns": round(stop * SECOND), "connections_count": 1}
            for start, stop in trial.active
        ],
    }


def plan(trials: Sequence[Trial], testbed: str = "veth", sweep: str = "main", seed: int = 1995) -> dict[str, Any]:
    """A plan whose cells are those of `trials`."""
    cells = {trial.cell: factors(trial) for trial in trials}
    names = list(next(iter(cells.values())))
    varied = [name for name in names if len({str(levels.get(name)) for levels in cells.values()}) > 1]
    blocks = sorted({trial.block for trial in trials})
    document = {
        "plan_version": 1,
        "id": "",
        "experiment": "synthetic",
        "profile": "synthetic",
        "about": "How goodput depends on window and write size.",
        "seed": seed,
        "target": "testbed" if testbed == "veth" else testbed,
        "testbed": {"kind": testbed},
        "cells": [{"id": cell, "sweep": sweep, "factors": levels} for cell, levels in cells.items()],
        "varied": varied,
        "blocks": [[trial.cell for trial in trials if trial.block == block] for block in blocks],
        "stop": {"trials": len(blocks)},
    }
    document["id"] = identify(Plan.model_validate_json(json.dumps(document)))
    return document


def all_tables(trials: Iterable[Trial]) -> dict[str, pl.DataFrame]:
    """The tables of all trials, as `whyperf.record.read_table` gives them."""
    frames: dict[str, list[pl.DataFrame]] = {}
    for trial in trials:
        keys = [pl.lit(trial.name).alias("trial"), pl.lit(trial.block).alias("block"), pl.lit(trial.cell).alias("cell")]
        for (name, _), frame in tables(trial).items():
            frames.setdefault(name, []).append(frame.select(*keys, pl.all()))
    return {name: pl.concat(parts) for name, parts in frames.items()}


HOST_FACTS: Mapping[str, Any] = {
    "hostname": "testhost",
    "agent_version": "0.1.0",
    "kernel": "6.18.0",
    "machine": "x86_64",
    "distribution": "Debian GNU/Linux 12 (bookworm)",
    "cpu_model": "Example CPU @ 2.00GHz",
    "cpus": [0, 1],
    "memory_bytes": 24 << 30,
    "clock_source": "tsc",
    "tsc_hz": TSC_HZ,
    "congestion_controls": ["bbr", "cubic", "reno"],
    "sysctls": {"net.core.rmem_max": "212992", "net.ipv4.tcp_rmem": "4096 131072 6291456"},
    "devices": [],
    "abilities": [
        {
            "name": "cpu_cycles_pmu",
            "can": False,
            "reason": "perf_event_open: No such file or directory",
            "lost_without": "Cycles are TSC reference cycles.",
        }
    ],
}


def testbed_facts() -> dict[str, Any]:
    """The testbed as read back."""
    offloads = {"tso": True, "gso": True, "gro": True, "tx_checksum": True, "rx_checksum": True}
    end = {"netns": "/proc/1/fd/1", "ipv4": "10.0.0.1", "ipv6": "fd00::1", "mtu_bytes": 1500, "offloads": offloads}
    return {
        "near": {"host": "near", "device": "whyperf0", **end, "rps_cpus": ["2"]},
        "far": {"host": "far", "device": "whyperf1", **end, "ipv4": "10.0.0.2", "rps_cpus": ["1"]},
    }


testbed_facts.__test__ = False  # type: ignore[attr-defined]


def write(
    folder: Path, trials: Sequence[Trial], planned: Mapping[str, Any] | None = None, testbed: str = "veth"
) -> Path:
    """Writes a results folder of `trials`; returns it."""
    document = dict(planned or plan(trials, testbed))
    document["experiment"] = folder.name
    (folder / "hosts").mkdir(parents=True, exist_ok=True)
    (folder / "trials").mkdir(exist_ok=True)
    (folder / "plan.json").write_text(json.dumps(document))
    (folder / "profile.toml").write_text('about = "How goodput depends on window and write size."\nseed = 1995\n')
    for label in ("near", "far"):
        (folder / "hosts" / f"{label}.json").write_text(json.dumps(HOST_FACTS))
    if testbed == "veth":
        (folder / "testbed.json").write_text(json.dumps(testbed_facts()))
    for trial in trials:
        home = folder / "trials" / trial.name
        home.mkdir()
        (home / "manifest.json").write_text(json.dumps(manifest(trial, testbed)))
        if trial.status != "failed":
            for (name, host), frame in tables(trial).items():
                frame.write_parquet(home / f"{name}.{host}.parquet")
    return folder


def sweep(windows: Sequence[int], writes: Sequence[int], blocks: int, seed: int = 7) -> list[Trial]:
    """A window x write-size sweep that looks like one: saturating curves, steps and noise."""
    rng = np.random.default_rng(seed)
    trials = []
    pairs = list(itertools.product(windows, writes))
    for block in range(1, blocks + 1):
        for number, (window, write_size) in enumerate(pairs, start=1):
            fits = write_size / (-(-write_size // 4096) * 4096)
            level = 9e9 * window / (window + 20_000) * write_size / (write_size + 1500) * (0.85 + 0.15 * fits)
            rate = level * float(rng.lognormal(0, 0.04))
            cost = 0.35 + 0.6 * level / 9e9
            trials.append(
                Trial(
                    cell=f"c{number:04d}",
                    block=block,
                    rate_bps=rate,
                    transfer_bytes=16 << 20,
                    window_bytes=window,
                    announced_bytes=window if window <= 8192 else window // 9148 * 9148,
                    write_size_bytes=write_size,
                    read_size_bytes=write_size,
                    busy={"sender": min(0.99, cost), "receiver": min(0.99, cost * 1.1)},
                    start_ns=1000 * SECOND + number * SECOND,
                )
            )
    return trials


def blocks_of(trial: Trial, rates_bps: Sequence[float]) -> list[Trial]:
    """One trial of the same cell for each rate."""
    return [replace(trial, block=block, rate_bps=rate) for block, rate in enumerate(rates_bps, start=1)]


def inputs(trials: Sequence[Trial], testbed: str = "veth", planned: Mapping[str, Any] | None = None) -> Inputs:
    """What the analysis gets of `trials`."""
    run = [trial for trial in trials if trial.status != "failed"]
    manifests = [manifest(trial, testbed) for trial in trials]
    return assemble(planned or plan(trials, testbed), manifests, all_tables(run))


def changed(original: Inputs, **frames: pl.DataFrame) -> Inputs:
    """`original` with other frames."""
    return replace(original, **frames)  # type: ignore[arg-type]
