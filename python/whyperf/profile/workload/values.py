"""Values of a workload as people write them: sizes, times, counts, and references to factors.

Each `*_value` function reads what was written once, with its errors, and returns a `Value`, which gives the
number of a cell from the cell's factors.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from whyperf.foreign import is_meant, open_folder_without_links, read_text
from whyperf.profile.errors import ProfileError, suggestion
from whyperf.profile.factor import LARGEST_BYTES, LARGEST_WINDOW_BYTES, Level
from whyperf.profile.factors import BY_NAME, LISTED_BY
from whyperf.profile.units import with_unit

Number = Callable[[Mapping[str, Level]], Any]

SIZE = re.compile(r"(\d{1,15}(?:\.\d{1,6})?)\s*([KMG]?)(?:i?B|bytes)?", re.IGNORECASE)
SIZE_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30}
TIME = re.compile(r"(\d{1,15}(?:\.\d{1,9})?)\s*([a-zµ]+)")
TIME_UNITS_NS = {"ns": 1, "us": 10**3, "µs": 10**3, "ms": 10**6, "s": 10**9, "min": 60 * 10**9, "h": 3600 * 10**9}
LONGEST_NS = 7 * 24 * 3600 * 10**9
LARGEST_COUNT = 2**32 - 1
#: Lines of a file of sizes or instants at most; the whole list goes to the agents.
MAX_LINES = 1_000_000


@dataclass(frozen=True)
class Value:
    """A value that may depend on factors: `uses` names them."""

    of: Number
    uses: frozenset[str] = frozenset()


def constant(value: Any) -> Value:
    """The same in every cell."""
    return Value(lambda _: value)


def size_bytes(key: str, written: object, *, largest: int = LARGEST_WINDOW_BYTES) -> Value:
    """A number of bytes: `64`, `"64K"`, or a factor with bytes."""
    return _whole(key, written, "a size", {"bytes"}, lambda text: _size(key, text), 1, largest)


def count_of(key: str, written: object, *, low: int = 1, high: int = LARGEST_COUNT) -> Value:
    """A number of things: `16`, or a factor that counts."""
    units = {"", "connections", "messages", "transactions", "datagrams", "threads"}

    def refuse(text: str) -> int:
        raise ProfileError("", key, f'"{text}" is not a number; write it without quotes, or a reference "=factor"')

    return _whole(key, written, "a count", units, refuse, low, high)


def time_ns(key: str, written: object, *, low: int = 0) -> Value:
    """A time: `"10 ms"`, or a factor that is one."""
    if isinstance(written, str) and written.startswith("="):
        factor = _referred(key, written)
        scale = TIME_UNITS_NS.get(BY_NAME[factor].unit)
        if scale is None:
            raise ProfileError(
                "", key, f'"{written}" is not a time; refer to a factor that is one, such as "=think_us"'
            )
        return Value(
            lambda factors: _bounded(key, round(float(_level(key, factor, factors)) * scale), low, LONGEST_NS),
            frozenset({factor}),
        )
    if not isinstance(written, str):
        raise ProfileError("", key, f'{written} has no unit; write a time such as "{written} us" or "{written} ms"')
    return constant(_bounded(key, _time(key, written), low, LONGEST_NS))


def rate_bps(key: str, written: object) -> Value:
    """A rate in bit/s; 0 for `default`, as fast as it can."""
    if isinstance(written, str) and written.startswith("="):
        factor = _referred(key, written)
        if BY_NAME[factor].unit != "bit/s":
            raise ProfileError("", key, f'"{written}" is not a rate in bit/s; refer to "=write_rate_bps"')
        return Value(
            lambda factors: 0 if _level(key, factor, factors) == "default" else int(_level(key, factor, factors)),
            frozenset({factor}),
        )
    rate = _scaled_rate(written, "bit/s")
    if isinstance(rate, bool) or not isinstance(rate, int) or rate < 0:
        problem = f'{written!r} is not a rate; write bit/s as a number or "100M", 0 for as fast as it can'
        raise ProfileError("", key, problem)
    return constant(rate)


def rate_per_s(key: str, written: object) -> Value:
    """Executions in a second; None for `default`."""
    if isinstance(written, str) and written.startswith("="):
        factor = _referred(key, written)
        if BY_NAME[factor].unit != "transactions/s":
            raise ProfileError("", key, f'"{written}" is not a rate of transactions; refer to "=offered_rate_per_s"')
        return Value(
            lambda factors: None if _level(key, factor, factors) == "default" else float(_level(key, factor, factors)),
            frozenset({factor}),
        )
    rate = _scaled_rate(written, "transactions/s")
    if isinstance(rate, bool) or not isinstance(rate, int | float) or not 0.001 <= rate <= 1e9:
        problem = f'{written!r} is not a rate; write executions in a second as a number or "20K", from 0.001 to 1e9'
        raise ProfileError("", key, problem)
    return constant(float(rate))


def _scaled_rate(written: object, unit: str) -> object:
    """A number for `"100M"`; anything else as it is."""
    rate = with_unit(written, unit) if isinstance(written, str) else None
    return written if rate is None or rate.denominator != 1 else int(rate)


def switch(key: str, written: object) -> Value:
    """Yes or no, or a factor that is."""
    if isinstance(written, str) and written.startswith("="):
        factor = _referred(key, written)
        if BY_NAME[factor].kind != "bool":
            raise ProfileError("", key, f'"{written}" is not true or false; refer to such a factor')
        return Value(lambda factors: _level(key, factor, factors), frozenset({factor}))
    if not isinstance(written, bool):
        raise ProfileError("", key, f"{written!r} is neither true nor false")
    return constant(written)


def word_of(key: str, written: object, choices: tuple[str, ...]) -> Value:
    """One of some words, or a factor that chooses one."""
    if isinstance(written, str) and written.startswith("="):
        factor = _referred(key, written)
        if not set(BY_NAME[factor].choices) <= {*choices, "auto"}:
            raise ProfileError("", key, f'"{written}" does not choose one of {", ".join(choices)}')
        return Value(lambda factors: _level(key, factor, factors), frozenset({factor}))
    if not isinstance(written, str) or written not in choices:
        raise ProfileError("", key, f"{written!r} is unknown{suggestion(str(written), choices)}")
    return constant(written)


def lines_of(key: str, name: str, folder: Path | None) -> list[list[str]]:
    """The words of each line of a file below the folder of the workload; `#` begins a comment.

    The far host gets the numbers, and the workload may be somebody else's: another file of the user is not read.

    Raises:
        ProfileError: there is no folder; it lies elsewhere or is hidden, cannot be read, is empty or too long.
    """
    if folder is None:
        problem = f"{name} is not read, as only a profile or workload in a file reads files; write the values here"
        raise ProfileError("", key, problem)
    below = folder.resolve()
    path = (below / name).resolve()
    if not is_meant(path, below):
        problem = f"{path} is not below the folder of the workload, or is hidden; copy it next to the workload"
        raise ProfileError("", key, problem)
    try:
        with open_folder_without_links(path.parent) as parent:
            lines = read_text(Path(path.name), folder=parent).splitlines()
    except UnicodeDecodeError:
        raise ProfileError("", key, f"{path} is not a text file; write a value a line") from None
    except OSError as error:
        raise ProfileError(
            "", key, f"{path} cannot be read: {error.strerror}; name a file next to the workload"
        ) from None
    rows = [row for line in lines if (row := line.partition("#")[0].split())]
    if not rows:
        raise ProfileError("", key, f"{path} has no values; write one a line")
    if len(rows) > MAX_LINES:
        raise ProfileError("", key, f"{path} has over {MAX_LINES} lines; shorten it")
    return rows


def _whole(  # noqa: PLR0917 - each caller fills all of them
    key: str, written: object, what: str, units: set[str], read: Callable[[str], int], low: int, high: int
) -> Value:
    """A whole number, read from a text by `read`, or a whole factor with one of `units`."""
    if isinstance(written, str) and written.startswith("="):
        factor = _referred(key, written)
        found = BY_NAME[factor]
        if found.kind != "int" or found.unit not in units:
            unit = f" (it is in {found.unit})" if found.unit else ""
            raise ProfileError("", key, f'"{written}" is not {what}{unit}; refer to another factor')
        return Value(
            lambda factors: _bounded(key, _int(key, written, _level(key, factor, factors)), low, high),
            frozenset({factor}),
        )
    number = read(written) if isinstance(written, str) else written
    if isinstance(number, bool) or not isinstance(number, int):
        raise ProfileError("", key, f"{written!r} is not {what}; write a whole number")
    return constant(_bounded(key, number, low, high))


def _int(key: str, reference: str, level: Level) -> int:
    """A factor's level where only a number makes sense."""
    if isinstance(level, bool) or not isinstance(level, int):
        raise ProfileError("", key, f'"{reference}" is "{level}" here; set {reference.removeprefix("=")} to a number')
    return level


