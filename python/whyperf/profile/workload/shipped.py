"""The shipped workloads: a TOML file each."""

import sys
from functools import cache
from pathlib import Path

from whyperf.profile.workload.checked import load_workload
from whyperf.profile.workload.resolved import Workload


def shipped_workloads_folder() -> Path:
    """The folder of the shipped workloads: next to `python/` in a source tree, else where the wheel put them."""
    in_tree = Path(__file__).resolve().parents[4] / "workloads"
    if in_tree.is_dir() and Path(__file__).resolve().parents[3].name == "python":
        return in_tree
    return Path(sys.prefix) / "share" / "whyperf" / "workloads"


@cache
def shipped_workload_names() -> tuple[str, ...]:
    """The names of the shipped workloads."""
    return tuple(sorted(path.stem for path in shipped_workloads_folder().glob("*.toml")))


@cache
def shipped_workload(name: str) -> Workload:
    """A shipped workload.

    Raises:
        ProfileError: it cannot be used, or there is none of this name.
    """
    return load_workload(shipped_workloads_folder() / f"{name}.toml")
