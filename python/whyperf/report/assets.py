"""Shared by all pages: files of this folder, the chart script, and the formatting of numbers."""

import base64
import gzip
import re
from importlib.resources import files

from markupsafe import Markup, escape

NUMBER_AND_UNIT = re.compile(r"(\d) ([kMGT]?bit/s|bytes|%|s\b|ms\b|µs\b)")
CODE = re.compile(r"`([^`]+)`")
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
    """BokehJS without widgets, tables and WebGL, and the `script` that embeds the charts, for `charts.js` to unpack.

    Packed (gzip in Base64), they take a third of their length.
    """
    # Bokeh is slow to import, and the pages of a segment flow do not need it.
    from bokeh.resources import Resources  # noqa: PLC0415

    resources = Resources(mode="inline", components=["bokeh"], minified=True)
    text = "\n".join([*resources.js_raw, script])
    # Without a time stamp, so that equal charts give an equal page.
    return base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()


def chart_scripts() -> str:
    """The scripts of a page with charts."""
    return asset("charts.js") + asset("page.js")
