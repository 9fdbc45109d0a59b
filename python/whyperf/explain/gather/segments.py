"""Figures of segments from logs."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import polars as pl

from whyperf.explain.gather.application import request_cycle
from whyperf.explain.gather.bottleneck import bottleneck_rate
from whyperf.explain.gather.delays import queue_of_logs
from whyperf.explain.gather.losses import (
    Wire,
    burst_likelihood_log10,
    loss_events,
    losses,
    on_wire,
    random_part,
    random_weights,
)
from whyperf.explain.gather.read import first
from whyperf.explain.gather.sockets import pacing
from whyperf.explain.path_facts import Losses, SegmentFacts, WindowFacts
from whyperf.explain.segment_log import SegmentLog

_SENT = (
    *("time_ns", "connection", "direction", "sequence", "acknowledgment", "payload_bytes", "wire_segments"),
    *("retransmission", "flags"),
    *("srtt_ns", "cwnd_segments", "ssthresh_segments", "unacked_bytes", "send_window_bytes"),
    "pacing_rate_bytes_per_second",
)
_TAKEN = (
    *("time_ns", "connection", "direction", "sequence", "acknowledgment", "payload_bytes", "wire_segments"),
    *("ack_reason", "flags"),
)

MAX_CONNECTIONS = 16
"""Connections whose losses are found segment by segment: the ones that sent most."""
MAX_EXAMPLES = 3
"""Losses that are listed one by one, with their place: the largest."""


_OUT, _IN = pl.col("direction") == "out", pl.col("direction") == "in"
_HAS_DATA = pl.col("payload_bytes") > 0
_WIRE = pl.col("wire_segments").cast(pl.Int64)
_BYTES = pl.col("payload_bytes").cast(pl.Int64)


def logged_windows(log: SegmentLog, sampled: WindowFacts) -> WindowFacts:
    """Windows and round trips of every segment; the smallest round trip is the kernel's own (`least_trip_ns`)."""
    data = log.rows.select(_SENT).filter(_OUT & _HAS_DATA & (pl.col("time_ns") >= 0))
    timed = data.filter(pl.col("srtt_ns") > 0)
    return replace(
        sampled,
        announced_bytes_max=_whole(first(data, pl.col("send_window_bytes").max())) or sampled.announced_bytes_max,
        announced_bytes_median=_whole(first(data, pl.col("send_window_bytes").median())),
        flight_bytes_max=_whole(first(data, pl.col("unacked_bytes").max())),
        flight_bytes_median=_whole(first(data, pl.col("unacked_bytes").median())),
        rtt_ns_min=sampled.rtt_ns_min or _whole(first(timed, pl.col("srtt_ns").min())),
        rtt_ns_median=_whole(first(timed, pl.col("srtt_ns").median())),
        cwnd_segments_median=_whole(first(data, pl.col("cwnd_segments").median())),
    )


def segment_facts(sender: SegmentLog, receiver: SegmentLog | None, *, adapters: int = 1) -> SegmentFacts:
    """Reads what the two logs show of segments and ACKs; `adapters` of each host carry the connections in turn."""
    sent = sender.rows.select(_SENT)
    data = sent.filter(_OUT & _HAS_DATA & (pl.col("time_ns") >= 0))
    if data.is_empty():
        return SegmentFacts()
    again = data.filter(pl.col("retransmission").is_not_null())
    segments, packets = int(data.select(_WIRE.sum()).item()), data.height
    facts = SegmentFacts(
        data_segments=segments,
        data_packets=packets,
        segment_bytes_mean=float(data.select(_BYTES.sum()).item()) / max(1, segments),
        sent_segments_per_packet=segments / packets,
        retransmitted_ratio=float(again.select(_WIRE.sum()).item()) / max(1, segments),
        timeouts=again.filter(pl.col("retransmission") == "timeout").height,
        data_back_packets=sent.filter(_IN & _HAS_DATA & (pl.col("time_ns") >= 0)).height,
        pacing=pacing(data),
        cycle=request_cycle(sent),
    )
    if receiver is None or receiver.rows.is_empty():
        return facts
    return _of_both(facts, sent, data, receiver.rows.select(_TAKEN), adapters)


