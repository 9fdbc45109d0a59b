"""The documents of a result without what identifies hosts and people.

Of a host, only the facts stay that a figure, a verdict or a proposed command is made from.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from whyperf.plan import LOCAL, MODEL, WATCHED, Plan
from whyperf.plan.plan_document import identify
from whyperf.profile import ProfileError, find, parse, shipped_names
from whyperf.profile.uperf import looks_like_uperf
from whyperf.profile.uperf.tokens import past_comment
from whyperf.profile.write import as_toml
from whyperf.record.export.pseudonyms import Pseudonyms
from whyperf.record.kinds import all_code_words

#: Of a document with a host name: what stays. The list names what stays, so that a new fact does not slip through.
_FACTS = (
    *("hostname", "kernel", "machine", "cpu_model", "cpus", "clock_source", "tsc_hz", "agent_version", "reply"),
    *("congestion_controls", "sysctls", "devices"),
    *("hosts", "parameters", "lines"),
    *("measured_realtime", "levels"),
)
_DROPPED = frozenset({"boot_id", "netns"})
_PLACES = frozenset({"testbed", "loopback", MODEL, WATCHED})
_REMOTE_HOST = re.compile(r"(remotehost=)([^\s\"'$<>]+)", re.IGNORECASE)
_PROFILE = re.compile(r"(?=<profile\b)")
_PROFILE_NAME = re.compile(r"\A(<profile\b[^>]*?\bname=)(\"[^\"]*\"|'[^']*')")
#: The value of a variable of uperf that is no host: a number with a unit, or a word of its language.
_QUANTITY = re.compile(r"\d[\w.%]*")
OWN_PROFILE = "own-profile"
"""The name of a profile that is no shipped one."""
WATCH_COMMAND = "whyperf watch"
"""The part of the command of a watch that stays: its arguments name programs, files and hosts."""


def vocabulary(plan: Plan, documents: Mapping[str, Any]) -> Iterator[str]:
    """The words of a result: names of levels, workloads and sweeps, and keys."""
    for cell in plan.cells:
        yield cell.sweep
        for name, level in cell.factors.items():
            yield name
            if isinstance(level, str):
                yield level
    for workload in plan.workloads.values():
        yield from _strings(workload.model_dump(mode="json"))
    yield from all_code_words()
    yield from _keys(documents)
    yield from (*_PLACES, *_FACTS, LOCAL, "near", "far", "whyperf", "linux", "host", "localhost")


def learn(plan: Plan, profile_text: str, documents: Mapping[str, Any], names: Pseudonyms) -> None:
    """Gives pseudonyms to the hosts and devices that identifying fields name, before any text is rewritten."""
    for document in documents.values():
        _learn_hosts(document, names)
    for host in dict.fromkeys(host for pair in plan.pairs for host in reversed(pair)):
        _host(host, names)
    for found in _REMOTE_HOST.finditer(profile_text) if looks_like_uperf(profile_text) else ():
        _host(found[2], names)
    for value in plan.variables.values():
        if not _QUANTITY.fullmatch(value):
            _host(value, names)
    for cell in plan.cells:
        if cell.watched is not None:
            names.process(cell.watched.program)


def anonymous(value: Any, names: Pseudonyms, key: str = "") -> Any:
    """A document with pseudonyms; `key` is under which it stands."""
    match value:
        case Mapping():
            return _anonymous_table(value, names, key)
        case list():
            return [anonymous(part, names, key) for part in value]
        case str():
            return _anonymous_text(value, names, key)
        case _:
            return value


def _anonymous_text(text: str, names: Pseudonyms, key: str) -> str:
    match key:
        case "hostname":
            return ", ".join(names.host(name) for name in text.split(", "))
        case "device" | "devices":
            return names.device(text)
        case "kernel":
            # What follows the numbers names who built it.
            numbers = re.match(r"\d+(\.\d+)*", text)
            return numbers[0] if numbers else MODEL
        case _:
            return names.text(text)


def _anonymous_table(table: Mapping[str, Any], names: Pseudonyms, key: str) -> dict[str, Any]:
    kept = {name: part for name, part in table.items() if name not in _DROPPED}
    if "hostname" in kept:
        kept = {name: part for name, part in kept.items() if name in _FACTS}
    if kept.get("machine") == "simulated":
        # The model's hosts are data: their names are those of levels.
        of_levels = {"hostname", "kernel"}
        return {name: anonymous(part, names, "" if name in of_levels else name) for name, part in kept.items()}
    if kept.get("note") == "busy_process":
        pid = names.number("process number", int(kept["pid"]))
        return {**kept, "name": names.process(str(kept.get("name"))), "pid": pid}
    if key == "devices" and isinstance(kept.get("name"), str):
        return {**kept, "name": names.device(kept["name"])}
    return {names.text(name): anonymous(part, names, name) for name, part in kept.items()}


def _anonymous_target(plan: Plan, names: Pseudonyms) -> str:
    """The far hosts, each once."""
    far = plan.target.split(",") if plan.fleet is None else dict.fromkeys(plan.fleet.far)
    return ",".join(name if name in {*_PLACES, LOCAL} else names.host(name) for name in far)


def _anonymous_fleet(plan: Plan, names: Pseudonyms) -> dict[str, Any] | None:
    """The hosts of a fleet; groups, addresses and commands of the user are left out."""
    if plan.fleet is None:
        return None
    far = [name if name == LOCAL else names.host(name) for name in plan.fleet.far]
    return {"pattern": plan.fleet.pattern, "far": far, "via": plan.fleet.via if plan.fleet.via.isalpha() else "ssh"}


def anonymous_plan(plan: Plan, names: Pseudonyms) -> Plan:
    """The plan; one of another identifier where it named hosts."""
    document = plan.model_dump(mode="json")
    document |= {
        "target": _anonymous_target(plan, names),
        "fleet": _anonymous_fleet(plan, names),
        "near": [near if near == LOCAL else names.host(near) for near in plan.near],
        "profile": plan.profile if plan.profile in shipped_names() or plan.watched is not None else OWN_PROFILE,
        "about": plan.about if _is_shipped(plan) else "",
        "variables": {name: _variable(value, names) for name, value in plan.variables.items()},
        "warnings": anonymous(list(plan.warnings), names),
        **{part: anonymous(document[part], names) for part in ("workloads", "overrides", "only")},
        "cells": [anonymous_cell(cell, names) for cell in document["cells"]],
    }
    if plan.watched is not None:
        far = plan.watched.far_host
        update: dict[str, Any] = {
            "command": WATCH_COMMAND,
            "selection": {},
            "far_host": None if far is None else names.host(far),
        }
        document["watched"] = plan.watched.model_copy(update=update).model_dump(mode="json")
    made = Plan.model_validate(document, strict=False)
    return made.model_copy(update={"id": identify(made)})


def anonymous_cell(cell: Mapping[str, Any], names: Pseudonyms) -> dict[str, Any]:
    """A cell; of a watched connection with pseudonyms for its program and its ends."""
    kept: dict[str, Any] = anonymous({name: part for name, part in cell.items() if name != "watched"}, names)
    found = cell["watched"]
    if found is None:
        return kept
    process = found["process"]
    changes = {
        "program": names.process(found["program"]),
        "process": None if process is None else names.number("process number", process),
        "local": names.endpoint(found["local"]),
        "remote": names.endpoint(found["remote"]),
    }
    return kept | {"watched": found | changes}


def anonymous_profile(text: str, plan: Plan, names: Pseudonyms) -> str:
    """The profile: a shipped one as it is, another one without its comments and its description."""
    if plan.profile in shipped_names() and find(plan.profile).text == text:
        return text
    if looks_like_uperf(text):
        bare = _REMOTE_HOST.sub(lambda found: found[1] + _host(found[2], names), _without_comments(text))
        # Each part begins with the only tag that can match in it, so that none is searched from many places.
        parts = (_PROFILE_NAME.sub(rf'\1"{OWN_PROFILE}"', part) for part in _PROFILE.split(bare))
        return names.text("".join(parts))
    try:
        profile = parse(text, name=plan.profile, where=plan.profile)
        return names.text(as_toml(replace(profile, about="")))
    except ProfileError:
        # No command reads one that is not a profile any more.
        return 'about = ""\n'


def _without_comments(text: str) -> str:
    """A profile of uperf without what it takes for a comment."""
    parts, at = [], 0
    while (start := text.find("<!--", at)) >= 0:
        parts.append(text[at:start])
        end = past_comment(text, start)
        at = len(text) if end is None else end
    return "".join((*parts, text[at:]))


def _is_shipped(plan: Plan) -> bool:
    return plan.profile in shipped_names() and find(plan.profile).about == plan.about


def _variable(value: str, names: Pseudonyms) -> str:
    return value if _QUANTITY.fullmatch(value) else _host(value, names)


def _host(name: str, names: Pseudonyms) -> str:
    return name if name in _PLACES or name == LOCAL else names.host(name)


def _learn_hosts(value: Any, names: Pseudonyms) -> None:
    match value:
        case {"machine": "simulated"}:
            return
        case Mapping():
            if isinstance(value.get("hostname"), str):
                names.host(value["hostname"])
            for device in value.get("devices") or ():
                if isinstance(device, Mapping) and isinstance(device.get("name"), str):
                    names.device(device["name"])
            for part in value.values():
                _learn_hosts(part, names)
        case list():
            for part in value:
                _learn_hosts(part, names)


def _strings(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case Mapping():
            for part in value.values():
                yield from _strings(part)
        case list():
            for part in value:
                yield from _strings(part)


def _keys(value: Any) -> Iterator[str]:
    match value:
        case Mapping():
            for name, part in value.items():
                yield str(name)
                yield from _keys(part)
        case list():
            for part in value:
                yield from _keys(part)
