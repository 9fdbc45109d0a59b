"""The live view of a watch, driven as a user drives it, in 80 columns."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from textual.pilot import Pilot
from textual.widgets import DataTable, Static

from tests.unit.watch.snapshots_of import SECOND_NS, connection, report
from whyperf.cli.live.watch_app import WatchApp
from whyperf.cli.live.watch_rows import WIDTHS, cells_of
from whyperf.watch.tracker import Tracker

NARROW = (80, 24)
Driven = TypeVar("Driven")
Steps = Callable[[WatchApp, Pilot[None]], Awaitable[None]]


def fed(app: WatchApp) -> None:
    """Two connections over three seconds: one fast and held back by its peer's window, one slow with a large RTT."""
    tracker = Tracker()
    for second in range(4):
        watched = report(
            second,
            connection(
                0,
                acked_bytes=second * 125_000_000,
                busy_ns=second * SECOND_NS,
                rwnd_limited_ns=second * SECOND_NS,
            ),
            connection(
                1,
                program="rsync",
                process=99,
                received_bytes=second * 1_000,
                rtt_ns=180_000_000,
                retransmitted_segments=second,
            ),
            reason="BPF needs CAP_BPF",
        )
        app.on_report(tracker.take("near", watched))


def driven(run: Coroutine[Any, Any, Driven]) -> Driven:
    """Runs it, also where a browser of other tests has an event loop in this thread that waits for them."""
    waiting = asyncio._get_running_loop()
    asyncio._set_running_loop(None)
    try:
        return asyncio.run(run)
    finally:
        asyncio._set_running_loop(waiting)


async def until(pilot: Pilot[None], is_there: Callable[[], bool]) -> None:
    """Waits for what the next drawing shows, on a busy machine longer."""
    for _ in range(200):
        if is_there():
            break
        await pilot.pause(0.1)
    await pilot.pause()


def shown(steps: Steps, size: tuple[int, int] = NARROW) -> WatchApp:
    async def run() -> WatchApp:
        app = WatchApp(":5201", None)
        async with app.run_test(size=size) as pilot:
            fed(app)
            await until(pilot, lambda: table(app).row_count == 2)
            await steps(app, pilot)
        return app

    return driven(run())


def table(app: WatchApp) -> "DataTable[object]":
    return app.screen_stack[0].query_one(DataTable)


def programs(app: WatchApp) -> list[str]:
    rows = table(app)
    return [str(rows.get_row_at(number)[0]).split()[0] for number in range(rows.row_count)]


def screen(app: WatchApp) -> str:
    """The characters on the screen."""
    return "\n".join("".join(segment.text for segment in strip) for strip in app.screen._compositor.render_strips())


def test_a_row_shows_rates_windows_limits_and_the_verdict_in_80_columns() -> None:
    async def steps(app: WatchApp, _: Pilot[None]) -> None:
        text = screen(app)
        for part in ("iperf3 (4711)", "10.0.0.2:5201", "↑1.00G", "1.00 ms", "10 seg", "65.5kB", "peer window", "rsync"):
            assert part in text, text
        assert "level user" in text
        assert "BPF needs CAP_BPF" in text
        assert "2 connections" in text

    shown(steps)
    assert sum(WIDTHS.values()) <= NARROW[0]


def test_rows_are_sorted_by_rate_then_by_what_is_asked() -> None:
    async def steps(app: WatchApp, pilot: Pilot[None]) -> None:
        assert programs(app) == ["iperf3", "rsync"]
        await pilot.press("s")
        assert programs(app) == ["rsync", "iperf3"]

    shown(steps)


def test_a_filter_leaves_what_fits() -> None:
    async def steps(app: WatchApp, pilot: Pilot[None]) -> None:
        await pilot.press("slash", *"rsyn")
        assert programs(app) == ["rsync"]
        await pilot.press("enter")
        # Back at the rows, keys are keys again.
        await pilot.press("s")
        assert programs(app) == ["rsync"]
        await pilot.press("escape")
        assert len(programs(app)) == 2

    shown(steps)


def test_a_connection_that_is_chosen_shows_its_budget_over_time() -> None:
    async def steps(app: WatchApp, pilot: Pilot[None]) -> None:
        await pilot.press("enter")
        await until(pilot, lambda: "What this side sends" in str(app.screen.query_one("#budget", Static).render()))
        text = str(app.screen.query_one("#budget", Static).render())
        assert "What this side sends" in text
        assert "100 % peer window: the peer's receive window is full" in text
        assert text.count("1.00G █") == 3
        await pilot.press("d")
        assert "What this side receives" in str(app.screen.query_one("#budget", Static).render())
        await pilot.press("escape")
        assert len(programs(app)) == 2

    shown(steps)


def test_a_key_ends_it() -> None:
    async def steps(app: WatchApp, pilot: Pilot[None]) -> None:
        await pilot.press("ctrl+c")
        await until(pilot, lambda: not app.is_running or app._exit)

    assert shown(steps)._is_interrupted


def test_a_name_is_no_markup() -> None:
    tracker = Tracker()
    bad: dict[str, Any] = {"program": "[red]x[/red]\x1b[2J"}
    tracker.take("near", report(1, connection(**bad)))
    (last,) = tracker.take("near", report(2, connection(**bad))).ended
    assert cells_of(last, last)[0].plain.startswith("[red]x[/red]\\x1b[2J")