def arrived_facts(receiver: SegmentLog, trip_ns: int | None) -> SegmentFacts:
    """Reads what the receiver's log shows without the sender's: what came, and the ACKs for it.

    `trip_ns` is the smallest round trip, if it is known.
    """
    taken = receiver.rows.select(*_TAKEN, "window_bytes")
    arrived = taken.filter(_IN & _HAS_DATA & (pl.col("time_ns") >= 0))
    if arrived.is_empty():
        return SegmentFacts()
    acks = taken.filter(
        _OUT & (pl.col("payload_bytes") == 0) & (pl.col("time_ns") >= 0) & pl.col("ack_reason").is_not_null()
    )
    segments = int(arrived.select(_WIRE.sum()).item())
    reasons = acks.group_by(pl.col("ack_reason").cast(pl.String)).len()
    held, released = _held(taken)
    return SegmentFacts(
        data_segments=segments,
        segment_bytes_mean=float(arrived.select(_BYTES.sum()).item()) / max(1, segments),
        taken_segments_per_packet=segments / arrived.height,
        out_of_order_ratio=_out_of_order(arrived),
        acks_per_segment=acks.height / segments if segments else None,
        ack_reasons={reason: number / acks.height for reason, number in reasons.iter_rows()},
        held_ratio=held,
        released_bytes=released,
        bottleneck=bottleneck_rate(arrived),
        short_gap_ratio=_short_gaps(taken, max(MIN_GAP_NS, MIN_GAP_TRIPS * (trip_ns or 0))),
    )


MIN_GAP_NS, MIN_GAP_TRIPS = 5_000_000, 3
"""A gap between arrivals is the sender's own if it is longer than hosts take to wake up, and than a window takes to be
acknowledged."""


def _short_gaps(taken: pl.DataFrame, least_ns: int) -> float | None:
    """Part of the time in gaps between arrivals that follow a segment which is not full, with no octet missing.

    A sender that has more to send fills its segments: before such a gap it had sent all that was written. Its window
    must have room, and what it waits for our acknowledgment is none of its own: a gap counts from when the last was
    sent.
    """
    rows = taken.filter(pl.col("time_ns") >= 0).with_columns((_IN & _HAS_DATA).alias("comes"), _BYTES)
    full = int(rows.filter("comes").select((_BYTES / _WIRE.clip(1)).max()).item())
    end, of_ack = pl.col("sequence") + _BYTES, pl.when(_OUT).then(pl.col("acknowledgment"))
    known = rows.with_columns(
        pl.when("comes").then(end).cum_max().forward_fill().over("connection").alias("reach"),
        of_ack.cum_max().forward_fill().over("connection").alias("answered"),
        (of_ack + pl.col("window_bytes")).cum_max().forward_fill().over("connection").alias("edge"),
        pl.when("comes").then(full * _WIRE > _BYTES).forward_fill().over("connection").alias("is_short"),
        pl.when("comes").then(pl.col("time_ns")).shift(-1).backward_fill().over("connection").alias("next_ns"),
        pl.when("comes").then(pl.col("sequence")).shift(-1).backward_fill().over("connection").alias("next_octet"),
    )
    is_idle = (
        pl.col("is_short")
        & (pl.col("answered") >= pl.col("reach"))
        & (pl.col("edge") >= pl.col("reach") + MIN_ROOM_SEGMENTS * full)
        & (pl.col("next_octet") == pl.col("reach"))
    )
    # The first row after which all is acknowledged begins the gap.
    gaps = known.filter(is_idle.fill_null(value=False)).group_by("connection", "next_ns").agg(pl.col("time_ns").min())
    gaps = gaps.with_columns((pl.col("next_ns") - pl.col("time_ns")).alias("gap_ns"))
    arrived = known.filter("comes")
    life = first(
        arrived.group_by("connection").agg(pl.col("time_ns").max() - pl.col("time_ns").min()), pl.col("time_ns").sum()
    )
    return float(gaps.filter(pl.col("gap_ns") >= least_ns)["gap_ns"].sum()) / life if life else None


