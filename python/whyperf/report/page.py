"""Puts the page together: template, style, script, charts."""

from dataclasses import dataclass, field

import jinja2
from bokeh.embed import components
from bokeh.model import Model
from markupsafe import Markup

from whyperf import __version__
from whyperf.analyze.bootstrap import RESAMPLES
from whyperf.analyze.summary import Summary
from whyperf.plan import Plan
from whyperf.report import properties
from whyperf.report.assets import asset, bokeh_script, prose, together
from whyperf.report.charts.blocks import Section
from whyperf.report.charts.switchboard import Switchboard
from whyperf.report.explanation import ExplanationSection
from whyperf.report.flow.section import FlowSection
from whyperf.report.flow.viewer import asset as flow_asset
from whyperf.report.headline import headline, key_figures
from whyperf.report.repeat import command
from whyperf.report.table import cells_table

EXPLANATION = "explanation.html.j2"


@dataclass(frozen=True)
class Found:
    """What was found on the hosts and read back from the testbed, the path, the segment flow, where the record is."""

    hosts: dict[str, properties.Document]
    testbed: properties.Document | None
    flow: FlowSection | None
    folder: str
    path: properties.Properties = field(default_factory=list)
    why: ExplanationSection | None = None


def render(plan: Plan, summary: Summary, found: Found, sections: list[Section], board: Switchboard) -> str:
    """The page as text."""
    charts: dict[str, Model] = {
        chart.id: chart.figure for section in sections for group in section.groups for chart in group.charts
    }
    script, divs = components(charts) if charts else ("", {})
    table = cells_table(summary)
    styles = [asset("page.css")]
    styles += [asset("explanation/explanation.css")] if found.why else []
    styles += [flow_asset("flow.css")] if found.flow else []
    loader = jinja2.ChoiceLoader([
        jinja2.DictLoader({EXPLANATION: asset(f"explanation/{EXPLANATION}")}),
        jinja2.FunctionLoader(flow_asset),
    ])  # fmt: skip
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, loader=loader)
    environment.filters |= {"together": together, "prose": prose}
    template = environment.from_string(asset("page.html.j2"))
    return template.render(
        version=__version__,
        summary=summary,
        headline=headline(summary),
        about=plan.about.strip(),
        figures=key_figures(summary),
        plan_warnings=plan.warnings,
        sections=sections,
        divs=divs,
        table=table,
        flow=found.flow,
        why=found.why,
        starred=any(entry.text.endswith("*") for row in table.rows for entry in row),
        rough=any(entry.text.startswith("~") for row in table.rows for entry in row),
        hosts=_hosts(found),
        testbed=[
            {"title": title, "facts": properties.testbed_facts(found.testbed[end])}
            for end, title in (("near", "Near end"), ("far", "Far end"))
            if end in found.testbed
        ]
        if found.testbed
        else [],
        path=found.path,
        plan_facts=properties.plan_facts(plan, summary),
        constant=properties.constant_factors(plan),
        command=command(plan, found.folder),
        raw=found.folder,
        remake=f"whyperf report {found.folder}",
        resamples=f"{RESAMPLES:,}",
        switched=board.to_json(),
        bokeh=bokeh_script() if charts else "window.Bokeh = { documents: [] };",
        script=script,
        css=Markup("".join(styles)),
        js=asset("page.js"),
    )


def _hosts(found: Found) -> list[dict[str, object]]:
    """The hosts' facts; one card where both ends are the same machine."""
    titles = {"near": "Near host", "far": "Far host"}
    hosts = dict(found.hosts)
    same = ("hostname", "kernel", "cpu_model", "memory_bytes")
    if {"near", "far"} <= hosts.keys() and all(hosts["near"].get(key) == hosts["far"].get(key) for key in same):
        hosts = {"near": hosts["near"]}
        is_model = hosts["near"].get("machine") == "simulated"
        titles["near"] = "Hosts of the model, both ends" if is_model else "One host, both ends"
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
