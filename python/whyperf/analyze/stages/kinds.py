"""The stages of a segment's life in a host, in order: what each is, and whether it takes CPU time or only waits."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal

OUT: Final = "out"
IN: Final = "in"
Layer = Literal["call", "copy", "protocol", "queue", "driver", "wakeup", "acks", "path"]


@dataclass(frozen=True)
class Stage:
    """A stage: its code word in the table `stages`, what it is called, where it is, and what it covers.

    `is_wait`: nothing is processed in it. `is_between`: no row has it; it is the time between two stages.
    """

    name: str
    title: str
    layer: Layer
    about: str
    is_wait: bool = False
    is_between: bool = False


SENDER: Final = (
    Stage("call_entry", "Call entry", "call", "from the system call until the socket copies"),
    Stage("copy_in", "Copy in", "copy", "payload from the program into buffers of the socket, without a transmission"),
    Stage("held", "Held by TCP", "queue", "window, Nagle's algorithm, pacing, or more payload first", True, True),
    Stage("tcp_out", "TCP and IP out", "protocol", "headers, timers, routing, filters; in a call also its last copy"),
    Stage("qdisc_out", "Queue", "queue", "work of the queueing discipline"),
    Stage("qdisc_wait", "Wait in queue", "queue", "in the queueing discipline", True),
    Stage("driver_out", "Driver out", "driver", "handing the packet to the device"),
    Stage("call_exit", "Call exit", "call", "what is left of the system call after TCP"),
)  # fmt: skip
"""Stages of payload that leaves a host, in the order of their time."""

RECEIVER: Final = (
    Stage("path", "Path", "path", "between the sender's driver and the receiver's first stage", True, True),
    Stage("interrupt", "Interrupt", "driver", "hard interrupt of the device"),
    Stage("softirq_wait", "Wait for softirq", "queue", "until receive processing begins", True),
    Stage("driver_in", "Driver in", "driver", "taking the packet from the device or a CPU's backlog"),
    Stage("gro", "GRO", "protocol", "merging packets (generic receive offload)"),
    Stage("ip_in", "IP in", "protocol", "routing, packet filters"),
    Stage("tcp_in", "TCP in", "protocol", "the connection's state, the socket's queue"),
    Stage("wakeup", "Wake-up", "wakeup", "notifying the reader, and what TCP does after it"),
    Stage("wakeup_wait", "Wait for CPU", "wakeup", "from the wake-up until the reader runs", True),
    Stage("socket_wait", "Wait in socket", "queue", "in the socket until the reader takes it", True),
    Stage("copy_out", "Copy out", "copy", "payload from buffers of the socket to the program"),
    Stage("call_exit", "Call exit", "call", "what is left of the system call after the copy"),
)
"""Stages of payload that arrives at a host."""

READ_ENTRY: Final = Stage("call_entry", "Call entry", "call", "from the system call until the socket copies")
"""Of a read. It may have begun long before, and wait for what it reads."""

READ_ENTRY_ON_PATH: Final = replace(READ_ENTRY, name="read_entry", title="Read call entry")
"""Of a message's time: what is left of a read call's entry when the message has arrived and the reader runs."""

HANDOVER: Final = Stage(
    "handover", "Hand over", "wakeup", "softirq after a transmission that makes another CPU take the packet (RPS)"
)
"""At the host that sends payload."""

ACKS: Final = (
    Stage("ack_out", "ACK out", "acks", "queueing discipline and driver of an ACK"),
    Stage("ack_handover", "Hand over of ACK", "acks", "softirq that makes another CPU take an ACK (RPS)"),
    Stage("ack_in", "ACK in", "acks", "TCP's processing of an ACK"),
)
"""Work for pure ACKs, which is in no sum over the stages of packets. Payload that arrives makes the first two, payload
that leaves makes `ack_in`."""

APPLICATION: Final = "application"
"""The program between two calls: no stage of the host's network code, and counted apart."""

BY_DIRECTION: Final[Mapping[str, tuple[Stage, ...]]] = {
    OUT: (*SENDER[:-1], HANDOVER, SENDER[-1], ACKS[2]),
    IN: (*RECEIVER[:-2], READ_ENTRY, *RECEIVER[-2:], *ACKS[:2]),
}
"""Stages by the direction of the payload at a host."""

BETWEEN: Final = Stage(
    "between", "Between stages", "path", "in no stage that was followed; the probes' own time is in it", True, True
)
"""The rest of a message's time."""

REFERENCE: Final[Mapping[str, tuple[str, ...]]] = {
    OUT: ("tcp_out", "driver_out", "qdisc_out"),
    IN: ("tcp_in", "ip_in", "copy_out"),
}
"""Stages whose rows are the packets that times are counted by; the first that has rows."""

CAUSED_BY_SOME: Final = frozenset({
    *("call_entry", "call_exit", "qdisc_wait", "handover", "interrupt", "softirq_wait", "driver_in"),
    *("wakeup", "wakeup_wait", "socket_wait", "ack_out", "ack_handover", "ack_in"),
})  # fmt: skip
"""Stages that not every byte passes, or whose rows are those of calls. Of packets that a softirq takes one after
another only the first has the driver's time; that of the others is in the stage before it."""


def stage_of(direction: str, name: str) -> Stage | None:
    """The stage of that name; None for one that is not known here."""
    return next((stage for stage in BY_DIRECTION[direction] if stage.name == name), None)


def title_of(name: str) -> str:
    """The title of the stage of that name, in either direction; the name itself where there is no such stage."""
    found = (stage for direction in BY_DIRECTION if (stage := stage_of(direction, name)) is not None)
    return next((stage.title for stage in found), name)
