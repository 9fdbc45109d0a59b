"""Which result is meant where none is named."""

import os
from pathlib import Path

from whyperf.cli.inputs.experiments import find_folder


def made(results: Path, *names: str) -> None:
    """Results, the oldest first."""
    for age, name in enumerate(reversed(names)):
        (results / name).mkdir(parents=True)
        plan = results / name / "plan.json"
        plan.write_text("{}")
        os.utime(plan, (1e9 - age, 1e9 - age))


def test_the_result_and_not_the_experiments_with_it_is_the_latest(tmp_path: Path) -> None:
    """`whyperf explain` and `report` behind `whyperf why` are about the load."""
    made(tmp_path, "quick-1", "quick-2", "quick-2-why-1")
    assert find_folder(None, tmp_path).name == "quick-2"
    assert find_folder("quick-2-why-1", tmp_path).name == "quick-2-why-1"


def test_a_result_of_such_a_name_alone_is_found(tmp_path: Path) -> None:
    made(tmp_path, "quick-1", "my-why-1")
    assert find_folder(None, tmp_path).name == "my-why-1"
