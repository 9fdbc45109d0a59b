"""Reads the record's tables over all trials into polars frames.

An experiment has a small Parquet file a trial, end and table: ten thousands of them. They are read
in batches, so that memory holds the columns asked for and little more; about 0.1 ms a file,
and 0.01 ms a column for what the file declares.
"""

import os
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import polars as pl

from whyperf.record.errors import RecordError
from whyperf.record.experiment import Experiment
from whyperf.record.kinds import UNREADABLE
from whyperf.record.manifest import TABLE_OF_END, TRIAL_NAME, Damaged
from whyperf.record.pack import packs
from whyperf.record.parquet import allowed_bytes, bytes_in_memory

#: Files read at once. Larger batches are no faster and hold more footers in memory.
BATCH = 4096
PATH = "__path"
KEYS = {"trial": pl.String(), "block": pl.Int64(), "cell": pl.String()}


class TableRead(NamedTuple):
    """A table over all trials: `trial`, `block`, `cell`, then its own columns; and the files that cannot be read."""

    frame: pl.DataFrame
    damaged: list[Damaged]


def read_table(
    experiment: Experiment,
    name: str,
    *,
    columns: Sequence[str] | None = None,
    trials: Collection[str] | None = None,
    shrink: Callable[[pl.DataFrame], pl.DataFrame] | None = None,
) -> TableRead:
    """One table of every trial, or of `trials`, in the order of trials and hosts (far before near).

    Args:
        experiment: the experiment, which may be running.
        name: of the table, such as `intervals`.
        columns: those wanted, `trial`, `block` and `cell` apart; all when absent.
        trials: names of the trials wanted; all when absent.
        shrink: makes the rows of a file fewer. With it, memory holds one whole file at a time.

    Returns the rows and the trials with an unreadable file; the frame has no columns but the three
    keys when no trial has the table.
    """
    damaged: list[Damaged] = []
    room = _Room(name, damaged)
    files = [file for file in _files(experiment.folder / "trials", name, trials) if room.has_for(Path(file))]
    frames: list[pl.DataFrame] = []
    at_once = BATCH if shrink is None else 1
    for start in range(0, len(files), at_once):
        batch = files[start : start + at_once]
        try:
            rows = _read(batch, columns)
            frames.append(rows if shrink is None else shrink(rows))
        except UNREADABLE:
            # One file is damaged, or of a version with other columns: find out which.
            _read_singly(batch, columns, frames, damaged, shrink)
    frames += _read_packs(experiment.folder / "trials", name, columns, trials, room)
    if not frames:
        return TableRead(pl.DataFrame(schema=KEYS), damaged)
    return TableRead(pl.concat(frames, how="diagonal_relaxed"), damaged)


def scan_table(experiment: Experiment, name: str, trial: str) -> pl.LazyFrame | None:
    """One table of one trial with the rows of all its ends, nothing read yet; None when no end has it, or a file is not
    fit to be read, which `read_table` reports.

    Raises:
        RecordError: the files would take far more memory than their size allows.
    """
    damaged: list[Damaged] = []
    room = _Room(name, damaged)
    files = [file for file in _files(experiment.folder / "trials", name, (trial,)) if room.has_for(Path(file))]
    if damaged or not files:
        return None
    return pl.scan_parquet(files, glob=False, missing_columns="insert")


class _Room:
    """Memory for one table of all trials; files that would take more than their size allows are `damaged`."""

    def __init__(self, name: str, damaged: list[Damaged]) -> None:
        self.damaged = damaged
        self._name = name
        self._needed = 0
        self._size = 0

    def has_for(self, path: Path) -> bool:
        """Whether a file is fit to be read.

        Raises:
            RecordError: all files together would take too much.
        """
        try:
            self._needed += bytes_in_memory(path)
            self._size += path.lstat().st_size
        except (OSError, ValueError) as error:
            self.damaged.append(_unreadable(path, error))
            return False
        if self._needed > allowed_bytes(self._size):
            raise RecordError(
                f"the tables {self._name} in {path.parents[1]} would take over {self._needed:,} bytes of memory, far "
                "more than tables of their size do; do not trust this result"
            )
        return True


