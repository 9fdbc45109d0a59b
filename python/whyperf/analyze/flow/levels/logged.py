"""The quantities of an end as its log has them."""

import polars as pl

from whyperf.analyze.flow.acks import DUPLICATE_COLUMNS, IS_PURE_ACK, count_duplicate_acks
from whyperf.analyze.flow.levels.quantities import Values
from whyperf.analyze.flow.log import ACK, ACK_REASONS, CONTEXTS, RETRANSMISSIONS, SYN, read_log, scan_log
from whyperf.analyze.flow.loss import count_out_of_order
from whyperf.analyze.flow.steps import quotient
from whyperf.analyze.flow.tables import read_counters
from whyperf.analyze.flow.trial import FlowEnd, FlowTrial


def logged_values(trial: FlowTrial, end: FlowEnd, connection: int | None, window_ns: tuple[int, int] | None) -> Values:
    """The values that the log of `end` knows, within `window_ns`, or in its whole life; nothing without a log."""
    connections = None if connection is None else [connection]
    log = scan_log(trial, end.host, connections)
    if log is None:
        return {}
    if window_ns is not None:
        log = log.filter(pl.col("time_ns").is_between(*window_ns, closed="left"))
    row = log.select(**_sums(end.role)).collect(engine="streaming").row(0, named=True)
    sent = row.pop("sent")
    values = {name: None if value is None else float(value) for name, value in row.items()}
    for context in (*(f"context_{name}" for name in CONTEXTS), "ksoftirqd"):
        values[f"{context}_ratio"] = quotient(values.pop(context), sent)
    if read_counters(trial, end.host) is None:
        values |= _ordered(trial, end, connections, window_ns)
    return values


def _sums(role: str) -> dict[str, pl.Expr]:
    """Everything that takes one pass over the log, in any order."""
    is_out = pl.col("direction") == "out"
    way, back = (is_out, ~is_out) if role == "sender" else (~is_out, is_out)
    has_payload = pl.col("payload_bytes") > 0
    is_data, is_sent = has_payload & way, has_payload & is_out
    is_again = is_sent & pl.col("retransmission").is_not_null()
    # The window of a SYN is not scaled, and without the ACK flag nothing is announced (RFC 7323 section 2.2).
    announced = pl.col("window_bytes").filter(back & (pl.col("flags") & (ACK | SYN) == ACK))
    segments, octets = pl.col("wire_segments").cast(pl.Int64), pl.col("payload_bytes").cast(pl.Int64)
    return {
        "data_bytes": octets.filter(is_data).sum(),
        "data_segments": segments.filter(is_data).sum(),
        "data_packets": is_data.sum(),
        "unacked_bytes_max": pl.col("unacked_bytes").filter(is_data).max() if role == "sender" else pl.lit(None),
        "window_bytes_min": announced.min(),
        "window_bytes_max": announced.max(),
        "acks_count": (IS_PURE_ACK & back).sum(),
        **{f"ack_{reason}_count": (pl.col("ack_reason") == reason).sum() for reason in ACK_REASONS},
        "retransmitted_packets": is_again.sum(),
        "retransmitted_segments": segments.filter(is_again).sum(),
        **{
            f"retransmitted_{kind}_packets": (is_sent & (pl.col("retransmission") == kind)).sum()
            for kind in RETRANSMISSIONS
        },
        "sent": is_sent.sum(),
        **{f"context_{context}": (is_sent & (pl.col("context") == context)).sum() for context in CONTEXTS},
        "ksoftirqd": (is_sent & pl.col("ksoftirqd")).sum(),
    }


def _ordered(
    trial: FlowTrial, end: FlowEnd, connections: list[int] | None, window_ns: tuple[int, int] | None
) -> Values:
    """The values that take the log in order. A segment's place depends on those before the window too."""
    arrived = pl.col("direction") == "in"
    if window_ns is not None:
        arrived &= pl.col("time_ns") < window_ns[1]
    answers = read_log(trial, end.host, connections, DUPLICATE_COLUMNS, where=arrived)
    columns = ("connection", "direction", "sequence", "payload_bytes")
    data = read_log(trial, end.host, connections, columns, where=arrived & (pl.col("payload_bytes") > 0))
    assert answers is not None
    assert data is not None
    return {
        "duplicate_acks_count": float(count_duplicate_acks(answers)),
        "out_of_order_packets": float(count_out_of_order(data)),
    }
