"""Segment logs, lost segments and whole trials that are drawn from seeds, and what `explain/gather` makes of them.

A log has segments that queue before a link of 100 Mbit/s. The link loses some. `random_inputs` stores the outcomes.
"""

from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import polars as pl
from pydantic_core import to_jsonable_python

from tests.unit.explain.random_tables import (
    FAR_OFFSET_NS,
    MS,
    START_NS,
    Row,
    Tables,
    active,
    busy,
    call_rows,
    flows,
    host_counters,
    info,
    plain,
    spec,
    table,
    transactions,
    transport_rows,
    trial,
    without,
)
from tests.unit.explain.situations import FACTS
from whyperf.analyze.flow.log import ACK_REASONS, CONTEXTS, DIRECTIONS, RETRANSMISSIONS
from whyperf.explain.budget import TrialBudgets, budgets_of
from whyperf.explain.gather import gather_facts
from whyperf.explain.gather.bottleneck import bottleneck_rate
from whyperf.explain.gather.delays import queue_of_logs
from whyperf.explain.gather.loss_kinds import burst_likelihood_log10, loss_events, random_part, random_weights
from whyperf.explain.gather.losses import Wire, losses, lost_copies, on_wire
from whyperf.explain.gather.populations import populations
from whyperf.explain.gather.segments import logged_windows, segment_facts
from whyperf.explain.gather.whole import shares_of
from whyperf.explain.model import Budget, StateShare
from whyperf.explain.path_facts import LostRun, WindowFacts
from whyperf.explain.pattern import patterns_of
from whyperf.explain.segment_log import SegmentLog, SegmentLogs
from whyperf.explain.states import ReceiverState, SenderState

PACKET = 1448
SPACING_NS = round((PACKET + 66) * 80)
"""Between two full segments on a link of 100 Mbit/s."""
TIMER_NS = 40 * MS