MIN_ROOM_SEGMENTS = 2
"""Segments for which the announced window must have room, or the sender may wait for that."""


def _of_both(
    facts: SegmentFacts, sent: pl.DataFrame, data: pl.DataFrame, taken: pl.DataFrame, adapters: int
) -> SegmentFacts:
    arrived = taken.filter(_IN & _HAS_DATA & (pl.col("time_ns") >= 0))
    pure = (pl.col("payload_bytes") == 0) & (pl.col("time_ns") >= 0)
    acks = taken.filter(_OUT & pure & pl.col("ack_reason").is_not_null())
    came_back = sent.filter(_IN & pure).height
    segments = int(arrived.select(_WIRE.sum()).item()) if not arrived.is_empty() else 0
    sent_bytes, arrived_bytes = (float(frame.select(_BYTES.sum()).item() or 0) for frame in (data, arrived))
    again_bytes = float(data.filter(pl.col("retransmission").is_not_null()).select(_BYTES.sum()).item() or 0)
    reasons = acks.group_by(pl.col("ack_reason").cast(pl.String)).len()
    # A log with gaps at the receiver looks like loss; what was not sent again was not lost.
    lost_bytes = min(again_bytes, max(0.0, sent_bytes - arrived_bytes))
    held, released = _held(taken)
    facts = replace(
        facts,
        taken_segments_per_packet=segments / arrived.height if arrived.height else None,
        losses=Losses(ratio=lost_bytes / sent_bytes if sent_bytes else None),
        out_of_order_ratio=_out_of_order(arrived),
        spurious_ratio=max(0.0, 1 - lost_bytes / again_bytes) if again_bytes else None,
        acks_arrived_ratio=came_back / acks.height if acks.height else None,
        acks_per_segment=acks.height / segments if segments else None,
        ack_reasons={reason: number / acks.height for reason, number in reasons.iter_rows()},
        held_ratio=held,
        released_bytes=released,
        bottleneck=bottleneck_rate(arrived, adapters),
    )
    wires = _wires(data, arrived)
    trip = first(data.filter(pl.col("srtt_ns") > 0), pl.col("srtt_ns").min()) or 0.0
    back = (taken.filter(_OUT & pure), sent.filter(_IN & pure))
    facts = replace(facts, needless_timeouts=_needless_timeouts(data, taken))
    queue = queue_of_logs(wires, back, facts.bottleneck.bps, trip)
    facts = replace(facts, queue=replace(queue, marked_ratio=_marked(sent)))
    return facts if not again_bytes else _with_losses(facts, data, wires)


def _needless_timeouts(data: pl.DataFrame, taken: pl.DataFrame) -> int:
    """Number of times the timer sent again what the receiver had acknowledged: those ACKs were lost."""
    again = data.filter(pl.col("retransmission") == "timeout").select("time_ns", "connection", "sequence")
    acked = taken.filter(_OUT).select("time_ns", "connection", pl.col("acknowledgment").cum_max().over("connection"))
    known = again.sort("time_ns").join_asof(
        acked.sort("time_ns"), on="time_ns", by="connection", check_sortedness=False
    )
    return known.filter(pl.col("acknowledgment") > pl.col("sequence")).height


def _marked(sent: pl.DataFrame) -> float | None:
    """Part of the ACKs at the sender that say that the path had marked segments (ECE, RFC 3168 section 6.1.3)."""
    acks = sent.filter(_IN & (pl.col("time_ns") >= 0) & (pl.col("flags") & SYN == 0))
    return first(acks, (pl.col("flags") & ECE > 0).mean())


SYN, ECE = 2, 64
"""Flags of a TCP header (RFC 9293, RFC 3168)."""

Wires = Mapping[int, tuple[Wire, Wire]]


