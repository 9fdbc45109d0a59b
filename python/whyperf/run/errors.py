"""Errors that can occur while measuring."""

from enum import StrEnum


class Fault(StrEnum):
    """Whose fault a failure is, as the agent names it (crates/schema/src/message.rs)."""

    USAGE = "usage"
    HOST = "host"
    PEER = "peer"
    INTERNAL = "internal"


class RunError(Exception):
    """A measurement that cannot go on: one sentence that says what happened and what to do."""

    def __init__(self, text: str, fault: Fault = Fault.HOST) -> None:
        """Keep the sentence and whose fault it is."""
        super().__init__(text)
        self.fault = fault


class AgentError(RunError):
    """A request that an agent refused; the agent itself goes on."""


class DisturbedError(RunError):
    """A cause from outside spoiled the trial, so it is void: others crowded its port, or its keeper was killed."""


class KeeperLostError(DisturbedError):
    """A keeper did not undo what it made for a trial; the testbed has to be built anew."""


class NoAnswerError(RunError):
    """An agent that did not answer in time."""


class PipeClosedError(RunError):
    """An agent that is gone, with whatever it last said on standard error."""


class PipeFaultError(PipeClosedError):
    """A pipe that lost, repeated or changed what an agent sent."""
