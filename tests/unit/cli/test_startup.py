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


@pytest.mark.parametrize("arguments", [["--help"], ["--version"]])
def test_help_loads_no_library_of_a_measurement(arguments: list[str]) -> None:
    assert loaded_by(*arguments) & HEAVY == set()


@pytest.mark.parametrize("verb", ["run", "watch", "simulate", "overhead", "doctor", "show"])
def test_the_help_of_a_verb_loads_no_library_of_a_measurement(verb: str) -> None:
    assert loaded_by(verb, "--help") & HEAVY == set()


@pytest.mark.parametrize("arguments", [["--help"], ["--version"]])
def test_help_and_version_load_no_panels(arguments: list[str]) -> None:
    assert loaded_by(*arguments) & {"markdown_it", "pygments", "rich.console"} == set()


@pytest.mark.parametrize("choice", [[], ["--factors"], ["--workloads"], ["--schedules"], ["--hosts"], ["--json"]])
def test_the_lists_load_no_library_of_a_measurement(choice: list[str]) -> None:
    assert loaded_by("list", *choice) & (HEAVY | {"whyperf.plan", "whyperf.run"}) == set()
