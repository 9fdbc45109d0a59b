"""Only tests that measure get a second run, and each that needs one is named and counted."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.reruns import judged

CONFTEST = """
from pathlib import Path
from tests import reruns

reruns.FILE = Path(__file__).with_name("flaky.txt")

def pytest_configure(config):
    config.addinivalue_line("markers", "paced: measures")
    config.pluginmanager.register(reruns.Reruns())
"""
#: Fails in the first run and passes in the second.
SECOND = """
import pytest

RUNS = []

{mark}
def test_second():
    RUNS.append(1)
    assert len(RUNS) == 2, "the host stalled"
"""


@pytest.mark.parametrize(
    ("mark", "passes", "kept"),
    [
        (
            "@pytest.mark.paced",
            True,
            "ran: 1\nflaky: test_it.py::test_second, AssertionError: the host stalled\n",
        ),
        ("", False, None),
    ],
)
def test_a_second_run_is_for_marked_tests_alone(tmp_path: Path, mark: str, passes: bool, kept: str | None) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_it.py").write_text(SECOND.format(mark=mark))
    argv = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(tmp_path), str(tmp_path)]
    environment = {"PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run(argv, capture_output=True, text=True, check=False, cwd=tmp_path, env=environment)
    assert (done.returncode == 0) is passes, done.stdout
    file = tmp_path / "flaky.txt"
    assert (file.read_text() if file.exists() else None) == kept


@pytest.mark.parametrize(("flaky", "is_good"), [(0, True), (2, True), (3, False)])
def test_one_in_a_hundred_marked_tests_may_need_a_second_run(flaky: int, is_good: bool) -> None:
    """150 and 50 tests ran: 1 % of them are 2."""
    text = "ran: 150\n" + "flaky: a::b, it stalled\n" * flaky + "ran: 50\n"
    found, sentence = judged(text)
    assert found is is_good
    assert f"{flaky} of 200 tests that measure needed a second run" in sentence
    assert sentence.count("flaky: a::b, it stalled") == flaky
