"""The emulated path of a trial: sent to the testbed's agent before, started and ended with the load, and judged."""

from dataclasses import dataclass

from whyperf.run.agents.agent import Agent
from whyperf.run.agents.received import ReceivedTables, TableSink
from whyperf.run.ends import NEAR
from whyperf.run.errors import RunError
from whyperf.wire import PathSpec, ReplyPathCarried

MIN_BUDGET_NS = 1_000_000
"""A packet that leaves this late after it was due is late, whatever the path."""
BUDGET_OF_ROUND_TRIP = 0.05
"""On a long path it takes this part of the round trip to be late."""
MAX_LATE_RATIO = 0.01
"""Share of a trial's packets that may be late."""


def budget_ns(spec: PathSpec) -> int:
    """The time that a packet may be late without being counted as late."""
    round_trip_ns = spec["forward"]["delay_ns"] + spec["backward"]["delay_ns"]
    return max(MIN_BUDGET_NS, round(BUDGET_OF_ROUND_TRIP * round_trip_ns))


def why_void(audit: ReplyPathCarried, spec: PathSpec, busiest: str = "") -> str | None:
    """Why a trial over a path that was carried so says nothing about the path; None when it does.

    Args:
        audit: how well it was carried.
        spec: the path that was asked for: only a rate that was set can be lowered.
        busiest: which other process was busy meanwhile, as text; empty where none was.
    """
    advice = f"{busiest} meanwhile: end it and run again" if busiest else "free CPUs and run again"
    if any(way["rate_bps"] is not None for way in (spec["forward"], spec["backward"])):
        advice += ", or choose a lower path_rate_bps"
    lost = {
        "{} frames overran the path's router": audit["socket_dropped_frames"],
        "{} packets were dropped by the testbed's devices": audit["device_dropped_packets"],
        "the kernel refused {} frames": audit["refused_frames"],
    }
    losses = [text.format(f"{count:,}") for text, count in lost.items() if count]
    if losses:
        return f"the host lost what the path did not lose: {', '.join(losses)}; {advice}"
    released, late = audit["released_packets"], audit["late_packets"]
    # Nobody sees when packets leave the kernel's own disciplines; the audit says so.
    if late is not None and late > MAX_LATE_RATIO * released:
        return (
            f"{late / released:.1%} of the packets left the path more than {audit['budget_ns'] / 1e6:g} ms late, the "
            f"latest by {(audit['lateness_ns_max'] or 0) / 1e6:.1f} ms; {advice}"
        )
    return None


@dataclass(frozen=True)
class EmulatedPath:
    """The path of one trial, in the hands of the agent that holds the testbed. Its router runs on `cpu`."""

    holder: Agent
    spec: PathSpec
    cpu: int | None = None

    def carry(self) -> None:
        """Make it the path, without its losses until it starts, so that connections open.

        Raises:
            AgentError: this host cannot carry it.
        """
        self.holder.call({"request": "carry_path", "path": self.spec, "budget_ns": budget_ns(self.spec)})

    def start(self, at_mono_ns: int) -> None:
        """Be all of it from the load's start on; the holder reads the controller's clock."""
        self.holder.call({"request": "begin_path", "at_mono_ns": at_mono_ns})

    def end(self, writer: TableSink) -> ReplyPathCarried:
        """Let everything pass again, write the path's tables, and return how well it was carried."""
        audit: ReplyPathCarried | None = None
        with ReceivedTables(writer, self.holder.label, {}, NEAR) as tables:
            for reply in tables.replies(self.holder.stream({"request": "end_path"})):
                if reply["reply"] == "path_carried":
                    audit = reply
        if audit is None:
            raise RunError(f"{self.holder.label}: the agent ended the path without saying how it was carried")
        return audit
