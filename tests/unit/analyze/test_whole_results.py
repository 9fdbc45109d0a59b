"""The whole results of small synthetic experiments, each with something unusual."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from tests.unit.analyze import synthetic as made
from tests.unit.analyze.test_datagrams import rows as datagram_rows
from tests.unit.analyze.workload_samples import OPEN, RR, UDP, Exchange, assembled, tail, workload
from tests.unit.analyze.workload_samples import inputs as exchanged
from tests.unit.snapshots import Snapshots
from whyperf.analyze.cell_results import summarize_inputs
from whyperf.analyze.read.assemble import assemble
from whyperf.analyze.read.inputs import Inputs
from whyperf.analyze.time_series import courses_of
from whyperf.analyze.transports.summary import trial_indicators

SNAPSHOTS = Snapshots(Path(__file__).with_suffix(".json"))
SHORT = made.Trial(warmup_s=0.3, duration_s=2.5, cooldown_s=0.2)
RATES = (1.0e9, 1.2e9, 0.9e9, 1.07e9)
UNEVEN = (0.5, 0.3, 0.2)
BUSY_NOTE = {"note": "busy_process", "name": "make", "pid": 7, "cpu_ns": 3 * made.SECOND, "wall_ns": 5 * made.SECOND}


def after(at_s: float, before: float, then: float) -> Callable[[float], float]:
    return lambda seconds: before if seconds < at_s else then


def wave(period_s: float, part: float) -> Callable[[float], float]:
    return lambda seconds: 1 + part * (1 if int(seconds / period_s) % 2 else -1)


def ramp(seconds: float) -> float:
    return 0.2 + seconds / 4


def trials(**changed: object) -> list[made.Trial]:
    """Four trials of one cell."""
    return made.blocks_of(replace(SHORT, **changed), RATES)  # type: ignore[arg-type]


def cells(first: Mapping[str, object], second: Mapping[str, object]) -> list[made.Trial]:
    """Two trials each of two cells."""
    ones = [replace(SHORT, block=block, **first) for block in (1, 2)]  # type: ignore[arg-type]
    return [*ones, *(replace(SHORT, block=block, cell="c0002", **second) for block in (1, 2))]  # type: ignore[arg-type]


#: What happens in a trial, for one cell with four trials.
STREAMS: Mapping[str, Mapping[str, object]] = {
    "plain": {},
    "several connections": {"connections": 3, "shares": UNEVEN, "retransmitted": 70, "far_offset_ns": -40 * made.MS},
    "sixteen connections": {"connections": 16},
    "seventeen connections": {"connections": 17},
    "received": {"direction": "receive", "far_offset_ns": 3 * made.SECOND, "retransmitted": 9},
    "a transfer": {"transfer_bytes": 16 << 20, "window_bytes": 32768, "announced_bytes": 30000},
    "a transfer whose clocks differ": {"transfer_bytes": 16 << 20, "uncertainty_ns": 3 * made.MS},
    "transfers apart": {"transfer_bytes": 8 << 20, "connections": 2, "stagger_ns": 200 * made.MS},
    "transfers together": {"transfer_bytes": 8 << 20, "connections": 3, "stagger_ns": 20 * made.MS, "shares": UNEVEN},
    "stopped at the deadline": {"transfer_bytes": 16 << 20, "status": "deadline"},
    "settles late": {"course": after(0.8, 0.4, 1.0), "duration_s": 6.0},
    "changes its level": {"course": after(3.0, 1.0, 0.6), "duration_s": 6.0},
    "two levels": {"course": wave(0.35, 0.3), "duration_s": 6.0},
    "never settles": {"course": ramp, "duration_s": 6.0},
    "nothing moves": {"course": after(0.3, 1.0, 1e-9)},
    "counted cycles": {"pmu_hz": 3.1e9, "busy": {"sender": 0.9, "receiver": 0.4}},
    "traced soft interrupts": {"traced_softirq": {"sender": 0.22, "receiver": 0.31}, "ksoftirqd_share": 0.05},
    "more ticks than time": {"traced_softirq": {"sender": 0.95, "receiver": 0.31}},
    "stolen time": {"steal": 0.03, "busy": {"sender": 0.7, "receiver": 0.6}},
    "shared processors": {"exclusive": False},
    "others' load": {"load_share": 0.3, "notes": (BUSY_NOTE,)},
    "a library's packets": {"library": "srt", "retransmitted": 800},
    "packets that a library loses": {"library": "quic", "retransmitted": 800},
    "a small window": {"window_bytes": 16384, "announced_bytes": 14000},
    "an own congestion control": {"factors": {"congestion_control": "default"}},
    "an emulated path": {"factors": {"rtt_ms": 20.0, "loss_ratio": 0.01}, "retransmitted": 9000},
    "notes": {
        "notes": (
            {"note": "buffer_cut", "buffer": "receive", "requested_bytes": 1 << 20, "limit_bytes": 212992},
            {"note": "strangers_dropped", "count": 2},
            {"note": "no_kernel_stamps", "count": 3},
            {"note": "sampler_late", "worst_ns": 80 * made.MS},
            {"note": "no_pmu", "reason": "no such device"},
            BUSY_NOTE,
        )
    },
    "flows that come and go": {
        "connections": 3,
        "active": ((0.0, 3.0), (1.0, 3.0), (1.5, 2.5)),
        "duration_s": 2.8,
        "warmup_s": 0.1,
        "cooldown_s": 0.1,
        "factors": {"schedule": "join", "rtt_ms": 10.0, "rate_mbps": 1000.0},
        "round_trips": tuple((0.05 * number, 1_000_000 + 7_000 * (number % 9)) for number in range(60)),
        "retransmitted": 40,
    },
    "a probe without answers": {"round_trips": ((0.5, None), (0.7, 90_000), (0.9, 110_000), (2.9, None))},
}


@pytest.mark.parametrize("name", STREAMS)
def test_streams(name: str) -> None:
    check(name, made.inputs(trials(**STREAMS[name])))


#: Trials of several cells, or that differ.
EXPERIMENTS: Mapping[str, Sequence[made.Trial]] = {
    "one trial": [SHORT],
    "two trials": trials()[:2],
    "six trials": made.blocks_of(SHORT, [*RATES, 1.01e9, 1.02e9]),
    "two cells": cells({"window_bytes": 8192}, {"window_bytes": 65536, "rate_bps": 4e9}),
    "some failed": [
        SHORT,
        replace(SHORT, block=2, status="failed", reason="the far host closed the connection"),
        replace(SHORT, block=3, status="failed"),
        replace(SHORT, block=4, status="void", reason="the clock was set!"),
        replace(SHORT, block=5, status="interrupted", duration_s=1.0),
    ],
    "only an interrupted trial": [replace(SHORT, status="interrupted", duration_s=1.0, reason="stopped by the user")],
    "two interrupted trials": [
        replace(SHORT, status="interrupted", duration_s=1.0, reason="stopped by the user"),
        replace(SHORT, block=2, status="interrupted", duration_s=0.7, rate_bps=2e9, reason="stopped by the user"),
    ],
    "one of two with a schedule failed": [
        replace(SHORT, **STREAMS["flows that come and go"]),  # type: ignore[arg-type]
        replace(SHORT, **STREAMS["flows that come and go"], block=2, status="failed", reason="cut"),  # type: ignore[arg-type]
    ],
    "one restless of three": [SHORT, replace(SHORT, block=2), replace(SHORT, block=3, course=after(1.5, 1.0, 0.5))],
    "different hosts' settings": cells({"exclusive": False}, {"steal": 0.05, "notes": (BUSY_NOTE,)}),
}


@pytest.mark.parametrize("testbed", ["veth", "loopback", "network", "model"])
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_experiments(name: str, testbed: str) -> None:
    inputs = made.inputs(EXPERIMENTS[name], testbed)
    if testbed == "veth":
        check(name, inputs)
        return
    result = summarize_inputs(inputs)
    SNAPSHOTS.check(f"{name}, {testbed}", [result.warnings, result.facts, [cell.warnings for cell in result.cells]])


SERVICE = tail(40_000, 20_000)
INTENDED = tuple(("intended", low + 9_000, high + 12_000, count) for _, low, high, count in SERVICE)
STAMPED = (
    ("wire", 9_000, 9_500, 100),
    ("wire", 30_000, 31_000, 3),
    ("host", 2_000, 2_100, 103),
    ("connect", 70, 90, 9),
)
TWO_STEPS = {**RR, "workload": workload({"by": "closed"}, "message")}


def _placed(trial: made.Trial, number: int, block: int) -> made.Trial:
    return replace(trial, cell=f"c{number:04d}", block=block)


def in_cells(*exchanges: Exchange) -> list[Exchange]:
    """Exchanges of two trials each, in cells of their own."""
    return [
        replace(exchange, trial=_placed(exchange.trial, number, block), per_s=exchange.per_s * block)
        for number, exchange in enumerate(exchanges, start=1)
        for block in (1, 2)
    ]


EXCHANGES: Mapping[str, Sequence[Exchange]] = {
    "closed and open": in_cells(
        Exchange(SHORT, latencies=SERVICE),
        Exchange(SHORT, 900.0, 1000.0, 950.0, 3.0, latencies=(*SERVICE, *INTENDED), workload=OPEN),
    ),
    "kernel stamps": in_cells(Exchange(SHORT, latencies=(*SERVICE, *STAMPED), request_bytes=0, response_bytes=0)),
    "two names": in_cells(Exchange(SHORT, names=(("a", "read"), ("b", "write")), latencies=SERVICE, failed_per_s=10.0)),
    "messages": in_cells(Exchange(SHORT, workload=TWO_STEPS, latencies=SERVICE)),
    "an open loop over its limit": in_cells(
        Exchange(SHORT, 800.0, 1000.0, 990.0, latencies=(*SERVICE, *INTENDED), workload=OPEN)
    ),
    "an open loop that begins late": in_cells(
        Exchange(SHORT, 500.0, 1000.0, 500.0, latencies=(*SERVICE, *INTENDED), workload=OPEN)
    ),
    "counted cycles": in_cells(Exchange(replace(SHORT, pmu_hz=2.5e9), latencies=SERVICE)),
    "a late rest of the warm-up": in_cells(
        Exchange(replace(SHORT, duration_s=6.0, course=after(0.9, 0.4, 1.0)), latencies=SERVICE)
    ),
}


@pytest.mark.parametrize("name", EXCHANGES)
def test_exchanges(name: str) -> None:
    check(f"exchange: {name}", exchanged(*EXCHANGES[name]))


@pytest.mark.parametrize(("lost", "connections", "drops"), [(0.0, 1, 0), (0.013, 1, 0), (0.2, 3, 77)])
def test_datagrams(lost: float, connections: int, drops: int) -> None:
    sent = [replace(SHORT, block=block, connections=connections) for block in (1, 2)]
    table = pl.concat([datagram_rows(trial, lost * trial.block, connections, drops) for trial in sent])
    check(f"datagrams: {lost}", assembled(sent, {"datagrams": table}, {"c0001": UDP}))


def test_damaged_trials_and_the_cost_of_evidence() -> None:
    ran = cells({}, {"window_bytes": 4096})
    cost = {
        "hostname": "testhost",
        "kernel": "6.18.0",
        "measured_realtime": "2026-01-02T03:04:05Z",
        "levels": [
            {
                "condition": "with large writes",
                "level": "counters",
                "pairs": pairs,
                "baseline_bps": 9e9,
                "goodput_ratio": {"median": 0.97, "low": 0.96, "high": 0.999},
                "cycles_ratio": {"median": 1.01, "low": None, "high": None},
                "logged_events": 0,
                "lost_events": 0,
            }
            for pairs in (6,)
        ],
    }
    manifests = [made.manifest(trial) for trial in ran]
    for manifest in manifests:
        for host, unseen in (("near", 3), ("far", 0)):
            report = {
                "asked": "segments",
                "got": "counters",
                "reason": "no BPF",
                "missing": [],
                "unseen_segments_count": unseen,
            }
            manifest["hosts"][host]["evidence"] = report
    damaged = [("001-c0002", "the table cpu is not there")]
    check("damaged", assemble(made.plan(ran), manifests, made.all_tables(ran), damaged, probe_cost=cost))


def check(name: str, inputs: Inputs) -> None:
    """Compares the result, one trial's course over time, and the indicators of flows that come and go."""
    courses = courses_of(inputs, inputs.trials["trial"].to_list()[:1])
    found = {"result": summarize_inputs(inputs), "courses": courses, "indicators": trial_indicators(inputs)}
    SNAPSHOTS.check(name, found)
