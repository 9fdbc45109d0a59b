"""The models of BokehJS that charts are made of, and their document as JSON.

A model has only the attributes that differ from BokehJS's defaults. Bokeh's own Python classes take a second to load,
and as long again for a page, because they check each attribute when it is set. Here the tests check instead: they read
every document with those classes (`tests/unit/report/conftest.py`), and a wrong name or value fails there.
"""

import json
import math
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from typing import Any, ClassVar, NamedTuple


class Model:
    """A model; its type is the name of its class, unless `TYPE` has another."""

    TYPE: ClassVar[str] = ""

    def __init__(self, **attributes: object) -> None:
        """With these attributes."""
        vars(self).update(attributes)

    def __getattr__(self, name: str) -> Any:
        """Only for attributes that were not set."""
        raise AttributeError(f"{type(self).__name__} has no {name} yet")

    def __setattr__(self, name: str, value: Any) -> None:
        """Sets an attribute."""
        vars(self)[name] = value


class Field(NamedTuple):
    """A visual property that each point takes from a column."""

    name: str


class Value(NamedTuple):
    """A visual property that is the same for all points."""

    value: object


class ColumnDataSource(Model):
    """Columns of data, one value per point."""

    def __init__(self, data: Mapping[str, object], **attributes: object) -> None:
        """With these columns."""
        super().__init__(data=dict(data), **attributes)


class Range1d(Model):
    """A fixed range of an axis."""


class DataRange1d(Model):
    """The range of an axis that follows the data."""


class LogScale(Model):
    """A logarithmic axis."""


class LinearAxis(Model):
    """An axis."""


class LogAxis(Model):
    """An axis with ticks for a logarithmic scale."""


class Grid(Model):
    """The grid lines of an axis."""


class BasicTicker(Model):
    """Ticks at round numbers."""


class FixedTicker(Model):
    """Ticks at given places."""


class NumeralTickFormatter(Model):
    """The format of the labels of ticks."""


class NoOverlap(Model):
    """Leaves out labels that would touch."""


class BoxAnnotation(Model):
    """A shaded area."""


class InlineStyleSheet(Model):
    """Styles of a part of a chart."""


class Toolbar(Model):
    """The tools of a chart."""


class BoxZoomTool(Model):
    """Zooms into a rectangle."""


class ResetTool(Model):
    """Undoes zooming."""


class SaveTool(Model):
    """Saves the chart as an image."""


class HoverTool(Model):
    """Tooltips."""


class GlyphRenderer(Model):
    """Draws a glyph for each point of a source."""


class Glyph(Model):
    """The drawing of a point, or of a line through all of them."""


class Curve(Glyph):
    """A line through the points."""

    TYPE = "Line"


class VArea(Glyph):
    """An area between two columns."""


class Segment(Glyph):
    """A straight line per point."""


class Scatter(Glyph):
    """A marker per point."""


class VBar(Glyph):
    """A bar per point."""


class Text(Glyph):
    """A text per point."""


class Plot(Model):
    """A chart with an x axis below and a y axis on the left."""

    TYPE = "Figure"

    def __init__(self, *, log_x: bool, log_y: bool, **attributes: object) -> None:
        """Without any data."""
        x_axis, y_axis = LogAxis() if log_x else LinearAxis(), LogAxis() if log_y else LinearAxis()
        super().__init__(
            x_range=DataRange1d(),
            y_range=DataRange1d(),
            renderers=[],
            below=[x_axis],
            left=[y_axis],
            center=[Grid(axis=x_axis), Grid(axis=y_axis, dimension=1)],
            toolbar=Toolbar(tools=[]),
            **({"x_scale": LogScale()} if log_x else {}),
            **({"y_scale": LogScale()} if log_y else {}),
            **attributes,
        )

    @property
    def xaxis(self) -> Model:
        """The x axis."""
        axis: Model = self.below[0]
        return axis

    @property
    def yaxis(self) -> Model:
        """The y axis."""
        axis: Model = self.left[0]
        return axis

    @property
    def xgrid(self) -> Model:
        """The grid of the x axis."""
        grid: Model = self.center[0]
        return grid

    @property
    def ygrid(self) -> Model:
        """The grid of the y axis."""
        grid: Model = self.center[1]
        return grid

    def draw(self, source: ColumnDataSource, glyph: Glyph, **attributes: object) -> GlyphRenderer:
        """Draws a glyph for each point of `source`."""
        renderer = GlyphRenderer(data_source=source, glyph=glyph, **attributes)
        self.renderers.append(renderer)
        return renderer


class DocumentConfig(Model):
    """The settings of a document."""


class Embedded(NamedTuple):
    """Charts in a page: the script that draws them, and by name the elements that they are drawn in."""

    script: str
    elements: dict[str, str]


def embedded(charts: Mapping[str, Plot]) -> Embedded:
    """The script and the elements of `charts`; the script needs BokehJS."""
    found = document(charts.values())
    names = [root["id"] for root in found["roots"]]
    roots = {name: f"chart-of-{name}" for name in names}
    items = [{"docid": "charts", "roots": roots, "root_ids": names}]
    content, placed = (json.dumps(part, separators=(",", ":"), allow_nan=False) for part in ({"charts": found}, items))
    script = (
        f"const embed_document = () => Bokeh.embed.embed_items({content}, {placed});\n"
        'if (document.readyState !== "loading") embed_document();\n'
        'else document.addEventListener("DOMContentLoaded", embed_document);\n'
    )
    elements = {
        chart: f'<div id="{roots[name]}" data-root-id="{name}" style="display: contents;"></div>'
        for chart, name in zip(charts, names, strict=True)
    }
    return Embedded(script, elements)


def document(figures: Iterable[Plot]) -> dict[str, Any]:
    """The document of `figures` (https://docs.bokeh.org/en/latest/docs/reference/document/document.html)."""
    written: dict[int, str] = {}
    roots = [_encoded(figure, written) for figure in figures]
    return {
        "version": _of_bokehjs("VERSION").strip(),
        "title": "",
        "config": _encoded(DocumentConfig(), written),
        "roots": roots,
    }


def _encoded(value: Any, written: dict[int, str]) -> Any:
    """`value` as JSON. A model is written out where it occurs first; later ones refer to it."""
    match value:
        case None | str() | bool() | int():
            found: Any = value
        case float():
            found = value if math.isfinite(value) else {"type": "number", "value": _not_finite(value)}
        case Model():
            found = _reference(value, written)
        case Field(name):
            found = {"type": "field", "field": name}
        case Value(shared):
            found = {"type": "value", "value": shared}
        case Mapping():
            found = {"type": "map", "entries": [[key, _encoded(part, written)] for key, part in value.items()]}
        case _:
            found = [_encoded(part, written) for part in value]
    return found


def _reference(model: Model, written: dict[int, str]) -> dict[str, Any]:
    if id(model) in written:
        return {"id": written[id(model)]}
    name = written[id(model)] = f"m{len(written)}"
    attributes = {key: _encoded(part, written) for key, part in vars(model).items()}
    return {"type": "object", "name": model.TYPE or type(model).__name__, "id": name, "attributes": attributes}


def _not_finite(value: float) -> str:
    return "nan" if math.isnan(value) else "+inf" if value > 0 else "-inf"


@cache
def bokeh_script() -> str:
    """BokehJS without widgets, tables and WebGL: a file of the package bokeh, which scripts/python puts there."""
    return f"/* bokeh.min.js */\n{_of_bokehjs('bokeh.min.js')}"


def _of_bokehjs(name: str) -> str:
    return files("whyperf.report").joinpath("bokehjs", name).read_text(encoding="utf-8")
