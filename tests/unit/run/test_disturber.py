"""A disturbed cell's trials have a keeper while they run; no other cell's has one."""

import os
import time
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import Mock

import pytest

from whyperf.disturb.model import Burn, Disturbance, Place, Sysctl
from whyperf.run import RunError
from whyperf.run.disturber import Disturber
from whyperf.run.observer import Observer
from whyperf.wire import ReplyProgress

PROGRESS: ReplyProgress = Mock(spec=dict)
CPU = min(os.sched_getaffinity(0))
PLACES = {side: Place(process=os.getpid(), cpus=(CPU,)) for side in ("near", "far")}


def children(process: int) -> list[int]:
    """The processes that one has started and that run."""
    found = []
    for folder in Path("/proc").iterdir():
        try:
            if folder.name.isdigit():
                state, parent = folder.joinpath("stat").read_text().rpartition(")")[2].split()[:2]
                if int(parent) == process and state != "Z":
                    found.append(int(folder.name))
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found


class Watched:
    """A disturber of one cell, and who watches behind it."""

    def __init__(self, *disturbances: Disturbance) -> None:
        self.observer = Mock(spec=Observer)
        self.disturber = Disturber(self.observer, {"c0002": disturbances}, lambda _: PLACES)
        self._before = children(os.getpid())

    def burning(self) -> int:
        """The programs that the keeper has started."""
        keepers = [child for child in children(os.getpid()) if child not in self._before]
        return sum(len(children(keeper)) for keeper in keepers)

    def keepers(self) -> int:
        return len(children(os.getpid())) - len(self._before)

    def start(self, cell: str) -> None:
        self.disturber.on_trial_started(f"001-{cell}", cell, 0, 2)
        self.disturber.start(cell)


@pytest.fixture
def burns() -> Iterator[Watched]:
    watched = Watched(Burn(host="near", programs=2))
    yield watched
    watched.disturber.end()


def test_a_disturbed_cell_has_its_programs_until_its_trial_is_over(burns: Watched) -> None:
    burns.start("c0001")
    assert burns.keepers() == 0
    burns.start("c0002")
    assert burns.burning() == 2
    burns.disturber.on_trial_finished("001-c0002", "complete", None)
    assert burns.keepers() == 0
    assert [call[0] for call in burns.observer.method_calls] == ["on_trial_started"] * 2 + ["on_trial_finished"]


def test_a_trial_that_never_ended_leaves_nothing_to_the_next(burns: Watched) -> None:
    burns.start("c0002")
    burns.start("c0001")
    assert burns.keepers() == 0


def test_what_comes_late_waits_for_the_load() -> None:
    watched = Watched(Burn(host="near", programs=1, after_s=0.01))
    watched.start("c0002")
    try:
        assert (watched.keepers(), watched.burning()) == (1, 0)
        watched.disturber.on_progress("near", PROGRESS)
        for _ in range(1000):
            if watched.burning() == 1:
                return
            time.sleep(0.01)
        raise AssertionError("it never came")
    finally:
        watched.disturber.end()


def test_what_the_host_refuses_is_an_error_and_leaves_no_keeper() -> None:
    watched = Watched(Sysctl(host="near", settings={"net.no.such": "1"}))
    with pytest.raises(RunError, match=r"the trial cannot be disturbed: .*no.such"):
        watched.start("c0002")
    assert watched.keepers() == 0
