"""The page is whole, loads nothing, and says what happened."""

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.unit.analyze import synthetic as made
from whyperf.analyze import summarize
from whyperf.record import Experiment
from whyperf.report import write


class Checked(HTMLParser):
    """Collects what a page would load, and checks that elements are closed in order."""

    EMPTY = frozenset({"meta", "link", "br", "img", "input", "hr"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.loads: list[str] = []
        self.ids: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in self.EMPTY:
            self.open.append(tag)
        for name, value in attrs:
            if name in {"src", "srcset", "data"} or (name == "href" and not (value or "").startswith("#")):
                self.loads.append(f"{tag} {name}={value}")
            if name == "id":
                self.ids.append(value or "")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


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


def test_shared_cpus_are_reported(tmp_path: Path) -> None:
    trials = [
        made.Trial(cell=f"c{number:04d}", duration_s=1.0, exclusive=False, factors={"congestion_control": name})
        for number, name in enumerate(("cubic", "reno"), 1)
    ]
    text = plain_text(page(made.write(tmp_path / "shared", trials, testbed="loopback")))
    assert "only the time of whyperf's own threads is known" in text.replace("&#39;", "'")
    assert "Measured over loopback" in text


@pytest.mark.slow
def test_the_page_of_a_full_sweep_is_small(tmp_path: Path) -> None:
    windows = [4096, 8192, 16384, 24576, 32768, 40960, 52428]
    folder = made.write(tmp_path / "full", made.sweep(windows, list(range(512, 32769, 512)), blocks=1))
    assert len(page(folder).encode()) < 5_000_000


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
