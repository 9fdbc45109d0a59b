"""The look of a limit state: name, two letters for small places, color, texture, definition."""

import ast
import inspect
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from itertools import pairwise
from typing import Literal

from whyperf.explain import states
from whyperf.explain.states import NAMES, ReceiverState, SenderState
from whyperf.report.charts.colors import CATEGORIES, Paint

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


_SENDER: dict[SenderState, tuple[str, Paint, Texture]] = {
    SenderState.HANDSHAKE: ("Ha", GRAY, "dots"),
    SenderState.RTO_WAIT: ("To", RED, "slash"),
    SenderState.LOSS_RECOVERY: ("Lo", RED, "plain"),
    SenderState.ZERO_WINDOW: ("Zw", ORANGE, "cross"),
    SenderState.RECEIVE_WINDOW_READER: ("Rr", ORANGE, "slash"),
    SenderState.RECEIVE_WINDOW_BUFFER: ("Rb", ORANGE, "plain"),
    SenderState.RECEIVE_WINDOW: ("Rw", ORANGE, "dots"),
    SenderState.SLOW_START: ("Ss", GREEN, "slash"),
    SenderState.CONGESTION_WINDOW: ("Cw", GREEN, "plain"),
    SenderState.NAGLE: ("Na", OLIVE, "plain"),
    SenderState.PACING: ("Pa", INDIGO, "plain"),
    SenderState.DEVICE: ("De", INDIGO, "slash"),
    SenderState.SEND_BUFFER: ("Sb", PINK, "plain"),
    SenderState.IN_FLIGHT: ("If", GREEN, "dots"),
    SenderState.WRITE_CALL: ("Wr", BLUE, "plain"),
    SenderState.WAITS_FOR_CPU: ("Cp", BLUE, "slash"),
    SenderState.NOT_WRITING: ("Nw", GRAY, "plain"),
    SenderState.UNKNOWN: ("?", GRAY, "hollow"),
}
_RECEIVER: dict[ReceiverState, tuple[str, Paint, Texture]] = {
    ReceiverState.HANDSHAKE: ("Ha", GRAY, "dots"),
    ReceiverState.SEQUENCE_HOLE: ("Ho", RED, "plain"),
    ReceiverState.READ_CALL: ("Rd", BLUE, "plain"),
    ReceiverState.SOFTIRQ: ("Si", GREEN, "plain"),
    ReceiverState.WAITS_FOR_CPU: ("Cp", BLUE, "slash"),
    ReceiverState.NOT_READING: ("Nr", ORANGE, "slash"),
    ReceiverState.UNREAD: ("Ur", ORANGE, "plain"),
    ReceiverState.DELAYED_ACK: ("Da", OLIVE, "plain"),
    ReceiverState.WAITING: ("Wa", GRAY, "plain"),
    ReceiverState.UNKNOWN: ("?", GRAY, "hollow"),
}


def look_of(state: str, role: str = "sender") -> Look:
    """The look of a state of a role; unknown states are shown by their name."""
    try:
        if role == "sender":
            sent = SenderState(state)
            return Look(state, NAMES[sent], *_SENDER[sent], definition=_definitions(SenderState).get(sent.name, ""))
        received = ReceiverState(state)
        return Look(
            state, NAMES[received], *_RECEIVER[received], definition=_definitions(ReceiverState).get(received.name, "")
        )
    except (ValueError, KeyError):
        return Look(state, state.replace("_", " "), "?", GRAY, "hollow")


def rank_of(state: str, role: str) -> int:
    """The position of a state among those of its role; families are together, so that stacks have one order."""
    order = [known.value for known in (_SENDER if role == "sender" else _RECEIVER)]
    return order.index(state) if state in order else len(order)


@cache
def _definitions(kind: type[StrEnum]) -> dict[str, str]:
    """The docstring of each member of an enumeration."""
    tree = ast.parse(inspect.getsource(states))
    body = next(node.body for node in tree.body if isinstance(node, ast.ClassDef) and node.name == kind.__name__)
    found = {}
    for member, below in pairwise(body):
        match member, below:
            case ast.Assign(targets=[ast.Name(id=name)]), ast.Expr(value=ast.Constant(value=str(text))):
                found[name] = " ".join(text.split())
    return found
