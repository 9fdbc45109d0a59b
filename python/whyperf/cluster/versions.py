"""That a worker has what this process has: other versions could give other results."""

import sys
from collections.abc import Callable, Mapping
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any, TypeVar

from whyperf.run.errors import RunError

Result = TypeVar("Result")

#: Packages whose version decides what a task returns, or whether it is understood at all.
PACKAGES = ("whyperf", "distributed", "polars")
MISSING = "none"


@lru_cache(maxsize=1)
def own_versions() -> Mapping[str, str]:
    """Versions by name: of Python without the last number, and of `PACKAGES`."""
    found = {"Python": f"{sys.version_info.major}.{sys.version_info.minor}"}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = MISSING
    return found


def versions_of(reported: Mapping[str, Any]) -> dict[str, str]:
    """The same from what Dask reports of a worker (`Client.get_versions`)."""
    python = ".".join(str(reported["host"]["python"]).split(".")[:2])
    return {"Python": python, **{name: str(reported["packages"].get(name) or MISSING) for name in PACKAGES}}


def refuse_other(worker: str, found: Mapping[str, str], expected: Mapping[str, str]) -> None:
    """Raises RunError where a worker differs, with its address and both versions."""
    for name, wanted in expected.items():
        if found[name] != wanted:
            has = f"no {name}" if found[name] == MISSING else f"{name} {found[name]}"
            raise RunError(f"the worker {worker} has {has}, and this host {wanted}; install {name} {wanted} there")


def run_checked(expected: Mapping[str, str], function: Callable[..., Result], arguments: tuple[Any, ...]) -> Result:
    """Runs a task on a worker, which may have joined after the others were checked.

    Raises:
        RunError: it has other versions.
    """
    refuse_other(here(), own_versions(), expected)
    return function(*arguments)


def here() -> str:
    """The address of the worker that runs the task."""
    from distributed import get_worker  # noqa: PLC0415 - only a worker asks

    return str(get_worker().address)
