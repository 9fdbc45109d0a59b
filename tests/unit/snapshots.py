"""Whole outcomes, stored as JSON and compared value by value.

`SNAPSHOTS=write python -m pytest FILE` stores what a test file compares; read the difference before you commit it.
"""

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from pydantic_core import to_jsonable_python

#: Figures are the same when they differ by no more than this share, which is what another order of sums makes.
SAME = 1e-11
#: Longer sequences of numbers are stored as their count, first and last value, and two sums.
MAX_VALUES = 6
IS_WRITING = os.environ.get("SNAPSHOTS") == "write"


class Snapshots:
    """The stored outcomes of one test file, by the name of the case."""

    def __init__(self, path: Path) -> None:
        """`path` is the JSON file."""
        self._path = path

    def check(self, name: str, value: object) -> None:
        """Compares with what is stored, or stores it."""
        found = plain(value)
        if IS_WRITING:
            self._stored[name] = found
            lines = (
                f"{json.dumps(key)}: {json.dumps(case, ensure_ascii=False)}"
                for key, case in sorted(self._stored.items())
            )
            self._path.write_text("{\n" + ",\n".join(lines) + "\n}\n")
            return
        if found_differences := list(differences(self._stored.get(name), found)):
            pytest.fail("\n".join(map(str, found_differences)), pytrace=False)

    @cached_property
    def _stored(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self._path.read_text()) if self._path.exists() else {}
        return found


def plain(value: object) -> Any:
    """Anything that the analysis returns, as JSON has it. A set has no order: give it sorted."""
    return _short(to_jsonable_python(value, fallback=_of_libraries, inf_nan_mode="strings"))


def _of_libraries(value: object) -> object:
    if isinstance(value, pl.DataFrame):
        return value.to_dict(as_series=False)
    if isinstance(value, pl.Series):
        return value.to_list()
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else str(value)


def _short(value: Any) -> Any:
    """Without what is null or empty: a key that is not there says the same."""
    if isinstance(value, dict):
        return {key: _short(part) for key, part in value.items() if part is not None and part not in ([], {})}
    if isinstance(value, float):
        return float(f"{value:.12g}")
    if isinstance(value, list):
        return _summed(value) if len(value) > MAX_VALUES and _is_numbers(value) else [_short(part) for part in value]
    return value


def _is_numbers(values: Sequence[Any]) -> bool:
    return all(value is None or isinstance(value, int | float) for value in values)


def _summed(values: Sequence[float | None]) -> dict[str, Any]:
    known = [float(value) for value in values if value is not None]
    placed = sum(place * value for place, value in enumerate(known, start=1))
    return {
        "count": len(values),
        "known": len(known),
        "ends": [values[0], values[-1]],
        "sums": _short([sum(known), placed]),
    }


def differences(before: Any, now: Any, where: str = "", added: Set[str] = frozenset()) -> Iterator[str]:
    """Where two documents differ in keys, types or figures; keys in `added` may be new."""
    if type(before) is not type(now):
        yield f"{where}: {before!r} → {now!r}"
    elif isinstance(before, Mapping):
        if changed := before.keys() - now.keys() | now.keys() - before.keys() - added:
            yield f"{where}: keys {sorted(changed)}"
        for key in before.keys() & now.keys():
            yield from differences(before[key], now[key], f"{where}/{key}", added)
    elif isinstance(before, list):
        if len(before) != len(now):
            yield f"{where}: {len(before)} → {len(now)} values"
        for number, (old, new) in enumerate(zip(before, now, strict=False)):
            yield from differences(old, new, f"{where}/{number}", added)
    elif before != (pytest.approx(now, rel=SAME, abs=0) if isinstance(before, float) else now):
        yield f"{where}: {before!r} → {now!r}"


def outcome(action: Callable[..., object], *errors: type[Exception]) -> Any:
    """What a call returns, or the text of one of `errors`."""
    try:
        return plain(action())
    except errors as error:
        return f"{type(error).__name__}: {error}"
