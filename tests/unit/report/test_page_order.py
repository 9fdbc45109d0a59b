"""What stands where on the page, how heavy it is, and how levels that are names are drawn."""

import base64
import gzip
import json
import re
from pathlib import Path

import pytest

from tests.unit.analyze import synthetic as made
from tests.unit.report.test_explanation_page import verdict
from tests.unit.report.test_page import page, plain_text
from whyperf.analyze import Summary, summarize
from whyperf.explain import experiment as explaining
from whyperf.explain.model import Change
from whyperf.explain.store import read_explanation
from whyperf.plan import Plan, build
from whyperf.profile import Level, find
from whyperf.record import Experiment, RecordError
from whyperf.record.kept import fingerprint_of
from whyperf.report.assets import options, prose
from whyperf.report.charts.models import Curve, DataRange1d, GlyphRenderer, Plot, Range1d, Text
from whyperf.report.charts.sweep import sweep_section
from whyperf.report.charts.switchboard import Switchboard
from whyperf.report.explanation import gathered
from whyperf.report.explanation.cards import cards_of
from whyperf.report.explanation.gathered import gather
from whyperf.report.explanation.section import Explained
from whyperf.report.headline import headline, key_figures
from whyperf.report.kept_parts import KeptParts
from whyperf.report.repeat import changes

SIMPLE_BYTES = 600_000


def summary_of(folder: Path, trials: list[made.Trial]) -> Summary:
    return summarize(Experiment.open(made.write(folder, trials)))


def drawn(made: Plot) -> list[GlyphRenderer]:
    """The marks of a chart."""
    return list(made.renderers)


def explained(experiment: Experiment, summary: Summary) -> Explained:
    kept = KeptParts(experiment.folder, fingerprint_of(experiment.folder))
    return gather(experiment, summary, kept, experiment.trials().manifests)


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


def test_the_same_charts_are_packed_into_the_same_text(tmp_path: Path) -> None:
    """Without the time of day, so that a page can be compared with another one."""
    folder = made.write(tmp_path / "quick", [made.Trial()])
    first, again = (
        base64.b64decode(page(folder).partition('type="text/plain">')[2].partition("<")[0])[:10] for _ in range(2)
    )
    assert first == again


def test_charts_come_before_warnings(tmp_path: Path) -> None:
    text = page(made.write(tmp_path / "quick", [made.Trial(), made.Trial(block=2, status="failed", reason="gone")]))
    last_chart = max(found.start() for found in re.finditer(r'class="chart"', text))
    (warnings,) = (found.start() for found in re.finditer(r'<section id="warnings">', text))
    assert text.index('href="#warnings"') < text.index('class="chart"') < last_chart < warnings


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


def test_the_cpu_time_of_the_load_comes_before_that_of_the_host(tmp_path: Path) -> None:
    summary = summary_of(tmp_path / "quick", [made.Trial()])
    sender = summary.cells[0].cpu.sender
    assert sender is not None
    assert sender.load_threads_ratio is not None
    assert sender.busy_ratio is not None
    assert sender.load_threads_ratio != sender.busy_ratio
    (figure,) = [figure for figure in key_figures(summary) if figure.name == "CPU of the sender"]
    assert figure.value == f"{100 * sender.load_threads_ratio:.0f}"
    assert figure.remark.startswith("whyperf's own threads; host")
    assert f"{100 * sender.busy_ratio:.0f} %" in figure.remark
    assert "whyperf's own threads took" in headline(summary)


def test_the_slowest_setting_is_that_of_all_sweeps(tmp_path: Path) -> None:
    trials = [
        made.Trial(cell=f"c{number:04d}", rate_bps=rate, window_bytes=window)
        for number, (rate, window) in enumerate(((9e9, 8192), (6e9, 16384), (1e9, 4096)), 1)
    ]
    summary = summary_of(tmp_path / "sweeps", trials)
    *many, few = summary.cells
    apart = summary.model_copy(update={"cells": [*many, few.model_copy(update={"sweep": "few"})]})
    assert "The slowest setting, window 4,096 bytes, moved 1.00 Gbit/s: 9.0 times less." in headline(apart)


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


def test_a_second_report_makes_no_second_explanation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    experiment = Experiment.open(made.write(tmp_path / "names", by_congestion_control("cubic", "reno")))
    summary = summarize(experiment)
    made_first = explained(experiment, summary).explanation
    assert len(made_first.cells) == 2

    def fail(*_: object, **__: object) -> None:
        pytest.fail("the explanation was made again")

    monkeypatch.setattr(explaining, "explain_experiment", fail)
    assert explained(experiment, summary).explanation == made_first


def test_a_report_of_a_folder_that_cannot_be_written_has_its_explanation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    experiment = Experiment.open(made.write(tmp_path / "names", by_congestion_control("cubic", "reno")))

    def refuse(*_: object, **__: object) -> None:
        raise RecordError("read-only")

    monkeypatch.setattr(gathered, "write_explanation", refuse)
    assert len(explained(experiment, summarize(experiment)).explanation.cells) == 2
    assert read_explanation(experiment) is None
