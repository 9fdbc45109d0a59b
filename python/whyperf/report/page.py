"""Renders the page of an experiment: template, style, script, charts."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache

import jinja2
from markupsafe import Markup

from whyperf import __version__
from whyperf.analyze.bootstrap import RESAMPLES
from whyperf.analyze.fleet.inputs import label
from whyperf.analyze.summary import Summary
from whyperf.foreign import shell_line
from whyperf.plan import Plan
from whyperf.report import properties
from whyperf.report.assets import asset, chart_scripts, options, packed_bokeh, packed_charts, prose, together
from whyperf.report.cache import templates
from whyperf.report.charts.blocks import Section
from whyperf.report.charts.models import embedded
from whyperf.report.charts.switchboard import Switchboard
from whyperf.report.cost.section import CostSection
from whyperf.report.cost.styles import class_styles
from whyperf.report.explanation import ExplanationSection
from whyperf.report.fleet import FleetSection
from whyperf.report.fleet.heat_colors import fleet_styles
from whyperf.report.flow.section import FlowSection
from whyperf.report.flow.viewer import asset as flow_asset
from whyperf.report.headline import headline, key_figures
from whyperf.report.repeat import changes
from whyperf.report.stages import StagesSection
from whyperf.report.stages.stage_colors import stage_styles
from whyperf.report.table import cells_table

EXPLANATION = "explanation.html.j2"
_COST = "cost.html.j2"
STAGES = "stages.html.j2"
_FLEET = "fleet.html.j2"
_PAGE = "page.html.j2"
MAX_FIGURES = 4
"""Figures where the page begins; the others are above the table."""
MAX_HOSTS = 6
"""Hosts of a fleet whose facts the page shows; the record's folder `hosts` has all."""


@dataclass(frozen=True)
class RecordData:
    """Data of the record that are not in the summary: hosts, testbed, segment flow, folder, the command that makes it
    again, path, explanation, cost, processing times, hosts of a fleet.
    """

    hosts: Mapping[str, properties.Document]
    testbed: properties.Document | None
    flow: FlowSection | None
    folder: str
    command: str
    path: properties.Properties = field(default_factory=list)
    why: ExplanationSection | None = None
    cost: CostSection | None = None
    stages: StagesSection | None = None
    fleet: FleetSection | None = None


def render(plan: Plan, summary: Summary, data: RecordData, sections: list[Section], board: Switchboard) -> str:
    """The page as HTML."""
    charts = embedded({
        chart.id: chart.figure
        for section in sections
        for group in (*filter(None, [section.lead]), *section.groups)
        for chart in group.charts
    })  # fmt: skip
    table = cells_table(summary)
    answer = data.why.answer if data.why is not None else None
    figures = key_figures(summary)
    # The figures of the cause follow the rate.
    first = 1 if answer is not None and answer.figures else MAX_FIGURES
    styles = [asset("page.css")]
    # Bars of cost look like those of time.
    styles += [asset("explanation/explanation.css")] if data.why or data.cost or data.stages or data.fleet else []
    styles += [asset("fleet/fleet.css"), fleet_styles()] if data.fleet else []
    styles += [asset("cost/cost.css"), class_styles()] if data.cost else []
    styles += [asset("stages/stages.css"), stage_styles()] if data.stages else []
    styles += [flow_asset("flow.css")] if data.flow else []
    return _template().render(
        version=__version__,
        summary=summary,
        is_watched=plan.watched is not None,
        headline=headline(summary, answer.claim if answer is not None else ""),
        answer=answer,
        about=plan.about.strip(),
        profile=plan.profile,
        changes=changes(plan),
        figures=figures[:first],
        more_figures=figures[first:],
        lead=next((section.lead for section in sections if section.lead is not None), None),
        plan_warnings=plan.warnings,
        sections=sections,
        divs=charts.elements,
        table=table,
        flow=data.flow,
        why=data.why,
        cost=data.cost,
        stages=data.stages,
        fleet=data.fleet,
        starred=any(entry.text.endswith("*") for row in table.rows for entry in row),
        rough=any(entry.text.startswith("~") for row in table.rows for entry in row),
        hosts=_hosts(data, plan),
        testbed=[
            {"title": title, "facts": properties.testbed_facts(data.testbed[end])}
            for end, title in (("near", "Near side"), ("far", "Far side"))
            if end in data.testbed
        ]
        if data.testbed
        else [],
        path=data.path,
        plan_facts=properties.plan_facts(plan, summary),
        constant=properties.constant_factors(plan),
        command=data.command,
        raw=data.folder,
        remake=shell_line(["whyperf", "report", data.folder]),
        resamples=f"{RESAMPLES:,}",
        switched=board.to_json(),
        charts=packed_charts(charts.script) if charts.elements else "",
        css=Markup("".join(styles)),
        js=chart_scripts() + (asset("cost/flame.js") if data.cost else ""),
    )


def prepare() -> None:
    """Compiles the templates and packs BokehJS; a page does both when this was not called before."""
    for name in (EXPLANATION, _COST, STAGES, _FLEET):
        _template().environment.get_template(name)
    packed_bokeh()


@cache
def _template() -> jinja2.Template:
    loader = jinja2.ChoiceLoader([
        jinja2.DictLoader({
            EXPLANATION: asset(f"explanation/{EXPLANATION}"),
            _COST: asset(f"cost/{_COST}"),
            STAGES: asset(f"stages/{STAGES}"),
            _FLEET: asset(f"fleet/{_FLEET}"),
            _PAGE: asset(_PAGE),
        }),
        jinja2.FunctionLoader(flow_asset),
    ])  # fmt: skip
    environment = jinja2.Environment(
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        loader=loader,
        bytecode_cache=templates(),
    )
    environment.filters |= {"together": together, "prose": prose, "options": options}
    return environment.get_template(_PAGE)


def _hosts(data: RecordData, plan: Plan) -> list[dict[str, object]]:
    """The facts of the hosts; one card where both hosts are the same machine. Of a fleet, the first hosts by name."""
    titles = {"near": "Near host", "far": "Far host"}
    hosts = dict(data.hosts)
    if plan.fleet is not None:
        names = {label(side, at): getattr(pair, side) for at, pair in enumerate(plan.pairs) for side in ("near", "far")}
        first = {names[end]: end for end in reversed(hosts) if end in names}
        chosen = list(reversed(first.values()))[:MAX_HOSTS]
        titles = {end: names[end] for end in chosen}
        hosts = {end: hosts[end] for end in chosen}
    same = ("hostname", "kernel", "cpu_model", "memory_bytes")
    if {"near", "far"} <= hosts.keys() and all(hosts["near"].get(key) == hosts["far"].get(key) for key in same):
        hosts = {"near": hosts["near"]}
        is_model = hosts["near"].get("machine") == "simulated"
        titles["near"] = "Both hosts of the model" if is_model else "Both hosts (one machine)"
    return [
        {
            "title": titles.get(name, name),
            "facts": properties.host_facts(host),
            "devices": properties.devices(host),
            "lacks": properties.abilities(host),
            "sysctls": sorted(host.get("sysctls", {}).items()),
        }
        for name, host in hosts.items()
    ]
