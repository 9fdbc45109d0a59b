"""What the sockets say of themselves: buffers, calls, and TCP_INFO."""

from dataclasses import dataclass

import polars as pl

from whyperf.analyze.flow import FlowEnd, FlowTrial
from whyperf.explain.facts import WindowFacts
from whyperf.explain.gather.table import first, read_columns

_FLOWS = (
    *("connection", "send_buffer_granted_bytes", "receive_buffer_granted_bytes", "window_clamp_bytes", "mss_bytes"),
    *("transport", "no_delay", "first_call_mono_ns", "last_call_mono_ns", "payload_bytes", "calls_count"),
)
_INFO = (
    *("connection", "sample_mono_ns", "final", "rtt_ns", "rtt_ns_min", "cwnd_segments", "ssthresh_segments"),
    *("send_mss_bytes", "unacked_segments", "peer_window_bytes", "retransmitted_segments", "data_segments_out"),
)
NO_THRESHOLD = 2**31 - 1
"""ssthresh before the first loss (TCP_INFINITE_SSTHRESH)."""
_LEAST_RTT_NS = 1
STEP_NS = 500_000_000
"""Some round trips of most paths: what fills a hole in the sequence is acknowledged all at once."""
LEAST_STEPS = 10


@dataclass(frozen=True)
class Sockets:
    """Of one end. Counts are of the connections' whole lives."""

    connections: int = 0
    life_ns: int = 0
    payload_bytes: int = 0
    calls_count: int | None = None
    buffer_bytes: int | None = None
    clamp_bytes: int | None = None
    mss_bytes: int | None = None
    no_delay: bool | None = None
    transport: str | None = None


def sockets(trial: FlowTrial, end: FlowEnd) -> Sockets:
    """The connections that moved payload, from the table `flows`."""
    flows = read_columns(trial, "flows", end.host, _FLOWS)
    if flows is None:
        return Sockets()
    flows = flows.filter(pl.col("payload_bytes") > 0)
    buffer = "send_buffer_granted_bytes" if end.role == "sender" else "receive_buffer_granted_bytes"
    no_delay = first(flows, pl.col("no_delay").all().cast(pl.Int8))
    life = first(flows, (pl.col("last_call_mono_ns").max() - pl.col("first_call_mono_ns").min()).cast(pl.Int64))
    return Sockets(
        connections=flows.height,
        life_ns=int(life or 0),
        payload_bytes=int(first(flows, pl.col("payload_bytes").sum()) or 0),
        calls_count=_whole(first(flows, pl.col("calls_count").sum())),
        buffer_bytes=_whole(first(flows, pl.col(buffer).median())),
        clamp_bytes=_whole(first(flows, pl.col("window_clamp_bytes").median())),
        mss_bytes=_whole(first(flows, pl.col("mss_bytes").median())),
        no_delay=None if no_delay is None or flows["no_delay"].null_count() else bool(no_delay),
        transport=_transport(flows),
    )


def sampled(trial: FlowTrial, sender: FlowEnd) -> tuple[WindowFacts, float | None]:
    """Windows and round trips by TCP_INFO of the sender, and the part of its segments that were sent again."""
    info = read_columns(trial, "tcp_info", sender.host, _INFO)
    if info is None or info.is_empty():
        return WindowFacts(), None
    seen = info.filter(pl.col("rtt_ns") >= _LEAST_RTT_NS)
    high, most = _delivered(trial, sender)
    flight = pl.col("unacked_segments").cast(pl.Int64) * pl.col("send_mss_bytes")
    windows = WindowFacts(
        announced_bytes_max=_whole(first(info, pl.col("peer_window_bytes").max())),
        announced_bytes_median=_whole(first(info, pl.col("peer_window_bytes").median())),
        flight_bytes_max=_whole(first(info, flight.max())),
        flight_bytes_median=_whole(first(info, flight.median())),
        rtt_ns_min=_whole(first(seen, pl.col("rtt_ns_min").min())),
        rtt_ns_median=_whole(first(seen, pl.col("rtt_ns").median())),
        rtt_ns_high=_whole(first(seen, pl.col("rtt_ns").quantile(0.95))),
        cwnd_segments_median=_whole(first(info, pl.col("cwnd_segments").median())),
        delivered_bps_high=high,
        delivered_bps_max=most,
        leaves_slow_start=bool(first(info, (pl.col("ssthresh_segments") < NO_THRESHOLD).any().cast(pl.Int8))),
    )
    last = info.group_by("connection").agg(pl.col("retransmitted_segments", "data_segments_out").cast(pl.Int64).max())
    again = first(last, pl.col("retransmitted_segments").sum())
    data = first(last, pl.col("data_segments_out").sum())
    return windows, None if again is None or not data else again / data


def _delivered(trial: FlowTrial, sender: FlowEnd) -> tuple[float | None, float | None]:
    """What was acknowledged to all connections together in steps of half a second, in bit/s: the 90th percentile, and
    the most; None of a trial that is too short to have a tenth of its steps.
    """
    info = read_columns(trial, "tcp_info", sender.host, ("sample_mono_ns", "connection", "bytes_acked"))
    if info is None:
        return None, None
    step, acked = pl.col("sample_mono_ns").cast(pl.Int64) // STEP_NS, pl.col("bytes_acked").cast(pl.Int64)
    each = info.group_by(step.alias("step"), "connection").agg(acked.max()).sort("step")
    moved = each.select("step", pl.col("bytes_acked").diff().over("connection"))
    together = moved.drop_nulls().group_by("step").agg(pl.col("bytes_acked").sum() * 8e9 / STEP_NS)
    if together.height < LEAST_STEPS:
        return None, None
    return first(together, pl.col("bytes_acked").quantile(0.9)), first(together, pl.col("bytes_acked").max())


def _transport(flows: pl.DataFrame) -> str | None:
    known = flows["transport"].drop_nulls()
    return None if known.is_empty() else str(known[0])


def _whole(value: float | None) -> int | None:
    return None if value is None else round(value)
