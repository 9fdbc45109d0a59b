"""Data segments of a trial: how many per second, and how many were retransmissions."""

import polars as pl

from whyperf.analyze.measures.goodput import MAX_SINGLE
from whyperf.analyze.measures.windows import with_overlap

COUNTS = {"retransmitted_segments": "retransmitted_segments", "data_segments_out": "data_segments"}
"""Columns of `tcp_info` by what they are called here."""
SENT_AGAIN = pl.coalesce("retransmitted_packets", "lost_packets")
"""Packets of a library that were sent again, of `transport_info`: where it does not say, what it took for lost."""
_CONNECTION = ("trial", "cell", "connection")


def trial_segments(tcp_info: pl.DataFrame, transport_info: pl.DataFrame, trials: pl.DataFrame) -> pl.DataFrame:
    """Retransmitted and data segments that the senders of each trial sent within its window.

    What a library carries over UDP (`transport_info`) counts its packets as segments, and `is_packets` says that some
    are.

    A transfer of a given number of bytes counts whole, as its payload does. The kernel's counts only grow: what lies
    between two samples is what they differ by, spread evenly where the window cuts it. One row a trial with a window:
    `trial`, `cell`, `retransmitted_segments`, `data_segments`, `is_packets`, and `is_sampled`: of a multitude of
    connections only some are sampled, so its counts have a ratio but are no totals.
    """
    libraries = transport_info.select("trial").unique().with_columns(is_packets=pl.lit(value=True))
    return (
        connection_segments(tcp_info, transport_info, trials)
        .group_by("trial", "cell")
        .agg(
            *(pl.col(name).sum().round().cast(pl.Int64) for name in COUNTS.values()),
            (pl.col("connection").n_unique() > MAX_SINGLE).alias("is_sampled"),
        )
        .join(libraries, on="trial", how="left")
        .with_columns(pl.col("is_packets").fill_null(value=False))
        .sort("trial")
    )


def connection_segments(tcp_info: pl.DataFrame, transport_info: pl.DataFrame, trials: pl.DataFrame) -> pl.DataFrame:
    """The same by connection: `trial`, `cell`, `connection`, `retransmitted_segments`, `data_segments`."""
    samples = _samples(tcp_info, transport_info)
    windows = trials.drop_nulls(["window_start_ns", "window_end_ns"]).select(
        "trial", "window_start_ns", "window_end_ns", pl.col("transfer_bytes").is_not_null().alias("is_whole")
    )
    timed = windows.filter(~pl.col("is_whole"))
    whole = samples.join(windows.filter("is_whole"), on="trial", how="semi").group_by(_CONNECTION)
    return pl.concat(
        [
            whole.agg(pl.col(old).max().cast(pl.Float64).alias(new) for old, new in COUNTS.items()),
            _within(samples.join(timed, on="trial", how="semi"), timed),
        ]
    )


def _samples(tcp_info: pl.DataFrame, transport_info: pl.DataFrame) -> pl.DataFrame:
    """The counts of sending connections, named as those of `tcp_info`."""
    of_libraries = transport_info.with_columns(
        SENT_AGAIN.alias("retransmitted_segments"), pl.col("sent_packets").alias("data_segments_out")
    )
    return pl.concat(
        frame.filter(pl.col("role") == "sender").select(
            *_CONNECTION, "sample_mono_ns", *(pl.col(name).cast(pl.UInt64) for name in COUNTS)
        )
        for frame in (tcp_info, of_libraries)
    )


def _within(samples: pl.DataFrame, windows: pl.DataFrame) -> pl.DataFrame:
    """The growth of each connection's counts in the window; a connection first seen there counts from its start."""

    def before(column: str) -> pl.Expr:
        return pl.col(column).shift().over(_CONNECTION, order_by="sample_mono_ns")

    grown = samples.with_columns(
        before("sample_mono_ns").fill_null(pl.col("sample_mono_ns")).alias("start_mono_ns"),
        pl.col("sample_mono_ns").alias("end_mono_ns"),
        *(
            (pl.col(old).cast(pl.Int64) - before(old).cast(pl.Int64).fill_null(0)).alias(new)
            for old, new in COUNTS.items()
        ),
    )
    shared = with_overlap(grown.select(*_CONNECTION, "start_mono_ns", "end_mono_ns", *COUNTS.values()), windows)
    return shared.group_by(_CONNECTION).agg((pl.col(name) * pl.col("share")).sum() for name in COUNTS.values())


def trial_segment_rates(tcp_info: pl.DataFrame, segments: pl.DataFrame, trials: pl.DataFrame) -> pl.DataFrame:
    """Data segments that the sender sent in a second: `trial`, `cell`, `segments_per_s`.

    In a timed trial those within its window (`segments`, see `retransmissions.trial_segments`). In a transfer, from the
    first to the last sample of each connection in phase `measure`, added up. Segments sent again count; a super-segment
    counts as its wire segments. Trials without two samples of a connection are left out, and those of a multitude of
    connections, of which only some are sampled, or with a library's, whose packets are not all data.
    """
    window = trials.filter(pl.col("transfer_bytes").is_null()).select("trial", "window_start_ns", "window_end_ns")
    seconds = (pl.col("window_end_ns") - pl.col("window_start_ns")) / 1e9
    timed = (
        segments.filter(~pl.col("is_sampled") & ~pl.col("is_packets"))
        .join(window, on="trial", how="inner")
        .select("trial", "cell", (pl.col("data_segments") / seconds).alias("segments_per_s"))
    )
    transfers = trials.filter(pl.col("transfer_bytes").is_not_null())
    return pl.concat([timed, _of_transfers(tcp_info.join(transfers, on="trial", how="semi"))]).sort("trial")


def _of_transfers(tcp_info: pl.DataFrame) -> pl.DataFrame:
    connections = tcp_info.group_by("trial").agg(pl.col("connection").n_unique())
    single = connections.filter(pl.col("connection") <= MAX_SINGLE).select("trial")
    tcp_info = tcp_info.join(single, on="trial", how="semi")
    sent = tcp_info.filter((pl.col("role") == "sender") & (pl.col("phase") == "measure"))
    elapsed = (pl.col("sample_mono_ns").max() - pl.col("sample_mono_ns").min()) / 1e9
    grown = pl.col("data_segments_out").max().cast(pl.Int64) - pl.col("data_segments_out").min().cast(pl.Int64)
    return (
        sent.group_by("trial", "cell", "connection")
        .agg(grown.alias("grown"), elapsed.alias("seconds"))
        .filter(pl.col("seconds") > 0)
        .group_by("trial", "cell")
        .agg((pl.col("grown") / pl.col("seconds")).sum().alias("segments_per_s"))
    )
