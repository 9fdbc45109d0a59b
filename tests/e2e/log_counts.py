"""What the counters should say, counted again from the segment log."""

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tests.e2e.logs import ACK, FIN, IS_DATA, IS_OUT, IS_PURE_ACK, SYN, Log
from whyperf.record import code_words

CONTEXTS, REASONS = code_words("segments", "context"), code_words("segments", "ack_reason")

DATA_OUT, DATA_IN, ACK_IN = IS_OUT & IS_DATA, ~IS_OUT & IS_DATA, ~IS_OUT & IS_PURE_ACK
#: What a row of the log adds to a counter.
WEIGHTS: dict[str, pl.Expr] = {
    "data_out_packets": DATA_OUT,
    "data_out_segments": DATA_OUT * pl.col("wire_segments"),
    "data_out_bytes": DATA_OUT * pl.col("payload_bytes"),
    "retransmitted_out_packets": DATA_OUT & pl.col("retransmission").is_not_null(),
    "acks_out_count": IS_OUT & IS_PURE_ACK,
    "data_in_packets": DATA_IN,
    "data_in_segments": DATA_IN * pl.col("wire_segments"),
    "data_in_bytes": DATA_IN * pl.col("payload_bytes"),
    "acks_in_count": ACK_IN,
    "duplicate_acks_in_count": pl.col("is_duplicate"),
    "out_of_order_in_packets": pl.col("is_out_of_order"),
    "ksoftirqd_out_packets": DATA_OUT & pl.col("ksoftirqd"),
    **{f"{context}_out_packets": DATA_OUT & (pl.col("context") == context) for context in CONTEXTS},
    **{f"{reason}_acks_count": pl.col("ack_reason").eq_missing(pl.lit(reason)) for reason in REASONS},
}
#: How long before the load's start, and after an interval's end, the counters may be read.
LARGEST_PACKET_BYTES = 65536
BEFORE_NS, AFTER_NS = 20_000_000, 50_000_000


@dataclass(frozen=True)
class Sums:
    """Weights of a connection's rows, summed up in the order of time."""

    times: NDArray[np.int64]
    sums: dict[str, NDArray[np.int64]]

    def until(self, column: str, mono_ns: int) -> int:
        """What the rows until then add to a counter."""
        row = int(np.searchsorted(self.times, mono_ns, side="right"))
        return int(self.sums[column][row - 1]) if row else 0


def sums_of(log: Log, connection: int) -> Sums:
    """The weights of one connection."""
    segments = with_order(log.segments.filter(connection=connection))
    weights = segments.select(
        pl.col("segment_mono_ns").cast(pl.Int64),
        *(weight.cast(pl.Int64).cum_sum().alias(column) for column, weight in WEIGHTS.items()),
    )
    return Sums(weights["segment_mono_ns"].to_numpy(), {column: weights[column].to_numpy() for column in WEIGHTS})


def with_order(segments: pl.DataFrame) -> pl.DataFrame:
    """Adds to a connection's log whether an arrival was out of order, or a duplicate ACK (RFC 5681 section 2)."""
    columns = ("direction", "sequence", "acknowledgment", "payload_bytes", "flags", "window_field", "unacked_bytes")
    next_sequence: int | None = None
    before: tuple[int, int] | None = None
    disorder, duplicates = [], []
    for direction, sequence, acknowledgment, payload, flags, window, unacked in segments.select(columns).rows():
        is_in = direction == "in"
        disorder.append(is_in and payload > 0 and next_sequence is not None and sequence != next_sequence)
        is_pure = payload == 0 and flags & (SYN | FIN | ACK) == ACK
        duplicates.append(is_in and is_pure and before == (acknowledgment, window) and bool(unacked))
        if is_in:
            end = (sequence + payload + bool(flags & SYN) + bool(flags & FIN)) % 2**32
            if next_sequence is None or 0 < (end - next_sequence) % 2**32 < 2**31:
                next_sequence = end
            before = acknowledgment, window
    return segments.with_columns(is_out_of_order=pl.Series(disorder), is_duplicate=pl.Series(duplicates))


def assert_counters_agree(log: Log) -> None:
    """Interval by interval, every counter says what the log does.

    Both are of the same instants but for the moment between an interval's end and the reading of its counters, in which
    a segment may come.
    """
    counters = log.table("counters").sort("connection", "interval")
    for connection in log.ports():
        sums = sums_of(log, connection)
        rows = counters.filter(connection=connection)
        start = int(rows["start_mono_ns"][0])
        for column in WEIGHTS:
            counted = 0
            for added, end in rows.select(column, "end_mono_ns").rows():
                counted += added
                least = sums.until(column, end) - sums.until(column, start)
                most = sums.until(column, end + AFTER_NS) - sums.until(column, start - BEFORE_NS)
                assert least <= counted <= most, (
                    log.manifest.trial,
                    log.host,
                    connection,
                    column,
                    end - start,
                    least,
                    counted,
                    most,
                )


def assert_sizes_agree(log: Log) -> None:
    """The size classes add up to the counters, but for a packet that is being counted while both are read."""
    keys = ["connection", "interval"]
    counters, sizes = log.table("counters"), log.table("sizes")
    for what, packets, payload in (
        ("segment_out", "data_out_packets", "data_out_bytes"),
        ("segment_in", "data_in_packets", "data_in_bytes"),
    ):
        added = sizes.filter(what=what).group_by(keys).agg(pl.sum("sizes_count", "sizes_bytes"))
        joined = counters.select(*keys, packets, payload).join(added, on=keys, how="left").fill_null(0).sort(keys)
        until = joined.with_columns(pl.exclude(keys).cast(pl.Int64).cum_sum().over("connection"))
        apart = pl.col(packets) - pl.col("sizes_count"), pl.col(payload) - pl.col("sizes_bytes")
        fits = apart[0].abs() <= 1, apart[1].abs() <= LARGEST_PACKET_BYTES
        assert until.filter(~pl.all_horizontal(fits)).is_empty(), (log.manifest.trial, log.host, what, joined.rows())
    # A class ends where the next begins.
    least, mean = pl.col("class_bytes"), pl.col("sizes_bytes") / pl.col("sizes_count")
    astray = sizes.filter((mean < least) | (mean >= (2 * least).clip(1)))
    assert astray.is_empty(), astray.rows()


def assert_calls_agree(log: Log) -> None:
    """The sizes of calls add up to what the load's threads counted of a transfer.

    A timed load ends after the last interval.
    """
    call = "write_call" if log.role == "sender" else "read_call"
    calls = log.table("sizes").filter(what=call).group_by("connection").agg(pl.sum("sizes_count", "sizes_bytes"))
    flows = log.table("flows").select("connection", "calls_count", "payload_bytes").sort("connection")
    assert calls.sort("connection").rows() == flows.rows(), (log.manifest.trial, log.host, calls.rows(), flows.rows())