def _bounded(key: str, number: int, low: int, high: int) -> int:
    if not low <= number <= high:
        most = f" to {high}" if high < LARGEST_BYTES else " or more"
        raise ProfileError("", key, f"{number} is out of bounds; it takes {low}{most}")
    return number


def _level(key: str, factor: str, factors: Mapping[str, Level]) -> Level:
    """The factor's level; phases and the testbed's settings are not in every cell."""
    if factor not in factors:
        raise ProfileError("", key, f'"={factor}" has no value in this cell; write a value instead')
    return factors[factor]


def _referred(key: str, written: str) -> str:
    name = written.removeprefix("=")
    if name not in BY_NAME:
        raise ProfileError("", key, f'"{written}" names no factor{suggestion(name, BY_NAME, listed_by=LISTED_BY)}')
    return name


def _size(key: str, text: str) -> int:
    found = SIZE.fullmatch(text.strip())
    if found is None:
        problem = f'"{text}" is not a size; write bytes, or K, M and G for powers of 1024, such as "64K"'
        raise ProfileError("", key, problem)
    return (
        round(float(found[1]) * SIZE_UNITS[found[2].upper()])
        if "." in found[1]
        else (int(found[1]) * SIZE_UNITS[found[2].upper()])
    )


def _time(key: str, text: str) -> int:
    found = TIME.fullmatch(text.strip())
    if found is None or found[2] not in TIME_UNITS_NS:
        problem = f'"{text}" is not a time; write a number with one of the units {", ".join(TIME_UNITS_NS)}'
        raise ProfileError("", key, problem)
    return round(float(found[1]) * TIME_UNITS_NS[found[2]])
