"""When both sides of a trial fail, the cause is reported and not what followed from it."""

from collections.abc import Mapping
from threading import Event
from typing import cast

import pytest

from whyperf.record import RecordError
from whyperf.run.agents.agent import Agent
from whyperf.run.errors import PipeClosedError
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
@pytest.mark.parametrize("consequence", [REMOVED, CLOSED])
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
