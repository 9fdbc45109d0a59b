"""Reports of a transport's library on its own connections: UDT, QUIC and SRT (the table `transport_info`)."""

import numpy as np
import polars as pl

from whyperf.analyze.flow import FlowEnd, FlowTrial
from whyperf.explain.gather.deliveries import (
    MAX_STEPS,
    MIN_RTT_NS,
    MIN_STEP_NS,
    STEP_ROUND_TRIPS,
    Steps,
    bottleneck_of_steps,
)
from whyperf.explain.gather.read import Active, first, read_columns
from whyperf.explain.path_facts import BottleneckRate
from whyperf.explain.trial_facts import TransportFacts

_COLUMNS = (
    *("connection", "phase", "sample_mono_ns", "rtt_ns", "packet_payload_bytes", "cwnd_bytes", "peer_window_bytes"),
    *("flight_bytes", "sent_packets", "lost_packets", "retransmitted_packets"),
)
MIN_SAMPLES = 5


def transport_facts(trial: FlowTrial, sender: FlowEnd, active: Active) -> TransportFacts | None:
    """The sender's connections while they were measured, all together; None without samples.

    Raises:
        RecordError: the table cannot be read.
    """
    info = read_columns(trial, "transport_info", sender.host, _COLUMNS)
    if info is None or info.is_empty():
        return None
    timed = info.filter(pl.col("rtt_ns") > 0)
    rows = active.rows(timed, trial, sender).filter(pl.col("phase").cast(pl.String) == "measure")
    if rows.height < MIN_SAMPLES:
        return None
    # UDT and SRT count a packet as lost with every report of it, and as sent again once.
    lost = pl.min_horizontal("lost_packets", "retransmitted_packets").alias("lost_packets")
    rows = rows.with_columns(lost)
    counts = pl.col("sent_packets", "lost_packets").cast(pl.Int64)
    spans = rows.group_by("connection").agg(counts.max() - counts.min())
    sent = first(spans, pl.col("sent_packets").sum()) or 0.0
    span = first(rows, pl.col("sample_mono_ns").cast(pl.Int64).max() - pl.col("sample_mono_ns").cast(pl.Int64).min())
    packet = first(rows, pl.col("packet_payload_bytes").median()) or 0.0
    least = first(timed, pl.col("rtt_ns").min())
    return TransportFacts(
        packet_bytes=packet,
        rtt_ns_min=least,
        rtt_ns_median=first(rows, pl.col("rtt_ns").median()),
        cwnd_bytes=first(rows, pl.col("cwnd_bytes").median()),
        peer_window_bytes=first(rows, pl.col("peer_window_bytes").median()),
        flight_bytes=first(rows, pl.col("flight_bytes").median()),
        sent_packets=round(sent),
        lost_packets=round(first(spans, pl.col("lost_packets").sum()) or 0.0),
        sent_bps=sent * packet * 8e9 / span / max(1, spans.height) if span else None,
        bottleneck=_bottleneck(rows, packet, least or 0.0),
    )


def _bottleneck(rows: pl.DataFrame, packet: float, least: float) -> BottleneckRate:
    """The constant rate at which packets went that were not lost, while a queue stood."""
    if least < MIN_RTT_NS or not packet:
        return BottleneckRate()
    went = (pl.col("sent_packets").cast(pl.Int64) - pl.col("lost_packets").cast(pl.Int64)) * packet
    series = [
        (part["sample_mono_ns"].cast(pl.Int64).to_numpy(), part["went"].to_numpy(), part["rtt_ns"].to_numpy())
        for part in rows.with_columns(went.alias("went")).sort("sample_mono_ns").partition_by("connection")
        if part.height > 1
    ]
    if not series:
        return BottleneckRate()
    start, end = max(int(times[0]) for times, *_ in series), min(int(times[-1]) for times, *_ in series)
    trip = first(rows, pl.col("rtt_ns").median()) or 0.0
    step = max(MIN_STEP_NS, STEP_ROUND_TRIPS * trip, (end - start) / MAX_STEPS)
    if end - start < step:
        return BottleneckRate()
    grid = np.arange(start, end + 1, step)
    together = sum((np.interp(grid, times, counts) for times, counts, _ in series), np.zeros(grid.size))
    trips = sum((np.interp(grid, times, trips) for times, _, trips in series), np.zeros(grid.size)) / len(series)
    window = first(rows, pl.col("cwnd_bytes").median())
    return bottleneck_of_steps(
        Steps(
            rates_bps=np.diff(together) * 8e9 / step,
            queue_ratios=(trips[1:] + trips[:-1]) / (2 * least) - 1,
            backlogged_ratio=1.0,
            window_segments=np.inf if window is None else window / packet * len(series),
            mss_bytes=round(packet),
        )
    )
