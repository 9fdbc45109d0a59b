"""The page is whole, loads nothing, and says what happened."""

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.unit.analyze import synthetic as made
from whyperf.analyze import summarize
from whyperf.explain.causes import Cause
from whyperf.explain.experiment import explain_experiment
from whyperf.explain.explanation import Change, Evidence, Verdict
from whyperf.explain.store import write_explanation
from whyperf.record import Experiment
from whyperf.record.kept import fingerprint_of
from whyperf.report import write


class Checked(HTMLParser):
    """Collects what a page has and would load, and checks that elements are closed in order."""

    EMPTY = frozenset({"meta", "link", "br", "img", "input", "hr"})
    #: Elements whose end tag may be left out.
    OPTIONAL = frozenset({"li", "dt", "dd", "p", "tr", "th", "td", "thead", "tbody"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[str] = []
        self.text = ""
        self.loads: list[str] = []
        self.ids: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [name for name, _ in attrs]
        if tag not in self.EMPTY:
            self.open.append(tag)
        for name, value in attrs:
            if name in {"src", "srcset", "data"} or (name == "href" and not (value or "").startswith("#")):
                self.loads.append(f"{tag} {name}={value}")
            if name == "id":
                self.ids.append(value or "")

    def handle_endtag(self, tag: str) -> None:
        while self.open[-1] != tag and self.open[-1] in self.OPTIONAL:
            self.open.pop()
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not {"script", "style"} & set(self.open):
            self.text += data


def page(folder: Path) -> str:
    experiment = Experiment.open(folder)
    return write(experiment, summarize(experiment)).read_text(encoding="utf-8")


def checked(text: str) -> Checked:
    parser = Checked()
    parser.feed(text)
    assert parser.open == []
    assert parser.loads == []
    assert len(parser.ids) == len(set(parser.ids))
    return parser


def plain_text(text: str) -> str:
    """What stands on the page, without scripts, styles and tags."""
    bare = re.sub(r"<(script|style)[^>]*>.*?</\1>", " ", text, flags=re.DOTALL)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", bare)).replace("\N{NO-BREAK SPACE}", " ")


def test_a_sweep_is_reported_in_sentences_and_charts(tmp_path: Path) -> None:
    folder = made.write(tmp_path / "sweep", made.sweep([4096, 8192, 16384], [512, 4096, 8192], blocks=3))
    text = page(folder)
    parser = checked(text)
    assert "Goodput reached" in plain_text(text)
    assert "write size 8,192 bytes" in plain_text(text)
    assert {"chart-sweep-main-goodput", "chart-sweep-main-lines-goodput", "chart-sweep-main-cpu"} <= set(parser.ids)
    assert f"whyperf run {folder}/profile.toml --seed 1995" in text
    assert f"whyperf report {folder}" in text


def test_a_single_cell_shows_its_course(tmp_path: Path) -> None:
    parser = checked(page(made.write(tmp_path / "quick", [made.Trial()])))
    assert {"chart-course-goodput", "chart-course-cpu", "chart-course-windows", "chart-course-rtt"} <= set(parser.ids)


def test_the_page_begins_with_the_answer(tmp_path: Path) -> None:
    """A cause, the rate over time, four figures, the change; the rest is below."""
    trial = made.Trial(rate_bps=5e7, window_bytes=65536, factors={"path_rate_bps": 100_000_000, "path_rtt_ms": 10.0})
    folder = made.write(tmp_path / "window", [trial])
    experiment = Experiment.open(folder)
    summary = summarize(experiment)
    found = Verdict(
        cause=Cause.RECEIVE_BUFFER,
        claim="The receive buffer is too small.",
        confidence="high",
        evidence=[
            Evidence(words="The receive buffer is 131,072 bytes, as the kernel reports it.", table="flows"),
            Evidence(words="It waited 12 times.", table="flows"),
            Evidence(words="The median RTT is 10.4 ms.", table="tcp_info"),
        ],
        refuted_by="a larger one brought nothing.",
        change=Change(factors={"window_bytes": "default"}),
        predicted_gain=2.0,
        predicted_low=1.8,
        predicted_high=2.2,
    )
    explained = explain_experiment(experiment, summary=summary)
    cells = [explained.cells[0].model_copy(update={"verdicts": [found], "missing": ["There is no segment log."]})]
    write_explanation(experiment, explained.model_copy(update={"cells": cells}), fingerprint_of(folder))
    text = write(experiment, summary).read_text(encoding="utf-8")
    checked(text)
    hero, rest = (plain_text(part) for part in re.split(r"<section id=.explanation.", text))
    parts = [
        "50.0 Mbit/s from near to far on the embedded testbed. The receive buffer is too small.",
        "Goodput over time",
        "Goodput 50.0 Mbit/s",
        "131,072 bytes The receive buffer is 131,072 bytes",
        "10.4 ms The median RTT is 10.4 ms.",
        "What to change whyperf run",
        "--set window_bytes=default",
        "Predicted gain: about 2.0 ×",
    ]
    at = [hero.index(part) for part in parts]
    assert at == sorted(at)
    assert hero.count("Evidence 1") == 2
    assert "Missing evidence" not in hero
    assert rest.index("Refuted if") < rest.index("Missing evidence") < rest.index("Cycles per KByte")


def test_the_cpu_figure_is_the_one_of_the_table(tmp_path: Path) -> None:
    text = plain_text(page(made.write(tmp_path / "quick", [made.Trial(busy={"sender": 0.8, "receiver": 0.6})])))
    assert "CPU sender 80 % busy; whyperf&#39;s own threads 72 %" in text


@pytest.mark.parametrize(("path_bps", "is_explained"), [(500_000_000, True), (2_000_000_000, False), (None, False)])
def test_a_rate_above_the_path_is_explained(tmp_path: Path, path_bps: int | None, is_explained: bool) -> None:
    factors: dict[str, object] = {} if path_bps is None else {"path_rate_bps": path_bps}
    text = plain_text(page(made.write(tmp_path / "path", [made.Trial(factors=factors)])))
    assert ("Rates above the 500 Mbit/s of the path are those of the programs" in text) is is_explained


def test_a_short_transfer_says_why_there_is_no_course(tmp_path: Path) -> None:
    text = page(made.write(tmp_path / "short", [made.Trial(rate_bps=2e9, transfer_bytes=16 << 20)]))
    assert "No charts over time" in plain_text(text)


def test_failed_trials_are_named_with_their_reason(tmp_path: Path) -> None:
    broken = made.Trial(block=2, status="failed", reason="connection <3> refused & gone")
    text = page(made.write(tmp_path / "failed", [made.Trial(), broken]))
    checked(text)
    assert "002-c0001" in text
    assert "connection &lt;3&gt; refused &amp; gone" in text


def test_an_experiment_without_a_trial_has_a_page(tmp_path: Path) -> None:
    planned = made.plan(made.sweep([4096, 8192], [512], blocks=1))
    text = page(made.write(tmp_path / "empty", [], planned))
    checked(text)
    assert "No trial has a result yet." in plain_text(text)


def test_text_of_a_host_cannot_become_markup(tmp_path: Path) -> None:
    folder = made.write(tmp_path / "evil", [made.Trial()])
    facts = (folder / "hosts" / "near.json").read_text()
    evil = facts.replace("testhost", "</script><script>alert(1)</script>")
    (folder / "hosts" / "near.json").write_text(evil)
    assert "<script>alert(1)" not in page(folder)


def test_cpus_that_some_cells_share_are_reported_alike_in_all(tmp_path: Path) -> None:
    """With its own CPU a side could be reported whole; next to cells that share theirs only its threads are."""
    trials = [
        made.Trial(cell=f"c{number:04d}", duration_s=1, exclusive=cpus == "0", factors={"near_cpus": cpus})
        for number, cpus in enumerate(("0", "0-1", "0-2"), 1)
    ]
    text = page(made.write(tmp_path / "cpus", trials))
    assert "CPU against near CPUs" in plain_text(text)
    assert "own threads as a share of wall time. Both hosts share their CPUs" in plain_text(text)
    assert "There is no bar where both hosts share their CPUs, because their times cannot be separated." in plain_text(
        text
    )
    assert "In CPUs: the share times the number of CPUs that the host may use." in plain_text(text)
