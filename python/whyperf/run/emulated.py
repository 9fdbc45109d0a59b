"""The emulated path of a trial: told to the testbed's agent before, begun with the load, ended and judged after it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from whyperf.record import TrialWriter
from whyperf.run.agent import Agent
from whyperf.run.ends import NEAR
from whyperf.run.errors import RunError
from whyperf.run.inbox import TablePiece
from whyperf.run.received import ReceivedTables

#: A path as the agent is told it (PathSpec in crates/schema/src/path.rs), and how well it was carried (PathAudit).
PathSpec = dict[str, Any]
Audit = dict[str, Any]

LEAST_BUDGET_NS = 1_000_000
"""A packet that leaves this late after it was due is late, whatever the path."""
BUDGET_OF_ROUND_TRIP = 0.05
"""On a long path it takes this part of the round trip to be late."""
MOST_LATE = 0.01
"""Part of a trial's packets that may be late."""


def budget_ns(spec: Mapping[str, Any]) -> int:
    """How late a packet may leave without being counted as late."""
    round_trip_ns = int(spec["forward"]["delay_ns"]) + int(spec["backward"]["delay_ns"])
    return max(LEAST_BUDGET_NS, round(BUDGET_OF_ROUND_TRIP * round_trip_ns))


def why_void(audit: Mapping[str, Any], spec: Mapping[str, Any], busiest: str = "") -> str | None:
    """Why a trial over a path that was carried so says nothing about the path; None when it does.

    Args:
        audit: how well it was carried.
        spec: the path that was asked for: only a rate that was set can be lowered.
        busiest: which other process was busy meanwhile, in words; empty where none was.
    """
    advice = f"{busiest} meanwhile: end it and run again" if busiest else "free CPUs and run again"
    if any(spec[way]["rate_bps"] is not None for way in ("forward", "backward")):
        advice += ", or choose a lower path_rate_bps"
    lost = {
        "socket_dropped_frames": "{} frames overran the path's router",
        "device_dropped_packets": "{} packets were dropped by the testbed's devices",
        "refused_frames": "the kernel refused {} frames",
    }
    told = [text.format(f"{audit[name]:,}") for name, text in lost.items() if audit[name]]
    if told:
        return f"the host lost what the path did not lose: {', '.join(told)}; {advice}"
    released, late = audit["released_packets"], audit["late_packets"]
    # Nobody sees when packets leave the kernel's own disciplines; the audit says so.
    if late is not None and late > MOST_LATE * released:
        return (
            f"{late / released:.1%} of the packets left the path more than {audit['budget_ns'] / 1e6:g} ms late, the "
            f"latest by {audit['lateness_ns_max'] / 1e6:.1f} ms; {advice}"
        )
    return None


@dataclass(frozen=True)
class EmulatedPath:
    """The path of one trial, in the hands of the agent that holds the testbed."""

    holder: Agent
    spec: PathSpec

    def carry(self) -> None:
        """Make it the path, without its losses until it begins, so that connections open.

        Raises:
            AgentError: this host cannot carry it.
        """
        self.holder.call({"request": "carry_path", "path": self.spec, "budget_ns": budget_ns(self.spec)})

    def begin(self, at_mono_ns: int) -> None:
        """Be all of it from the load's start on; the holder reads the controller's clock."""
        self.holder.call({"request": "begin_path", "at_mono_ns": at_mono_ns})

    def end(self, writer: TrialWriter) -> Audit:
        """Let everything pass again, write the path's tables, and return how well it was carried."""
        audit: Audit = {}
        with ReceivedTables(writer, self.holder.label, NEAR) as tables:
            for reply in self.holder.stream({"request": "end_path"}):
                if isinstance(reply, TablePiece):
                    tables.take(reply)
                elif reply["reply"] == "table":
                    tables.announce(reply)
                elif reply["reply"] == "path_carried":
                    audit = {key: value for key, value in reply.items() if key != "reply"}
                else:
                    tables.finish()
                    break
        if not audit:
            raise RunError(f"{self.holder.label}: the agent ended the path without saying how it was carried")
        return audit
