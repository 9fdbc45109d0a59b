"""Renders the page of a comparison: template, style, script."""

import shlex
from collections.abc import Mapping, Sequence
from functools import cache

import jinja2
from markupsafe import Markup

from whyperf import __version__
from whyperf.analyze.cost.text import cycles
from whyperf.analyze.cost.tree import Frame
from whyperf.analyze.text import count, percent, setting
from whyperf.compare.comparison import Comparison
from whyperf.report.assets import asset, options, prose, together
from whyperf.report.cache import templates
from whyperf.report.compare.budgets import budgets_of
from whyperf.report.compare.conditions import conditions_of, given_settings
from whyperf.report.compare.cost import cost_view
from whyperf.report.compare.figures import figures_of
from whyperf.report.compare.heading import key_figures_of, sentences_of, title_of
from whyperf.report.compare.pairs import pair_name
from whyperf.report.cost.styles import class_styles

MAX_UNPAIRED = 50
"""Cells without a partner that are listed."""


def render(comparison: Comparison, trees: Mapping[tuple[int, str], Frame], commands: Sequence[str]) -> str:
    """The page as HTML."""
    budgets, budgets_left_out = budgets_of(comparison)
    styles = ("page.css", "explanation/explanation.css", "cost/cost.css", "compare/compare.css")
    only = comparison.pairs[0] if len(comparison.pairs) == 1 else None
    name = None if only is None else pair_name(comparison, 0)
    headline, further = sentences_of(comparison)
    return _template().render(
        version=__version__,
        title=title_of(comparison),
        headline=headline,
        further=further,
        results=comparison.results,
        limited=()
        if only is None or name is None
        else [(label, text) for label, text in ((name.a, only.limited_a), (name.b, only.limited_b)) if text],
        exceeded=[
            f"{entry.condition}: {entry.row} is {entry.value:.3g} × with cell {entry.b.cell} of {entry.b.label}, "
            f"compared with cell {entry.a.cell} of {entry.a.label}."
            for entry in comparison.exceeded
        ],
        key_figures=key_figures_of(comparison),
        conditions=conditions_of(comparison),
        hosts=comparison.hosts,
        figures=figures_of(comparison, given_settings(comparison)),
        cost=cost_view(comparison, trees),
        budgets=budgets,
        budgets_left_out=budgets_left_out,
        significance=_significance(comparison),
        unpaired=[
            f"Cell {entry.cell} of {entry.label}: {setting(entry.setting, list(entry.setting)) or 'no varied factor'}"
            for entry in comparison.unpaired[:MAX_UNPAIRED]
        ],
        unpaired_count=len(comparison.unpaired),
        notes=comparison.notes,
        commands=[*commands, _compare_command(comparison)],
        css=Markup("".join([*map(asset, styles), class_styles()])),
        js=Markup(asset("page.js") + asset("cost/flame.js")),
    )


def _significance(comparison: Comparison) -> str:
    """The meaning of the mark of significance, in sentences."""
    return (
        f"An asterisk marks what is significant: {count(comparison.significant, 'difference')} of "
        f"{comparison.tests:,} tested. On average at most {percent(comparison.false_discovery_rate)} of the marked "
        "differences are none (procedure of Benjamini and Hochberg)."
    )


def _compare_command(comparison: Comparison) -> str:
    """The command that makes this comparison again."""
    names = dict.fromkeys(result.folder + (f":{result.cell}" if result.cell else "") for result in comparison.results)
    return shlex.join(["whyperf", "compare", *names])


def _together(text: str) -> str:
    """Keeps ratios on one line, too."""
    return together(text).replace(" ×", "\N{NO-BREAK SPACE}×")


@cache
def _template() -> jinja2.Template:
    name = "compare.html.j2"
    environment = jinja2.Environment(
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        loader=jinja2.DictLoader({name: asset(f"compare/{name}")}),
        bytecode_cache=templates(),
    )
    environment.filters |= {"together": _together, "prose": prose, "options": options, "cycles": cycles}
    return environment.get_template(name)
