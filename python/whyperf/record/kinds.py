"""Checks that a file is the table that its name says: the columns of crates/schema/src/table.rs, by name and type."""

import json
from functools import cache
from pathlib import Path
from typing import Final

import polars as pl

from whyperf.record.keys import key_of, wrong_in_rows
from whyperf.record.parquet import bytes_in_memory

#: Errors that polars raises for files that are damaged. It panics where its authors thought a file could not be so.
UNREADABLE: Final = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError)
#: Written by `make schemas`, table by table: the types of its columns by name, or the code words of a column.
COLUMNS = Path(__file__).with_name("columns.json")
_TYPES = {
    "u32": (pl.UInt32,),
    "u64": (pl.UInt64,),
    "bool": (pl.Boolean,),
    "text": (pl.String, pl.Categorical),
}
_NUMBERS = {"u32": pl.UInt32(), "u64": pl.UInt64()}
#: A byte of a Parquet file never stands for more rows: even what repeats takes some bits a row.
_ROWS_OF_A_BYTE = 64
#: A table has rows for each of at most 100,000 connections; only what counts in ns needs more than 32 bits.
_LARGEST = 2**62


def code_words(table: str, column: str) -> tuple[str, ...]:
    """The words that stand in a column of text, in the order of their codes; empty where any text can stand."""
    kind = _columns()[table][column]
    return () if isinstance(kind, str) else tuple(kind)


def all_code_words() -> frozenset[str]:
    """The words of all columns that have some."""
    kinds = [kind for columns in _columns().values() for kind in columns.values()]
    return frozenset(word for kind in kinds if not isinstance(kind, str) for word in kind)


def is_table(name: str) -> bool:
    """True where the record has a table of this name."""
    return name in _columns()


def wrong_in_table(path: Path, name: str, host: str | None = None) -> str | None:
    """The fault in a file that should be the table `name` of `host`, in words that follow "a table that"; or
    None.

    Reads what the file declares, and refuses what would take too much memory. Then reads of columns with 64 bits the
    largest number, a part of the file at a time, and refuses rows that no agent writes (`record/keys.py`).
    """
    wanted = _columns()[name]
    try:
        bytes_in_memory(path)
        there = dict(pl.read_parquet_schema(path))
        if there.keys() != wanted.keys():
            odd = sorted(there.keys() ^ wanted.keys())[0]
            return f"has no column {odd}" if odd in wanted else f"has the column {odd[:40]!r} of another table"
        for column, kind in wanted.items():
            if there[column] not in _TYPES[kind if isinstance(kind, str) else "text"]:
                return f"has the column {column} in another type"
        scan = pl.scan_parquet(path)
        rows = int(scan.select(pl.len()).collect().item())
        if rows > _ROWS_OF_A_BYTE * path.stat().st_size:
            return f"claims {rows:,} rows in {path.stat().st_size:,} bytes"
        largest = scan.select(pl.col(pl.UInt64).max()).collect(engine="streaming")
        beyond = [column for column in largest.columns if (largest[column].item() or 0) >= _LARGEST]
        wrong = _wrong_texts(scan, name, host) or wrong_in_rows(scan, name)
    except UNREADABLE as error:
        reason = getattr(error, "strerror", None)
        return f"cannot be read: {reason}" if reason else "is not a Parquet file that can be read"
    except ValueError as error:
        return f"cannot be read: {error}"
    # The kernel writes all ones for a pacing rate that is none.
    beyond = [column for column in beyond if column != "pacing_rate_bytes_per_second"]
    return f"has a {beyond[0]} of over 2^62" if beyond else wrong


def _wrong_texts(scan: pl.LazyFrame, name: str, host: str | None) -> str | None:
    """The fault in the host, or in a code word, of rows of the table `name`; as `wrong_in_table`."""
    allowed = {column: code_words(name, column) for column in _columns()[name]}
    if host is not None:
        allowed["host"] = (host,)
    texts = {column: pl.col(column).cast(pl.String) for column, own in allowed.items() if own}
    others = scan.select(text.filter(~text.is_in(list(allowed[column]))).first() for column, text in texts.items())
    found = others.collect(engine="streaming").row(0, named=True) if texts else {}
    return next((f"has the {column} {text[:40]!r}" for column, text in found.items() if text is not None), None)


def typed(rows: pl.DataFrame, name: str) -> tuple[pl.DataFrame, str | None]:
    """Rows of a stored table with the numbers of its columns in their types; and what is wrong with all of them, as
    `wrong_in_table`, or None.

    Where a type has room for fewer numbers, or a text stands for a number, different values may become the same. So
    what separates rows (`record/keys.py`) is looked at afterwards. Older records may have other columns.
    """
    kinds = _columns().get(name, {})
    numbers = []
    for column, there in rows.schema.items():
        kind = kinds.get(column)
        if kind is None or there == pl.Null:
            continue
        if isinstance(kind, str) and kind in _NUMBERS and there.is_integer():
            numbers.append(pl.col(column).cast(_NUMBERS[kind], strict=False))
        elif there not in _TYPES[kind if isinstance(kind, str) else "text"]:
            return rows, f"has the column {column} in another type"
    return rows.with_columns(numbers), None


def wrong_words(rows: pl.DataFrame, name: str) -> pl.Expr:
    """Which rows of a stored table have a word that no agent writes, among what separates its rows.

    A table with any number of texts there, such as names of devices, may have any of them.
    """
    key = [column for column in key_of(name) if column in rows.columns and column != "host"]
    kinds = [_columns()[name][column] for column in key]
    if "text" in kinds:
        return pl.lit(value=False)
    wrong = [
        ~pl.col(column).cast(pl.String).is_in(list(kind))
        for column, kind in zip(key, kinds, strict=True)
        if not isinstance(kind, str)
    ]
    return pl.any_horizontal(pl.lit(value=False), *wrong).fill_null(value=False)


@cache
def _columns() -> dict[str, dict[str, str | list[str]]]:
    columns: dict[str, dict[str, str | list[str]]] = json.loads(COLUMNS.read_text())
    return columns
