"""Everything that is wrong with a profile's tables and levels, found before any of it is used."""

from collections.abc import Iterator, Mapping
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from whyperf.profile.errors import ProfileError, suggestion
from whyperf.profile.factors import factor_named
from whyperf.profile.levels import all_levels, one_level
from whyperf.profile.profile_document import DesignTable, Pipe, ProfileTable, SweepTable


def of_structure(written: Mapping[str, Any], error: ValidationError) -> list[ProfileError]:
    """Pydantic's findings in the words of this program."""
    return [_problem(written, finding) for finding in error.errors()]


def of_factors(written: Mapping[str, Any]) -> list[ProfileError]:
    """Factors that there are not, and levels that are none, of whatever has the structure of a profile."""
    found = list(_wrong_levels(written.get("fixed"), "fixed", several=False))
    sweeps = written.get("sweep")
    for index, sweep in enumerate(sweeps if isinstance(sweeps, list) else ()):
        if not isinstance(sweep, dict):
            continue
        key = f"sweep.{sweep.get('name', index + 1)}"
        found += _wrong_levels(sweep.get("fixed"), f"{key}.fixed", several=False)
        found += _wrong_levels(sweep.get("factors"), f"{key}.factors", several=True)
        excluded = sweep.get("exclude")
        for entry in excluded if isinstance(excluded, list) else ():
            found += _wrong_levels(entry, f"{key}.exclude", several=True)
    return found


def _wrong_levels(table: object, key: str, *, several: bool) -> Iterator[ProfileError]:
    for name, written in table.items() if isinstance(table, dict) else ():
        try:
            factor = factor_named(name)
            if several:
                all_levels(factor, written)
            else:
                one_level(factor, written)
        except ProfileError as error:
            yield error.at("", key)


def _problem(written: Mapping[str, Any], finding: ErrorDetails) -> ProfileError:
    path = _key(written, finding["loc"])
    match finding["type"]:
        case "list_type" if finding["loc"] == ("sweep",):
            problem = 'sweeps are a list; write [[sweep]] with name = "…" in it instead of [sweep] or [sweep.…]'
        case "extra_forbidden":
            problem = f"there is no such key{suggestion(str(finding['loc'][-1]), _known_keys(finding['loc']))}"
        case "dict_type" | "model_type":
            problem = f"{finding['input']!r} does not fit; a table belongs here"
        case "missing":
            problem = "this key is missing; add it"
        case "value_error":
            problem = finding["msg"].removeprefix("Value error, ")
        case "literal_error" if finding["loc"] == ("fleet", "via"):
            known = ", ".join(get_args(Pipe))
            problem = f"a profile names a kind of pipe ({known}), never a command; give a command by --via"
        case "string_pattern_mismatch":
            problem = 'a name has small letters, digits and "-" inside only'
        case _:
            message = finding["msg"]
            problem = f"{finding['input']!r} does not fit: {message[:1].lower()}{message[1:]}"
    return ProfileError("", path, problem)


def _key(written: Mapping[str, Any], location: tuple[int | str, ...]) -> str:
    """`sweep.throughput.trials` instead of `sweep.0.trials`."""
    parts = [str(part) for part in location]
    if len(location) > 1 and location[0] == "sweep" and isinstance(location[1], int):
        sweep = written["sweep"][location[1]]
        name = sweep.get("name") if isinstance(sweep, dict) else None
        parts[1] = name if isinstance(name, str) else str(location[1] + 1)
    return ".".join(parts)


def _known_keys(location: tuple[int | str, ...]) -> set[str]:
    tables: dict[int | str, type[BaseModel]] = {"design": DesignTable, "sweep": SweepTable}
    if len(location) == 1:
        return set(ProfileTable.model_fields)
    table = tables.get(location[0])
    return set(table.model_fields) if table else {"kind"}
