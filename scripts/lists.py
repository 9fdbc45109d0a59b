"""The rows that `whyperf list` prints, from the shipped profiles, workloads, schedules, factors and hosts."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any

from whyperf.cli.durations import duration
from whyperf.cli.output.lists import List, Row
from whyperf.plan import MODEL, build, estimate
from whyperf.profile import FACTORS, find, resolve, shipped_names, shipped_workload, shipped_workload_names
from whyperf.profile.schedule import SHIPPED, checked_flows

HOSTS = Path(__file__).parents[1] / "crates" / "sim" / "hosts"
"""The machines and adapters of the model."""


def lists() -> str:
    """The content of `lists.json`."""
    rows = {
        List.PROFILES: profiles(),
        List.WORKLOADS: workloads(),
        List.SCHEDULES: schedules(),
        List.FACTORS: factors(),
        List.HOSTS: hosts(),
    }
    return json.dumps(rows, indent=1, ensure_ascii=False) + "\n"


def workloads() -> list[Row]:
    """Every shipped workload with the factors that it takes."""
    rows: list[Row] = []
    for name in shipped_workload_names():
        workload = shipped_workload(name)
        rows.append(
            {
                "name": name,
                "about": workload.about,
                "metric": workload.metric,
                "told": workload.metric,
                "transports": ", ".join(workload.transports),
                "factors": [factor.name for factor in FACTORS if factor.name in workload.uses],
                "defaults": dict(workload.defaults),
            }
        )
    return rows


def schedules() -> list[Row]:
    """Every shipped schedule with its duration."""
    rows = []
    for schedule in SHIPPED.values():
        flows = checked_flows(schedule, resolve({"schedule": schedule.name}, testbed=True))
        seconds = max(flow.stop_s for flow in flows)
        rows.append(
            {
                "name": schedule.name,
                "time": duration(seconds),
                "seconds": seconds,
                "flows": len(flows),
                "about": schedule.about,
                "factors": [factor.name for factor in FACTORS if factor.name in schedule.uses],
            }
        )
    return rows


def profiles() -> list[Row]:
    """Every shipped profile with its size and duration."""
    rows = []
    for name in shipped_names():
        profile = find(name)
        size = estimate(build(profile, target=MODEL if profile.is_of_model else "testbed"))
        rows.append(
            {
                "name": name,
                "about": profile.about.replace("\n", " "),
                "asks": _first_sentence(profile.about),
                "cells": size.cells,
                "trials": size.trials,
                "payload_bytes": size.payload_bytes or None,
                "seconds": round(size.seconds),
                "time": duration(size.seconds),
            }
        )
    return rows


def _first_sentence(text: str) -> str:
    """Up to the first full stop that ends a line or stands before a space and a capital."""
    return re.split(r"(?<=[.:])\s+(?=[A-Z])", " ".join(text.split()), maxsplit=1)[0]


def factors() -> list[Row]:
    """Every factor."""
    return [
        {
            "name": factor.name,
            "default": factor.default,
            "unit": factor.unit,
            "levels": factor.allowed(),
            "testbed": factor.testbed,
            "help": factor.help,
        }
        for factor in FACTORS
    ]


def hosts() -> list[Row]:
    """Every host that `--hosts` of the model can name: each machine with each adapter and driver for it."""
    files = sorted(path for path in HOSTS.glob("*.toml") if not path.name.endswith(".sets.toml"))
    parts: dict[str, dict[str, Any]] = {}
    for path in files:
        part = tomllib.loads(path.read_text())
        parts[part["name"]] = part
    machines = [part for part in parts.values() if part["part"] == "machine"]
    adapters = [_with_base(part, parts) for part in parts.values() if part["part"] == "adapter"]
    return [
        {
            "name": f"{machine['name']}+{adapter['name']}{driver}",
            "system": machine["system"],
            "link": adapter["values"]["link"]["value"],
            "about": f"{machine['about']}. {adapter['about']}.",
        }
        for machine in machines
        for adapter in adapters
        if machine["system"] in adapter["systems"]
        for driver in _drivers(adapter, machine)
    ]


def _drivers(adapter: dict[str, Any], machine: dict[str, Any]) -> list[str]:
    """The parts after the adapter in a host's name: one for each driver, or nothing where the adapter has none."""
    if "driver" not in adapter:
        return [""]
    return [f"@{driver['version']}" for driver in adapter["driver"] if driver["machine"] == machine["name"]]


def _with_base(adapter: dict[str, Any], parts: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """An adapter with what it takes over from the one that it is based on."""
    base = parts.get(adapter.get("base", ""), {"values": {}})
    return base | adapter | {"values": base["values"] | adapter["values"]}