def logs(rng: Random) -> SegmentLogs:
    """The logs of both hosts."""
    connections = rng.choice((1, 1, 1, 2, 5, 17))
    count, acking = max(6, rng.choice((2, 12, 51, 60, 120)) // connections), rng.choice((0.6, 1.0))
    room, losing = rng.choice((5, 15, 1000)), rng.choice((0, 0, 0.03, 0.1))
    burst, pause = rng.choice((1, 4, 10)), rng.choice((0, 1, 3, 20)) * MS
    trip, back = rng.choice((1, 4, 20)) * MS, rng.choice((0, 0, 2)) * MS
    paced = rng.choice(((10**6,), (10**6,) * 9 + (5 * 10**6,), (2**63 - 1, 2**63, 10**6, 10**6)))
    answers, is_marked, holds = rng.choice((0, 0, 0.1, 0.5)), rng.random() < 0.2, rng.random() < 0.3
    delays, repeats = rng.choice(((0,), (0, 0, 3000), (0, 0, 0, 900_000))), rng.choice((0, 0, 0.05))
    unread = rng.choice(((0,), (0, PACKET, 9 * PACKET)))
    near, far, free = list[Row](), list[Row](), 0
    for connection in range(connections):
        at, octet, acked = rng.choice((-1, 0, 0, 5)) * MS, 1, 1
        for number in range(count):
            at += rng.choice((0, 2000, 9000)) if (number + 1) % burst else pause + rng.choice((0, 50_000))
            segments = rng.choice((1, 1, 1, 2, 3))
            size = PACKET * segments - rng.choice((0, 0, 0, 400))
            again, first, came = None, octet, None
            for attempt in range(3):
                near.append(sent(rng, (connection, at, "out"), (first, size, segments), again, rng.choice(paced)))
                start = max(at, free)
                if start - at > room * SPACING_NS or rng.random() < losing:
                    again, at = rng.choice(("fast", "fast", "timeout", "probe")), at + trip + attempt * MS
                    continue
                free = start + segments * SPACING_NS
                came = free + trip // 2 + rng.choice(delays)
                far.append(
                    {
                        **row((connection, came, "in"), (first, size, segments), -1),
                        "receive_queue_bytes": rng.choice(unread),
                    }
                )
                break
            octet += size
            if came is None:
                continue
            acked = octet
            if rng.random() < acking:
                held = TIMER_NS if holds and rng.random() < 0.5 else rng.choice((0, 500, 4_999_999, 5_000_000))
                reason = (
                    "delayed_timer" if held >= 4 * MS else rng.choice(("second_segment", "quick", "read_call", None))
                )
                left = came + held
                far.append({**row((connection, left, "out"), (1, 0, 1), acked), "ack_reason": reason})
                if rng.random() < 0.95:
                    there = left + trip // 2 + (back if rng.random() < 0.7 else 0)
                    flags = 16 | (64 if is_marked and rng.random() < 0.3 else 0) | (2 if rng.random() < 0.02 else 0)
                    near.append({**row((connection, there, "in"), (1, 0, 1), acked), "flags": flags})
                    at = max(at, there) if held else at
            if rng.random() < repeats:
                at = max(at, came) + rng.choice((1, trip))
                kind = rng.choice(("timeout", "fast"))
                near.append(sent(rng, (connection, at, "out"), (first, size, segments), kind, 10**6))
                far.append(row((connection, at + trip, "in"), (first, size, segments), -1))
            if rng.random() < answers:
                near.append(row((connection, at + trip, "in"), (octet, rng.choice((1, 200)), 1), acked))
                at += trip
    sender = SegmentLog(frame([{name: each.get(name) for name in (*COMMON, *OF_SENDER)} for each in near]))
    receiver = SegmentLog(
        frame([{name: each.get(name) for name in (*COMMON, "receive_queue_bytes", "ack_reason")} for each in far])
    )
    return SegmentLogs(sender, rng.choice((receiver,) * 9 + (None,)) if far else SegmentLog(receiver.rows))


OF_SENDER = (
    *("srtt_ns", "cwnd_segments", "ssthresh_segments", "unacked_bytes", "send_window_bytes", "unsent_bytes"),
    *("pacing_rate_bytes_per_second", "retransmission", "receive_queue_bytes"),
)
COMMON = (
    *("time_ns", "connection", "direction", "sequence", "acknowledgment", "payload_bytes", "wire_segments", "flags"),
    *("gso_size_bytes", "window_bytes", "context"),
)


def frame(rows: list[Row]) -> pl.DataFrame:
    """Rows of a log in the order of time."""
    allowed = {
        "direction": DIRECTIONS,
        "retransmission": RETRANSMISSIONS,
        "context": CONTEXTS,
        "ack_reason": ACK_REASONS,
    }
    kinds: dict[str, pl.DataType] = {"connection": pl.UInt32(), "pacing_rate_bytes_per_second": pl.UInt64()}
    kinds |= dict.fromkeys(allowed, pl.String())
    names = list(rows[0]) if rows else [*COMMON, "receive_queue_bytes", "ack_reason"]
    made = pl.DataFrame(rows, schema={name: kinds.get(name, pl.Int64()) for name in names})
    enums = [pl.col(name).cast(pl.Enum(list(known))) for name, known in allowed.items() if name in names]
    return made.with_columns(enums).sort("time_ns", maintain_order=True)


def row(place: tuple[int, int, str], octets: tuple[int, int, int], acked: int) -> Row:
    """A segment as both hosts log it: connection, instant and direction; first octet, size and segments on the wire."""
    connection, time_ns, direction = place
    number = dict(zip(("sequence", "payload_bytes", "wire_segments"), octets, strict=True))
    whose = {"time_ns": time_ns, "connection": connection, "direction": direction, "flags": 16}
    known = {"gso_size_bytes": PACKET if number["wire_segments"] > 1 else 0, "window_bytes": 20 * PACKET}
    return {
        **whose,
        **number,
        **known,
        "acknowledgment": acked,
        "context": "process" if direction == "out" else "net_rx",
    }


def sent(rng: Random, place: tuple[int, int, str], octets: tuple[int, int, int], again: str | None, pacing: int) -> Row:
    """A segment with what its socket had when it left."""
    return {
        **row(place, octets, 1),
        "retransmission": again,
        "srtt_ns": rng.choice((0, 1, 2 * MS, 3 * MS, 9 * MS)),
        "cwnd_segments": rng.choice((4, 10, 40)),
        "ssthresh_segments": rng.choice((2**31 - 1, 2**31 - 1, 2**31 - 2, 7)),
        "unacked_bytes": rng.choice((0, PACKET, 9 * PACKET)),
        "unsent_bytes": rng.choice((0, 700, PACKET, 20 * PACKET)),
        "window_bytes": rng.choice((0, PACKET, 9 * PACKET, 65_536)),
        "context": rng.choice(("process", "process", "net_rx", "timer", "hrtimer", "worker")),
        "send_window_bytes": rng.choice((0, 65_536)),
        "pacing_rate_bytes_per_second": pacing,
    }


def logged(rng: Random) -> Any:
    """What the logs show."""
    made = logs(rng)
    assert made.sender is not None
    least = WindowFacts(rtt_ns_min=rng.choice((None, 0, 1, 5 * MS)), announced_bytes_max=rng.choice((None, 7)))
    return plain([logged_windows(made.sender, least), segment_facts(made.sender, made.receiver)])


def budgeted(rng: Random) -> Any:
    """Where the time of the connections of a log went, and which cycles it has."""
    known = logs(rng)
    near = known.sender.connections if known.sender is not None else []
    tables = {
        f"{name}.{host}": each
        for host, offset in (("near", 0), ("far", FAR_OFFSET_NS))
        for name, each in (
            ("flows", flows(rng)),
            ("calls", call_rows(rng, START_NS + offset, rng.choice((1000, 20_000)), len(near))),
        )
        if rng.random() < 0.8
    }
    with trial(tables) as made:
        found = budgets_of(made, known)
        patterns = patterns_of(made, known, near)
    spans = [" ".join(str(cell) for cell in span) for span in found.spans.iter_rows()]
    whole_budgets = [part.model_dump(mode="json", exclude_defaults=True) for part in found.budgets]
    return [whole_budgets, len(spans), spans[::9], found.missing, to_jsonable_python([found.longest, patterns])]


def wires(rng: Random) -> Any:
    """What connections lost, and how long their segments and ACKs were under way."""
    made = {}
    count = rng.choice((3, 20, 49, 50, 51, 75))
    losing, loses_runs = rng.choice((0, 0.02, 0.1)), rng.random() < 0.5
    for connection in range(rng.choice((1, 1, 2, 5))):
        at = np.cumsum([rng.choice((0, 1000, 120_000, 2_000_000)) for _ in range(count)])
        first = np.arange(count) * PACKET
        is_lost = np.array([rng.random() < losing for _ in range(count)])
        if loses_runs and count > 8:
            is_lost[5:8] = True
        took = 10 * MS + np.array([rng.choice((0, 0, 499_999, 500_000, 700_000, 2 * MS)) for _ in range(count)])
        times = np.concatenate([at, at[is_lost] + 30 * MS])
        numbers = np.concatenate([first, first[is_lost]])
        order = np.argsort(times, kind="stable")
        arrived = np.concatenate([at[~is_lost] + took[~is_lost], at[is_lost] + 41 * MS])
        came = np.concatenate([first[~is_lost], first[is_lost]])
        sizes = np.full(times.size, PACKET)
        made[connection] = (
            Wire(times[order], numbers[order], sizes),
            Wire(arrived, came, np.full(came.size, PACKET))
            if rng.random() < 0.95
            else Wire(*np.zeros((3, 0), np.int64)),
        )
    lines = [None, 1e8, 1e7]
    acks = {"connection": 0, "acknowledgment": range(count), "time_ns": range(0, 1000 * count, 1000)}
    left = pl.DataFrame(acks)
    came_back = left.with_columns(pl.col("time_ns") + pl.Series([rng.choice((0, 500, 9000)) for _ in range(count)]))
    link = rng.choice(lines)
    queue = queue_of_logs(made, (left, came_back), link, rng.choice((0.0, 1e6, 10e6, 20e6)))
    found = losses(made, None if link is None else link / 8e9)
    return plain([queue, found, [lost_copies(*pair) for pair in made.values()]])


def lost(rng: Random) -> Any:
    """Whether losses are a queue's or random, and single or in bursts."""
    count = rng.choice((0, 1, 2, 5, 20))
    ranks = [rng.choice((0.0, 0.3, 0.6, 0.95, 1.0, rng.random())) for _ in range(count)]
    known = [rank if rng.random() < 0.9 else None for rank in ranks]
    sizes = [rng.choice((1, 1, 1, 2, 5, 1500)) for _ in range(count)]
    at, runs = 0, []
    for rank, size in zip(known, sizes, strict=True):
        at += rng.choice((0, 9, 10, 11, 50))
        runs.append(LostRun(0, at, at + 1, size, rank))
    part = rng.choice((0.0, 0.3, 1.0))
    ratio = rng.choice((0.0, 1e-9, 0.01, 0.5, 0.7))
    kinds = burst_likelihood_log10(sizes, known, part, ratio)
    return plain([random_part(ranks), random_weights(known, part or 0.1), kinds, loss_events(runs, 10)])


def arrivals(rng: Random) -> Any:
    """The rate of a link by the distances of segments, and super-segments taken apart."""
    count = rng.choice((40, 50, 51, 52, 60, 100))
    spacing = rng.choice((3, 30, 12_112, 121_120))
    near = rng.choice(((1,), (1, 1, 1, 1.04, 1.06), (1, 1.11, 1.13, 0.9), (1, 1, 20), (1, 0.5, 2, 3, 4, 5, 6, 7)))
    gaps = [rng.choice((0,) + (spacing,) * 12) * rng.choice(near) for _ in range(count)]
    counts = [rng.choice((1, 1, 2, 0)) for _ in range(count)]
    data = pl.DataFrame(
        {
            "time_ns": np.cumsum(np.array(gaps).astype(np.int64)),
            "sequence": range(1, 1 + count * 3000, 3000),
            "payload_bytes": [PACKET * max(1, number) - rng.choice((0, 0, 7)) for number in counts],
            "wire_segments": counts,
        }
    )
    return plain([bottleneck_rate(data), on_wire(data.head(5))])


HOLDERS = [
    *(SenderState.NOT_WRITING, SenderState.RECEIVE_WINDOW_BUFFER, SenderState.SEND_BUFFER, SenderState.WRITE_CALL),
    *(SenderState.CONGESTION_WINDOW, SenderState.UNKNOWN),
]


def budgets(rng: Random, host: str) -> list[Budget]:
    """Where the time of a side's connections went."""
    found = []
    second = 1000 * MS
    for connection in range(rng.choice((1, 1, 2, 3, 4))):
        start = rng.choice((0, 100 * MS))
        first, *others = rng.sample(HOLDERS, 3) if host == "near" else [ReceiverState.WAITING, *ReceiverState][:3]
        parts = [rng.choice((0.29, 0.3, 0.31, 0.5, 0.55, 0.8, 0.95, 1.0)), rng.choice((0.0, 0.2))]
        parts = [parts[0], min(parts[1], 1 - parts[0])]
        parts.append(1 - sum(parts))
        states = [
            StateShare(state=state.value, ns=round(part * second), ratio=part, spells=rng.choice((1, 3)))
            for state, part in zip((first, *others), parts, strict=True)
            if part > 0
        ]
        role = "sender" if host == "near" else "receiver"
        life = {"begin_ns": start, "end_ns": start + second, "shares": states}
        found.append(
            Budget.model_validate({"trial": "t", "host": host, "role": role, "connection": connection, **life})
        )
    return found


def mixed(rng: Random) -> Any:
    """Populations of connections that different things hold."""
    whose, asked_of = budgets(rng, "near") + budgets(rng, "near"), active(rng)
    numbered = [part.model_copy(update={"connection": number}) for number, part in enumerate(whose)]
    # The windows of a population stand for its members.
    found = populations(
        numbered,
        asked_of,
        shares_of,
        lambda members: WindowFacts(rtt_ns_min=sum(2**n for n in members.connections or ())),
    )
    return plain(sorted(plain(list(found)), key=str))


def counters(rng: Random) -> Tables:
    """`counters` of both hosts: a few rows, or none."""
    found = {}
    for host, offset in (("near", 0), ("far", FAR_OFFSET_NS)):
        rows = []
        for interval in range(rng.choice((1, 3))):
            span = {"start_mono_ns": START_NS + offset, "end_mono_ns": START_NS + offset + 50 * MS}
            numbers = {name: rng.choice((0, 1, 7, 100)) for name in COUNTED}
            rows.append({"connection": 0, "interval": interval, "phase": "measure", **span, **numbers})
        if rng.random() < 0.8:
            found[f"counters.{host}"] = table(rows)
    return found


COUNTED = (
    *("data_out_packets", "data_out_segments", "data_out_bytes", "retransmitted_out_packets", "acks_out_count"),
    *("data_in_packets", "data_in_segments", "data_in_bytes", "acks_in_count", "duplicate_acks_in_count"),
    *(
        "out_of_order_in_packets",
        "process_out_packets",
        "net_rx_out_packets",
        "timer_out_packets",
        "hrtimer_out_packets",
    ),
    *("worker_out_packets", "other_out_packets", "ksoftirqd_out_packets", "delayed_timer_acks_count"),
    *("read_call_acks_count", "second_segment_acks_count", "quick_acks_count", "out_of_order_acks_count"),
    *("window_probe_acks_count", "fin_acks_count", "handshake_acks_count", "other_acks_count"),
)


def whole(rng: Random) -> Any:
    """All facts of a trial with most of its tables."""
    transport = rng.choice(("tcp", "tcp", "tcp", "tls", "udp", "quic", "srt", None))
    tables = busy(rng) | info(rng) | counters(rng) | transactions(rng)
    tables |= {"host_counters.near": host_counters(rng), "transport_info.near": transport_rows(rng, str(transport))}
    for host, offset in (("near", 0), ("far", FAR_OFFSET_NS)):
        names = ("tx_packets", "rx_packets", "tx_dropped_packets", "rx_dropped_packets")
        devices = [{name: rng.choice((0, 5, 9)) for name in names} | {"gro": rng.random() < 0.5} for _ in range(2)]
        tables |= {
            f"flows.{host}": flows(rng, transport),
            f"calls.{host}": call_rows(rng, START_NS + offset),
            f"devices.{host}": table(without(rng, devices, "gro")),
            f"tls.{host}": table([{"in_kernel": rng.random() < 0.5} for _ in range(2)]),
        }
    tables = {name: frame for name, frame in tables.items() if rng.random() < 0.85}
    evidence = {"evidence": {"got": rng.choice(("user", "counters"))}}
    ends: dict[str, Row] = {host: {**evidence, "spec": spec(rng)} for host in ("near", "far")}
    if rng.random() < 0.1:
        ends["far"]["role"] = "nothing"
    if rng.random() < 0.05:
        ends["near"]["role"] = "nothing"
    known = logs(rng) if rng.random() < 0.3 else SegmentLogs()
    if known.sender is not None and rng.random() < 0.2:
        known = SegmentLogs(SegmentLog(known.sender.rows.clear()))
    made = TrialBudgets(
        [*budgets(rng, "near"), *budgets(rng, "far")] if rng.random() < 0.8 else [], pl.DataFrame(), ["no log"]
    )
    status = rng.choice(("complete", "complete", "deadline", "failed", "void"))
    version = {"record_version": rng.choice((1, 2))} if rng.random() < 0.2 else {}
    with trial(tables, ends, status=status, **version) as opened:
        facts = gather_facts(opened, known, made, one_machine=rng.random() < 0.5)
    found = plain(FACTS.dump_python(facts, mode="json", exclude_defaults=True, exclude={"budgets"}))
    return found | {"populations": sorted(found.get("populations", ()), key=str)}


#: What is drawn from each seed, and how many seeds.
DRAWN: dict[str, tuple[Callable[[Random], Any], int]] = {
    "logged": (logged, 160),
    "budgeted": (budgeted, 40),
    "wires": (wires, 160),
    "lost": (lost, 100),
    "arrivals": (arrivals, 160),
    "mixed": (mixed, 300),
    "whole": (whole, 40),
}
