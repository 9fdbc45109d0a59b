"""Tables of trials that are drawn from seeds, and what each part of `explain/gather` makes of them.

Counts of rows lie around the smallest that a rule takes, and values around its limits. What an older agent
did not write is null. `random_inputs` stores the outcomes.
"""

import json
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, is_dataclass
from pathlib import Path
from random import Random
from typing import Any, cast

import numpy as np
import polars as pl

from whyperf.analyze.flow import FlowTrial, open_trial
from whyperf.explain.gather import by_payload, deliveries, links
from whyperf.explain.gather.ack_delays import ack_delay_ns
from whyperf.explain.gather.active import Active, scheduled
from whyperf.explain.gather.asked import asked
from whyperf.explain.gather.calls import calls
from whyperf.explain.gather.delivery_steps import Steps, delivery_steps
from whyperf.explain.gather.direction import sending
from whyperf.explain.gather.exchanges import datagrams, exchanges
from whyperf.explain.gather.host_limits import host_limits
from whyperf.explain.gather.outages import outages
from whyperf.explain.gather.processors import processors
from whyperf.explain.gather.sockets import sampled, sockets
from whyperf.explain.gather.transports import transport_facts

MS = 1_000_000
START_NS = 5_000 * MS
FAR_OFFSET_NS = 3 * MS + 7
UNLIMITED = 2**64 - 1
NAMES = ("direction", "phase", "role", "context", "kind", "counter", "subject", "device", "vector", "call", "outcome")

Row = dict[str, Any]
Tables = dict[str, pl.DataFrame]


def plain(part: Any) -> Any:
    """What JSON can hold of facts."""
    if is_dataclass(part) and not isinstance(part, type):
        return plain(asdict(part))
    if isinstance(part, Mapping):
        return {str(name): plain(value) for name, value in part.items()}
    if isinstance(part, np.ndarray | np.generic):
        return plain(part.tolist())
    if isinstance(part, frozenset | list | tuple):
        return [plain(value) for value in (sorted(part) if isinstance(part, frozenset) else part)]
    return str(part) if isinstance(part, float) and not np.isfinite(part) else part


def table(rows: Sequence[Row]) -> pl.DataFrame:
    """Rows as an agent writes them: numbers have no sign."""
    types = {
        name: next((kind for row in rows if (kind := _type(name, row.get(name))) is not None), pl.UInt64())
        for name in rows[0]
    }
    return pl.DataFrame(list(rows), schema=types)


def _type(name: str, value: Any) -> pl.DataType | None:
    if value is None:
        return None
    if isinstance(value, bool):
        return pl.Boolean()
    if isinstance(value, str):
        return pl.String()
    return pl.UInt32() if name in {"connection", "interval", "cpu", "thread"} or "segments" in name else pl.UInt64()


@contextmanager
def trial(tables: Tables, ends: Mapping[str, Row] | None = None, **manifest: Any) -> Iterator[FlowTrial]:
    """A trial of these tables, by file such as "flows.near"; `ends` are parts of the manifest's hosts."""
    hosts = {}
    for host, role, offset in (("near", "sender", 0), ("far", "receiver", FAR_OFFSET_NS)):
        clock = {"offset_ns": offset, "uncertainty_ns": 1000, "pairs": []}
        hosts[host] = {"role": role, "clock": clock, **(ends or {}).get(host, {})}
    bound = {"connection": 0, "interval": 0, "phase": "measure", "start_mono_ns": START_NS, "end_mono_ns": START_NS + 1}
    with tempfile.TemporaryDirectory() as folder:
        for name, frame in {"intervals.near": table([{**bound, "payload_bytes": 1}]), **tables}.items():
            frame.write_parquet(Path(folder) / f"{name}.parquet", compression="uncompressed")
        whole = {"trial": "t", "cell": "c0001", "status": "complete", "hosts": hosts, **manifest}
        (Path(folder) / "manifest.json").write_text(json.dumps(whole))
        yield open_trial(Path(folder))


def without(rng: Random, rows: list[Row], *names: str) -> list[Row]:
    """Some of these columns are null: in all rows, or in a few."""
    for name in names:
        part = rng.choice((0, 0, 0, 0, 0.2, 1))
        for row in rows:
            if rng.random() < part:
                row[name] = None
    return rows


