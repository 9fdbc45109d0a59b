"""Connections that do not open: what the far side saw is reported, and whose fault it was."""

from typing import Any, cast

import pytest

from whyperf.run.agents.agent import Agent
from whyperf.run.errors import AgentError, DisturbedError, Fault
from whyperf.run.trial import _with_far_side


class Far:
    """A far side that reports this of its opening."""

    def __init__(self, unauthenticated: int, problem: str | None) -> None:
        """No connection has come."""
        self._seen = {"connections_count": 0, "strangers_count": unauthenticated, "problem": problem}

    def call(self, request: dict[str, Any]) -> dict[str, Any]:
        """Reports it."""
        assert request == {"request": "describe_opening"}
        return {"reply": "opening", **self._seen}


@pytest.mark.parametrize(
    ("unauthenticated", "problem", "text"),
    [
        (0, None, "not welcomed"),
        (0, "too many connections", "not welcomed; the far agent: too many connections"),
        (
            9,
            None,
            "not welcomed; the far agent: 0 connections had arrived; "
            "connections without the trial's token that came to its port: 9",
        ),
        (
            9,
            "too many connections",
            "not welcomed; the far agent: too many connections; "
            "connections without the trial's token that came to its port: 9",
        ),
    ],
)
def test_the_far_side_s_own_reason_is_reported(unauthenticated: int, problem: str | None, text: str) -> None:
    error = _with_far_side(AgentError("not welcomed", Fault.PEER), cast("Agent", Far(unauthenticated, problem)))
    assert (str(error), error.fault) == (text, Fault.PEER)
    assert isinstance(error, DisturbedError) == (unauthenticated > 0)
