"""`python -m tests.shaken [--runs N] [PYTEST OPTIONS]`: lists the tests that fail in N runs while two busy loops run.

No test gets a second run here: marked tests, which measure, are left out unless asked for with `-m`.
"""

import argparse
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from xml.etree import ElementTree as ET

UNMARKED = "not slow and not paced and not alone"


@contextmanager
def busy_loop() -> Iterator[None]:
    """A process that uses a CPU for as long as this lasts."""
    process = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        yield
    finally:
        process.kill()
        process.wait()


def failures(options: list[str]) -> list[str]:
    """The tests that fail in one run of pytest."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        argv = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={report}", *options]
        subprocess.run(argv, check=False, stdout=subprocess.DEVNULL)
        cases = ET.parse(report).iter("testcase")
        bad = (case for case in cases if case.find("failure") is not None or case.find("error") is not None)
        return [f"{case.get('classname', '').replace('.', '/')}.py::{case.get('name')}" for case in bad]


def main() -> int:
    """Runs the tests again and again, and prints which failed how often."""
    parser = argparse.ArgumentParser(prog="python -m tests.shaken")
    parser.add_argument("--runs", type=int, default=50, help="number of runs")
    asked, options = parser.parse_known_args()
    found: Counter[str] = Counter()
    with ExitStack() as loops:
        for _ in range(2):
            loops.enter_context(busy_loop())
        for run in range(1, asked.runs + 1):
            failed = failures(["-m", UNMARKED, *options])
            found.update(failed)
            print(f"run {run} of {asked.runs}: {len(failed)} failed", flush=True)
    for name, count in found.most_common():
        print(f"flaky: {name} failed in {count} of {asked.runs} runs")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
