"""The contents that a Parquet file declares, before anything is read from it.

A file of 80 KB can declare a billion rows, or a page of gigabytes, and a reader makes room for them. So the footer is
read first: how many rows, of what, in which encodings (https://parquet.apache.org/docs/file-format/). polars takes the
number of rows from the footer, makes room for the values that a page says it has, and stops where a page is not of the
size that its header says; so footer and page headers bound what it allocates.

A text stands once in the file for all rows that have it, and once in each row of what is made of them. So its length
has a bound, and so has that of all rows together. Where the headers leave that open, the texts are measured.

Files are as agents and the model write them: flat, with columns of integers, texts and yes or no, not compressed or by
zstd.
"""

import os
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import polars as pl

from whyperf.foreign import open_file
from whyperf.record.thrift import read_struct

FREE_BYTES = 256 << 20
"""Memory that a table may take whatever its size."""

MAX_RATIO = 100
"""Times its size that a table may take in memory. Logs take 5 to 20 times theirs."""

MAX_TEXT_BYTES = 1 << 16
"""A text of a table: the name of a function is the longest, and those of C++ reach some KiB."""

MAX_FOOTER_BYTES = 16 << 20

OWN_FILES = Path("/proc/self/fd")
"""Files of this process that have no name: what stands for them there is a link."""

_MAGIC = b"PAR1"
_TAIL_BYTES = 8

# Numbers of parquet.thrift (Type, CompressionCodec, Encoding, FieldRepetitionType).
_BYTE_ARRAY = 6
_WIDTHS = {0: 1, 1: 8, 2: 8, _BYTE_ARRAY: 16}
"""Bytes a value takes in memory at most, by its type; fractions, 96-bit and fixed-length ones are written by nobody."""
_CODECS = frozenset({0, 6})
_ENCODINGS = frozenset({0, 2, 3, 4, 5, 6, 8, 9})
"""All but those of texts that a previous text begins: a few bytes make any length of them."""
_OF_DICTIONARY = frozenset({2, 8})
"""Encodings in which a value is a number of the dictionary."""
_REPEATED = 2
_DICTIONARY = 2
_PARTS = {0: (5, 2), _DICTIONARY: (7, 2), 3: (8, 4)}
"""Of a page's type: the part of its header that polars reads, and the part's field for the encoding."""

_PAGE_HEADER_BYTES = 1 << 16
_USUAL_HEADER_BYTES = 256


class OpenTable(NamedTuple):
    """A table that was checked and is open: whatever takes its place in the folder is not read."""

    file: BinaryIO
    needed_bytes: int
    rows_count: int
    size_bytes: int

    @property
    def path(self) -> Path:
        """Leads to the open file, for libraries that take a path, until it is closed."""
        return OWN_FILES / str(self.file.fileno())


def open_table(path: Path) -> OpenTable:
    """Opens a table and checks what it takes in memory at most, which is `needed_bytes`; to be closed by the caller.

    Raises:
        OSError: there is no such file, or it is a link, a FIFO or a device.
        ValueError: it is no Parquet file as agents write them, or takes more than a table of its size may.
    """
    file = os.fdopen(open_file(path, is_users=path.parent == OWN_FILES), "rb")
    try:
        found = os.fstat(file.fileno())
        # Who changes a file can set the time of its change to what it was (utimensat(2)), but not that of its inode.
        changed = found.st_mtime_ns, found.st_ctime_ns
        key = _Key(file.fileno(), (found.st_dev, found.st_ino, found.st_size, *changed))
        return OpenTable(file, *_checked(key), found.st_size)
    except BaseException:
        file.close()
        raise


def bytes_in_memory(path: Path) -> int:
    """The memory that a table takes at most; raises as `open_table`."""
    table = open_table(path)
    table.file.close()
    return table.needed_bytes


def rows_count(path: Path) -> int:
    """The number of rows of a table that was checked; raises as `open_table`."""
    table = open_table(path)
    table.file.close()
    return table.rows_count


def scan(path: Path) -> pl.LazyFrame:
    """The rows of a table that was checked, none read yet. The frame holds the file open; raises as `open_table`."""
    with open_table(path).file as file:
        # polars duplicates the descriptor of a file.
        return pl.scan_parquet(file)


def allowed_bytes(size: int) -> int:
    """Memory that tables of `size` bytes in files may take."""
    return max(FREE_BYTES, MAX_RATIO * size)


