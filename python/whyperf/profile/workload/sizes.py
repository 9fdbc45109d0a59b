"""The number of bytes that an operation moves: always the same, uniform, by weight, in sequence, from a file."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from whyperf.profile.errors import ProfileError
from whyperf.profile.workload.values import LARGEST_COUNT, Value, constant, lines_of, size_bytes
from whyperf.wire import SizeUniform, SizeWeighted

FORMS = (
    '64, "64K", "=factor", { low = 1, high = 1024 }, { weighted = [[64, 9], [1024, 1]] }, { sequence = [100, 1400] } '
    'or { file = "sizes.txt" }'
)


def size_value(key: str, written: object, folder: Path | None) -> Value:
    """A size as JSON (`Size` in crates/schema/src/workload.rs).

    Raises:
        ProfileError: naming `key`.
    """
    if isinstance(written, list) or written is None:
        raise ProfileError("", key, f"a size belongs here: {FORMS}")
    if not isinstance(written, Mapping):
        fixed = size_bytes(key, written)
        return Value(lambda factors: {"by": "fixed", "bytes": fixed.of(factors)}, fixed.uses)
    match set(written):
        case keys if keys == {"low", "high"}:
            return _uniform(key, written["low"], written["high"])
        case keys if keys == {"weighted"}:
            return _weighted(f"{key}.weighted", written["weighted"])
        case keys if keys == {"sequence"}:
            return _sequence(f"{key}.sequence", written["sequence"])
        case keys if keys == {"file"} and isinstance(written["file"], str):
            return _from_file(f"{key}.file", written["file"], folder)
    raise ProfileError("", key, f"{{{', '.join(map(str, written))}}} is no form of a size; write {FORMS}")


def _uniform(key: str, low: object, high: object) -> Value:
    least, most = size_bytes(f"{key}.low", low), size_bytes(f"{key}.high", high)

    def of(factors: Mapping[str, Any]) -> SizeUniform:
        low_bytes, high_bytes = least.of(factors), most.of(factors)
        if low_bytes > high_bytes:
            raise ProfileError("", key, f"low ({low_bytes}) is above high ({high_bytes}); swap them")
        return {"by": "uniform", "low_bytes": low_bytes, "high_bytes": high_bytes}

    return Value(of, least.uses | most.uses)


def _weighted(key: str, written: object) -> Value:
    if not isinstance(written, list) or not written:
        raise ProfileError("", key, "it takes pairs of size and weight, such as [[64, 9], [1024, 1]]")
    values: list[tuple[Value, int]] = []
    for number, pair in enumerate(written, start=1):
        if not isinstance(pair, list) or len(pair) != 2:
            raise ProfileError("", f"{key}.{number}", f"{pair!r} is not a pair of size and weight, such as [64, 9]")
        values.append((size_bytes(f"{key}.{number}", pair[0]), _weight(f"{key}.{number}", pair[1])))
    if sum(weight for _, weight in values) > LARGEST_COUNT:
        raise ProfileError("", key, f"the weights add up to over {LARGEST_COUNT}; write smaller ones")
    uses = frozenset().union(*(value.uses for value, _ in values))

    def of(factors: Mapping[str, Any]) -> SizeWeighted:
        return {
            "by": "weighted",
            "values": [{"bytes": value.of(factors), "weight": weight} for value, weight in values],
        }

    return Value(of, uses)


def _sequence(key: str, written: object) -> Value:
    if not isinstance(written, list) or not written:
        raise ProfileError("", key, "it takes a list of sizes, such as [100, 1400]")
    values = [size_bytes(f"{key}.{number}", size) for number, size in enumerate(written, start=1)]
    uses = frozenset().union(*(value.uses for value in values))
    return Value(lambda factors: {"by": "sequence", "bytes": [value.of(factors) for value in values]}, uses)


def _from_file(key: str, name: str, folder: Path | None) -> Value:
    """A size a line is a sequence; a size and a weight a line is a distribution."""
    rows = lines_of(key, name, folder)
    widths = {len(row) for row in rows}
    if widths == {1}:
        return constant({"by": "sequence", "bytes": [_line_size(key, row) for row in rows]})
    if widths == {2}:
        values = [{"bytes": _line_size(key, row), "weight": _weight(key, _number(row[1]))} for row in rows]
        return constant({"by": "weighted", "values": values})
    raise ProfileError("", key, f"{name} mixes forms; write a size a line, or a size and a weight a line")


def _line_size(key: str, row: Sequence[str]) -> int:
    size: int = size_bytes(key, row[0]).of({})
    return size


def _number(word: str) -> int | str:
    return int(word) if word.isdecimal() else word


def _weight(key: str, written: object) -> int:
    if isinstance(written, bool) or not isinstance(written, int) or not 1 <= written <= LARGEST_COUNT:
        raise ProfileError("", key, f"{written!r} is not a weight; write a whole number from 1")
    return written
