"""A disturbed cell's trials have a keeper while they run; no other cell's has one."""

import os
import signal
import time
from pathlib import Path
from unittest.mock import Mock

import pytest

from lab.disturb.disturbances import Burn, Disturbance, Sysctl
from lab.disturb.disturber import Disturber
from whyperf.disturb.orders import Place
from whyperf.run import RunError
from whyperf.run.errors import KeeperLostError, PipeClosedError
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
        return sum(len(children(keeper)) for keeper in self.keepers())

    def keepers(self) -> list[int]:
        return [child for child in children(os.getpid()) if child not in self._before]

    def keeper(self) -> int:
        (keeper,) = self.keepers()
        return keeper


def test_a_disturbed_cell_has_its_programs_until_its_trial_is_over() -> None:
    watched = Watched(Burn(host="near", programs=2))
    with watched.disturber.disturb("c0001"):
        assert watched.keepers() == []
    with watched.disturber.disturb("c0002"):
        assert watched.burning() == 2
    assert watched.keepers() == []


def test_an_interrupted_trial_ends_its_keeper() -> None:
    watched = Watched(Burn(host="near", programs=1))
    with pytest.raises(KeyboardInterrupt), watched.disturber.disturb("c0002"):
        raise KeyboardInterrupt
    assert watched.keepers() == []


def test_what_comes_late_waits_for_the_load() -> None:
    watched = Watched(Burn(host="near", programs=1, after_s=0.01))
    with watched.disturber.disturb("c0002"):
        assert (len(watched.keepers()), watched.burning()) == (1, 0)
        watched.disturber.on_progress("near", PROGRESS)
        for _ in range(1000):
            if watched.burning() == 1:
                return
            time.sleep(0.01)
        raise AssertionError("it never came")


def test_what_the_host_refuses_is_an_error_and_leaves_no_keeper() -> None:
    watched = Watched(Sysctl(host="near", settings={"net.no.such": "1"}))
    with pytest.raises(RunError, match=r"the trial cannot be disturbed: .*no.such"):
        watched.disturber.disturb("c0002").__enter__()
    assert watched.keepers() == []


@pytest.fixture
def cleaned(monkeypatch: pytest.MonkeyPatch) -> Mock:
    clean = Mock()
    monkeypatch.setattr("whyperf.run.keeping.clean", clean)
    return clean


def test_a_keeper_that_was_killed_is_an_error_and_its_control_groups_are_removed(cleaned: Mock) -> None:
    watched = Watched(Burn(host="near", programs=1))
    with (
        pytest.raises(KeeperLostError, match=r"undoes the disturbances .* was killed by signal 9"),
        watched.disturber.disturb("c0002"),
    ):
        os.kill(watched.keeper(), signal.SIGKILL)
    cleaned.assert_called_once_with()


@pytest.mark.usefixtures("cleaned")
def test_a_disturbance_that_the_host_refuses_late_is_an_error() -> None:
    watched = Watched(Sysctl(host="near", settings={"net.no.such": "1"}, after_s=0.001))

    def wait_until_it_fails() -> None:
        watched.disturber.on_progress("near", PROGRESS)
        os.waitid(os.P_PID, watched.keeper(), os.WEXITED | os.WNOWAIT)

    with pytest.raises(KeeperLostError, match=r"failed: .*no.such"), watched.disturber.disturb("c0002"):
        wait_until_it_fails()


@pytest.mark.parametrize("error", [KeyboardInterrupt(), PipeClosedError("the agent is gone")])
def test_what_says_more_than_a_lost_keeper_is_reported(cleaned: Mock, error: BaseException) -> None:
    watched = Watched(Burn(host="near", programs=1))

    def kill_and_fail() -> None:
        os.kill(watched.keeper(), signal.SIGKILL)
        raise error

    with pytest.raises(type(error)), watched.disturber.disturb("c0002"):
        kill_and_fail()
    cleaned.assert_called_once_with()
