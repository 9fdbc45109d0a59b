"""Which way the payload goes.

The hosts of a stream know it. Of a workload the near side is called the sender, whatever its steps move: there the
kernel's count of bytes decides, and the side that sends most of them is explained as the sender.
"""

from dataclasses import replace

import polars as pl

from whyperf.analyze.flow import FlowEnd, FlowTrial
from whyperf.explain.gather.table import first, read_columns

SWAPPED_RATIO = 8
"""Factor by which more must come than goes: where messages go both ways, the one who asks stays the sender."""

_COUNTS = ("connection", "bytes_acked", "bytes_received")


def sending(trial: FlowTrial, end: FlowEnd) -> frozenset[int] | None:
    """The connections on which this side sends, and does not only get; None where all are, or nothing was counted.

    Raises:
        RecordError: the table cannot be read.
    """
    info = read_columns(trial, "tcp_info", end.host, _COUNTS)
    if info is None or info.is_empty():
        return None
    last = _moved(trial, info)
    gets = (pl.col("bytes_received") >= SWAPPED_RATIO * pl.col("bytes_acked")) & (pl.col("bytes_received") > 0)
    found = frozenset(last.filter(~gets.fill_null(value=False))["connection"].to_list())
    return found if 0 < len(found) < last.height else None


_OTHER = {"sender": "receiver", "receiver": "sender"}


def _moved(trial: FlowTrial, info: pl.DataFrame) -> pl.DataFrame:
    """Amounts that each connection sent and got: in all, and while it was watched if it is another program's."""
    counts = pl.col("bytes_acked", "bytes_received").cast(pl.Int64)
    return info.group_by("connection").agg(counts.max() - counts.min() if trial.is_watched else counts.max())


def by_payload(trial: FlowTrial) -> FlowTrial:
    """The trial with its roles after the payload; as it is where nothing was counted.

    Raises:
        RecordError: the table cannot be read.
    """
    sender = trial.end("sender")
    info = None if sender is None else read_columns(trial, "tcp_info", sender.host, _COUNTS)
    if info is None or info["bytes_acked"].null_count() == info.height:
        return trial
    last = _moved(trial, info)
    sent, received = (first(last, pl.col(name).sum()) or 0 for name in ("bytes_acked", "bytes_received"))
    if received < SWAPPED_RATIO * sent or not received:
        return trial
    if trial.is_watched:
        # Nobody asked for a direction, so none is turned.
        return replace(trial, ends={host: replace(end, role=_OTHER[end.role]) for host, end in trial.ends.items()})
    ends = {host: replace(end, role=_OTHER.get(end.role, end.role)) for host, end in trial.ends.items()}
    return replace(trial, ends=ends, is_turned=not trial.is_turned)
