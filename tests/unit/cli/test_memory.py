"""Commands have a bound of memory, and what they watch has none."""

import resource
import subprocess
import sys
from pathlib import Path

import pytest

from whyperf.cli import app, memory

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
WATCHES = """
from whyperf.cli.live.wrapped import WrappedCommand
from whyperf.cli.memory import bound_memory
bound_memory()
with WrappedCommand(["sh", "-c", "ulimit -Sd"]) as command:
    command.release()
    command.wait()
if 0 < resource.getrlimit(resource.RLIMIT_DATA)[0] < 1 << 40:
    print("bound")
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


@pytest.mark.parametrize(
    "given",
    [*([verb, "--help"] for verb in sorted(app.VERBS)), ["host", "--no-such"], ["-H", "host", "-t", "NO_SUCH"], []],
)
def test_every_command_is_bound_whoever_made_what_it_reads(given: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    bound: list[list[str]] = []
    monkeypatch.setattr(app, "bound_memory", lambda: bound.append(given))
    monkeypatch.setattr(sys, "argv", ["whyperf", *given])
    app.main()
    assert bound == [given]


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        # What the user has set stays, too.
        (None, "unlimited"),
        (3 << 40, str(3 << 30)),
    ],
)
def test_a_command_behind_watch_has_the_limit_of_the_user_and_whyperf_has_the_bound(
    limit: int | None, expected: str
) -> None:
    before = "" if limit is None else f"resource.setrlimit(resource.RLIMIT_DATA, ({limit}, {limit}));"
    text = f"import resource; {before}{WATCHES}"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.splitlines() == [expected, "bound"]
