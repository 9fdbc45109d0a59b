"""Reads a profile: TOML, then structure and every factor; all that is wrong there is reported at once.

Everything that is wrong with a profile's tables and levels, found before any of it is used.
"""

import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from whyperf.foreign import parse_toml, read_bytes
from whyperf.profile.errors import ProfileError, joined, repeated, suggestion
from whyperf.profile.factors import Level, factor_named
from whyperf.profile.levels import all_levels, one_level
from whyperf.profile.profile_document import (
    Design,
    DesignTable,
    Factors,
    Pipe,
    Profile,
    ProfileTable,
    Sweep,
    SweepTable,
)
from whyperf.profile.schedule import Schedule, read_schedule
from whyperf.profile.uperf import looks_like_uperf
from whyperf.profile.workload import Workload, read_workload, shipped_workload_names


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


NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def load(path: Path) -> Profile:
    """The profile in a file, whyperf's or uperf's by its content; its name is the file's without `.toml`.

    Raises:
        ProfileError: when it cannot be read or used.
    """
    try:
        content = read_bytes(path, is_users=True)
        # uperf's profiles are bytes, and their comments of any encoding; editors put a byte order mark first.
        is_uperfs = content.lstrip().startswith(b"<") and not _is_utf8(content)
        text = content.decode("latin-1" if is_uperfs else "utf-8-sig")
    except UnicodeDecodeError:
        raise ProfileError(str(path), "", "this is not a text file; a profile is TOML in UTF-8") from None
    except OSError as error:
        raise ProfileError(str(path), "", f"cannot be read: {error.strerror}") from None
    if not text.strip():
        raise ProfileError(str(path), "", "the file is empty; a profile states factors, such as [fixed] duration_s = 2")
    return parse(text, name=path.stem, where=str(path), folder=path.parent)


def _is_utf8(content: bytes) -> bool:
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True


def parse(text: str, *, name: str, where: str, folder: Path | None = None) -> Profile:
    """The profile in a text; `folder` is where files of values stand, None if it may name none, as that of a result.

    Raises:
        ProfileError: naming `where`, the key and the remedy.
    """
    if not NAME.fullmatch(name):
        raise ProfileError(
            where, "", f'"{name}" cannot name results; rename the file to letters, digits, ".", "_", "-"'
        )
    if looks_like_uperf(text):
        from whyperf.profile.uperf.load import profile_of  # noqa: PLC0415 - few profiles are uperf's

        return profile_of(text, name=name, where=where, environment=os.environ)
    try:
        written = parse_toml(text)
    except tomllib.TOMLDecodeError as error:
        raise ProfileError(where, "", f"this is not valid TOML: {error}") from None
    table = _table(written, where, folder)
    try:
        own = _own_workload(table, folder)
        fixed = _fixed(table.fixed, "fixed")
        if own is not None and "workload" not in fixed:
            fixed["workload"] = own.name
        schedule = _own_schedule(table)
        if schedule is not None and "schedule" not in fixed:
            fixed["schedule"] = schedule.name
        profile = Profile(
            name=name,
            where=where,
            text=text,
            about=table.about.strip(),
            seed=table.seed,
            kind=table.testbed.kind,
            fixed=fixed,
            design=_design(table.design),
            sweeps=_sweeps(table),
            workloads={} if own is None else {own.name: own},
            schedules={} if schedule is None else {schedule.name: schedule},
            fleet=table.fleet,
        )
        _refuse_testbed_factors(profile)
    except ProfileError as error:
        raise error.at(where) from None
    return profile


def _table(written: Mapping[str, Any], where: str, folder: Path | None) -> ProfileTable:
    """The file's tables, in which every factor and level exists.

    Raises:
        ProfileError: with all mistakes.
    """
    wrong: list[ProfileError] = []
    try:
        table = ProfileTable.model_validate(written)
    except ValidationError as error:
        wrong = of_structure(written, error)
    wrong += of_factors(written)
    if wrong:
        # What the profile carries is read on its own; only here it would come after all else is right.
        carried = (("workload", partial(read_workload, folder=folder)), ("schedule", read_schedule))
        for name, read in carried:
            try:
                if isinstance(written.get(name), dict):
                    read(written[name])
            except ProfileError as error:
                wrong.append(error.at("", name))
        raise joined(wrong).at(where) from None
    return table


