"""What pages need is made once, and a page is the same with it and without."""

import base64
import gzip
import re
from pathlib import Path

import jinja2
import pytest

from tests.unit.analyze import synthetic as made
from whyperf.analyze import summarize
from whyperf.record import Experiment
from whyperf.report import assets, cache, page, write
from whyperf.report.charts.models import bokeh_script


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "whyperf"


def report(folder: Path) -> str:
    # As a command that has just started.
    assets.packed_bokeh.cache_clear()
    page._template.cache_clear()
    experiment = Experiment.open(folder)
    return write(experiment, summarize(experiment)).read_text(encoding="utf-8")


def test_a_page_from_the_cache_is_the_same(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = made.write(tmp_path / "quick", [made.Trial()])
    first = report(folder)
    kept = {path.name for path in home.glob("pages-*/*")}
    assert any(name.startswith("bokeh.gz-") for name in kept)
    assert sum(name.endswith(".template") for name in kept) >= 2
    monkeypatch.setattr(jinja2.Environment, "_generate", lambda *_, **__: pytest.fail("a template was compiled again"))
    assert report(folder) == first


@pytest.mark.parametrize("script", ["", "draw(1)", "ü" * 100_000])
def test_the_charts_are_one_stream_that_a_browser_unpacks(script: str) -> None:
    packed = base64.b64decode(assets.packed_charts(script))
    assert gzip.decompress(packed).decode() == f"{bokeh_script()}\n{script}"
    assert len(re.findall(re.escape(packed[:10]), packed)) == 1


@pytest.mark.parametrize("state", ["a file", "writable by others", "below what is writable by others"])
def test_a_folder_that_cannot_be_trusted_is_not_used(home: Path, state: str) -> None:
    if state == "a file":
        home.parent.mkdir()
        home.write_text("")
    else:
        folder = cache.cache_folder()
        assert folder is not None
        (folder if state == "writable by others" else home.parent).chmod(0o777)
    assert cache.cache_folder() is None
    assert cache.templates() is None
    assert cache.kept("bokeh.gz", b"", lambda: b"made") == b"made"
