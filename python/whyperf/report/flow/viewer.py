"""The viewer: the part of a page that draws the tracks of a trial and can zoom."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from whyperf.foreign import json_in_script
from whyperf.report.flow import levels, terms
from whyperf.report.flow.drawing import About, Blocks

SCRIPTS = (
    *("store", "tile", "axis", "columns", "draw", "figures"),
    *("row_text", "view", "tip", "pointer", "shares", "viewer", "connections"),
)
"""The scripts of the viewer in their order; they share one scope."""

SHARES = (
    (
        "sizes",
        "Segment sizes",
        "Packets that this host sent, by payload size. A super-segment is one packet.",
        "This host sent no payload.",
    ),
    (
        "contexts",
        "Send context",
        "Packets with payload, by the context in which the kernel sent them.",
        "This host sent no payload.",
    ),
    ("reasons", "ACK reasons", "Pure ACKs that this host sent, by reason.", "This host sent no pure ACK."),
)


@dataclass(frozen=True)
class Viewer:
    """The data of the viewer template; `closer` names the page with single segments if this page lacks them."""

    connections: Sequence[int]
    hosts: Sequence[tuple[str, str]]
    ack_step: str
    super_step: str
    closer: str = ""
    closer_page: str = ""
    shares: Sequence[tuple[str, str, str, str]] = SHARES


def scripts(*more: str) -> str:
    """The scripts in one scope; `more` come last."""
    return "\n".join(['"use strict";', "(() => {", *map(_script, (*SCRIPTS, *more)), "})();"])


def data(
    tracks: Sequence[About], folder: str, connections: Mapping[str, Any] | None, *, overview_only: bool = False
) -> str:
    """The data of the scripts, as JSON that is safe inside a script element."""
    document = {
        "folder": folder,
        "overviewOnly": overview_only,
        "topBins": levels.TOP_BINS,
        "tileBins": levels.TILE_BINS,
        "group": levels.GROUP,
        "contexts": terms.CONTEXT_NAMES,
        "reasons": terms.ACK_REASON_NAMES,
        "retransmissions": terms.RETRANSMISSION_NAMES,
        "tracks": list(tracks),
        **(connections or {}),
    }
    return json_in_script(document)


def blocks_json(blocks: Blocks) -> str:
    """Blocks as JSON; base64 needs no escape."""
    return json.dumps({str(name): text for name, text in blocks.items()}, separators=(",", ":"))


@cache
def asset(name: str) -> str:
    """A file of this folder as text."""
    return files("whyperf.report.flow").joinpath(name).read_text(encoding="utf-8")


def _script(name: str) -> str:
    return asset(f"js/{name}.js")
