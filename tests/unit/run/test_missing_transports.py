"""What a host or a library lacks is named before the run, whether a cell or a flow of its schedule wants it."""

from typing import Any, cast

import pytest

from tests.e2e.experiments import plan_of
from whyperf.run import RunError
from whyperf.run.agents.agent import Agent
from whyperf.run.offers import (
    congestion_controls,
    quic_controls,
    refuse_crowds,
    refuse_missing_quic,
    refuse_missing_transports,
)
from whyperf.wire import HostFacts


class Without:
    """An agent whose host lacks UDT."""

    def call(self, _request: dict[str, Any]) -> dict[str, Any]:
        """What it offers."""
        udt = {"kind": "transport", "name": "udt", "state": "refused", "reason": "built without the UDT library"}
        there = {"state": "loaded", "reason": ""}
        quic = [{"kind": "quic_congestion_control", "name": name, **there} for name in ("cubic", "newreno")]
        return {"offers": [udt, {"kind": "transport", "name": "quic", **there}, *quic]}


THERE = (cast("HostFacts", {}), cast("Agent", Without()))


@pytest.mark.parametrize(
    "levels", [{"transport": "udt"}, {"schedule": "mixed", "schedule_scale": 0.05, "competitor": "udt"}]
)
def test_it_is_refused_with_the_reason(levels: dict[str, Any]) -> None:
    hosts = {"near": THERE}
    with pytest.raises(RunError, match="transport udt is not available on the near host: built without the UDT"):
        refuse_missing_transports(plan_of(**levels).cells, hosts)


def test_what_is_there_passes() -> None:
    refuse_missing_transports(plan_of(transport="quic").cells, {"near": THERE})


def test_a_congestion_control_that_quic_lacks_is_refused_with_those_it_has() -> None:
    asked = quic_controls(plan_of(transport="quic", congestion_control="htcp").cells)
    with pytest.raises(RunError, match=r'"htcp" is none of QUIC.s on the near host; choose one of cubic, newreno'):
        refuse_missing_quic(asked, {"near": THERE})


def test_flows_of_tcp_ask_the_kernel() -> None:
    cells = plan_of(
        schedule="mixed", schedule_scale=0.05, transport="quic", competitor="tcp", congestion_control="bbr"
    ).cells
    # The flow that competes over TCP has a control of its own; QUIC's engine is asked for the trial's.
    assert "bbr" not in congestion_controls(cells)
    assert quic_controls(cells) == ["bbr"]


def test_quic_is_not_asked_for_what_is_the_kernels() -> None:
    cells = plan_of(transport=["tcp", "quic"], congestion_control="cubic").cells
    assert (congestion_controls(cells), quic_controls(cells)) == (["cubic"], ["cubic"])
    refuse_missing_quic(quic_controls(cells), {"near": THERE})


@pytest.mark.parametrize("transport", ["udt", "quic", "srt"])
def test_more_connections_than_a_library_may_have_are_refused(transport: str) -> None:
    refuse_crowds(plan_of(transport=transport, connections=256).cells)
    with pytest.raises(RunError, match=f"connections is 257; over {transport}.* from 1 to 256"):
        refuse_crowds(plan_of(transport=transport, connections=257).cells)
    refuse_crowds(plan_of(transport="tcp", connections=257).cells)
