"""The modes of each cell: rates between which its trials, or its trials over time, are divided."""

from collections.abc import Mapping, Sequence

import polars as pl

from whyperf.analyze.measures.goodput import duration_windows, receiver_rows
from whyperf.analyze.read.inputs import Cell, Inputs
from whyperf.analyze.steady.modes import Level, modes_of, modes_over_time
from whyperf.analyze.steady.settle import series
from whyperf.analyze.summary import CellResult, Fact, Mode, Modes
from whyperf.analyze.text import bit_rate, percent, setting

MAX_TRIALS = 200
"""Of a cell so many trials are looked at over time."""


def cell_modes(inputs: Inputs, trials: pl.DataFrame) -> dict[str, Modes]:
    """The modes of the cells that have several; `trials` are those measured (`goodput.measure`).

    Of cells whose metric is goodput, without a schedule, and of no other program's connection. Over time are trials of
    a given duration looked at, their whole window.
    """
    cells = [cell for cell in inputs.cells if cell.metric == "goodput" and not cell.is_scheduled and not cell.watched]
    usable = trials.filter(pl.col("goodput_bps").is_not_null()).sort("trial")
    timed = usable.filter(pl.col("transfer_bytes").is_null())
    rows = receiver_rows(inputs.intervals).join(timed.select("trial"), on="trial", how="semi")
    by_trial = {str(trial): own for (trial,), own in rows.partition_by("trial", as_dict=True).items()}
    windows = {trial: (start, end) for trial, start, end in duration_windows(rows).iter_rows()}
    found = {}
    for cell in cells:
        own = usable.filter(pl.col("cell") == cell.id)
        over_trials = modes_of(own["goodput_bps"].to_numpy())
        names = [name for name in own["trial"].to_list() if name in windows][:MAX_TRIALS]
        rates = [series(by_trial[name], *windows[name])[1] for name in names]
        over_time = modes_over_time(rates, _resolution_bps(cell, by_trial, names))
        if len(over_trials) > 1 or len(over_time) > 1:
            found[cell.id] = Modes(trials=_several(over_trials), time=_several(over_time))
    return found


def _resolution_bps(cell: Cell, rows: Mapping[str, pl.DataFrame], names: Sequence[str]) -> float:
    """The rate of one call more or less in an interval: what a call moves is counted where it ends."""
    sizes = [size for key in ("write_size_bytes", "read_size_bytes") if isinstance(size := cell.factors.get(key), int)]
    if not names or not sizes:
        return 0.0
    spans = rows[names[0]].select((pl.col("end_mono_ns") - pl.col("start_mono_ns")).median())
    span_ns = float(spans.item() or 0.0)
    return max(sizes) * 8e9 / span_ns if span_ns > 0 else 0.0


def _several(levels: Sequence[Level]) -> list[Mode]:
    if len(levels) < 2:
        return []
    return [
        Mode(median_bps=level.median, low_bps=level.low, high_bps=level.high, share_ratio=level.share)
        for level in levels
    ]


def mode_facts(cells: Sequence[CellResult], varied: Sequence[str]) -> list[Fact]:
    """A sentence on each cell with several modes."""
    return [
        Fact(code="modes", text=f"{_named(cell, varied)}{sentence}")
        for cell in cells
        if cell.modes is not None
        for sentence in _sentences(cell.modes)
    ]


def _named(cell: CellResult, varied: Sequence[str]) -> str:
    name = setting(dict(cell.factors), list(varied))
    return f"{cell.id} ({name}): " if name else ""


def _sentences(modes: Modes) -> list[str]:
    found = []
    if modes.trials:
        parts = [f"{bit_rate(mode.median_bps)} in {percent(mode.share_ratio)}" for mode in modes.trials]
        found.append(f"The trials have {len(parts)} rates: {_listed(parts)} of the trials.")
    if modes.time:
        parts = [f"{bit_rate(mode.median_bps)} for {percent(mode.share_ratio)}" for mode in modes.time]
        found.append(f"Over time the trials have {len(parts)} rates: {_listed(parts)} of the time.")
    return found


def _listed(parts: Sequence[str]) -> str:
    return f"{', '.join(parts[:-1])} and {parts[-1]}"
