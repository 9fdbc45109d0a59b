"""Commands that read results have a bound of memory."""

import resource
import subprocess
import sys
from pathlib import Path

import pytest

from whyperf.cli import app, memory
from whyperf.cli.exits import READING

ALLOCATES = """
import resource
from whyperf.cli import memory
memory.MIN_BYTES, memory.SHARE = 400 << 20, 0.0
memory.bound_memory()
import numpy
try:
    numpy.ones(800 << 20, dtype=numpy.uint8)
except MemoryError:
    print("refused")
"""


def test_what_takes_more_than_the_bound_ends_and_leaves_the_host_its_memory() -> None:
    done = subprocess.run([sys.executable, "-c", ALLOCATES], capture_output=True, text=True, check=True)
    assert done.stdout == "refused\n"


@pytest.mark.parametrize(
    ("soft", "bound"),
    [
        (resource.RLIM_INFINITY, 4 << 30),
        # What the user has set is never raised.
        (1 << 30, None),
    ],
)
def test_the_bound_is_half_of_what_the_host_has_left(
    soft: int, bound: int | None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "meminfo").write_text("MemTotal: 16777216 kB\nMemAvailable: 8388608 kB\n")
    set_to: list[int] = []
    monkeypatch.setattr(memory, "MEMORY", tmp_path / "meminfo")
    monkeypatch.setattr(resource, "getrlimit", lambda _: (soft, resource.RLIM_INFINITY))
    monkeypatch.setattr(resource, "setrlimit", lambda _, limits: set_to.append(limits[0]))
    memory.bound_memory()
    assert set_to == ([] if bound is None else [bound])


@pytest.mark.parametrize("verb", [*sorted(READING), "run", "list", "watch"])
def test_whatever_reads_a_result_or_tables_of_a_far_host_is_bound(verb: str, monkeypatch: pytest.MonkeyPatch) -> None:
    bound: list[str] = []
    monkeypatch.setattr(memory, "bound_memory", lambda: bound.append(verb))
    monkeypatch.setattr(sys, "argv", ["whyperf", verb, "--help"])
    app.main()
    # `watch` starts programs of the user's, which have their own bounds.
    assert bound == ([] if verb in {"list", "watch"} else [verb])
