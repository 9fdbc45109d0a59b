"""BPF programs that the far agent lends: the near agent uses them only where both are on one host."""

from typing import Any, cast

import pytest

from whyperf.hosts import HostPair
from whyperf.run.agents.agent import Agent
from whyperf.run.ends import FAR, NEAR
from whyperf.run.errors import RunError
from whyperf.run.trial import Pair, _Trial

LOAN = {"control_map": 7}
STAGES_LOAN = {"gaps_map": 8}


class Scripted:
    """An agent that notes requests, and answers `prepare` with these loans."""

    label = "far"

    def __init__(self, **loans: Any) -> None:
        """Nothing was asked yet."""
        self.requests: list[dict[str, Any]] = []
        self._reply = {"reply": "prepared", "port": 5001, "echo_port": None, "loan": None, "stages_loan": None, **loans}

    def call(self, request: dict[str, Any]) -> dict[str, Any]:
        """Answers."""
        self.requests.append(request)
        return self._reply


def connect(far: Scripted, near: Scripted, *, on_one_host: bool) -> None:
    """Prepare both and connect."""
    specs = cast("Any", {end: {"request": "prepare", "host": end} for end in (NEAR, FAR)})
    pair = Pair({NEAR: NEAR, FAR: FAR}, specs, "192.0.2.1", 0, HostPair("host1", "host2"))
    trial = _Trial({}, [pair], {}, on_one_host)
    trial._connect(cast("Agent", near), cast("Agent", far), specs, pair)


@pytest.mark.parametrize("loans", [{"loan": LOAN}, {"stages_loan": STAGES_LOAN}])
def test_another_host_lends_nothing(loans: dict[str, Any]) -> None:
    far, near = Scripted(**loans), Scripted()
    with pytest.raises(RunError, match=r"^the agent on host2 lends BPF programs that it was not asked for"):
        connect(far, near, on_one_host=False)
    # The numbers in it are of no use to anybody.
    assert near.requests == []


def test_on_one_host_the_near_agent_borrows_what_was_asked_for() -> None:
    far, near = Scripted(loan=LOAN, stages_loan=STAGES_LOAN), Scripted()
    connect(far, near, on_one_host=True)
    assert [request.get("programs") for request in far.requests] == [{"by": "lend"}]
    assert near.requests[0]["programs"] == {"by": "borrow", **LOAN}
    assert near.requests[0]["stages_loan"] == STAGES_LOAN


def test_another_host_that_lends_nothing_is_measured() -> None:
    far, near = Scripted(), Scripted()
    connect(far, near, on_one_host=False)
    assert [request["request"] for request in near.requests] == ["prepare", "connect"]
    assert not any("programs" in request for request in far.requests + near.requests)