class _Key:
    """An open file, recognized by what differs between files: a table is read several times."""

    def __init__(self, descriptor: int, identity: tuple[int, int, int, int, int]) -> None:
        self.descriptor, self.identity = descriptor, identity

    @property
    def size(self) -> int:
        return self.identity[2]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and other.identity == self.identity

    def __hash__(self) -> int:
        return hash(self.identity)


class _Texts(NamedTuple):
    """Sizes that the headers of a column of texts allow: bytes of its longest text, and of all its rows together."""

    longest: int = 0
    total: int = 0


@lru_cache(maxsize=1 << 16)
def _checked(file: _Key) -> tuple[int, int]:
    """Memory for the table, and its number of rows."""
    try:
        needed, rows, texts = _needed(file.descriptor, file.size)
    except (IndexError, KeyError, TypeError, AttributeError, RecursionError, OverflowError):
        raise ValueError("its footer is damaged") from None
    allowed = allowed_bytes(file.size)
    if needed > allowed:
        raise ValueError(_too_much(needed, file.size))
    if any(each.longest > MAX_TEXT_BYTES for each in texts.values()) or _total(texts) > allowed:
        texts = _measured(file.descriptor, texts)
        longest = max(each.longest for each in texts.values())
        if longest > MAX_TEXT_BYTES:
            raise ValueError(f"it has a text of {longest:,} bytes, and a text may have {MAX_TEXT_BYTES:,}")
        if _total(texts) > allowed:
            raise ValueError(_too_much(_total(texts), file.size))
    return needed, rows


def _too_much(needed: int, size: int) -> str:
    return (
        f"it would take {needed:,} bytes of memory for {size:,} in the file; "
        f"a table may take {MAX_RATIO} times its size or {FREE_BYTES >> 20} MiB"
    )


def _total(texts: Mapping[str, _Texts]) -> int:
    return sum(each.total for each in texts.values())


def _measured(descriptor: int, texts: Mapping[str, _Texts]) -> dict[str, _Texts]:
    """The same of the texts themselves.

    Raises:
        ValueError: they cannot be read.
    """
    scan = pl.scan_parquet(OWN_FILES / str(descriptor), glob=False)
    found = {}
    try:
        kinds = scan.collect_schema()
        for name in texts:
            # Made texts of, categories take the memory that this measures.
            of = pl.col(name).str if kinds[name] == pl.String else pl.col(name).cat
            lengths = scan.select(of.len_bytes().cast(pl.UInt64))
            sizes = lengths.select(pl.col(name).max().alias("longest"), pl.col(name).sum().alias("total")).fill_null(0)
            found[name] = _Texts(*sizes.collect().row(0))
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        raise ValueError("its texts cannot be read") from None
    return found


def _needed(descriptor: int, size: int) -> tuple[int, int, dict[str, _Texts]]:
    """Memory for the table, its number of rows, and what its columns of texts may hold, by the name of the column."""
    meta, data_end = _footer(descriptor, size)
    columns = _columns(meta[2])
    rows = meta[3]
    needed = written_to = 0
    texts: dict[str, _Texts] = {}
    for group in meta[4]:
        rows = max(rows, group[3])
        if len(group[1]) != len(columns):
            raise ValueError("a group of rows lacks columns")
        for name, chunk in zip(columns, group[1], strict=True):
            # A writer puts one behind the other. Pages that several chunks name would be read as often.
            if _first_page(chunk[3]) < written_to:
                raise ValueError("its columns are not where its footer says")
            of_chunk, found = _needed_by(descriptor, chunk[3], group[3], data_end)
            written_to = _first_page(chunk[3]) + chunk[3][7]
            needed += of_chunk
            if chunk[3][1] == _BYTE_ARRAY:
                before = texts.get(name, _Texts())
                texts[name] = _Texts(max(before.longest, found.longest), before.total + found.total)
    total = sum(group[3] for group in meta[4])
    if rows > total or any(group[3] < 0 for group in meta[4]):
        raise ValueError("its numbers of rows differ")
    return needed, total, texts


