"""Parquet files of a few KB that declare gigabytes, written by hand: no library writes them without the memory.

Structures and numbers of fields: https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift,
in Thrift's compact protocol.
"""

from typing import Any

INT64, BYTE_ARRAY = 2, 6
PLAIN, RLE, RLE_DICTIONARY = 0, 3, 8
UNCOMPRESSED, ZSTD = 0, 6
DATA_PAGE, DICTIONARY_PAGE = 0, 2
#: The largest block of a Zstandard frame (RFC 8878 section 3.1.1.2.4).
BLOCK_BYTES = 128 << 10


class I32(int):
    """A number that Thrift calls i32; all others are i64."""


def _number(value: int) -> bytes:
    found = b""
    while value > 127:
        found, value = found + bytes([value & 127 | 128]), value >> 7
    return found + bytes([value])


def _kind(value: object) -> int:
    return {I32: 5, int: 6, bytes: 8, list: 9, dict: 12}[type(value)]


def thrift(value: Any) -> bytes:
    """A value in Thrift's compact protocol; a structure is a dictionary by the number of the field."""
    match value:
        case int():
            return _number(value << 1)
        case bytes():
            return _number(len(value)) + value
        case list():
            return bytes([len(value) << 4 | _kind(value[0])]) + b"".join(thrift(part) for part in value)
    found, last = b"", 0
    for field, part in value.items():
        found += bytes([(field - last) << 4 | _kind(part)]) + thrift(part)
        last = field
    return found + b"\0"


def _page(kind: int, content: bytes, values: int, encoding: int, size_bytes: int | None = None) -> bytes:
    about: dict[int, Any] = {1: I32(values), 2: I32(encoding)}
    if kind == DATA_PAGE:
        about |= {3: I32(RLE), 4: I32(RLE)}
    sizes = {1: I32(kind), 2: I32(size_bytes or len(content)), 3: I32(len(content))}
    return thrift({**sizes, {DATA_PAGE: 5, DICTIONARY_PAGE: 7}[kind]: about}) + content


def _file(name: str, dictionary: bytes, data: bytes, rows: int, *, kind: int, codec: int) -> bytes:
    """A file with one column in one chunk."""
    start, size = len(b"PAR1"), len(dictionary + data)
    column: dict[int, Any] = {
        1: I32(kind),
        2: [I32(PLAIN), I32(RLE_DICTIONARY)],
        3: [name.encode()],
        4: I32(codec),
        5: rows,
        6: size,
        7: size,
        9: start + len(dictionary),
    }
    if dictionary:
        column[11] = start
    schema = [{4: b"root", 5: I32(1)}, {1: I32(kind), 3: I32(0), 4: name.encode()}]
    if kind == BYTE_ARRAY:
        schema[1][6] = I32(0)
    groups = [{1: [{2: start, 3: column}], 2: size, 3: rows}]
    footer = thrift({1: I32(1), 2: schema, 3: rows, 4: groups})
    return b"PAR1" + dictionary + data + footer + len(footer).to_bytes(4, "little") + b"PAR1"


def equal_numbers(name: str, rows: int) -> bytes:
    """A column that is so many times the number 7: one run of an entry of the dictionary."""
    run = b"\x01" + _number(rows << 1) + b"\0"
    dictionary = _page(DICTIONARY_PAGE, (7).to_bytes(8, "little"), 1, PLAIN)
    data = _page(DATA_PAGE, run, rows, RLE_DICTIONARY)
    return _file(name, dictionary, data, rows, kind=INT64, codec=UNCOMPRESSED)


def long_text(name: str, length: int) -> bytes:
    """A column with one text, so many times the letter a: a Zstandard frame of blocks that repeat one byte.

    `length` is a multiple of the largest block.
    """

    def block(kind: int, size: int, content: bytes, *, last: bool = False) -> bytes:
        return (size << 3 | kind << 1 | last).to_bytes(3, "little") + content

    raw, repeated = 0, 1
    # No checksum, a window of 128 KB (RFC 8878 section 3.1.1.1).
    frame = b"\x28\xb5\x2f\xfd\x00\x38" + block(raw, 4, length.to_bytes(4, "little"))
    whole = length // BLOCK_BYTES
    assert length == whole * BLOCK_BYTES
    frame += block(repeated, BLOCK_BYTES, b"a") * (whole - 1) + block(repeated, BLOCK_BYTES, b"a", last=True)
    data = _page(DATA_PAGE, frame, 1, PLAIN, size_bytes=length + 4)
    return _file(name, b"", data, 1, kind=BYTE_ARRAY, codec=ZSTD)
