"""The sampled stacks as a profile of pprof (profile.proto of github.com/google/pprof, packed with gzip).

The encoder is our own: the format needs six kinds of messages with whole numbers and texts, and the library `protobuf`
with generated code would be the larger part of it.
"""

import gzip
from collections.abc import Iterable, Iterator

import polars as pl

from whyperf.analyze.cost.budget import WeighedStacks
from whyperf.analyze.cost.classes import BPF, KERNEL, OWN_BPF, by_name
from whyperf.analyze.cost.samples import NAME

Function = tuple[str, str, str]
"""Name, kind and object of a function, as in the record."""

_VARINT, _BYTES = 0, 2
#: Field numbers of profile.proto.
_SAMPLE_TYPE, _SAMPLE, _MAPPING, _LOCATION, _FUNCTION, _STRINGS, _DEFAULT_TYPE = 1, 2, 3, 4, 5, 6, 14
_HAS_FUNCTIONS = 7
MAX_CYCLES = 2**62
"""Of a side. Values are signed numbers of 64 bits; only a record that somebody changed has as many."""
_LABELS = ("cell", "role", "context", "group", "class")
_SIDE = ("cell", "role")


def pprof_profile(weighed: WeighedStacks, cell: str | None = None) -> bytes | None:
    """The stacks of all cells or of one, all trials together, packed; the same stacks give the same bytes.

    Sample types: `samples`, and a type for each unit of cycles, such as `tsc_reference_cycles`, because different units
    do not add up. The cycles of a side add up to its total in the measured windows, rounded once. Labels: `cell`,
    `role`, `context`, `group`, `class`. Time that no stack explains is a sample of a function in brackets. None where
    nothing was sampled.
    """
    rows = _rows(weighed, cell)
    if rows.is_empty():
        return None
    units = sorted(rows["unit"].unique())
    types = ["samples", *(unit.lower().replace(" ", "_") for unit in units)]
    profile = _Profile()
    for name in types:
        profile.add(_SAMPLE_TYPE, _number(1, profile.text(name)) + _number(2, profile.text("count")))
    profile.add_number(_DEFAULT_TYPE, profile.text(types[-1]))
    names, stacks = _functions(weighed.frames.join(rows, on="stack", how="semi", maintain_order="left"))
    for row in rows.join(stacks, on="stack", how="left", maintain_order="left").iter_rows(named=True):
        functions = [names[number] for number in row["functions"] or ()] or [(f"[{_unread(row)}]", "", "")]
        values = [row["samples_count"], *(row["whole_cycles"] if unit == row["unit"] else 0 for unit in units)]
        labels = {name: row[name] for name in _LABELS if row[name]}
        profile.add(_SAMPLE, profile.sample(functions, values, labels))
    return gzip.compress(profile.encoded(), mtime=0)


def _rows(weighed: WeighedStacks, cell: str | None) -> pl.DataFrame:
    """A row a stack or rest, with `whole_cycles`, which add up to the rounded total of each side."""
    rows = pl.concat([weighed.stacks, weighed.rest], how="diagonal_relaxed").filter(pl.col("cycles") > 0)
    if cell is not None:
        rows = rows.filter(pl.col("cell") == cell)
    until = pl.col("cycles").cum_sum().over(_SIDE).round().clip(upper_bound=MAX_CYCLES).cast(pl.Int64)
    return (
        rows.sort(*_SIDE, "trial", "stack", "part", "class", nulls_last=True)
        .with_columns(until.alias("until"), pl.col("samples_count").cast(pl.Int64, strict=False).fill_null(0))
        .with_columns((pl.col("until") - pl.col("until").shift(1).over(_SIDE).fill_null(0)).alias("whole_cycles"))
    )


def _functions(frames: pl.DataFrame) -> tuple[list[Function], pl.DataFrame]:
    """The functions on some stacks, each once; and of each `stack` their numbers in that list, as `functions`."""
    names = frames.select(NAME).unique(maintain_order=True).with_row_index("functions")
    numbered = frames.join(names, on=NAME, how="left", nulls_equal=True, maintain_order="left")
    by_stack = numbered.group_by("stack", maintain_order=True).agg("functions")
    return list(names.select(NAME).iter_rows()), by_stack


def _unread(row: dict[str, object]) -> str:
    return "not read" if row["stack"] is not None else by_name()[str(row["class"])].title


class _Profile:
    """Messages of a profile, and what they refer to by number."""

    def __init__(self) -> None:
        self._texts = {"": 0}
        self._mappings: dict[str, int] = {}
        self._functions: dict[Function, int] = {}
        self._encoded = bytearray()
        # pprof prints the name of the first one as the profile's.
        self._mapping(_object_text(("", KERNEL, "")))

    def text(self, value: str) -> int:
        """The number of a text."""
        return self._texts.setdefault(value, len(self._texts))

    def add(self, field: int, message: bytes) -> None:
        """Adds a message to the profile."""
        self._encoded += _message(field, message)

    def add_number(self, field: int, value: int) -> None:
        """Adds a number to the profile."""
        self._encoded += _number(field, value)

    def sample(self, functions: Iterable[Function], values: Iterable[int], labels: dict[str, str]) -> bytes:
        """A sample: its locations, the innermost first, its values, and its labels."""
        locations = [self._location(function) for function in functions][::-1]
        parts = [_packed(1, locations), _packed(2, values)]
        for key, value in labels.items():
            parts.append(_message(3, _number(1, self.text(key)) + _number(2, self.text(value))))
        return b"".join(parts)

    def encoded(self) -> bytes:
        """All of it, with the texts."""
        return bytes(self._encoded) + b"".join(_message(_STRINGS, text.encode()) for text in self._texts)

    def _location(self, function: Function) -> int:
        """The number of a function's only location; functions and locations have the same numbers."""
        number = self._functions.get(function)
        if number is None:
            number = self._functions[function] = len(self._functions) + 1
            name = self.text(function[0])
            mapping = self._mapping(_object_text(function))
            self.add(_FUNCTION, _number(1, number) + _number(2, name) + _number(3, name))
            line = _message(4, _number(1, number))
            self.add(_LOCATION, _number(1, number) + _number(2, mapping) + line)
        return number

    def _mapping(self, name: str) -> int:
        number = self._mappings.get(name)
        if number is None:
            number = self._mappings[name] = len(self._mappings) + 1
            self.add(_MAPPING, _number(1, number) + _number(5, self.text(name)) + _number(_HAS_FUNCTIONS, 1))
        return number


def _object_text(function: Function) -> str:
    """The text that pprof shows as the binary of a function: a program, the kernel or a module of it, BPF programs."""
    _, kind, object_ = function
    if kind in {BPF, OWN_BPF}:
        return "[bpf]"
    return f"[{object_ or 'kernel'}]" if kind == KERNEL else object_ or "[no object]"


def _message(field: int, content: bytes) -> bytes:
    return _varint(field << 3 | _BYTES) + _varint(len(content)) + content


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3 | _VARINT) + _varint(value)


def _packed(field: int, values: Iterable[int]) -> bytes:
    return _message(field, b"".join(map(_varint, values)))


def _varint(value: int) -> bytes:
    return bytes(_septets(value))


def _septets(value: int) -> Iterator[int]:
    """Seven bits a byte, the lowest first; all but the last have the highest bit."""
    while value > 0x7F:
        yield value & 0x7F | 0x80
        value >>= 7
    yield value
