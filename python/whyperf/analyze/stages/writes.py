"""Where the copies of write calls are: those inside TCP's own rows have no sequence number of their own."""

import polars as pl

from whyperf.analyze.stages.kinds import OUT

ENTRY = "call_entry"
_CALL = ("connection", "thread", "call")


def with_copies_placed(frame: pl.DataFrame) -> pl.DataFrame:
    """The rows with `copied_from`, the first byte of a row's copy; null of rows without a copy, and of reads.

    A thread makes the copies of a call one after another before it enters another call. A copy inside `tcp_out`, whose
    packet may have waited while others were written, begins where the copy before it ended; without the call's entry it
    is taken for the end of the packet. `frame` has columns of `HostStages.frame`, in the order of time.
    """
    is_entry, is_copy_in = pl.col("stage") == ENTRY, pl.col("stage") == "copy_in"
    is_copy = is_copy_in | ((pl.col("stage") == "tcp_out") & (pl.col("copied_bytes") > 0))
    packet_end = pl.col("sequence") + pl.col("payload_bytes")
    copied_before = pl.col("copied_bytes").cum_sum().over(_CALL) - pl.col("copied_bytes")
    rows = (
        frame.filter((pl.col("direction") == OUT) & (is_entry | (is_copy & ~pl.col("is_again"))))
        .with_columns(is_entry.cum_sum().over("connection", "thread").alias("call"))
        .with_columns((pl.col("sequence").first().over(_CALL) + copied_before).alias("next"))
        # Behind a copy that was not followed begins another call, whose entry was not either.
        .with_columns((is_copy_in & (pl.col("sequence") != pl.col("next"))).cum_sum().over(_CALL).alias("apart"))
        .filter(~is_entry)
    )
    is_known = (pl.col("call") > 0) & (pl.col("apart") == 0)
    copied_from = (
        pl.when(is_copy_in).then("sequence").when(is_known).then("next").otherwise(packet_end - pl.col("copied_bytes"))
    )
    found = rows.select("row", copied_from.alias("copied_from"))
    return frame.join(found, on="row", how="left", maintain_order="left")
