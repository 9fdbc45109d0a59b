"""Writes a profile as TOML, with everything that a command line changed in it."""

import json
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from whyperf.foreign import parse_toml, read_text
from whyperf.profile.errors import ProfileError
from whyperf.profile.profile_document import Design, Profile, Sweep
from whyperf.profile.uperf import looks_like_uperf
from whyperf.profile.workload import Workload


def as_toml(profile: Profile) -> str:
    """The text of a profile that asks the same; comments of the original are lost.

    Raises:
        ProfileError: it is one of uperf, whose workloads have no TOML.
    """
    if looks_like_uperf(profile.text):
        raise ProfileError(profile.where, "", "this is a profile of uperf, which has no form in TOML; use it as it is")
    return "\n".join(_lines(profile)) + "\n"


def _lines(profile: Profile) -> Iterator[str]:
    yield f"about = {_value(profile.about)}"
    yield f"seed = {profile.seed}"
    if profile.kind != "auto":
        yield from _table("testbed", {"kind": profile.kind})
    yield from _table("fixed", profile.fixed)
    yield from _table("design", _design(profile.design))
    for name, table in _own_tables(profile).items():
        yield from _table(name, table)
    for sweep in profile.sweeps if len(profile.sweeps) > 1 or not _is_empty(profile.sweeps[0]) else ():
        yield from ("", "[[sweep]]", f"name = {_value(sweep.name)}")
        for name in ("on", "trials", "log_trials", "stage_trials"):
            given = getattr(sweep, name)
            if given is not None:
                yield f"{name} = {_value(given)}"
        if sweep.exclude:
            yield f"exclude = {_value(list(sweep.exclude))}"
        yield from _table("sweep.fixed", sweep.fixed)
        yield from _table("sweep.factors", sweep.levels)


def _is_empty(sweep: Sweep) -> bool:
    return not sweep.fixed and not sweep.levels


def _design(design: Design) -> dict[str, object]:
    rule: dict[str, object] = {"trials": design.trials}
    if design.trials is None:
        rule = {name: getattr(design, name) for name in ("trials_min", "trials_max", "interval_width")}
    names = ("pause_ms", "log_trials", "stage_trials", "profile_hz")
    more = {name: number for name in names if (number := getattr(design, name))}
    return rule | more


def folder_of(profile: Profile) -> Path | None:
    """Where files stand that its workload names, as `as_toml` writes it; None of a profile that was in no file."""
    chosen = _chosen(profile)
    where = Path(profile.where if chosen is None or not chosen.where else chosen.where)
    return where.parent if where.is_file() else None


def _chosen(profile: Profile) -> Workload | None:
    return profile.workloads.get(str(profile.fixed.get("workload")))


def _own_tables(profile: Profile) -> dict[str, Mapping[str, Any]]:
    """The workload and the schedule that are no shipped ones, and the hosts of a fleet, as their file has them."""
    try:
        written = parse_toml(profile.text)
    except tomllib.TOMLDecodeError:
        written = {}
    found: dict[str, Mapping[str, Any]] = {
        name: written[name] for name in ("workload", "schedule", "fleet") if name in written
    }
    chosen = _chosen(profile)
    if chosen is not None and chosen.where:
        found["workload"] = {"name": chosen.name} | parse_toml(read_text(Path(chosen.where), is_users=True))
    return found


def _table(name: str, table: Mapping[str, Any]) -> Iterator[str]:
    if table:
        yield from ("", f"[{name}]", *(f"{_key(key)} = {_value(value)}" for key, value in table.items()))


def _key(key: str) -> str:
    return key if key.replace("_", "").replace("-", "").isalnum() and key.isascii() else _value(key)


def _value(value: object) -> str:
    match value:
        case bool():
            return str(value).lower()
        case int() | float():
            return repr(value)
        case str():
            # JSON's escapes are TOML's, but for DEL, which TOML wants escaped.
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
        case Mapping():
            return "{ " + ", ".join(f"{_key(key)} = {_value(entry)}" for key, entry in value.items()) + " }"
        case list() | tuple():
            return f"[{', '.join(map(_value, value))}]"
    raise TypeError(f"no TOML for {type(value).__name__}")
