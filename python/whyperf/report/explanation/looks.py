"""How a limit state looks: its name, two letters for small places, a color, a texture, its definition."""

import ast
import inspect
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from itertools import pairwise
from typing import Literal

from whyperf.explain import states
from whyperf.explain.states import ReceiverState, SenderState
from whyperf.report.paint import CATEGORIES, Paint

Texture = Literal["plain", "slash", "dots", "cross", "hollow"]

BLUE, ORANGE, GREEN, PINK, OLIVE, INDIGO, GRAY, RED = CATEGORIES


@dataclass(frozen=True)
class Look:
    """A state as the page shows it. States of one family share a color and differ in texture."""

    state: str
    name: str
    letters: str
    paint: Paint
    texture: Texture
    definition: str = ""


_SENDER: dict[SenderState, tuple[str, str, Paint, Texture]] = {
    SenderState.HANDSHAKE: ("Handshake", "Ha", GRAY, "dots"),
    SenderState.RTO_WAIT: ("Timeout wait", "To", RED, "slash"),
    SenderState.LOSS_RECOVERY: ("Loss recovery", "Lo", RED, "plain"),
    SenderState.ZERO_WINDOW: ("Zero window", "Zw", ORANGE, "cross"),
    SenderState.RECEIVE_WINDOW_READER: ("Receive window, slow reader", "Rr", ORANGE, "slash"),
    SenderState.RECEIVE_WINDOW_BUFFER: ("Receive window, small buffer", "Rb", ORANGE, "plain"),
    SenderState.SLOW_START: ("Slow start", "Ss", GREEN, "slash"),
    SenderState.CONGESTION_WINDOW: ("Congestion window", "Cw", GREEN, "plain"),
    SenderState.NAGLE: ("Nagle's hold", "Na", OLIVE, "plain"),
    SenderState.PACING: ("Pacing", "Pa", INDIGO, "plain"),
    SenderState.DEVICE: ("Device and queues", "De", INDIGO, "slash"),
    SenderState.SEND_BUFFER: ("Send buffer full", "Sb", PINK, "plain"),
    SenderState.WRITE_CALL: ("In the write call", "Wr", BLUE, "plain"),
    SenderState.WAITS_FOR_CPU: ("Waits for a CPU", "Cp", BLUE, "slash"),
    SenderState.NOT_WRITING: ("Application not writing", "Nw", GRAY, "plain"),
    SenderState.UNKNOWN: ("Not known", "?", GRAY, "hollow"),
}
_RECEIVER: dict[ReceiverState, tuple[str, str, Paint, Texture]] = {
    ReceiverState.HANDSHAKE: ("Handshake", "Ha", GRAY, "dots"),
    ReceiverState.SEQUENCE_HOLE: ("Hole in the sequence", "Ho", RED, "plain"),
    ReceiverState.READ_CALL: ("In the read call", "Rd", BLUE, "plain"),
    ReceiverState.SOFTIRQ: ("Receive processing", "Si", GREEN, "plain"),
    ReceiverState.WAITS_FOR_CPU: ("Waits for a CPU", "Cp", BLUE, "slash"),
    ReceiverState.NOT_READING: ("Application not reading", "Nr", ORANGE, "slash"),
    ReceiverState.DELAYED_ACK: ("Acknowledgment held back", "Da", OLIVE, "plain"),
    ReceiverState.WAITING: ("Waiting for payload", "Wa", GRAY, "plain"),
    ReceiverState.UNKNOWN: ("Not known", "?", GRAY, "hollow"),
}


def look_of(state: str, role: str = "sender") -> Look:
    """The look of a state at an end; one that this version does not know is shown by its name."""
    try:
        if role == "sender":
            sent = SenderState(state)
            return Look(state, *_SENDER[sent], definition=_definitions(SenderState).get(sent.name, ""))
        received = ReceiverState(state)
        return Look(state, *_RECEIVER[received], definition=_definitions(ReceiverState).get(received.name, ""))
    except (ValueError, KeyError):
        return Look(state, state.replace("_", " "), "?", GRAY, "hollow")


def rank_of(state: str, role: str) -> int:
    """Where a state stands among those of its end; families together, so that a stack keeps its order."""
    order = [one.value for one in (_SENDER if role == "sender" else _RECEIVER)]
    return order.index(state) if state in order else len(order)


@cache
def _definitions(kind: type[StrEnum]) -> dict[str, str]:
    """The sentence below each member of an enumeration, as the vocabulary defines it."""
    tree = ast.parse(inspect.getsource(states))
    body = next(node.body for node in tree.body if isinstance(node, ast.ClassDef) and node.name == kind.__name__)
    found = {}
    for member, below in pairwise(body):
        match member, below:
            case ast.Assign(targets=[ast.Name(id=name)]), ast.Expr(value=ast.Constant(value=str(text))):
                found[name] = " ".join(text.split())
    return found
