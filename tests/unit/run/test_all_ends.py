"""When both sides of a trial fail, the cause is reported and not what followed from it."""

import os
import signal
import sys
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import _base as futures
from threading import Event, get_ident
from typing import cast

import pytest

from whyperf.record import RecordError
from whyperf.run.agents.agent import Agent
from whyperf.run.errors import PipeClosedError, RunError
from whyperf.run.trial import _all
from whyperf.wire import ReplyFinished, Request


class Idle(Agent):
    """An agent without a process, that keeps what it is sent."""

    def __init__(self) -> None:
        self.sent: list[Request] = []

    def post(self, request: Request) -> None:
        """Keeps it."""
        self.sent.append(request)


def record_error(text: str, cause: Exception) -> RecordError:
    """As the record raises it."""
    error = RecordError(text)
    error.__cause__ = cause
    return error


FULL = record_error("no space left on device", OSError(28, "No space left on device"))
REMOVED = record_error("no such file or directory", FileNotFoundError(2, "No such file or directory"))
CLOSED = ValueError("write to closed file")
ABORTED = RunError("the far agent ended the trial without saying how it ended")


def fail_in_order(order: list[str], errors: Mapping[str, Exception]) -> None:
    """Has both sides fail, one after the other, and both get a stop."""
    agents: dict[str, Agent] = {"near": Idle(), "far": Idle()}
    first_failed = Event()

    def collect(label: str) -> ReplyFinished:
        if label == order[0]:
            first_failed.set()
        else:
            first_failed.wait()
        raise errors[label]

    try:
        _all(collect, agents)
    finally:
        ends = [agent for agent in agents.values() if isinstance(agent, Idle)]
        assert [end.sent for end in ends] == [[{"request": "abort"}]] * 2


@pytest.mark.parametrize("order", [["near", "far"], ["far", "near"]])
@pytest.mark.parametrize("consequence", [REMOVED, CLOSED, ABORTED])
@pytest.mark.parametrize("full", ["near", "far"])
def test_a_full_disk_is_reported_and_not_the_folder_it_cost(
    order: list[str], consequence: Exception, full: str
) -> None:
    errors = {"near": consequence, "far": consequence} | {full: FULL}
    with pytest.raises(RecordError, match="no space left on device"):
        fail_in_order(order, errors)


def test_a_lone_failure_is_reported_as_it_is() -> None:
    gone = PipeClosedError("the far agent was killed by signal 9")

    def collect(label: str) -> ReplyFinished:
        if label == "far":
            raise gone
        return cast("ReplyFinished", {})

    with pytest.raises(PipeClosedError) as caught:
        _all(collect, {"near": Idle(), "far": Idle()})
    assert caught.value is gone


class Aborted(Idle):
    """An agent whose load goes on until it is aborted."""

    def __init__(self) -> None:
        super().__init__()
        self.aborted = Event()
        self.is_closed = False

    def post(self, request: Request) -> None:
        """Ends the load."""
        super().post(request)
        self.aborted.set()

    def close(self) -> None:
        """Notes that nobody waits for it."""
        self.is_closed = True


@pytest.fixture
def restarted() -> Iterator[None]:
    """SIGINT as importing polars leaves it: the kernel restarts what it interrupts."""
    signal.siginterrupt(signal.SIGINT, False)
    yield
    signal.siginterrupt(signal.SIGINT, True)


def interrupted(payload_bytes: int) -> tuple[dict[str, ReplyFinished], bool]:
    """Of a load that is interrupted when the near side has moved so much: what both answer, and whether it is so."""
    agents = {"near": Aborted(), "far": Aborted()}
    waiting = get_ident()

    def waits() -> bool:
        """Whether the main thread waits for the futures, not for a thread that starts."""
        frame = sys._current_frames()[waiting].f_back
        return frame is not None and frame.f_back is not None and frame.f_back.f_code.co_filename == futures.__file__

    def collect(label: str) -> ReplyFinished:
        if label == "near":
            while not waits():
                time.sleep(0.01)
            os.kill(os.getpid(), signal.SIGINT)
        # Without the abort the load would go on to its end.
        assert agents[label].aborted.wait(20)
        return cast("ReplyFinished", {"payload_bytes": payload_bytes if label == "far" else 0})

    return _all(collect, dict(agents), keeps_interrupted=True)


@pytest.mark.usefixtures("restarted")
def test_ctrl_c_ends_the_load_although_the_kernel_restarts_the_wait() -> None:
    finished, is_interrupted = interrupted(1)
    assert (list(finished), is_interrupted) == (["near", "far"], True)


@pytest.mark.usefixtures("restarted")
def test_nothing_is_kept_of_a_load_that_had_moved_nothing() -> None:
    with pytest.raises(KeyboardInterrupt):
        interrupted(0)
