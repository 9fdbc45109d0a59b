"""One question over every pipe gives one record, but for facts of the pipe.

Equal are: the cells of the plan, the trials and their status, their tables with the names and types of their
columns, the number of flows, and the keys of all documents. Rates are not compared, and neither are notes: they hold
what happens to a host by accident, such as a stall. A container sees no other programs, and has no notes on them.
"""

import json
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import polars
import pytest

from tests.e2e.whyperf_command import whyperf
from tests.fleet.rack import CONTROL, Rack, rack
from tests.sites.engines import ENGINES

pytestmark = [pytest.mark.root, pytest.mark.alone]

HOSTS = ("node1", "node2")
REFERENCE = "local"
QUESTION = ("-t", "0.3", "-P", "2", "--set", "write_size_bytes=4096,65536", "--trials", "1", "--evidence", "segments")
ENDS_WITHIN_S = 5


@pytest.fixture(scope="module")
def shapes() -> dict[str, Any]:
    """The shape of the record of each pipe that was measured over."""
    return {}


@pytest.mark.parametrize("name", ENGINES)
def test_the_record_is_that_of_local_processes(name: str, shapes: dict[str, Any], tmp_path: Path) -> None:
    with rack(tmp_path, HOSTS) as hosts:
        shapes[name] = measured(name, hosts)
        await_no_agents(hosts)
    assert shapes[name] == shapes[REFERENCE]


def measured(name: str, hosts: Rack) -> dict[str, Any]:
    """Measures between both hosts and returns the shape of the record."""
    near, far = HOSTS
    result = hosts.folder / "result"
    with ENGINES[name](hosts) as engine:
        done = whyperf(
            *("run", "--via", engine.via, "--hosts", hosts.inventory, "--from", near, "--to", far, *QUESTION),
            *("--no-report", "--out", result),
            folder=hosts.folder,
            netns=f"/proc/{hosts.pids[CONTROL]}/ns/net",
            environment=engine.environment,
        )
        assert done.status in {0, 3}, done.err
    return shape(result)


def await_no_agents(hosts: Rack) -> None:
    """Waits until no agent runs on the hosts."""
    end = time.monotonic() + ENDS_WITHIN_S
    while left := [name for host in HOSTS for name in programs(hosts.processes_of(host)) if "agent" in name]:
        assert time.monotonic() < end, left
        time.sleep(0.05)


def programs(processes: list[int]) -> Iterator[str]:
    """The names of what runs."""
    for process in processes:
        with suppress(OSError):
            yield Path(f"/proc/{process}/comm").read_text().strip()


def shape(result: Path) -> dict[str, Any]:
    """What must not depend on the pipe."""
    plan = json.loads((result / "plan.json").read_text())
    found: dict[str, Any] = {
        "cells": plan["cells"],
        "plan": set(keys(plan)),
        "hosts": {path.name: set(keys(json.loads(path.read_text()))) for path in (result / "hosts").glob("*.json")},
    }
    for trial in sorted((result / "trials").iterdir()):
        manifest = json.loads((trial / "manifest.json").read_text())
        for host in manifest["hosts"].values():
            del host["notes"]
        tables = {path.name: polars.read_parquet_schema(path) for path in trial.glob("*.parquet")}
        flows = {path.name: polars.read_parquet(path).height for path in trial.glob("flows.*.parquet")}
        found[trial.name] = (manifest["status"], set(keys(manifest)), tables, flows)
    return found


def keys(value: Any, where: str = "") -> Iterator[str]:
    """Every place of a document with the type that it holds. The items of a list are in one place."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from keys(item, f"{where}.{key}")
    elif isinstance(value, list):
        for item in value:
            yield from keys(item, f"{where}[]")
    else:
        yield f"{where}: {type(value).__name__}"
