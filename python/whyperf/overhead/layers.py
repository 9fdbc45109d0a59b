"""For whom the bytes on a line are: every one of them belongs to exactly one layer."""

from collections.abc import Iterable, Mapping
from enum import Enum
from fractions import Fraction
from typing import TypeAlias


class Layer(Enum):
    """Who needs a byte, from the user down to the line; the value is its name for people."""

    USER = "User data"
    APPLICATION = "File protocol header"
    TRANSPORT = "Transport header"
    NETWORK = "Network header"
    LLC = "LLC and SNAP header"
    EMULATION = "LAN emulation header"
    MAC = "MAC header"
    PADDING = "Padding of short frames"
    CHECK = "Frame check sequence"
    ADAPTATION = "AAL headers and trailers"
    CELL_PADDING = "Padding of cells"
    CELL_HEADER = "Cell headers"
    LINE = "Line framing"


Bytes: TypeAlias = Mapping[Layer, Fraction]
"""Bytes by layer. Fractions, because SONET takes a 27th of the line and knows no packets."""

ADAPTER = frozenset(
    {
        Layer.USER,
        Layer.APPLICATION,
        Layer.TRANSPORT,
        Layer.NETWORK,
        Layer.LLC,
        Layer.EMULATION,
        Layer.MAC,
        Layer.PADDING,
    }
)
"""Layers that the driver hands to the adapter; the adapter or the line adds the rest."""


def added(parts: Iterable[Bytes]) -> dict[Layer, Fraction]:
    """The sum by layer, in the layers' order, without layers that have nothing."""
    total: dict[Layer, Fraction] = {}
    for part in parts:
        for layer, count in part.items():
            total[layer] = total.get(layer, Fraction(0)) + count
    return {layer: total[layer] for layer in Layer if total.get(layer)}
