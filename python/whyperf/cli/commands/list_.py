"""`whyperf list`: the shipped profiles, the workloads, the schedules, and the factors."""

import re
from collections.abc import Mapping
from typing import Annotated

import typer
from rich import box
from rich.console import Console
from rich.table import Table

from whyperf.cli.exits import DONE
from whyperf.cli.streams import print_json

NAME = "list"
EXAMPLE = "Examples: whyperf list · whyperf list --workloads · whyperf list --schedules · whyperf list --factors"


PROFILE_COLUMNS = {"name": "Profile", "cells": "Cells", "trials": "Trials", "time": "Time", "asks": "What it asks"}
WORKLOAD_COLUMNS = {"name": "Workload", "transports": "Over", "metric": "Metric", "about": "What the application does"}
SCHEDULE_COLUMNS = {"name": "Schedule", "time": "Time", "flows": "Flows", "about": "When flows are at work"}
FACTOR_COLUMNS = {"name": "Factor", "default": "Default", "levels": "Levels", "help": "What it is"}


def command(
    factors: Annotated[bool, typer.Option("--factors", help="List the factors: what a profile can set.")] = False,
    workloads: Annotated[
        bool, typer.Option("--workloads", help="List the workloads: what an application does.")
    ] = False,
    schedules: Annotated[
        bool, typer.Option("--schedules", help="List the schedules: when flows start and stop.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> int:
    """Lists the shipped profiles with their size and duration, and the workloads, schedules or factors."""
    if factors:
        rows, columns = _factors(), FACTOR_COLUMNS
    elif workloads:
        rows, columns = _workloads(), WORKLOAD_COLUMNS
    elif schedules:
        rows, columns = _schedules(), SCHEDULE_COLUMNS
    else:
        rows, columns = _profiles(), PROFILE_COLUMNS
    if json:
        print_json(rows)
        return DONE
    _print(rows, columns)
    if not (factors or workloads or schedules):
        _print(_workloads(), WORKLOAD_COLUMNS)
    return DONE


def _workloads() -> list[dict[str, object]]:
    from whyperf.profile import FACTORS, shipped_workload, shipped_workload_names  # noqa: PLC0415

    rows: list[dict[str, object]] = []
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


def _schedules() -> list[dict[str, object]]:
    from whyperf.cli.durations import duration  # noqa: PLC0415 - keeps help and completion quick
    from whyperf.profile import FACTORS, resolve  # noqa: PLC0415
    from whyperf.profile.schedule import SHIPPED, checked_flows  # noqa: PLC0415

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


def _profiles() -> list[dict[str, object]]:
    from whyperf.cli.durations import duration  # noqa: PLC0415 - keeps help and completion quick
    from whyperf.plan import MODEL, build, estimate  # noqa: PLC0415
    from whyperf.profile import find, shipped_names  # noqa: PLC0415

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


def _factors() -> list[dict[str, object]]:
    from whyperf.profile import FACTORS  # noqa: PLC0415

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


def _print(rows: list[dict[str, object]], columns: Mapping[str, str]) -> None:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for key, heading in columns.items():
        number = bool(rows) and isinstance(rows[0][key], int) and key != "default"
        table.add_column(heading, justify="right" if number else "left", no_wrap=key in {"name", "time", "metric"})
    for row in rows:
        table.add_row(*(_text(row[key]) for key in columns))
    Console(highlight=False, markup=False).print(table)


def _text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:,}" if isinstance(value, int) else str(value)
