"""Renders the page of the segment flow of a trial."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import jinja2
from markupsafe import Markup

from whyperf import __version__
from whyperf.report.assets import asset as report_asset
from whyperf.report.assets import prose, together
from whyperf.report.flow.about import Steps, step_text
from whyperf.report.flow.connections import Connections
from whyperf.report.flow.drawing import Drawing
from whyperf.report.flow.viewer import Viewer, asset, blocks_json, data, scripts
from whyperf.report.stages import StagesSection
from whyperf.report.stages.stage_colors import stage_styles

STAGES = "stages.html.j2"


@dataclass(frozen=True)
class HostFacts:
    """One host: a heading, and facts by name."""

    title: str
    facts: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Page:
    """The texts and tables of the page."""

    experiment: str
    trial: str
    headline: str
    hosts: Sequence[HostFacts]
    steps: Steps
    notes: Sequence[str] = ()
    warnings: Sequence[str] = ()
    connections: Connections | None = None
    stages: StagesSection | None = None
    terms: Sequence[tuple[str, str]] = field(default_factory=tuple)


def render(page: Page, drawing: Drawing) -> str:
    """The page as HTML."""
    stages = jinja2.DictLoader({STAGES: report_asset(f"stages/{STAGES}")})
    loader = jinja2.ChoiceLoader([stages, jinja2.FunctionLoader(asset)])
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, loader=loader)
    environment.filters |= {"together": together, "prose": prose}
    styles = [report_asset("page.css"), asset("flow.css")]
    if page.stages is not None:
        styles += [report_asset("explanation/explanation.css"), report_asset("stages/stages.css"), stage_styles()]
    drawn = list(dict.fromkeys(about["connection"] for about in drawing.tracks))
    hosts = list(dict.fromkeys((about["host"], about["role"]) for about in drawing.tracks))
    table = page.connections
    known: dict[str, object] | None = (
        {"connections": table.rows, "columns": [column.kind for column in table.columns], "drawn": drawn}
        if table is not None
        else None
    )
    outside = drawing.outside.name if drawing.outside is not None else ""
    return environment.get_template("page.html.j2").render(
        **vars(page),
        version=__version__,
        viewer=Viewer(drawn, hosts, step_text(page.steps.ack_ns), step_text(page.steps.super_ns)),
        css=Markup("".join(styles)),
        js=scripts("theme", "page") if drawing.tracks else asset("js/theme.js"),
        outside=outside,
        data=data(drawing.tracks, outside, known),
        blocks=blocks_json(drawing.first_blocks()),
    )
