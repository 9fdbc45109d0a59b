"""Where results go when the user names no folder."""

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from whyperf.plan import Plan

RESULTS = Path("results")


def planned_folder(plan: "Plan", results: Path = RESULTS) -> Path:
    """`results/<profile>-<6 digits of the plan's id>`: the same plan resumes, another never collides."""
    return results / f"{plan.profile}-{plan.id[:6]}"


def quick_folder(now: datetime, results: Path = RESULTS) -> Path:
    """`results/quick-YYYYmmdd-HHMMSS`, with a number after it when two start in the same second."""
    return _timed_folder("quick", now, results)


def watch_folder(now: datetime, results: Path = RESULTS) -> Path:
    """`results/watch-YYYYmmdd-HHMMSS`, as `quick_folder`."""
    return _timed_folder("watch", now, results)


def _timed_folder(name: str, now: datetime, results: Path) -> Path:
    first = results / now.strftime(f"{name}-%Y%m%d-%H%M%S")
    folder, number = first, 2
    while folder.exists():
        folder = first.with_name(f"{first.name}-{number}")
        number += 1
    return folder
