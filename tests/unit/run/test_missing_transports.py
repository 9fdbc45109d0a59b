"""A transport that a host lacks is named before the run, whether a cell or a flow of its schedule wants it."""

from typing import Any, cast

import pytest

from tests.e2e.experiments import plan_of
from whyperf.run import RunError
from whyperf.run.agent import Agent
from whyperf.run.offers import refuse_missing_transports


class Without:
    """An agent whose host lacks UDT."""

    def call(self, _request: dict[str, Any]) -> dict[str, Any]:
        """What it offers."""
        udt = {"kind": "transport", "name": "udt", "state": "refused", "reason": "built without the UDT library"}
        return {"offers": [udt, {"kind": "transport", "name": "quic", "state": "loaded", "reason": ""}]}


@pytest.mark.parametrize(
    "levels", [{"transport": "udt"}, {"schedule": "mixed", "schedule_scale": 0.05, "competitor": "udt"}]
)
def test_it_is_refused_with_the_reason(levels: dict[str, Any]) -> None:
    hosts: dict[str, tuple[dict[str, Any], Agent]] = {"near": ({}, cast("Agent", Without()))}
    with pytest.raises(RunError, match="transport udt is not available on the near host: built without the UDT"):
        refuse_missing_transports(plan_of(**levels).cells, hosts)


def test_what_is_there_passes() -> None:
    refuse_missing_transports(plan_of(transport="quic").cells, {"near": ({}, cast("Agent", Without()))})