def _unreadable(path: Path, error: BaseException) -> Damaged:
    reason = (getattr(error, "strerror", None) or str(error)).partition("\n")[0]
    if isinstance(error, pl.exceptions.PanicException):
        reason = "it is damaged"
    return Damaged(path.parent.name, f"its table {path.name} cannot be read: {reason}")


def _files(folder: Path, name: str, trials: Collection[str] | None) -> Iterator[str]:
    with os.scandir(folder) as entries:
        folders = [entry for entry in entries if entry.is_dir(follow_symlinks=False)]
    found = sorted(entry.name for entry in folders if TRIAL_NAME.fullmatch(entry.name))
    wanted = None if trials is None else frozenset(trials)
    for trial in found:
        if wanted is not None and trial not in wanted:
            continue
        try:
            # Several times faster than Path over ten thousands.
            with os.scandir(f"{folder}/{trial}") as entries:
                names = [entry.name for entry in entries]
        except OSError:
            continue
        own = [name_of for name_of in names if name_of.startswith(f"{name}.") and TABLE_OF_END.fullmatch(name_of)]
        # A pair of a fleet may be lost, so that those after it have the next numbers but one.
        yield from (f"{folder}/{trial}/{name_of}" for name_of in sorted(own, key=_place))


def _place(name: str) -> tuple[int, str]:
    """Pairs of ends beyond the first are numbered: far2, near2, ..."""
    _, end, _ = name.split(".")
    return int(end.lstrip("farne") or 1), end


def _read(files: Sequence[str], columns: Sequence[str] | None) -> pl.DataFrame:
    """The files' rows in order. Trial names are short, so polars keeps them without a heap string each."""
    scanned = pl.scan_parquet(list(files), include_file_paths=PATH, glob=False, missing_columns="insert")
    trial = pl.col(PATH).str.extract(r"([^/]+)/[^/]+$").alias("trial")
    frame = scanned.select(trial, *(columns if columns is not None else [pl.all().exclude(PATH)])).collect()
    number, cell = pl.col("trial").str.extract(r"^(?:log|stages)?(\d+)-"), pl.col("trial").str.extract(r"-(.+)$")
    return frame.select("trial", number.cast(pl.Int64).alias("block"), cell.alias("cell"), pl.all().exclude("trial"))


def _read_packs(
    folder: Path,
    name: str,
    columns: Sequence[str] | None,
    trials: Collection[str] | None,
    room: "_Room",
) -> list[pl.DataFrame]:
    """The rows of simulated trials, which lie together."""
    frames = []
    for pack in packs(folder):
        for host in ("far", "near"):
            path = pack / f"{name}.{host}.parquet"
            if pack.is_symlink() or not os.path.lexists(path) or not room.has_for(path):
                continue
            number, cell = (
                pl.col("trial").str.extract(r"^(?:log|stages)?(\d+)-"),
                pl.col("trial").str.extract(r"-(.+)$"),
            )
            own = pl.all().exclude("trial") if columns is None else pl.col(*columns)
            try:
                frame = pl.read_parquet(path)
                if trials is not None:
                    frame = frame.filter(pl.col("trial").is_in(list(trials)))
                frames.append(frame.select("trial", number.cast(pl.Int64).alias("block"), cell.alias("cell"), own))
            except UNREADABLE as error:
                room.damaged.append(_unreadable(path, error))
    return frames


def _read_singly(
    files: Sequence[str],
    columns: Sequence[str] | None,
    frames: list[pl.DataFrame],
    damaged: list[Damaged],
    shrink: Callable[[pl.DataFrame], pl.DataFrame] | None,
) -> None:
    for file in files:
        path = Path(file)
        try:
            frame = _read([file], None)
        except UNREADABLE as error:
            damaged.append(_unreadable(path, error))
            continue
        if columns is not None:
            frame = frame.select(*KEYS, *(column for column in columns if column in frame.columns))
        frames.append(frame if shrink is None else shrink(frame))
