"""Data segments a second: how many packets carried the payload."""

import polars as pl

from whyperf.analyze.goodput import MOST_SINGLE


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
    single = connections.filter(pl.col("connection") <= MOST_SINGLE).select("trial")
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