def info(rng: Random) -> Tables:
    """`tcp_info` of both hosts, of one to six connections: steady, growing, standing still at times."""
    step = rng.choice((20, 50, 100, 100, 200, 500)) * MS
    least = rng.choice((100_000, 199_999, 200_000, 2 * MS, 10 * MS, 40 * MS))
    growth, jitter = rng.choice((0, 0.02, 0.04, 0.11, 0.3, 0.6)), rng.choice((0, 0.01, 0.04, 0.2))
    back, late = rng.choice((0, 0, 0.1, 7.9, 8, 9)), rng.choice((0, 1, 9))
    is_even, waits, pauses = rng.random() < 0.6, rng.choice((0.0, 0.45, 0.5, 0.6, 1.0)), rng.choice((0, 0, 0.1, 0.3))
    samples, rate, warm = (
        rng.choice((1, 2, 5, 6, 7, 8, 9, 10, 11, 12, 21, 30)),
        rng.choice((3, 30, 300)),
        rng.choice((0, 1, 3)),
    )
    near, far = [], []
    for connection in range(rng.choice((1, 1, 1, 2, 4, 5, 6))):
        delivered, again, twice, marked, rto = rng.randint(0, 50), 0, 0, 0, 200 * MS
        for sample in range(samples - (rng.random() < 0.1)):
            stands = rng.random() < pauses
            delivered += 0 if stands else round(rate * (1 if is_even else rng.choice((0.2, 0.9, 1, 1.1, 2))))
            rto = min(rto * rng.choice((1, 2)), 3200 * MS) if stands else 200 * MS
            again, twice = again + rng.choice((0, 0, 0, 1, 4)), twice + rng.choice((0, 0, 0, 1))
            marked += rng.choice((0, 0, 2))
            grown = growth * rng.choice((0, 1, 1, 1, 1.2))
            when: Row = {
                "connection": connection,
                "phase": "warm-up" if sample < warm else rng.choice(("measure",) * 15 + ("cool-down",)),
                "sample_mono_ns": START_NS + sample * step + rng.choice((0, 0, 777)),
            }
            near.append(
                {
                    **when,
                    "final": rng.random() < 0.05,
                    "rtt_ns": rng.choice((0,) + (round(least * (1 + grown)),) * 15),
                    "rtt_ns_min": least,
                    "rtt_ns_deviation": round(least * jitter),
                    "cwnd_segments": rng.choice((2, 7, 8, 9, 40)),
                    "ssthresh_segments": rng.choice((2**31 - 1, 2**31 - 1, 2**31 - 2, 20)),
                    "send_mss_bytes": 1448,
                    "unacked_segments": rng.choice((0, 5, 19, 20, 21, 40)),
                    "peer_window_bytes": rng.choice((0, 65_536, 1_000_000)),
                    "not_sent_bytes": 100 if rng.random() < waits else 0,
                    "pacing_rate_bytes_per_second": rng.choice((UNLIMITED, 2**63, 10**6, 10**6, 10**6, 10**7)),
                    "application_limited": rng.random() < 0.1,
                    "delivered_segments": delivered,
                    "delivered_marked_segments": marked,
                    "retransmitted_segments": again,
                    "data_segments_out": delivered + again,
                    "data_segments_in": rng.choice((0, 0, 3)),
                    "duplicate_sacks_count": twice,
                    "reordering_events_count": rng.choice((0, 2)),
                    "bytes_acked": 1448 * delivered,
                    "bytes_received": round(back * 1448 * delivered),
                    "rto_ns": rto,
                }
            )
            came = when["sample_mono_ns"] + FAR_OFFSET_NS - late * MS
            far.append({**when, "sample_mono_ns": came, "bytes_acked": 0, "bytes_received": 1448 * delivered})
    own = ("duplicate_sacks_count", "reordering_events_count", "delivered_marked_segments", "application_limited")
    without(rng, near, *own, "rtt_ns_deviation", "pacing_rate_bytes_per_second", "peer_window_bytes")
    return {f"tcp_info.{host}": table(rows) for host, rows in (("near", near), ("far", far)) if rows}


