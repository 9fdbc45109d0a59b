"""Reads the record's tables over all trials into polars frames.

An experiment has a small Parquet file a trial, end and table: ten thousands of them. They are read
in batches, so that memory holds the columns asked for and little more; about 0.1 ms a file,
and 0.01 ms a column for what the file declares.
"""

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import polars as pl

from whyperf.record.errors import RecordError
from whyperf.record.experiment import Experiment
from whyperf.record.keys import key_of, wrong_trials
from whyperf.record.kinds import UNREADABLE, typed, wrong_words
from whyperf.record.manifest import TABLE_OF_END, TRIAL_NAME, Damaged
from whyperf.record.pack import packs
from whyperf.record.parquet import OpenTable, allowed_bytes, open_table

#: Files read at once, each open meanwhile: a process may have 1,024 open files where nobody raised the limit.
BATCH = 256
PATH = "__path"
END = "__end"
"""Column of the end whose name the file of a row has."""
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

    Returns the rows and the trials with an unreadable file, or with rows that no agent writes; the frame has no columns
    but the three keys when no trial has the table.
    """
    damaged: list[Damaged] = []
    added: list[str] = []
    if columns is not None:
        added = [column for column in key_of(name) if column not in columns]
        columns = [*columns, *added]

    def shrunk(rows: pl.DataFrame) -> pl.DataFrame:
        own = _own(rows, name, damaged)
        return own if shrink is None else shrink(_right(own, name, damaged))

    room = _Room(name, damaged)
    frames: list[pl.DataFrame] = []
    files = list(_files(experiment.folder / "trials", name, trials))
    for batch in room.opened(files, BATCH if shrink is None else 1):
        try:
            frames.append(shrunk(_read(batch, columns)))
        except UNREADABLE:
            # One file is damaged, or of a version with other columns: find out which.
            _read_singly(batch, columns, frames, damaged, shrunk)
    for rows in _read_packs(experiment.folder / "trials", name, columns, trials, room):
        own = _own(rows, name, damaged)
        frames.append(own if shrink is None else _right(own, name, damaged))
    if not frames:
        return TableRead(pl.DataFrame(schema=KEYS), damaged)
    frame = pl.concat(frames, how="diagonal_relaxed")
    if shrink is None:
        frame = _right(frame, name, damaged)
    return TableRead(frame.drop(added, strict=False), damaged)


def _own(rows: pl.DataFrame, name: str, damaged: list[Damaged]) -> pl.DataFrame:
    """The rows, in the types of the table. Those of trials with other types, with another host than that of the file,
    or with words that no agent writes are left out, and the trials are `damaged`."""
    rows, of_all = typed(rows, name)
    if of_all is not None:
        wrong = dict.fromkeys(rows["trial"].unique(maintain_order=True).to_list(), of_all)
        return _without(rows.drop(END), name, wrong, damaged)
    wrong = dict.fromkeys(rows.filter(wrong_words(rows, name))["trial"].unique().to_list(), "has an unknown code word")
    if "host" in rows.columns:
        # A join of many hosts with themselves grows by the square of their number.
        others = rows.filter(pl.col("host").cast(pl.String) != pl.col(END)).unique("trial")
        wrong |= {
            trial: f"has rows of another host than {end}" for trial, end in others.select("trial", END).iter_rows()
        }
    return _without(rows.drop(END), name, wrong, damaged)


def _right(rows: pl.DataFrame, name: str, damaged: list[Damaged]) -> pl.DataFrame:
    """The rows without those of trials that have wrong ones, which are `damaged`."""
    return _without(rows, name, wrong_trials(rows, name), damaged)


def _without(rows: pl.DataFrame, name: str, wrong: Mapping[str, str], damaged: list[Damaged]) -> pl.DataFrame:
    damaged += (Damaged(trial, f"its table {name} {what}") for trial, what in wrong.items())
    return rows.filter(~pl.col("trial").is_in(list(wrong))) if wrong else rows


def sum_by_host(
    experiment: Experiment, name: str, trial: str, sums: Callable[[pl.LazyFrame], pl.LazyFrame]
) -> pl.DataFrame | None:
    """Sums of one table of one trial, which `sums` makes of some of its ends at a time; None when no end has it, or a
    file is not fit to be read, which `read_table` reports.

    Raises:
        RecordError: the files would take far more memory than their size allows.
    """
    damaged: list[Damaged] = []
    files = list(_files(experiment.folder / "trials", name, (trial,)))
    try:
        frames = [
            sums(_of_own_host(batch)).collect(engine="streaming") for batch in _Room(name, damaged).opened(files, BATCH)
        ]
        return pl.concat(frames) if frames and not damaged else None
    except UNREADABLE:
        return None


def _of_own_host(files: Mapping[str, Path]) -> pl.LazyFrame:
    """The rows of the end whose name the file has, of files by the paths that lead to them."""
    ends = {opened: _end(path) for opened, path in files.items()}
    scanned = pl.scan_parquet(list(files), include_file_paths=PATH, glob=False, missing_columns="insert")
    is_own = pl.col("host").cast(pl.String) == pl.col(PATH).replace_strict(ends, return_dtype=pl.String)
    return scanned.filter(is_own).drop(PATH)


class _Room:
    """Memory for one table of all trials; files that would take more than their size allows are `damaged`."""

    def __init__(self, name: str, damaged: list[Damaged]) -> None:
        self.damaged = damaged
        self._name = name
        self._needed = 0
        self._size = 0

    def open(self, path: Path, closing: ExitStack) -> OpenTable | None:
        """The file, open until `closing` ends; None where it is not fit to be read.

        Raises:
            RecordError: all files together would take too much.
        """
        try:
            table = open_table(path)
        except (OSError, ValueError) as error:
            self.damaged.append(_unreadable(path, error))
            return None
        closing.enter_context(table.file)
        self._needed += table.needed_bytes
        self._size += table.size_bytes
        if self._needed > allowed_bytes(self._size):
            raise RecordError(
                f"the tables {self._name} in {path.parents[1]} would take over {self._needed:,} bytes of memory, far "
                "more than tables of their size do; do not trust this result"
            )
        return table

    def opened(self, files: Sequence[str], at_once: int) -> Iterator[dict[str, Path]]:
        """Files that are fit to be read, by the path that leads to the open file until the next ones are opened.

        Raises:
            RecordError: as `open`.
        """
        for start in range(0, len(files), at_once):
            with ExitStack() as closing:
                paths = [Path(file) for file in files[start : start + at_once]]
                tables = {str(table.path): path for path in paths if (table := self.open(path, closing)) is not None}
                if tables:
                    yield tables


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


def _read(files: Mapping[str, Path], columns: Sequence[str] | None) -> pl.DataFrame:
    """The rows in order of files by the paths that lead to them. Trial names are short, so polars keeps them without a
    heap string each.
    """
    scanned = pl.scan_parquet(list(files), include_file_paths=PATH, glob=False, missing_columns="insert")
    trials = {opened: path.parent.name for opened, path in files.items()}
    ends = {opened: _end(path) for opened, path in files.items()}
    own = [
        pl.col(PATH).replace_strict(of_files, return_dtype=pl.String).alias(name)
        for name, of_files in (("trial", trials), (END, ends))
    ]
    frame = scanned.select(*own, *(columns if columns is not None else [pl.all().exclude(PATH)])).collect()
    number, cell = pl.col("trial").str.extract(r"^(?:log|stages)?(\d+)-"), pl.col("trial").str.extract(r"-(.+)$")
    return frame.select("trial", number.cast(pl.Int64).alias("block"), cell.alias("cell"), pl.all().exclude("trial"))


def _end(path: Path) -> str:
    """The end whose name a file has."""
    return path.name.split(".")[1]


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
            if pack.is_symlink() or not os.path.lexists(path):
                continue
            number, cell = (
                pl.col("trial").str.extract(r"^(?:log|stages)?(\d+)-"),
                pl.col("trial").str.extract(r"-(.+)$"),
            )
            own = pl.all().exclude("trial") if columns is None else pl.col(*columns)
            with ExitStack() as closing:
                if (table := room.open(path, closing)) is None:
                    continue
                try:
                    frame = pl.read_parquet(table.file)
                    if trials is not None:
                        frame = frame.filter(pl.col("trial").is_in(list(trials)))
                    keys = number.cast(pl.Int64).alias("block"), cell.alias("cell"), pl.lit(host).alias(END)
                    frames.append(frame.select("trial", *keys, own))
                except UNREADABLE as error:
                    room.damaged.append(_unreadable(path, error))
    return frames


def _read_singly(
    files: Mapping[str, Path],
    columns: Sequence[str] | None,
    frames: list[pl.DataFrame],
    damaged: list[Damaged],
    shrunk: Callable[[pl.DataFrame], pl.DataFrame],
) -> None:
    for opened, path in files.items():
        try:
            frame = _read({opened: path}, None)
        except UNREADABLE as error:
            damaged.append(_unreadable(path, error))
            continue
        if columns is not None:
            frame = frame.select(*KEYS, END, *(column for column in columns if column in frame.columns))
        frames.append(shrunk(frame))
