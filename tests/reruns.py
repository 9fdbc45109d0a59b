"""A second run of tests that measure, and an account of it: a pytest plugin and `python -m tests.reruns`.

Only tests marked `paced` or `alone` run again, once. Each rerun is printed as `flaky: NAME, reason` and kept in
`target/flaky.txt`, after the number of marked tests that ran. `python -m tests.reruns` ends with 1 if more than 1 % of
them needed one.
"""

import sys
from pathlib import Path

import pytest

FILE = Path(__file__).parents[1] / "target" / "flaky.txt"
MARKS = ("paced", "alone")
#: Part of the marked tests that may need a rerun: a host that others share stalls now and then.
MAX_RATIO = 0.01
RAN, FLAKY = "ran: ", "flaky: "


class Reruns:
    """Counts marked tests and keeps the reasons of reruns."""

    def __init__(self, *, is_worker: bool = False) -> None:
        """Nothing has run yet. A worker's reports are counted by the process that started it."""
        self._is_worker = is_worker
        self.ran: set[str] = set()
        self.flaky: list[str] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Gives marked tests one more run."""
        for item in items:
            if any(item.get_closest_marker(mark) for mark in MARKS):
                item.add_marker(pytest.mark.flaky(reruns=1))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Counts a marked test, or keeps why it failed."""
        if not any(mark in report.keywords for mark in MARKS) or report.outcome == "skipped":
            return
        self.ran.add(report.nodeid)
        if report.outcome == "rerun":  # type: ignore[comparison-overlap]  # the outcome that pytest-rerunfailures adds
            lines = report.longreprtext.splitlines()
            reason = next((line[1:].strip() for line in lines if line.startswith("E ")), "no reason given")
            self.flaky.append(f"{FLAKY}{report.nodeid}, {reason}")

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Prints the reruns and appends them to the file."""
        if self._is_worker or not self.ran:
            return
        for line in self.flaky:
            terminalreporter.write_line(line)
        FILE.parent.mkdir(exist_ok=True)
        with FILE.open("a") as file:
            file.writelines(f"{line}\n" for line in (f"{RAN}{len(self.ran)}", *self.flaky))


def judged(text: str) -> tuple[bool, str]:
    """Whether few enough tests needed a rerun, and the sentence about it with their names."""
    lines = text.splitlines()
    ran = sum(int(line.removeprefix(RAN)) for line in lines if line.startswith(RAN))
    flaky = [line for line in lines if line.startswith(FLAKY)]
    is_good = len(flaky) <= MAX_RATIO * ran
    limit = f"at most {MAX_RATIO:.0%} may; mend or delete them" if not is_good else f"at most {MAX_RATIO:.0%} may"
    return is_good, "\n".join([*flaky, f"{len(flaky)} of {ran} tests that measure needed a second run ({limit})"])


def main() -> int:
    """Judges what the runs since the last `make test` left in the file."""
    is_good, sentence = judged(FILE.read_text() if FILE.exists() else "")
    print(sentence)
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
