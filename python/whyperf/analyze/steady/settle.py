"""Cuts the rest of the warm-up from each trial of given duration and judges its steadiness."""

from collections.abc import Container

import numpy as np
import polars as pl

from whyperf.analyze.steady.rates import Floats, rates_between
from whyperf.analyze.steady.steadiness import judge

SCHEMA = {
    "trial": pl.String(),
    "window_start_ns": pl.Int64(),
    "window_end_ns": pl.Int64(),
    "whole_life": pl.Boolean(),
    "unusable": pl.String(),
    "cut_ns": pl.Int64(),
    "cut_bps": pl.Float64(),
    "settled_bps": pl.Float64(),
    "steady": pl.Boolean(),
    "reason_unsteady": pl.String(),
    "from_bps": pl.Float64(),
    "to_bps": pl.Float64(),
    "change_s": pl.Float64(),
}
"""Columns of the result. `cut_ns` is the warm-up cut off, or only found in a trial that counts whole;
`cut_bps` its mean rate and `settled_bps` that of the rest, `change_s` the instant of the change in seconds after the
start of phase `measure`; see `steadiness.Steadiness` for the others."""


def settle(windows: pl.DataFrame, rows: pl.DataFrame, whole: Container[str] = ()) -> pl.DataFrame:
    """Moves each window's start past the warm-up that is left, with the verdict; see `SCHEMA`.

    `windows` has one row a trial of duration mode, `rows` the receiver's interval rows. Windows of the trials in
    `whole` stay as they are; what is left of their warm-up is only reported. Works trial by trial: such trials last
    seconds each, so there are never many.
    """
    bounds = {trial: (start, end) for trial, start, end in windows.iter_rows()}
    wanted = rows.join(windows.select("trial"), on="trial", how="semi")
    settled = [
        _settle_one(str(trial), *bounds[str(trial)], group, is_whole=str(trial) in whole)
        for (trial,), group in wanted.partition_by("trial", as_dict=True).items()
    ]
    return pl.DataFrame(settled, schema=SCHEMA)


def _settle_one(trial: str, start_ns: int, end_ns: int, rows: pl.DataFrame, *, is_whole: bool) -> dict[str, object]:
    edges, rates = series(rows, start_ns, end_ns)
    verdict = judge(rates)
    cut_ns = round(float(edges[verdict.drop_count]))
    change = verdict.change_index
    return {
        "trial": trial,
        "window_start_ns": start_ns if is_whole else start_ns + cut_ns,
        "window_end_ns": end_ns,
        "whole_life": False,
        "unusable": None,
        "cut_ns": cut_ns,
        "cut_bps": float(rates[: verdict.drop_count].mean()) if verdict.drop_count else None,
        "settled_bps": float(rates[verdict.drop_count :].mean()),
        "steady": verdict.steady,
        "reason_unsteady": verdict.reason,
        "from_bps": verdict.from_bps,
        "to_bps": verdict.to_bps,
        "change_s": None if change is None else float(edges[change]) / 1e9,
    }


def series(rows: pl.DataFrame, start_ns: int, end_ns: int) -> tuple[Floats, Floats]:
    """Total rate of one trial's `rows` between two instants: (edges, rates in bit/s).

    The edges, in ns after `start_ns`, are those of the lowest connection's intervals; octets of
    intervals that do not match them are interpolated.
    """
    first = rows.filter(pl.col("connection") == pl.col("connection").min())
    inner = first["end_mono_ns"].sort().to_numpy()
    inner = inner[(inner > start_ns) & (inner < end_ns)]
    edges = np.concatenate([[0], inner - start_ns, [end_ns - start_ns]]).astype(np.float64)
    edges = np.unique(edges)
    starts = (rows["start_mono_ns"].to_numpy() - start_ns).astype(np.float64)
    ends = (rows["end_mono_ns"].to_numpy() - start_ns).astype(np.float64)
    return edges, rates_between(edges, starts, ends, rows["payload_bytes"].to_numpy().astype(np.float64))