def _footer(descriptor: int, size: int) -> tuple[Mapping[int, Any], int]:
    """Reads what the footer says, and where it begins."""
    tail = os.pread(descriptor, _TAIL_BYTES, max(0, size - _TAIL_BYTES))
    length = int.from_bytes(tail[:4], "little")
    if tail[4:] != _MAGIC or length + _TAIL_BYTES > size:
        raise ValueError("it is not a Parquet file, or not whole")
    if length > MAX_FOOTER_BYTES:
        raise ValueError(f"its footer is larger than {MAX_FOOTER_BYTES >> 20} MiB")
    start = size - _TAIL_BYTES - length
    return read_struct(os.pread(descriptor, length, start), 0)[0], start


def _columns(schema: list[Mapping[int, Any]]) -> list[str]:
    """The columns of a flat schema: the root, and nothing but leaves."""
    for element in schema[1:]:
        if 5 in element or element.get(3) == _REPEATED or element[1] not in _WIDTHS:
            raise ValueError("it has columns that no agent writes")
    return [element[4].decode(errors="replace") for element in schema[1:]]


def _needed_by(descriptor: int, column: Mapping[int, Any], rows: int, data_end: int) -> tuple[int, _Texts]:
    """Memory for a column's values in a group of rows, whose pages end before `data_end`; and what its texts may be."""
    kind, codec, values, compressed = column[1], column[4], column[5], column[7]
    if codec not in _CODECS or not _ENCODINGS.issuperset(column[2]):
        raise ValueError("it is compressed or encoded as no agent does")
    if values != rows or compressed < 0:
        raise ValueError("its numbers of values differ")
    # polars panics where pages lie outside the file.
    if not len(_MAGIC) <= _first_page(column) <= data_end - compressed:
        raise ValueError("its columns are not where its footer says")
    unfolded, texts = _unfolded(descriptor, column)
    needed = int(values) * _WIDTHS[kind]
    # Texts take their places and their pages; numbers what their count says, or their pages where these are more.
    return needed + unfolded if kind == _BYTE_ARRAY else max(needed, unfolded), texts


def _first_page(column: Mapping[int, Any]) -> int:
    """Where polars begins to read a column's pages: at the dictionary whenever the footer names one.

    Raises:
        ValueError: the dictionary does not come before the other pages.
    """
    if 11 in column and not 0 < column[11] < column[9]:
        raise ValueError("its columns are not where its footer says")
    return int(column.get(11, column[9]))


def _unfolded(descriptor: int, column: Mapping[int, Any]) -> tuple[int, _Texts]:
    """Bytes of a column's pages when they are not compressed and of a dictionary's entries; what texts may be in them.

    Raises:
        ValueError: the pages have other numbers of values than the column. polars makes room for what a page says.
    """
    at = _first_page(column)
    end = at + column[7]
    unfolded = values = dictionary = longest = total = pages = 0
    while at < end:
        pages += 1
        if pages > column[5] + _NO_VALUES_PAGES:
            raise ValueError("it has pages without values")
        header, length = _page_header(descriptor, at)
        kind = header[1]
        field, of_encoding = _PARTS[kind]
        count, encoding = header[field][1], header[field][of_encoding]
        if encoding not in _ENCODINGS or header[2] < 0 or header[3] < 0:
            raise ValueError("it is encoded as no agent does")
        if count < 0 or (kind == _DICTIONARY and count > header[2]):
            raise ValueError("its numbers of values differ")
        unfolded += header[2]
        if kind == _DICTIONARY:
            dictionary = max(dictionary, header[2])
            unfolded += count * _WIDTHS[column[1]]
        else:
            values += count
        is_numbered = kind != _DICTIONARY and encoding in _OF_DICTIONARY
        longest = max(longest, dictionary if is_numbered else header[2])
        total += count * dictionary if is_numbered else header[2]
        at += length + header[3]
    if values != column[5] or at != end:
        raise ValueError("its numbers of values differ")
    return unfolded, _Texts(longest, total)


_NO_VALUES_PAGES = 2
"""Pages of a column that may hold no rows: that of the dictionary, and one of an empty group of rows."""


def _page_header(descriptor: int, at: int) -> tuple[Mapping[int, Any], int]:
    """A page's header and its length. Most are short; those with statistics of long texts are not."""
    try:
        return read_struct(os.pread(descriptor, _USUAL_HEADER_BYTES, at), 0)
    except IndexError:
        return read_struct(os.pread(descriptor, _PAGE_HEADER_BYTES, at), 0)
