"""The rows that `whyperf list` prints, from the shipped profiles, workloads, schedules and factors."""

import json
import re

from whyperf.cli.durations import duration
from whyperf.cli.output.lists import List, Row
from whyperf.plan import MODEL, build, estimate
from whyperf.profile import FACTORS, find, resolve, shipped_names, shipped_workload, shipped_workload_names
from whyperf.profile.schedule import SHIPPED, checked_flows


def lists() -> str:
    """The content of `lists.json`."""
    rows = {
        List.PROFILES: profiles(),
        List.WORKLOADS: workloads(),
        List.SCHEDULES: schedules(),
        List.FACTORS: factors(),
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