def flows(rng: Random, transport: str | None = "tcp") -> pl.DataFrame:
    """`flows` of one to three connections, one of which may have moved nothing."""
    rows = [
        {
            "connection": connection,
            "transport": transport,
            "send_buffer_granted_bytes": rng.choice((16_384, 2_000_000)),
            "receive_buffer_granted_bytes": rng.choice((4096, 6_000_000)),
            "window_clamp_bytes": rng.choice((4096, 3_000_000)),
            "mss_bytes": rng.choice((536, 1448)),
            "no_delay": rng.random() < 0.7,
            "first_call_mono_ns": START_NS + rng.choice((0, 5 * MS)),
            "last_call_mono_ns": START_NS + rng.choice((5, 900, 1000)) * MS,
            "payload_bytes": rng.choice((0, 1, 2, 10**6)),
            "calls_count": rng.choice((1, 2, 50)),
        }
        for connection in range(rng.choice((1, 1, 2, 3)))
    ]
    return table(without(rng, rows, "no_delay", "window_clamp_bytes", "mss_bytes", "last_call_mono_ns"))


def active(rng: Random) -> Active:
    """All connections, or some, and for some a span."""
    some = frozenset(rng.sample(range(6), rng.randint(1, 5)))
    spans = {number: (rng.choice((0, 200)) * MS, rng.choice((400, 900, 5000)) * MS) for number in some}
    return Active(rng.choice((None, None, some)), rng.choice(({}, {}, spans)))


def samples(rng: Random) -> Any:
    """What TCP_INFO and the sockets show."""
    options = [{"window_scaling": rng.choice((True, True, True, False, None))} for _ in range(rng.choice((1, 2, 3)))]
    tables = {name: frame for name, frame in info(rng).items() if rng.random() < 0.95}
    tables |= {f"flows.{host}": flows(rng, rng.choice(("tcp", None))) for host in ("near", "far") if rng.random() < 0.9}
    tables |= {"tcp_options.near": pl.DataFrame(options, schema={"window_scaling": pl.Boolean()})}
    asked_of = active(rng)
    with trial(tables) as made:
        near, far = made.ends["near"], made.ends["far"]
        steps = delivery_steps(made, near, asked_of)
        trip = rng.choice((0.0, 1e6, 10e6))
        return plain(
            [
                *(
                    sampled(made, near, asked_of),
                    outages(made, near, asked_of),
                    sending(made, near),
                    by_payload(made).is_turned,
                ),
                *(sockets(made, near), sockets(made, far), ack_delay_ns(made, near, far, asked_of, trip)),
                None if steps is None else [steps, of_steps(steps)],
            ]
        )


def of_steps(steps: Steps) -> Any:
    """What is made of deliveries."""
    found = [deliveries.bottleneck_of_steps(steps), deliveries.queue_of_steps(steps)]
    return plain([*found, deliveries.policing_of_steps(steps), deliveries.is_over_full(steps)])


def delivered(rng: Random) -> Any:
    """Steps at a constant rate, or at rates near one while a queue stands, with losses."""
    size = rng.choice((0, 1, 3, 4, 5, 6, 7, 8, 9, 12, 20))
    others = rng.choice(
        ((1,), (1, 1, 1, 1.02, 1.021), (1, 1, 0.9, 0.5), (1, 1.04, 1.05, 1.1, 1.11), (1, 1.2, 0.24, 0.26))
    )
    grown = rng.choice(((0.5,), (0.029, 0.03, 0.031), (0.099, 0.1, 0.101), (0.0, 0.3, 0.6), (0.3, 0.31, 0.29, 0.2)))
    leaps = rng.choice(((0.0,), (0.02, 0.03, 0.031), (0.05, 0.3)))
    lost = rng.choice(((0,), (0, 0, 1), (0, 2, 5), (1, 2)))
    has = [size if rng.random() < 0.7 else 0 for _ in range(3)]
    lossy = [float(rng.choice(lost)) for _ in range(size)]
    steps = Steps(
        rates_bps=np.array([1e8 * rng.choice(others) for _ in range(size)]),
        queue_ratios=np.array([rng.choice(grown) for _ in range(size)]),
        backlogged_ratio=rng.choice((0.49, 0.5, 1.0, 1.0, 1.0)),
        window_segments=rng.choice((7.0, 7.9, 8.0, 100.0, 100.0, 100.0)),
        mss_bytes=1448,
        jitter_ratios=np.array([rng.choice(leaps) for _ in range(has[0])]),
        lost_segments=np.array(lossy if rng.random() < 0.8 else [0.0] * size),
        is_measured=np.array([rng.random() < 0.8 for _ in range(has[1])], dtype=np.bool_),
        rtt_ns_min=rng.choice((1e6, 10e6)),
        marked_ratio=rng.choice((None, 0.1)),
    )
    return of_steps(steps)


