"""What stands where on the page, how heavy it is, and how levels that are names are drawn."""

import base64
import gzip
import json
import re
from pathlib import Path

import pytest

from tests.unit.analyze import synthetic as made
from tests.whole.report.test_explanation_page import verdict
from tests.whole.report.test_page import page, plain_text
from whyperf.analyze import Summary, summarize
from whyperf.explain.explanation import Change
from whyperf.plan import Plan, build
from whyperf.profile import Level, find
from whyperf.record import Experiment
from whyperf.report.assets import options, prose
from whyperf.report.charts.models import Curve, DataRange1d, GlyphRenderer, Plot, Range1d, Text
from whyperf.report.charts.sweep import sweep_section
from whyperf.report.charts.switchboard import Switchboard
from whyperf.report.explanation.cards import cards_of
from whyperf.report.repeat import changes

SIMPLE_BYTES = 600_000


def summary_of(folder: Path, trials: list[made.Trial]) -> Summary:
    return summarize(Experiment.open(made.write(folder, trials)))


def drawn(made: Plot) -> list[GlyphRenderer]:
    """The marks of a chart."""
    return list(made.renderers)


def by_congestion_control(*names: str) -> list[made.Trial]:
    return [
        made.Trial(cell=f"c{number:04d}", rate_bps=1e9 * number, duration_s=1, factors={"congestion_control": name})
        for number, name in enumerate(names, 1)
    ]


def test_a_simple_result_is_a_light_page(tmp_path: Path) -> None:
    text = page(made.write(tmp_path / "quick", [made.Trial()]))
    assert len(text.encode()) <= SIMPLE_BYTES
    (packed,) = re.findall(r'<script id="charts-packed" type="text/plain">([^<]+)</script>', text)
    script = gzip.decompress(base64.b64decode(packed)).decode()
    assert "bokeh.min.js" in script
    assert "embed_document" in script


def test_levels_that_are_names_are_labeled_and_not_joined(tmp_path: Path) -> None:
    cells = summary_of(tmp_path / "names", by_congestion_control("cubic", "reno", "bbr")).cells
    figures = [chart.figure for group in sweep_section("main", cells, Switchboard()).groups for chart in group.charts]
    glyphs = [renderer.glyph for figure in figures for renderer in drawn(figure)]
    assert not [glyph for glyph in glyphs if isinstance(glyph, Curve)]
    (goodput, *_) = figures
    (texts,) = [renderer for renderer in drawn(goodput) if isinstance(renderer.glyph, Text)]
    assert texts.data_source.data["value"] == ["1.00", "2.00", "3.00"]


def test_levels_that_are_numbers_are_joined(tmp_path: Path) -> None:
    cells = summary_of(tmp_path / "numbers", made.sweep([4096, 8192, 16384], [512], blocks=1)).cells
    (goodput, *_) = (
        chart.figure for group in sweep_section("main", cells, Switchboard()).groups for chart in group.charts
    )
    kinds = {type(renderer.glyph) for renderer in drawn(goodput)}
    assert Curve in kinds
    assert Text not in kinds
    assert isinstance(goodput.y_range, DataRange1d)
    assert goodput.y_range.start == 0


def test_overridden_settings_stand_where_the_text_of_the_profile_would_contradict_them(tmp_path: Path) -> None:
    plan = build(find("quick"), target="loopback", overrides={"duration_s": 2, "no_delay": True}, trials=3)
    assert changes(plan) == ["duration_s=2", "no_delay=true", "trials=3"]
    assert changes(build(find("quick"), target="loopback")) == []
    folder = made.write(tmp_path / "quick", [made.Trial()])
    document = json.loads((folder / "plan.json").read_text())
    (folder / "plan.json").write_text(json.dumps({**document, "overrides": {"duration_s": 2}}))
    assert Plan.from_json((folder / "plan.json").read_text(), "plan.json").overrides == {"duration_s": 2}
    about = document["about"]
    text = page(folder)
    assert "Profile synthetic with changes: duration_s=2 ." in plain_text(text)
    assert f"<summary>The profile without these changes</summary><p>{about}</p>" in text


@pytest.mark.parametrize(("factors", "runs"), [({"no_delay": True}, ["whyperf run x"]), ({}, [])])
def test_a_card_has_the_command_of_its_change(factors: dict[str, Level], runs: list[str]) -> None:
    (card,) = cards_of([verdict(change=Change(factors=factors))], lambda _: "", "", lambda _: "whyperf run x")
    assert [card.run] == (runs or [""])


def test_sender_and_receiver_of_levels_that_are_names_do_not_hide_each_other(tmp_path: Path) -> None:
    cells = summary_of(tmp_path / "names", by_congestion_control("cubic", "reno")).cells
    (cpu,) = (
        chart.figure
        for group in sweep_section("main", cells, Switchboard()).groups
        for chart in group.charts
        if chart.id == "sweep-main-cpu"
    )
    sources = [found.data_source for found in drawn(cpu) if isinstance(found.glyph, Text)]
    places = [source.data["x"] for source in sources]
    assert places == [pytest.approx([-0.15, 0.85]), pytest.approx([0.15, 1.15])]
    # 100 % and its label fit.
    assert isinstance(cpu.y_range, Range1d)
    assert cpu.y_range.end == pytest.approx(112)


def test_the_name_of_an_option_stays_on_one_line() -> None:
    assert prose("`run --no-delay` <a>, or --set.") == (
        '<code>run <span class="whole">--no-delay</span></code> &lt;a&gt;, or <span class="whole">--set</span>.'
    )
    assert options("a--b & --c") == 'a--b &amp; <span class="whole">--c</span>'
