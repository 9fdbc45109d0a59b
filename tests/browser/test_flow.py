"""The page of a segment flow as a reader sees it: no row is lost, whether the page holds it or loads it."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import pytest
from playwright.sync_api import Browser, Page

from tests.browser.watched import DRAWN, NARROW, OVERFLOW, WIDE, Observation, Scheme, assert_fits_at_both_widths, opened
from tests.whole.report.flow.flow_results import experiment
from tests.whole.report.flow.flow_tracks import about, track
from whyperf.analyze import summarize
from whyperf.report import write as write_report
from whyperf.report.flow import drawing, levels, tiles
from whyperf.report.flow.about import Steps
from whyperf.report.flow.connections import Column, Connections
from whyperf.report.flow.drawing import draw
from whyperf.report.flow.terms import ACK_REASON_NAMES, CONTEXT_NAMES, RETRANSMISSION_NAMES
from whyperf.report.flow.track import Track
from whyperf.report.flow.write import HostFacts, render
from whyperf.report.flow.write import Page as FlowPage

Where = Literal["inside", "outside"]

ROWS = 6000
READY = "html[data-flow-ready=true]"

ROWS_IN_VIEW = """async ([start, end]) => {
  const { view } = whyperfFlow;
  view.start = start; view.end = end; view.requestDraw();
  await view.settled();
  const found = [];
  for (const [rows, from, to] of view.columns.points) for (let i = from; i < to; i += 1) {
    const row = {};
    for (const [name, values] of Object.entries(rows)) if (values.length) row[name] = values[i];
    found.push(row);
  }
  return { rows: found, exact: view.columns.exact, inView: view.columns.inView };
}"""
"""Every row that is drawn one by one between two instants."""

COLUMNS_IN_VIEW = """async ([start, end]) => {
  const { view } = whyperfFlow;
  view.start = start; view.end = end; view.requestDraw();
  await view.settled();
  const { width, rows, again, unacked, advertised, sent, arrived, exact } = view.columns;
  const lowest = (low) => [...low].map((v) => v < 1e9 ? v : -1);
  const plain = ({ last, high, low }) => ({ last: [...last], high: [...high], low: lowest(low) });
  return { width, exact, rows: [...rows], again: [...again], sent: [...sent], arrived: [...arrived],
           unacked: plain(unacked), advertised: plain(advertised) };
}"""
"""What is in each pixel column between two instants."""


class Made(NamedTuple):
    """A page and what is on it."""

    path: Path
    tracks: list[Track]


def written(folder: Path, where: Where, rows: int = ROWS) -> Made:
    """A page of two connections, the second without gaps, both sides, in small tiles so that there are many."""
    tracks = [
        track(rows, role=role, connection=number, seed=number + 1, gaps=number == 0)
        for number in (0, 7)
        for role in ("sender", "receiver")
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tiles, "ROWS", 400)
        patch.setattr(levels, "GROUP", 4)
        patch.setattr(levels, "TILE_BINS", 256)
        patch.setattr(levels, "TOP_BINS", 2048)
        if where == "outside":
            patch.setattr(drawing, "INLINE_ROWS", 100)
            patch.setattr(drawing, "FIRST_BYTES", 20_000)
        drawn = draw(((logged, about(logged)) for logged in tracks), 4 * rows, folder / "flow-log01-c0001")
        table = Connections(
            (Column("Connection", "count", "connection"), Column("Payload bytes", "count", "payload_bytes")),
            [[0, 100], [7, 50], [9, None]],
            "As the sender saw them.",
        )
        hosts = [HostFacts("Sender (near side)", [("Log", "complete, 6,000 rows")])]
        content = FlowPage("made", "log01-c0001", "2 connections.", hosts, Steps(10**9, 5 * 10**9), connections=table)
        text = render(content, drawn)
    path = folder / "flow-log01-c0001.html"
    path.write_text(text)
    assert (drawn.outside is not None) == (where == "outside")
    return Made(path, tracks)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[Where, Made]:
    """The same page, with its rows inside and in files next to it."""
    wheres: tuple[Where, ...] = ("inside", "outside")
    return {where: written(tmp_path_factory.mktemp(where), where) for where in wheres}


def inside(logged: Track, start: int, end: int) -> slice:
    """The rows between two instants."""
    first, stop = np.searchsorted(logged.time_ns, (start, end))
    return slice(int(first), int(stop))


def bursts(logged: Track, most: int = 300) -> Iterator[tuple[int, int]]:
    """Spans that hold all rows of a track between them, `most` or so each and no long gap in any."""
    cuts = np.flatnonzero(np.diff(logged.time_ns) > 1e6) + 1
    for rows in np.split(np.arange(len(logged)), np.unique(np.concatenate([cuts, np.arange(0, len(logged), most)]))):
        if len(rows):
            later = logged.time_ns[rows[-1] + 1] if rows[-1] + 1 < len(logged) else logged.time_ns[-1] + 1
            yield int(logged.time_ns[rows[0]]), int(min(later, logged.time_ns[rows[-1]] + 1000))


@pytest.fixture(scope="module")
def shared(browser: Browser, made: dict[Where, Made]) -> Iterator[tuple[Page, Observation]]:
    """The page with its rows inside, opened once."""
    with opened(browser, made["inside"].path, ready=READY) as found:
        yield found


@pytest.fixture
def page(shared: tuple[Page, Observation]) -> Iterator[Page]:
    """The shared page from its top, with the whole connection in view; it has no complaint afterwards."""
    page, seen = shared
    page.evaluate("scrollTo(0, 0)")
    page.evaluate(
        "async () => { const { view } = whyperfFlow; view.show(view.whole.start, view.whole.end); "
        "await view.settled(); }"
    )
    yield page
    assert seen.complaints == []


@pytest.mark.parametrize(("where", "number"), [("inside", 0), ("outside", 1)])
def test_close_up_every_row_is_there_as_it_was_logged(
    browser: Browser, made: dict[Where, Made], where: Where, number: int
) -> None:
    path, tracks = made[where]
    logged = tracks[number]
    with opened(browser, path, ready=READY) as (page, seen):
        page.select_option("#flow-end", logged.host)
        seen_rows = 0
        for start, end in bursts(logged):
            got = page.evaluate(ROWS_IN_VIEW, [start, end])
            rows = inside(logged, start, end)
            seen_rows += rows.stop - rows.start
            assert got["exact"]
            assert len(got["rows"]) == got["inView"] == rows.stop - rows.start
            expected = {
                "time": logged.time_ns,
                "out": logged.out.astype(int),
                "payload": logged.payload_bytes,
                "window": logged.window_bytes,
                "unacked": logged.unacked_bytes,
                "advertised": logged.advertised_bytes,
                "gso": logged.gso_size_bytes,
                "wire": logged.wire_segments,
                "cwnd": logged.cwnd_segments,
                "flags": logged.flags,
                "context": logged.context_code,
                "reason": logged.reason_code,
            }
            for name, values in expected.items():
                assert [row[name] for row in got["rows"]] == values[rows].tolist(), name
            for name, values in (("sequence", logged.sequence), ("ack", logged.acknowledgment)):
                assert [int(row[name]) % 2**32 for row in got["rows"]] == values[rows].tolist(), name
        assert seen_rows == ROWS
        assert max(row["sequence"] for row in got["rows"]) > 2**32, "numbers go on beyond 4 GiB"
        assert seen.complaints == []


def expected_columns(logged: Track, start: int, end: int, width: int) -> list[npt.NDArray[np.intp]]:
    """The rows of each column, and of one more on each side."""
    column = np.floor((logged.time_ns - start) * (width / (end - start))).astype(int)
    return [np.flatnonzero(column == number) for number in range(-1, width + 1)]


@pytest.mark.parametrize(("where", "part"), [("inside", 1.0), ("outside", 0.6), ("outside", 0.45)])
def test_from_afar_no_extreme_is_lost(browser: Browser, made: dict[Where, Made], where: Where, part: float) -> None:
    """What is drawn in a column is in the log within one column of it, and the other way round."""
    path, tracks = made[where]
    logged = tracks[2]
    first, last = int(logged.time_ns[0]), int(logged.time_ns[-1])
    center, length = (first + last) // 2, int((last - first) * part * 1.004)
    start, end = center - length // 2, center + length // 2
    with opened(browser, path, ready=READY) as (page, seen):
        page.select_option("#flow-connection", str(logged.connection))
        got = page.evaluate(COLUMNS_IN_VIEW, [start, end])
        truth = expected_columns(logged, start, end, got["width"])
        assert not got["exact"]
        # A bin at an edge belongs where its center is.
        assert sum(got["rows"]) == pytest.approx(sum(map(len, truth[1:-1])), abs=8)
        around = [np.concatenate(truth[x : x + 3]) for x in range(got["width"])]
        truth = truth[1:-1]
        for name, values in (("unacked", logged.unacked_bytes), ("advertised", logged.advertised_bytes)):
            for x in range(got["width"]):
                low, high = got[name]["low"][x], got[name]["high"][x]
                if got["rows"][x]:
                    assert {low, high, got[name]["last"][x]} <= set(values[around[x]].tolist())
                if len(truth[x]):
                    drawn = [
                        (got[name]["low"][at], got[name]["high"][at])
                        for at in range(max(0, x - 1), min(x + 2, got["width"]))
                        if got["rows"][at]
                    ]
                    assert min(at for at, _ in drawn) <= values[truth[x]].min()
                    assert max(at for _, at in drawn) >= values[truth[x]].max()
        sizes = sorted(set(logged.payload_bytes.tolist()) - {0})
        for name, side in (("sent", logged.out), ("arrived", ~logged.out)):
            for bit, size in enumerate(sizes):
                shown = {x for x in range(got["width"]) if got[name][2 * x] >> bit & 1}
                there = {x for x, rows in enumerate(truth) if (side[rows] & (logged.payload_bytes[rows] == size)).any()}
                assert all({x - 1, x, x + 1} & there for x in shown)
                assert all({x - 1, x, x + 1} & shown for x in there)
        assert seen.complaints == []


@pytest.mark.parametrize(("width", "scheme"), [(WIDE, "light"), (NARROW, "dark")])
def test_all_figures_are_drawn_and_fit(browser: Browser, made: dict[Where, Made], width: int, scheme: Scheme) -> None:
    with opened(browser, made["inside"].path, width, scheme, READY) as (page, seen):
        for chart in page.evaluate(DRAWN.replace(".chart", ".flow-panel, .flow-map, .flow-ruler")):
            assert chart["inked"] > 150
            assert chart["colors"] > 3
        assert page.evaluate(OVERFLOW) == {"page": 0, "outside": []}
        assert seen.complaints == []
        assert seen.requests == [made["inside"].path.as_uri()]


def test_only_the_folder_next_to_is_loaded_and_only_when_needed(browser: Browser, made: dict[Where, Made]) -> None:
    path, tracks = made["outside"]
    folder = path.with_suffix("").as_uri()
    with opened(browser, path, ready=READY) as (page, seen):
        assert len(seen.requests) <= 2
        start, end = int(tracks[0].time_ns[1000]), int(tracks[0].time_ns[1100])
        page.evaluate(ROWS_IN_VIEW, [start, end])
        tiles_loaded = [url for url in seen.requests if re.search(r"/0-\d+\.js$", url)]
        assert 1 <= len(tiles_loaded) <= 3
        assert all(url.startswith(folder) for url in seen.requests[1:])
        before = len(seen.requests)
        page.evaluate(ROWS_IN_VIEW, [start + 10, end])
        assert len(seen.requests) == before, "what was loaded is kept"


def test_a_page_without_its_folder_says_so(browser: Browser, made: dict[Where, Made], tmp_path: Path) -> None:
    path, tracks = made["outside"]
    alone = tmp_path / path.name
    alone.write_text(path.read_text())
    with opened(browser, alone, ready=READY) as (page, _):
        page.evaluate(ROWS_IN_VIEW, [int(tracks[0].time_ns[1000]), int(tracks[0].time_ns[1100])])
        failure = page.locator(".flow-failure")
        assert "flow-log01-c0001/" in failure.inner_text()
        assert "must be next to this page" in failure.inner_text()


def test_a_point_shows_all_that_is_known(page: Page, made: dict[Where, Made]) -> None:
    logged = made["inside"].tracks[0]
    row = int(np.flatnonzero((logged.reason_code >= 16) & (logged.payload_bytes == 65160))[0])
    start, end = int(logged.time_ns[row]) - 40_000, int(logged.time_ns[row]) + 40_000
    place = """([time, value]) => {
      const { view } = whyperfFlow;
      const panel = view.panels.find(({ figure }) => figure === "size");
      return [view.left + view.x(time) / view.ratio, panel.y(value) / view.ratio];
    }"""
    page.evaluate(ROWS_IN_VIEW, [start, end])
    canvas = page.locator(".flow-panel[data-figure=size] canvas")
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    assert box is not None
    x, y = page.evaluate(place, [int(logged.time_ns[row]), 65160])
    page.mouse.move(box["x"] + x - 2, box["y"] + y)
    page.mouse.move(box["x"] + x, box["y"] + y)
    tip = page.locator(".flow-tip").inner_text()
    assert "sent, retransmission" in tip
    assert "65,160 bytes in 45 segments of 1,448" in tip
    assert CONTEXT_NAMES[int(logged.context_code[row]) & 15] in tip
    assert RETRANSMISSION_NAMES[int(logged.reason_code[row]) >> 4] in tip
    assert f"{int(logged.unacked_bytes[row]):,} bytes" in tip


def test_the_list_shows_the_rows_in_view(page: Page, made: dict[Where, Made]) -> None:
    logged = made["inside"].tracks[0]
    start, end = int(logged.time_ns[200]), int(logged.time_ns[260])
    rows = inside(logged, start, end)
    page.locator(".flow-list summary").click()
    assert page.locator(".flow-list tbody tr").count() == 0
    page.evaluate(ROWS_IN_VIEW, [start, end])
    lines = page.locator(".flow-list tbody tr")
    assert lines.count() == rows.stop - rows.start
    reasons = {ACK_REASON_NAMES[code & 15] for code in logged.reason_code[rows].tolist() if code < 16} - {""}
    text = page.locator(".flow-list tbody").inner_text()
    assert all(reason in text for reason in reasons)


def test_keys_wheel_and_drag_change_the_range(page: Page) -> None:
    spans = "() => [whyperfFlow.view.start, whyperfFlow.view.end]"

    def length() -> float:
        page.evaluate("whyperfFlow.view.settled()")
        start, end = page.evaluate(spans)
        return float(end - start)

    whole = length()
    page.locator(".flow-plot").focus()
    page.keyboard.press("+")
    assert length() == pytest.approx(whole / 2)
    before = page.evaluate(spans)
    page.keyboard.press("ArrowRight")
    assert page.evaluate(spans)[0] > before[0]
    assert length() == pytest.approx(whole / 2)
    page.keyboard.press("Home")
    assert length() == pytest.approx(whole)
    box = page.locator(".flow-panel[data-figure=both] canvas").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 20)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2 + 100, box["y"] + 30, steps=4)
    page.mouse.up()
    assert length() == pytest.approx(whole * 100 / (box["width"] - 64), rel=0.03)
    page.keyboard.down("Control")
    page.mouse.wheel(0, 240)
    page.keyboard.up("Control")
    page.wait_for_function(f"whyperfFlow.view.end - whyperfFlow.view.start > {whole * 0.15}")
    page.mouse.dblclick(box["x"] + box["width"] / 2, box["y"] + 20)
    assert length() == pytest.approx(whole)


def test_retransmissions_can_be_jumped_to(page: Page, made: dict[Where, Made]) -> None:
    logged = made["inside"].tracks[0]
    again = logged.time_ns[logged.reason_code >= 16]
    center = "() => (whyperfFlow.view.start + whyperfFlow.view.end) / 2"
    before = page.evaluate(center)
    page.locator("[data-do=after]").click()
    assert page.evaluate(center) == pytest.approx(int(again[again > before][0]), abs=1000)
    page.locator("[data-do=after]").click()
    second = page.evaluate(center)
    page.locator("[data-do=before]").click()
    assert page.evaluate(center) < second


def test_connections_and_hosts_are_selected(browser: Browser, made: dict[Where, Made]) -> None:
    shown = "() => [whyperfFlow.view.track.about.connection, whyperfFlow.view.track.about.host]"
    with opened(browser, made["outside"].path, ready=READY) as (page, seen):
        assert page.evaluate(shown) == [0, "near"]
        page.select_option("#flow-end", "far")
        assert page.evaluate(shown) == [0, "far"]
        assert page.get_by_text("Bytes received and not yet acknowledged").is_visible()
        page.select_option("#flow-connection", "7")
        assert page.evaluate(shown) == [7, "far"]
        page.locator(".flow-connections .pick", has_text="0").click()
        assert page.evaluate(shown) == [0, "far"]
        cells = page.locator(".flow-connections tbody td:nth-child(2)")
        page.locator(".flow-connections th button", has_text="Payload bytes").click()
        assert cells.all_inner_texts() == ["50", "100", "unknown"]
        page.evaluate("whyperfFlow.view.settled()")
        assert seen.complaints == []


def test_values_can_be_fitted_and_lines_hidden(page: Page, made: dict[Where, Made]) -> None:
    logged = made["inside"].tracks[0]
    foot = """() => {
      const panel = whyperfFlow.view.panels.find(({ figure }) => figure === "both");
      return [panel.y(0), panel.bottom, panel.y(100000)];
    }"""
    zero, bottom, before = page.evaluate(foot)
    assert zero == bottom
    page.locator("button[data-line=unacked]").click()
    page.evaluate("whyperfFlow.view.settled()")
    assert page.evaluate(foot)[2] != before
    row = int(np.argmax(logged.advertised_bytes))
    page.evaluate(ROWS_IN_VIEW, [int(logged.time_ns[row]), int(logged.time_ns[row + 1])])
    assert page.evaluate(foot)[0] == bottom
    page.locator("[data-fit]").click()
    page.evaluate("whyperfFlow.view.settled()")
    assert page.evaluate(foot)[0] > bottom


def test_the_report_has_the_figures_too(browser: Browser, tmp_path: Path) -> None:
    measured = experiment(tmp_path / "made", connections=2)
    path = write_report(measured, summarize(measured))
    with opened(browser, path, ready=f"{READY}[data-ready=true]") as (page, seen):
        for chart in page.evaluate(DRAWN.replace(".chart", ".flow-panel, .flow-map")):
            assert chart["inked"] > 400
        rows: dict[str, Any] = page.evaluate(ROWS_IN_VIEW, [0, 2_000_000])
        assert rows["exact"]
        assert rows["rows"]
        assert_fits_at_both_widths(page)
        assert seen.complaints == []
        assert seen.requests == [path.as_uri()]


def test_data_cannot_become_markup(browser: Browser, tmp_path: Path) -> None:
    logged = track(100)
    evil = {
        **about(logged),
        "shares": {"sizes": [["</script><script>window.evil = 1</script>", 1.0, 3]], "contexts": [], "reasons": []},
    }
    drawn = draw([(logged, evil)], 100, tmp_path / "flow")
    hosts = [HostFacts("<script>window.evil = 1</script>", [("<b>", "</dd><script>window.evil = 1</script>")])]
    path = tmp_path / "flow.html"
    path.write_text(
        render(FlowPage("<i>", "log01-c0001", "<script>window.evil = 1</script>", hosts, Steps(1, 1)), drawn)
    )
    with opened(browser, path, ready=READY) as (page, seen):
        assert page.evaluate("window.evil") is None
        assert "</script>" in page.locator(".flow-shares").inner_text()
        assert seen.complaints == []
