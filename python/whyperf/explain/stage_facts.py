"""Time that the stages of a packet take at a side, from trials of the cell with stage times."""

from dataclasses import dataclass


@dataclass(frozen=True)
class StageTime:
    """A stage of the side's payload: a packet is processed in it for `cpu_ns` and waits in it for `waiting_ns`, on
    average. `title` is its name, `about` what it covers; `ns_per_kbyte` where its time grows with the payload.
    Nothing is processed in one that `is_wait`; in others, waiting is time in which other work had the CPU.
    """

    name: str
    title: str
    about: str
    cpu_ns: float
    waiting_ns: float
    ns_per_kbyte: float | None = None
    is_wait: bool = False


@dataclass(frozen=True)
class StageFacts:
    """The stages of a side.

    Attributes:
        stages: those of the payload that the sender sends and the receiver receives, in the order of their time.
        cpu_ns: processing of a packet by all of them.
        packet_bytes: its payload, on average.
        application_ns: time of the program itself between calls, for a packet; 0 where none was seen.
        packets_per_interrupt: packets that one hardware interrupt brings; None where none was seen.
        slow_stage: the stage that the slowest 1 % of the messages spend most of their delay in; None with few messages.
        slow_ratio: its part of that delay.
        slow_ns: how much longer than the others these messages take in it.
    """

    stages: tuple[StageTime, ...] = ()
    cpu_ns: float = 0.0
    packet_bytes: float = 0.0
    packets_per_interrupt: float | None = None
    application_ns: float = 0.0
    slow_stage: StageTime | None = None
    slow_ratio: float | None = None
    slow_ns: float | None = None

    def of(self, *names: str) -> list[StageTime]:
        """The stages of these names that there are."""
        return [stage for stage in self.stages if stage.name in names]

    @property
    def dearest(self) -> StageTime | None:
        """The stage with most processing."""
        return max(self.stages, key=lambda stage: stage.cpu_ns, default=None)
