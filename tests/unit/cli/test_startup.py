"""What a command may load before it has something to do: libraries that take longer than the answer."""

import json
import subprocess
import sys

import pytest

#: Libraries of measurements, statistics and reports.
HEAVY = {
    *("bokeh", "jinja2", "numpy", "polars", "prometheus_client", "pydantic", "scipy", "textual"),
    *("whyperf.profile", "whyperf.wire"),
}
LOADED = """
import json, sys
from whyperf.cli import main

code = main(sys.argv[1:])
print(json.dumps([code, sorted(sys.modules)]), file=sys.stderr)
"""


def loaded_by(*arguments: str) -> set[str]:
    run = [sys.executable, "-c", LOADED, *arguments]
    done = subprocess.run(run, capture_output=True, text=True, check=True, timeout=120)
    code, modules = json.loads(done.stderr.splitlines()[-1])
    assert code == 0
    return set(modules)


@pytest.mark.parametrize(
    ("arguments", "also"),
    [
        ("--help", {"markdown_it", "pygments", "rich.console"}),
        ("run --help", set()),
        ("list --factors", {"whyperf.plan", "whyperf.run"}),
    ],
)
def test_help_and_lists_load_no_library_of_a_measurement(arguments: str, also: set[str]) -> None:
    assert loaded_by(*arguments.split()) & (HEAVY | also) == set()
