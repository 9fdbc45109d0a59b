"""Thrift's compact protocol, as far as Parquet's footers and page headers need it.

https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md. No library that is packaged reads the
headers of pages, and those that read footers bring a second reader of tables with them.
"""

from typing import Any

Struct = dict[int, Any]
"""A struct's fields by their identifiers."""

_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _STRUCT = 1, 2, 3, 7, 8, 9, 10, 12
_INTEGERS = frozenset({4, 5, 6})
_MAX_VARINT_BITS = 70
MAX_CONTAINERS = 500_000
"""Structs and lists of a footer: six for each column of a group of rows, and a byte of data can be one."""


class _Budget:
    """The number of structs and lists that may still be read."""

    def __init__(self) -> None:
        self.left = MAX_CONTAINERS

    def spend(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise ValueError(f"its footer has more than {MAX_CONTAINERS:,} structs and lists")


def read_struct(data: bytes, at: int) -> tuple[Struct, int]:
    """The struct at `at`, and where it ends.

    Raises:
        IndexError: the data end before.
        ValueError: it has what Parquet does not use, or too much.
        RecursionError: it nests without end.
    """
    return _struct(data, at, _Budget())


def _struct(data: bytes, at: int, budget: _Budget) -> tuple[Struct, int]:
    budget.spend()
    found: Struct = {}
    field = 0
    while True:
        head = data[at]
        at += 1
        if head == 0:
            return found, at
        if head >> 4:
            field += head >> 4
        else:
            zigzag, at = _varint(data, at)
            field = (zigzag >> 1) ^ -(zigzag & 1)
        found[field], at = _value(data, at, head & 15, budget)


def _value(data: bytes, at: int, kind: int, budget: _Budget) -> tuple[Any, int]:  # noqa: PLR0911 - a line a kind
    if kind in _INTEGERS:
        byte = data[at]
        if byte < 128:
            # Most are so short, and this is the hot path.
            return (byte >> 1) ^ -(byte & 1), at + 1
        zigzag, at = _varint(data, at)
        return (zigzag >> 1) ^ -(zigzag & 1), at
    if kind == _BINARY:
        length, at = _varint(data, at)
        end = _checked_end(data, at + length)
        return data[at:end], end
    if kind == _STRUCT:
        return _struct(data, at, budget)
    if kind in {_LIST, _SET}:
        return _list(data, at, budget)
    if kind in {_TRUE, _FALSE}:
        return kind == _TRUE, at
    if kind == _BYTE:
        return data[at], at + 1
    if kind == _DOUBLE:
        return None, _checked_end(data, at + 8)
    raise ValueError(f"its footer has a value of kind {kind}")


def _checked_end(data: bytes, end: int) -> int:
    """Where a value ends, inside the data: else a list could have any number of them."""
    if end > len(data):
        raise IndexError(end)
    return end


def _list(data: bytes, at: int, budget: _Budget) -> tuple[list[Any], int]:
    budget.spend()
    head = data[at]
    at += 1
    count, kind = head >> 4, head & 15
    if count == 15:
        count, at = _varint(data, at)
    found = []
    for _ in range(count):
        # A yes or no takes a byte in a list, and so does all else, so that there are never more values than bytes.
        value, at = _value(data, at, _BYTE if kind in {_TRUE, _FALSE} else kind, budget)
        found.append(value)
    return found, at


def _varint(data: bytes, at: int) -> tuple[int, int]:
    byte = data[at]
    value, shift = byte & 127, 7
    while byte >= 128:
        at += 1
        byte = data[at]
        value |= (byte & 127) << shift
        shift += 7
        if shift > _MAX_VARINT_BITS:
            raise ValueError("its footer has a number that is too long")
    return value, at + 1