def busy(rng: Random) -> Tables:
    """`intervals`, `threads`, `cpu` and `softirqs` of a side: pauses, waiting threads, other programs."""
    late = rng.choice((0, 99_999_999, 100_000_000, 100_000_001, 350_000_000, 350_000_000))
    usual = rng.choice((50, 50, 99, 100, 101, 300)) * MS
    waited, own, other = rng.choice((0, 0.19, 0.2, 0.21, 0.9)), rng.choice((0, 0.1, 0.5, 1)), rng.choice((0, 0.1, 0.4))
    found: dict[str, list[Row]] = {"intervals": [], "threads": [], "cpu": [], "softirqs": []}
    threads, cpus = rng.choice((1, 2)), rng.choice((1, 2, 3))
    at, count = START_NS, rng.choice((1, 7, 8, 9, 10, 16, 20))
    for interval in range(count):
        is_late = rng.random() < 0.15
        length = usual + (late if is_late else 0)
        span: Row = {"interval": interval, "phase": "warm-up" if interval < count // 10 else "measure"}
        span |= {"start_mono_ns": at, "end_mono_ns": at + length}
        for connection in (0, 1):
            moved = rng.choice((0, 1, 1, 1)) * 10**6
            found["intervals"].append({"connection": connection, **span, "payload_bytes": moved})
        shift = rng.choice((0, 0, 0, 4_000_000, 5_000_000, 5_000_001))
        taken = {**span, "end_mono_ns": span["start_mono_ns"] if rng.random() < 0.04 else span["end_mono_ns"] + shift}
        is_idle = is_late and rng.random() < 0.7
        for thread in range(threads):
            part = 0.0 if is_idle else own * rng.choice((0.9, 1))
            wait = 0.0 if is_idle else waited * rng.choice((0, 1))
            where = {"thread": thread, "cpu": thread % cpus}
            found["threads"].append(
                {**taken, **where, "cpu_ns": round(part * length), "run_queue_ns": round(wait * length)}
            )
        for cpu in range(cpus):
            ran = 0 if cpu >= threads or is_idle else round(own * length)
            spent = {"user_ns": ran + round(other * length), "system_ns": round(0.05 * length), "irq_ns": length // 100}
            spent |= {"softirq_ns": length // 50, "steal_ns": rng.choice((0, 0, length // 10)), "own": cpu < threads}
            found["cpu"].append({**span, "cpu": cpu, **spent})
            found["softirqs"] += [{**span, "cpu": cpu, "softirq_ns": length // rng.choice((20, 30))} for _ in (0, 1)]
        at += length
    without(rng, found["cpu"], "steal_ns")
    kept = {name: rows for name, rows in found.items() if name == "intervals" or rng.random() < 0.9}
    return {f"{name}.near": table(rows if rng.random() < 0.97 else rows[:1]) for name, rows in kept.items()}


COUNTERS = {
    "": ("tcp_memory_pressure", "listen_drops", "tcp_backlog_drops"),
    "cgroup2": (
        *("cpu_quota", "cpu_period", "cpu_periods", "cpu_throttled_periods", "cpu_throttled", "memory_limit_hits"),
        *(
            "memory_high_hits",
            "memory_limit",
            "memory_high",
            "memory_stalled",
            "tcp_memory_limit",
            "tcp_memory_limit_hits",
        ),
    ),
    "tbf": ("qdisc_sent", "qdisc_dropped", "qdisc_rate", "qdisc_overlimits", "qdisc_limit"),
}


def host_counters(rng: Random) -> pl.DataFrame:
    """`host_counters` of the host, of two groups and of two queueing disciplines."""
    rows = []
    span = rng.choice((0, 1, 10**9))
    subjects = [("", ""), ("/a", "cgroup2"), ("/b", "cgroup2"), ("eth0", "tbf"), ("eth1", "tbf")]
    for subject, kind in subjects:
        is_limit = rng.random() < 0.8
        for counter in COUNTERS[kind]:
            start = rng.choice((0, 0, 1, 50_000, 100_000))
            end = rng.choice((start, start, start + 1, start + 3, 100_000))
            if rng.random() < 0.85 and (is_limit or "limit" not in counter):
                place = {"start_mono_ns": START_NS, "end_mono_ns": START_NS + span + rng.choice((0, 5))}
                rows.append({**place, "counter": counter, "subject": subject, "kind": kind} | _values(rng, start, end))
    return table(rows)


def _values(rng: Random, start: int, end: int) -> Row:
    return {
        "value_at_start": None if rng.random() < 0.1 else start,
        "value_at_end": None if rng.random() < 0.1 else end,
    }


def load(rng: Random) -> Any:
    """How busy the hosts were, and what kept them from their work."""
    tables = busy(rng)
    if rng.random() < 0.9:
        tables["host_counters.near"] = host_counters(rng)
    with trial(tables) as made:
        end = made.ends["near"]
        return plain([processors(made, end), host_limits(made, end)])


def called(rng: Random) -> Any:
    """What threads did in and between their calls."""
    tables = {
        f"calls.{host}": call_rows(rng, START_NS + offset) for host, offset in (("near", 0), ("far", FAR_OFFSET_NS))
    }
    with trial(tables) as made:
        return plain([calls(made, end) for end in made.ends.values()])


def call_rows(rng: Random, zero_ns: int, scale: int = 1, connections: int = 1) -> pl.DataFrame:
    """`calls` of one or two threads, some before the load begins; `scale` is the unit of their times."""
    rows = []
    for thread in range(rng.choice((1, 2))):
        at = zero_ns - rng.choice((0, 60, 100)) * scale
        for _ in range(rng.choice((1, 1, 4, 9))):
            slept, runnable, softirq = (rng.choice(each) * scale for each in ((0, 0, 20), (0, 5), (0, 3)))
            start = at + slept + runnable + softirq + rng.choice((0, 1, 40)) * scale
            blocked, preempted, served = (rng.choice(each) * scale for each in ((0, 0, 30), (0, 4), (0, 2)))
            at = start + blocked + preempted + served + rng.choice((0, 10, 100)) * scale
            rows.append(
                {
                    "thread": thread,
                    "connection": thread % connections,
                    "call": rng.choice(("write", "read")),
                    "moved_bytes": rng.choice((0, 1, 2, 700)),
                    "start_mono_ns": start,
                    "end_mono_ns": at,
                    "outcome": "moved",
                    "blocked_ns": blocked,
                    "preempted_ns": preempted,
                    "softirq_ns": served,
                    "waited_before_ns": slept,
                    "runnable_before_ns": runnable,
                    "softirq_before_ns": softirq,
                }
            )
    return table(without(rng, rows, "start_mono_ns", "blocked_ns", "waited_before_ns"))


def spec(rng: Random) -> Row:
    """What a host was asked to do: a stream, datagrams or a workload."""
    kind = rng.choice(("stream", "datagrams", "workload", "workload"))
    found: Row = {"opening": rng.choice(("connect", "connect", "connect", "listen"))}
    if rng.random() < 0.8:
        found["connections_count"] = rng.choice((1, 2, 3))
    by = rng.choice(("duration", "bytes"))
    found["stop"] = {"by": by} | ({"payload_bytes": 5000} if by == "bytes" else {})
    if kind == "stream":
        found |= {"write_rate_bps": rng.choice((0, 0, 10**6)), "reply_size_bytes": rng.choice((0, 0, 7))}
    elif kind == "datagrams":
        merged = {"is_merged": True} if rng.random() < 0.5 else {}
        batch = {"batch_count": rng.choice((1, 2, 8))} if rng.random() < 0.9 else {}
        found["datagrams"] = {"rate_bps": rng.choice((0, 10**6, 3 * 10**6))} | batch | merged
    else:
        found["workload"] = {"groups": [group(rng) for _ in range(rng.choice((1, 2)))]}
    if rng.random() < 0.1:
        found["schedule"] = [
            {"connections_count": rng.choice((1, 2)), "start_ns": 0, "stop_ns": 10**9, "role": "sender"}
        ]
    return found


def group(rng: Random) -> Row:
    """A group of users with one or two kinds of transactions."""
    kinds = rng.choice((("write",), ("read",), ("write", "read")))
    part = {
        "outstanding_count": rng.choice((1, 2, 4)),
        "arrivals": {"by": rng.choice(("closed", "rate", "rate", "rate"))},
        "steps": [{"operation": {"operation": kind}} for kind in kinds],
    }
    return {"strands_count": rng.choice((1, 3)), "transactions": [part] * rng.choice((1, 2))}


def transactions(rng: Random) -> Tables:
    """`transactions`, `latencies` and `datagrams`."""
    span = {"phase": "measure", "start_mono_ns": START_NS, "end_mono_ns": START_NS + rng.choice((0, 1, 1000)) * MS}
    warm = {"phase": "warm-up", "start_mono_ns": START_NS - 9 * MS, "end_mono_ns": START_NS}
    pairs = [("a", "x"), ("a", "y"), ("b", "x")][: rng.randint(1, 3)]
    moved, timed = [], []
    for name, part in pairs:
        for phase in (warm, span):
            counts = {"transactions_count": rng.choice((0, 1, 2, 500)), "calls_count": rng.choice((1, 2, 900))}
            sizes = {"sent_bytes": rng.choice((0, 1, 100)), "received_bytes": rng.choice((0, 1, 800))}
            intended = {"intended_count": rng.choice((0, 700))}
            moved.append({"group": name, "transaction": part, **phase, **counts, **sizes, **intended})
            for kind in ("service", "connect", "response"):
                for low in rng.sample((100, 200, 300, 400), rng.randint(0, 3)):
                    whose = {"group": name, "transaction": part, "phase": phase["phase"], "kind": kind}
                    count = rng.choice((0, 1, 2, 3))
                    timed.append({**whose, "latency_ns_low": low, "latency_ns_high": low + 99, "latency_count": count})
    found = {"transactions.near": table(moved)}
    if timed and rng.random() < 0.9:
        found["latencies.near"] = table(timed)
    return found | datagram_rows(rng)


def datagram_rows(rng: Random) -> Tables:
    """`datagrams` of both hosts: intervals of one or two connections, with drops before and while it measures."""
    found: dict[str, list[Row]] = {"near": [], "far": []}
    for host, rows in found.items():
        for connection in range(rng.choice((1, 2))):
            dropped = rng.choice((0, 0, 5))
            for interval in range(rng.choice((1, 4, 9))):
                dropped += rng.choice((0, 0, 1, 30))
                start = START_NS + interval * 50 * MS
                rows.append(
                    {
                        "connection": connection,
                        "interval": interval,
                        "start_mono_ns": start,
                        "phase": "warm-up" if interval < 2 and rng.random() < 0.5 else "measure",
                        "end_mono_ns": start + rng.choice((50, 50, 50, 60, 0)) * MS,
                        "sent_count": rng.choice((90, 100)) if host == "near" else 0,
                        "received_count": rng.choice((0, 90, 100)) if host == "far" else 0,
                        "payload_bytes": rng.choice((0, 1, 5000)),
                        "kernel_drops_count": dropped,
                    }
                )
    return {f"datagrams.{host}": table(rows) for host, rows in found.items() if rng.random() < 0.9}


def exchanged(rng: Random) -> Any:
    """What was asked for, and what the application counted."""
    ends = {host: {"spec": spec(rng)} for host in ("near", "far")}
    with trial(transactions(rng) if rng.random() < 0.95 else {}, ends) as made:
        wanted = asked(made)
        return plain([wanted, exchanges(made), datagrams(made), datagrams(made, wanted), scheduled(made)])


def transport_rows(rng: Random, transport: str) -> pl.DataFrame:
    """`transport_info`: a library's own counts, at a constant rate or not."""
    least, packet = rng.choice((199_999, 200_000, 10 * MS)), rng.choice((0, 1200, 1200, 1448, 1448))
    growth, period = rng.choice((0, 0.02, 0.2, 0.6)), rng.choice((0, 1, 100_000))
    step, count = rng.choice((20, 50, 100)) * MS, rng.choice((1, 4, 5, 6, 7, 9, 20, 40))
    windows = rng.choice(((7 * 1448, 8 * 1448, 9 * 1448), (10**6,), (10**6,)))
    faster = rng.choice(((100,), (100, 100, 100, 130)))
    rows = []
    for connection in range(rng.choice((1, 1, 2))):
        sent, lost, again = rng.randint(0, 9), 0, 0
        for sample in range(count):
            sent += rng.choice(faster)
            lost, again = lost + rng.choice((0, 0, 2)), again + rng.choice((0, 0, 1, 3))
            rows.append(
                {
                    "connection": connection,
                    "phase": "warm-up" if sample < 1 else "measure",
                    "transport": transport,
                    "sample_mono_ns": START_NS + sample * step + connection,
                    "rtt_ns": rng.choice((0,) + (round(least * (1 + growth * rng.choice((1, 1, 1, 0.9)))), least) * 8),
                    "packet_payload_bytes": packet,
                    "cwnd_bytes": rng.choice(windows),
                    "peer_window_bytes": 10**6,
                    "flight_bytes": rng.choice((0, 5000)),
                    "sending_period_ns": period,
                    "sent_packets": sent,
                    "lost_packets": lost,
                    "retransmitted_packets": again,
                }
            )
    return table(without(rng, rows, "cwnd_bytes", "sending_period_ns", "flight_bytes"))


def transported(rng: Random) -> Any:
    """What a library of a transport counted."""
    tables = {"transport_info.near": transport_rows(rng, "quic")} if rng.random() < 0.95 else {}
    with trial(tables) as made:
        return plain(transport_facts(made, made.ends["near"], active(rng)))


def linked(rng: Random) -> Any:
    """The rate of the link that hosts state."""
    drivers = ("ixgbe", "mlx5_core", "veth", "virtio_net", "", None)
    hosts: dict[str, Row] = {}
    tables: Tables = {}
    for host in ("near", "far", "near2")[: rng.choice((1, 2, 2, 2, 3))]:
        names = ("eth0", "eth1", "lo")
        hosts[host] = {
            "devices": [
                {"name": name, "speed_mbps": rng.choice((None, 0, 1000, 10_000)), "driver": rng.choice(drivers)}
                for name in names[: rng.randint(0, 3)]
            ]
        }
        if rng.random() < 0.3:
            value = {"values": {"link": {"value": rng.choice(("10g", "100g", "none"))}}}
            hosts[host] |= {"lines": {"10g": 10**10, "100g": 10**11}, "parameters": {"a": value, "b": {}}}
        moved = ((0, 5), (9, 0), (5, 5), (5, 4))
        rows = [dict(zip(("device", "tx_packets", "rx_packets"), (n, *rng.choice(moved)), strict=True)) for n in names]
        if rng.random() < 0.9:
            tables[f"devices.{host}"] = table(cast("list[Row]", rows))
    factors = rng.choice(({}, {"link": "default", "hosts": "a,b"}, {"link": "10g"}, {"link": "100g"}, {"hosts": "b"}))
    with trial(tables) as made:
        return plain(
            [links.stated_link_bps(made, hosts, factors), *(links.carrying_device(made, h, hosts[h]) for h in hosts)]
        )


#: What is drawn from each seed, and how many seeds.
DRAWN: dict[str, tuple[Callable[[Random], Any], int]] = {
    "samples": (samples, 120),
    "delivered": (delivered, 300),
    "load": (load, 60),
    "called": (called, 40),
    "exchanged": (exchanged, 80),
    "transported": (transported, 100),
    "linked": (linked, 40),
}
