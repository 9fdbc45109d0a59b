"""The page of a comparison of tools: figures, ratios with their intervals, and each difference with its test."""

from functools import cache
from pathlib import Path

import jinja2
from markupsafe import Markup

from lab.tools.report.rows import difference_rows, ratio_text, setting_text, tables_of
from lab.tools.tool_runs import OWN, Ratio, ToolsComparison
from whyperf import __version__
from whyperf.report.assets import asset, together
from whyperf.report.cache import templates
from whyperf.report.compare.figures import RatioAxis, Whisker, ratio_axis


def page(found: ToolsComparison) -> str:
    """A self-contained HTML page, without scripts but the switch of its colors."""
    ratios = [ratio for each in found.figures for ratio in each.ratios]
    axis = ratio_axis(
        [ratio.ratio for ratio in ratios], [end for ratio in ratios for end in (ratio.low, ratio.high) if end]
    )
    return _template().render(
        version=__version__,
        title=f"{OWN} and {', '.join(each.tool for each in found.figures if each.tool != OWN) or 'no tool'}",
        setting=setting_text(found),
        headlines=[report.headline for report in found.reports],
        tables=list(tables_of(found)),
        plots=[(each.tool, [_drawn(ratio, axis) for ratio in each.ratios]) for each in found.figures if each.ratios],
        ticks=axis.ticks,
        reports=[(report, difference_rows(report)) for report in found.reports],
        notes=[*found.left_out, *found.notes],
        folder=found.folder,
        own=OWN,
        css=Markup(
            "".join(map(asset, ("page.css", "explanation/explanation.css", "cost/cost.css", "compare/compare.css")))
        ),
        js=Markup(asset("page.js")),
    )


def _drawn(ratio: Ratio, axis: RatioAxis) -> tuple[Ratio, Whisker, str]:
    # The interval is the line, and in the table above.
    text = ratio_text(ratio.model_copy(update={"low": None, "high": None}))
    return ratio, axis.whisker(ratio.ratio, ratio.low, ratio.high), text


@cache
def _template() -> jinja2.Template:
    name = "tools.html.j2"
    environment = jinja2.Environment(
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        loader=jinja2.DictLoader({name: Path(__file__).with_name(name).read_text(encoding="utf-8")}),
        bytecode_cache=templates(),
    )
    environment.filters["together"] = together
    return environment.get_template(name)
