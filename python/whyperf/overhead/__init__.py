"""Part of a link that headers, padding, cells and gaps leave for the user, computed and not measured.

A message goes down the layers: a protocol makes packets of it (`protocols`), an encapsulation and a link make frames
or cells of each packet (`links`), a window decides how many may be under way (`windows`). Every byte on the line is
counted for exactly one `Layer`. After study 5: user-level against adapter-level throughput against the line rate.
"""

from whyperf.overhead.answer import Overhead, Point, default_sizes, overhead
from whyperf.overhead.errors import OverheadError
from whyperf.overhead.layers import Layer
from whyperf.overhead.links import LINKS, Encapsulation, Link, MacHeader, encapsulations, link_named
from whyperf.overhead.protocols import PROTOCOLS, Protocol, protocol_named
from whyperf.overhead.windows import Window

__all__ = [
    "LINKS",
    "PROTOCOLS",
    "Encapsulation",
    "Layer",
    "Link",
    "MacHeader",
    "Overhead",
    "OverheadError",
    "Point",
    "Protocol",
    "Window",
    "default_sizes",
    "encapsulations",
    "link_named",
    "overhead",
    "protocol_named",
]
