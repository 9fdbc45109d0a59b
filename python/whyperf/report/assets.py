"""Shared by all pages: files of this folder, the chart script, and the formatting of numbers."""

import base64
import re
import struct
import zlib
from functools import cache
from importlib.resources import files

from markupsafe import Markup, escape

from whyperf.report.cache import kept
from whyperf.report.charts.models import bokeh_script

NUMBER_AND_UNIT = re.compile(r"(\d) ([kMGT]?bit/s|bytes|%|s\b|ms\b|µs\b)")
CODE = re.compile(r"`([^`]+)`")
#: Of a gzip member: deflate, no name, no time, packed as small as possible, on Unix (RFC 1952 section 2.3).
_HEADER = bytes((0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 2, 3))
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")


def asset(name: str) -> str:
    """A file of the report's folder as text."""
    return files("whyperf.report").joinpath(name).read_text(encoding="utf-8")


def together(text: str) -> str:
    """Keeps numbers and their units on one line with no-break spaces."""
    return NUMBER_AND_UNIT.sub("\\1\N{NO-BREAK SPACE}\\2", text)


def prose(text: str) -> Markup:
    """A sentence for the page: keeps numbers and units together and formats text in backticks as code."""
    return options(Markup(CODE.sub(r"<code>\1</code>", str(escape(together(text))))))


def options(text: str) -> Markup:
    """Keeps the name of each option on one line: a browser breaks lines after hyphens."""
    return Markup(OPTION.sub(r'<span class="whole">\g<0></span>', str(escape(text))))


def packed_charts(script: str) -> str:
    """BokehJS, and the `script` that embeds the charts, for `charts.js` to unpack.

    Packed (gzip in Base64), they take a third of their length. It is one stream, because browsers unpack no second one
    behind it: the blocks of BokehJS end at a byte, and those of the script continue them (RFC 1951 section 3.2.4).
    """
    begun, checksum, length = packed_bokeh()
    behind = f"\n{script}".encode()
    packing = zlib.compressobj(level=9, wbits=-zlib.MAX_WBITS)
    end = struct.pack("<II", zlib.crc32(behind, checksum), (length + len(behind)) & 0xFFFFFFFF)
    return base64.b64encode(begun + packing.compress(behind) + packing.flush() + end).decode()


@cache
def packed_bokeh() -> tuple[bytes, int, int]:
    """The start of a gzip stream (RFC 1952) with BokehJS, and the checksum and length of what it holds so far.

    Its header has no time, so equal charts give equal pages.
    """
    script = bokeh_script().encode()

    def packed() -> bytes:
        packing = zlib.compressobj(level=9, wbits=-zlib.MAX_WBITS)
        return _HEADER + packing.compress(script) + packing.flush(zlib.Z_FULL_FLUSH)

    return kept("bokeh.gz", script, packed), zlib.crc32(script), len(script)


def chart_scripts() -> str:
    """The scripts of a page with charts."""
    return asset("charts.js") + asset("page.js")
