"""Scheduled trials with known rates: what each flow received when, as the record has it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from whyperf.analyze.read.inputs import SCHEDULE
from whyperf.analyze.transports.time_series import FlowSeries, flow_course

NS_PER_S = 1_000_000_000
START_NS = 5_000 * NS_PER_S

#: Goodput in bit/s at an instant in s after the start.
Rate = Callable[[float], float]


@dataclass(frozen=True)
class Flow:
    """A flow of one connection."""

    start_s: float
    stop_s: float
    rate: Rate
    protocol: str = "reno"


def constant(bps: float) -> Rate:
    return lambda _: bps


def step(before_bps: float, at_s: float, after_bps: float) -> Rate:
    return lambda at: before_bps if at < at_s else after_bps


def schedule_rows(flows: Sequence[Flow]) -> pl.DataFrame:
    """Rows of `inputs.SCHEDULE`."""
    rows = [
        {
            "trial": "001-c0001",
            "cell": "c0001",
            "connection": number,
            "flow": number,
            "name": f"flow {number + 1}",
            "protocol": flow.protocol,
            "direction": "send",
            "dscp": None,
            "start_ns": round(flow.start_s * NS_PER_S),
            "stop_ns": round(flow.stop_s * NS_PER_S),
            "trial_start_ns": START_NS,
        }
        for number, flow in enumerate(flows)
    ]
    return pl.DataFrame(rows, schema=dict(SCHEDULE))


def interval_rows(flows: Sequence[Flow], interval_s: float = 0.1) -> pl.DataFrame:
    """The receivers' interval rows; nothing is rounded but octets."""
    end_s = max(flow.stop_s for flow in flows)
    rows = []
    for number, flow in enumerate(flows):
        for index in range(round(end_s / interval_s)):
            start_s, stop_s = index * interval_s, (index + 1) * interval_s
            inside = max(0.0, min(stop_s, flow.stop_s) - max(start_s, flow.start_s))
            octets = round(inside * flow.rate((start_s + stop_s) / 2) / 8)
            start_ns, stop_ns = (START_NS + round(at * NS_PER_S) for at in (start_s, stop_s))
            rows.append((number, "receiver", "measure", start_ns, stop_ns, octets))
    columns = ["connection", "role", "phase", "start_mono_ns", "end_mono_ns", "payload_bytes"]
    return pl.DataFrame(rows, schema=columns, orient="row")


def course_of(flows: Sequence[Flow]) -> FlowSeries:
    return flow_course(schedule_rows(flows), interval_rows(flows))


def tcp_info_rows(
    connection: int, at_s: Sequence[float], cwnd: Sequence[float], again: Sequence[float], rtt_ms: float = 50.0
) -> pl.DataFrame:
    """A sender's samples; it sends 100 data segments between two of them."""
    count = len(at_s)
    return pl.DataFrame(
        {
            "connection": [connection] * count,
            "role": ["sender"] * count,
            "sample_mono_ns": [START_NS + round(at * NS_PER_S) for at in at_s],
            "rtt_ns": [round(rtt_ms * 1e6)] * count,
            "rtt_ns_min": [20_000_000] * count,
            "cwnd_segments": np.asarray(cwnd, dtype=np.int64).tolist(),
            "retransmitted_segments": np.asarray(again, dtype=np.int64).tolist(),
            "data_segments_out": [100 * index for index in range(count)],
        },
        schema_overrides={"connection": pl.UInt32(), "role": pl.String(), "sample_mono_ns": pl.Int64()},
    )


NO_TCP_INFO = tcp_info_rows(0, [], [], [])
NO_PROBE = pl.DataFrame(schema={"sent_mono_ns": pl.Int64(), "rtt_ns": pl.Int64()})
NO_TRANSPORT_INFO = pl.DataFrame(
    schema={
        "connection": pl.UInt32(),
        "role": pl.String(),
        "sample_mono_ns": pl.Int64(),
        "rtt_ns": pl.UInt64(),
        "packet_payload_bytes": pl.UInt32(),
        **dict.fromkeys(("cwnd_bytes", "sent_packets", "lost_packets", "retransmitted_packets"), pl.UInt64()),
    }
)