def _own_workload(table: ProfileTable, folder: Path | None) -> Workload | None:
    """The workload that the profile carries; files that it names stand next to the profile."""
    if table.workload is None:
        return None
    try:
        workload = read_workload(table.workload, folder=folder)
    except ProfileError as error:
        raise error.at("", "workload") from None
    if workload.name in shipped_workload_names():
        raise ProfileError("", "workload.name", f"{workload.name} is a shipped workload; choose another name")
    return workload


def _own_schedule(table: ProfileTable) -> Schedule | None:
    """The schedule that the profile carries."""
    if table.schedule is None:
        return None
    try:
        return read_schedule(table.schedule)
    except ProfileError as error:
        raise error.at("", "schedule") from None


def _refuse_testbed_factors(profile: Profile) -> None:
    """Loopback has no MTU or offloads of its own to set."""
    if profile.kind != "loopback":
        return
    given = {f"fixed.{name}": name for name in profile.fixed}
    for sweep in profile.sweeps:
        given |= {f"sweep.{sweep.name}.fixed.{name}": name for name in sweep.fixed}
        given |= {f"sweep.{sweep.name}.factors.{name}": name for name in sweep.levels}
    for key, name in given.items():
        if factor_named(name).testbed:
            raise ProfileError("", key, 'loopback has no such setting; take testbed kind "veth", or remove the factor')


def _design(table: DesignTable) -> Design:
    more = {name: getattr(table, name) for name in ("pause_ms", "log_trials", "stage_trials", "profile_hz")}
    if table.interval_width is None or table.trials_max is None:
        return Design(trials=table.trials or 1, **more)
    return Design(None, table.trials_min or 3, table.trials_max, table.interval_width, **more)


def _sweeps(table: ProfileTable) -> tuple[Sweep, ...]:
    """The sweeps; a profile without any is one cell named `main`."""
    if not table.sweep:
        return (Sweep("main", {}, {}),)
    if name := repeated(sweep.name for sweep in table.sweep):
        problem = "two sweeps have this name; rename one (a sweep without a name is main)"
        raise ProfileError("", f"sweep.{name}", problem)
    return tuple(_sweep(sweep) for sweep in table.sweep)


def _sweep(table: SweepTable) -> Sweep:
    key = f"sweep.{table.name}"
    if not table.factors and not table.fixed:
        raise ProfileError("", key, "the sweep is empty; give it factors or fixed, or remove it")
    fixed = _fixed(table.fixed, f"{key}.fixed")
    levels = {name: _levels(name, written, f"{key}.factors") for name, written in table.factors.items()}
    for name in fixed.keys() & levels.keys():
        raise ProfileError("", f"{key}.factors.{name}", "the sweep fixes this factor too; keep one of the two")
    exclude = []
    for entry in table.exclude:
        if not entry:
            raise ProfileError("", f"{key}.exclude", "an empty combination would leave out every cell; remove it")
        exclude.append({name: _levels(name, written, f"{key}.exclude") for name, written in entry.items()})
    own = {name: getattr(table, name) for name in ("trials", "log_trials", "stage_trials", "on")}
    return Sweep(table.name, fixed, levels, exclude=tuple(exclude), **own)


def _fixed(table: Mapping[str, Any], key: str) -> Factors:
    fixed = {}
    for name, written in table.items():
        try:
            fixed[name] = one_level(factor_named(name), written)
        except ProfileError as error:
            raise error.at("", key) from None
    return fixed


def _levels(name: str, written: object, key: str) -> tuple[Level, ...]:
    try:
        return all_levels(factor_named(name), written)
    except ProfileError as error:
        raise error.at("", key) from None
