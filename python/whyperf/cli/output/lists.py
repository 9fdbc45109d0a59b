"""Prints what is shipped: profiles, workloads, schedules and factors; and the hosts of the model.

The rows are in `lists.json`, which `make schemas` writes: planning every shipped profile for its size takes a second.
"""

import json
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

ROWS = Path(__file__).with_name("lists.json")

Row = dict[str, Any]
"""What one profile, workload, schedule, factor or host has in `whyperf list --json`."""


class List(StrEnum):
    """What can be listed."""

    PROFILES = "profiles"
    WORKLOADS = "workloads"
    SCHEDULES = "schedules"
    FACTORS = "factors"
    HOSTS = "hosts"


_COLUMNS = {
    List.PROFILES: {"name": "Profile", "cells": "Cells", "trials": "Trials", "time": "Time", "asks": "What it asks"},
    List.WORKLOADS: {
        "name": "Workload",
        "transports": "Over",
        "metric": "Metric",
        "about": "What the application does",
    },
    List.SCHEDULES: {"name": "Schedule", "time": "Time", "flows": "Flows", "about": "When flows are at work"},
    List.FACTORS: {"name": "Factor", "default": "Default", "levels": "Levels", "help": "What it is"},
    List.HOSTS: {"name": "Host of the model", "link": "Link", "about": "What it is"},
}
"""The printed columns of each list, with their headings."""


def rows_of(kind: List) -> list[Row]:
    """What is shipped of a kind, in the order of the list."""
    rows: list[Row] = json.loads(ROWS.read_text())[kind]
    return rows


def print_lists(*kinds: List) -> None:
    """Prints a table for each kind."""
    console = Console(highlight=False, markup=False)
    for kind in kinds:
        console.print(_table(kind, rows_of(kind)))


def _table(kind: List, rows: Sequence[Row]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for key, heading in _COLUMNS[kind].items():
        number = bool(rows) and isinstance(rows[0][key], int) and key != "default"
        table.add_column(heading, justify="right" if number else "left", no_wrap=key in {"name", "time", "metric"})
    for row in rows:
        table.add_row(*(_text(row[key]) for key in _COLUMNS[kind]))
    return table


def _text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:,}" if isinstance(value, int) else str(value)
