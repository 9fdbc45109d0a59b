"""Prints what is shipped: profiles, workloads, schedules and factors; and the hosts of the model.

The rows are in `lists.json`, which `make schemas` writes: planning every shipped profile for its size takes a second.
"""

import json
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any

from rich import box
from rich.table import Table

from whyperf.cli.output.console import Console, plain_width

ROWS = Path(__file__).with_name("lists.json")

COMMON = {
    "quick": "one TCP stream, like iperf3's default test",
    "demo": "a first sweep: four windows by four write sizes",
    "rr": "requests and responses on one connection: latency",
    "crr": "a new connection for each request: set-up rate",
    "udp-stream": "datagrams at a rate: loss, order and jitter",
    "rrul": "latency under load in both directions",
    "tcp-down": "latency while the far host sends",
    "tcp-up": "latency while the near host sends",
    "latency-load": "latency against the rate of requests",
    "window-sweep": "goodput over window and write size",
}
"""The profiles and workloads that most people run, each with what it measures: they fit on one screen."""

Row = dict[str, Any]
"""The entry of one profile, workload, schedule, factor or host in `whyperf list --json`."""


class List(StrEnum):
    """The kinds that can be listed."""

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
    """Everything shipped of a kind, in the order of the list."""
    rows: list[Row] = json.loads(ROWS.read_text())[kind]
    return rows


def print_lists(*kinds: List) -> None:
    """Prints a table for each kind."""
    console = Console(highlight=False, markup=False)
    for kind in kinds:
        console.print(_table(kind, rows_of(kind)))


def print_common() -> None:
    """Prints the most used profiles and workloads, and how to list the others."""
    profiles, workloads = ({row["name"]: row for row in rows_of(kind)} for kind in (List.PROFILES, List.WORKLOADS))
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for heading in ("Name", "Time", "What it measures"):
        table.add_column(heading, no_wrap=True)
    for name, about in COMMON.items():
        # A workload alone is the profile quick with it.
        table.add_row(name, profiles.get(name, profiles["quick"])["time"], about)
    console = Console(highlight=False, markup=False, width=plain_width())
    console.print(table)
    console.print(
        f"\nMeasure one: whyperf run NAME [HOST]\n"
        f"All {len(profiles)} profiles and {len(workloads)} workloads: whyperf list --all"
    )


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
