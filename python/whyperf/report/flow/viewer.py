"""The viewer: the part of a page that draws a trial's tracks and lets a reader zoom."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from whyperf.report.flow import levels, terms
from whyperf.report.flow.drawing import About, Blocks

SCRIPTS = (
    *("store", "tile", "axis", "columns", "draw", "figures"),
    *("words", "view", "tip", "pointer", "shares", "viewer", "connections"),
)
"""The viewer's scripts in their order; they share one scope."""

SHARES = (
    (
        "sizes",
        "Segment sizes",
        "Packets of each payload that left this end, a super-segment counting as one.",
        "Nothing with payload left this end.",
    ),
    (
        "contexts",
        "Who made the kernel send",
        "Packets with payload by the context they left TCP in.",
        "Nothing with payload left this end.",
    ),
    ("reasons", "Why acknowledgments were sent", "Pure ACKs of this end by reason.", "This end sent no pure ACK."),
)


@dataclass(frozen=True)
class Viewer:
    """What the template of the viewer shows; `closer` says what page has single segments if this has not."""

    connections: Sequence[int]
    ends: Sequence[tuple[str, str]]
    ack_step: str
    super_step: str
    closer: str = ""
    closer_page: str = ""
    shares: Sequence[tuple[str, str, str, str]] = SHARES


def scripts(*more: str) -> str:
    """The scripts in one scope of their own; `more` come last."""
    return "\n".join(['"use strict";', "(() => {", *map(_script, (*SCRIPTS, *more)), "})();"])


def data(
    tracks: Sequence[About], folder: str, connections: Mapping[str, Any] | None, *, overview_only: bool = False
) -> str:
    """What the scripts must know, as JSON that may stand in a script element."""
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
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False).replace("</", "<\\/")


def blocks_json(blocks: Blocks) -> str:
    """Blocks as JSON: base64 needs no escape."""
    return json.dumps({str(name): text for name, text in blocks.items()}, separators=(",", ":"))


@cache
def asset(name: str) -> str:
    """A file of this folder as text."""
    return files("whyperf.report.flow").joinpath(name).read_text(encoding="utf-8")


def _script(name: str) -> str:
    return asset(f"js/{name}.js")