def _wires(data: pl.DataFrame, arrived: pl.DataFrame) -> Wires:
    """Segment by segment, what the connections that sent most sent, and what of it arrived."""
    most = data.group_by("connection").agg(_BYTES.sum())
    most = most.sort("payload_bytes", "connection", descending=[True, False])
    wires = {}
    for connection in most["connection"].to_list()[:MAX_CONNECTIONS]:
        is_own = pl.col("connection") == connection
        wires[connection] = (on_wire(data.filter(is_own)), on_wire(arrived.filter(is_own)))
    return wires


def _with_losses(facts: SegmentFacts, data: pl.DataFrame, wires: Wires) -> SegmentFacts:
    """The losses of the connections that sent most."""
    rate = None if facts.bottleneck.bps is None else facts.bottleneck.bps / 8e9
    found = losses(wires, rate)
    runs, sent, lost = found.runs, found.sent, found.lost
    ranks = [run.rank for run in runs if run.rank is not None]
    round_trip = first(data.filter(pl.col("srtt_ns") > 0), pl.col("srtt_ns").median()) or 0.0
    events = loss_events(runs, round_trip)
    random = random_part([run.rank for run in events if run.rank is not None])
    weights = random_weights([run.rank for run in runs], 1.0 if random is None else random)
    sizes = [run.segments for run in runs]
    lost_ratio = lost / max(1, sent)
    return replace(
        facts,
        spurious_ratio=max(0.0, 1 - lost / max(1.0, (facts.retransmitted_ratio or 0.0) * sent)),
        losses=Losses(
            ratio=lost_ratio,
            events=len(events),
            runs=len(runs),
            segments_per_run=float(np.average(sizes, weights=weights)) if runs else None,
            backlog_rank=sum(ranks) / len(ranks) if ranks else None,
            random_ratio=random,
            burst_likelihood_log10=burst_likelihood_log10(
                sizes, [run.rank for run in runs], 1.0 if random is None else random, lost_ratio
            )
            if runs
            else None,
            examples=tuple(sorted(runs, key=lambda run: -run.segments)[:MAX_EXAMPLES]),
        ),
    )


def _held(taken: pl.DataFrame) -> tuple[float | None, float | None]:
    """Time that the receiver's timer held back ACKs that released data, over the lives; and what it released.

    Between the last data before such an ACK and the ACK nothing happens; that it released the data after it shows in
    that data coming in a fraction of the time.
    """
    rows = taken.filter(pl.col("time_ns") >= 0).select(
        "time_ns", "connection", _BYTES, (_IN & _HAS_DATA).alias("comes"), (pl.col("ack_reason") == "delayed_timer")
    )
    data = pl.when("comes").then(pl.col("time_ns"))
    waits = rows.with_columns(
        data.forward_fill().over("connection").alias("before_ns"),
        data.backward_fill().over("connection").alias("after_ns"),
        pl.when("comes").then(pl.col("payload_bytes")).backward_fill().over("connection").alias("released_bytes"),
    ).filter(pl.col("ack_reason").fill_null(value=False))
    waited, then = pl.col("time_ns") - pl.col("before_ns"), pl.col("after_ns") - pl.col("time_ns")
    letting = waits.filter((waited >= MIN_HELD_NS) & (then * 4 <= waited))
    spans = rows.group_by("connection").agg(pl.col("time_ns").max() - pl.col("time_ns").min())
    life = int(spans["time_ns"].sum())
    if life <= 0:
        return None, None
    held = float(letting.select(waited.sum()).item() or 0) / life
    return held, first(letting, pl.col("released_bytes").median())


MIN_HELD_NS = 5_000_000
"""The delayed-ACK timer of Linux runs 40 ms at first, and 4 ms at least (TCP_DELACK_MIN, TCP_ATO_MIN)."""


def _out_of_order(arrived: pl.DataFrame) -> float | None:
    """Share of the data packets that came behind one of a higher number (RFC 4737 section 3.3)."""
    if arrived.is_empty():
        return None
    reach = (pl.col("sequence") + _BYTES).cum_max().shift(1).over("connection")
    return float(arrived.select((pl.col("sequence") < reach).fill_null(value=False).mean()).item() or 0.0)


def _whole(value: float | None) -> int | None:
    return None if value is None or np.isnan(value) else round(value)
