"""The live view of a watch, by textual: a row for each connection, and the budget over time of one that is chosen."""

import asyncio
import os
import signal
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Final

from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import Screen
from textual.widgets import DataTable, Footer, Input, Static

from whyperf.analyze.text import count
from whyperf.cli.live import interrupts
from whyperf.cli.live.watch_rows import (
    SORTS,
    WIDTHS,
    budget_text,
    cells_of,
    matches,
    sorted_rows,
)
from whyperf.cli.live.watched_lines import nothing_yet
from whyperf.foreign.texts import visible
from whyperf.watch.live_limits import ConnectionInterval
from whyperf.watch.tracker import Followed, Side, TakenReport
from whyperf.wire import Instead

#: The interval at which the screen looks for something new.
REDRAW_S: Final = 0.25
#: More rows are left out, those that the order puts last.
MAX_ROWS: Final = 200
#: Actions that are about the rows.
OF_ROWS: Final = frozenset({"sort", "reverse", "filter", "no_filter", "leave"})


@dataclass(frozen=True)
class Frame:
    """The content of the screen: made by the thread that reads reports, drawn by the other."""

    rows: tuple["Row", ...]
    level: str
    reason: str | None
    others_count: int
    instead: Instead | None
    beyond_count: int


@dataclass(frozen=True)
class Row:
    """A connection: its last interval, the last seconds, and its intervals so far."""

    side: Side
    last: ConnectionInterval
    recent: ConnectionInterval
    intervals: tuple[ConnectionInterval, ...]

    @property
    def key(self) -> str:
        """The same as long as the connection lives."""
        return f"{self.side} {self.last.connection}"


class RowTable(DataTable[Text]):
    """The rows; its key for choosing one is on the last line of the screen."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "select_cursor", "Budget")]


class WatchApp(App[None]):
    """Shows reports until the watch is over or the user ends it."""

    TITLE = "whyperf watch"
    CSS = """
    #facts { height: auto; padding: 0 1; color: $text-muted; }
    #rows { height: 1fr; }
    #filter { display: none; height: 3; }
    #filter.shown { display: block; }
    #budget { padding: 0 1; }
    """
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q", "leave", "End"),
        Binding("ctrl+c", "interrupt", "End", show=False, priority=True),
        Binding("s", "sort", "Sort"),
        Binding("r", "reverse", "Reverse"),
        Binding("slash", "filter", "Filter"),
        Binding("escape", "no_filter", "All", show=False),
    ]

    def __init__(self, name: str, host: str | None) -> None:
        """`name` is what is watched, on `host`, None for this one."""
        super().__init__()
        self._what = name if host is None else f"{name} on {host}"
        self._latest: Frame | None = None
        self._on_screen: Frame | None = None
        self._is_over = threading.Event()
        self._is_interrupted = False
        self._order = 0
        self._is_reversed = False
        self._wanted = ""
        #: The standard streams that are terminals.
        self._terminals = [descriptor for descriptor in range(3) if os.isatty(descriptor)]

    def show_until(self, over: threading.Event) -> None:
        """Runs in the main thread until `over` is set or the user ends it; raises KeyboardInterrupt after Ctrl-C."""
        self._is_over = over
        # The event loop sets handlers of its own, and puts the usual ones in their place afterwards.
        before = {number: signal.getsignal(number) for number in interrupts.SIGNALS}
        try:
            self.run()
        except OSError:
            # The terminal is gone: what was seen is kept all the same.
            self._is_interrupted = True
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
        if self._is_interrupted:
            signal.raise_signal(signal.SIGINT)

    def on_report(self, report: TakenReport) -> None:
        """A report, from another thread."""
        near = report.tracker.last.get("near", report.watched)
        self._latest = Frame(
            rows=tuple(row for row in map(_row, report.tracker.rows()) if row is not None),
            level=near["level"],
            reason=near["reason"],
            others_count=near["others_count"],
            instead=near.get("instead"),
            beyond_count=near["beyond_limit_count"],
        )

    def compose(self) -> ComposeResult:
        """The screen, from top to bottom."""
        yield Static(id="facts")
        yield RowTable(id="rows", cursor_type="row", zebra_stripes=True, cell_padding=0)
        yield Input(placeholder="Program, address or port; Enter keeps, Escape shows all", id="filter")
        yield Footer()

    def on_mount(self) -> None:
        """Begins to look for reports."""
        for title, width in WIDTHS.items():
            self._table.add_column(title, width=width)
        self._table.focus()
        for number in interrupts.SIGNALS:
            if signal.getsignal(number) != signal.SIG_IGN:
                asyncio.get_running_loop().add_signal_handler(number, self._on_signal)
        self.set_interval(REDRAW_S, self._look)
        self._look()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002 - textual calls it
        """Keys of the rows are none of the budget's."""
        return action not in OF_ROWS or len(self.screen_stack) == 1

    def action_leave(self) -> None:
        """Ends the watch."""
        self.exit()

    def action_interrupt(self) -> None:
        """Ends the watch as Ctrl-C does everywhere."""
        self._is_interrupted = True
        self.exit()

    def _on_signal(self) -> None:
        """As Ctrl-C. A terminal that is gone refuses what textual writes last, and textual waits for it without end."""
        for descriptor in self._terminals:
            if not os.isatty(descriptor):
                os.dup2(os.open(os.devnull, os.O_RDWR), descriptor)
        self.action_interrupt()

    def action_sort(self) -> None:
        """The next order."""
        self._order = (self._order + 1) % len(SORTS)
        self._draw()

    def action_reverse(self) -> None:
        """The other way round."""
        self._is_reversed = not self._is_reversed
        self._draw()

    def action_filter(self) -> None:
        """Asks for what rows must hold."""
        self.query_one("#filter", Input).add_class("shown").focus()

    def action_no_filter(self) -> None:
        """All rows."""
        asked = self.query_one("#filter", Input)
        asked.value = ""
        asked.remove_class("shown")
        self._table.focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Rows that fit so far."""
        self._wanted = event.value
        self._draw()

    def on_input_submitted(self, _event: Input.Submitted) -> None:
        """Keeps the filter and goes back to the rows."""
        self._table.focus()

    def on_data_table_row_selected(self, event: DataTable.RowSelected) -> None:
        """The budget of a connection."""
        if event.row_key.value is not None:
            self.push_screen(BudgetScreen(event.row_key.value, self.row_of))

    def row_of(self, key: str) -> Row | None:
        """The row as it is now; None once it is gone."""
        return None if self._latest is None else next((row for row in self._latest.rows if row.key == key), None)

    @property
    def _table(self) -> "DataTable[Text]":
        return self.screen_stack[0].query_one("#rows", DataTable)

    def _look(self) -> None:
        if self._is_over.is_set():
            self.exit()
        elif self._latest is not self._on_screen or self._latest is None:
            self._draw()

    def _draw(self) -> None:
        frame = self._on_screen = self._latest
        self.screen_stack[0].query_one("#facts", Static).update(self._facts(frame))
        if frame is None:
            return
        fitting = [row for row in frame.rows if matches(row.last, self._wanted)]
        shown = sorted_rows(fitting, self._order, is_reversed=self._is_reversed)[:MAX_ROWS]
        table = self._table
        chosen = None
        if table.row_count:
            chosen = table.coordinate_to_cell_key(table.cursor_coordinate).row_key.value
        table.clear()
        for row in shown:
            table.add_row(
                *cells_of(row.last, row.recent, row.side if self._has_far(frame) else None), key=row.key, height=2
            )
        keys = [row.key for row in shown]
        if chosen in keys:
            table.move_cursor(row=keys.index(chosen), animate=False)

    def _facts(self, frame: Frame | None) -> Text:
        """One or two lines: what is watched, how, and what is not."""
        if frame is None:
            return Text(f"Watching {self._what}: waiting for the agent")
        order = f"by {SORTS[self._order].name}{', reversed' if self._is_reversed else ''}"
        parts = [
            f"Watching {self._what}",
            f"level {frame.level}",
            count(len(frame.rows), "connection"),
            f"{frame.others_count:,} others",
            order,
        ]
        if frame.beyond_count:
            parts.append(f"{frame.beyond_count:,} beyond --max-connections")
        lines = [" · ".join(parts)]
        if frame.reason is not None:
            lines.append(f"Level {frame.level}: {visible(frame.reason)}")
        if not frame.rows:
            lines.append(f"{nothing_yet(self._what, frame.instead)}; waiting for one")
        return Text("\n".join(lines))

    @staticmethod
    def _has_far(frame: Frame) -> bool:
        return any(row.side == "far" for row in frame.rows)


class BudgetScreen(Screen[None]):
    """The limits of one connection, interval by interval, and what it looks like now."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "back", "Back"),
        Binding("q", "back", "Back", show=False),
        Binding("d", "direction", "Direction"),
    ]

    def __init__(self, key: str, row_of: Callable[[str], Row | None]) -> None:
        """The connection with this key; `row_of` finds it."""
        super().__init__()
        self._key, self._row_of = key, row_of
        self._row: Row | None = None
        self._shows_other = False

    def compose(self) -> ComposeResult:
        """One text that scrolls."""
        with VerticalScroll():
            yield Static(id="budget")
        yield Footer()

    def on_mount(self) -> None:
        """Begins to look for intervals."""
        self.set_interval(REDRAW_S, self._look)
        self._look()

    def action_back(self) -> None:
        """Back to the rows."""
        self.dismiss(None)

    def action_direction(self) -> None:
        """The other direction of the connection."""
        self._shows_other = not self._shows_other
        self._draw()

    def _look(self) -> None:
        row = self._row_of(self._key)
        if row is not None and row is not self._row:
            self._row = row
            self._draw()

    def _draw(self) -> None:
        if self._row is None:
            return
        sends = self._row.recent.sends_more is not self._shows_other
        self.query_one("#budget", Static).update(
            budget_text(self._row.intervals, self._row.recent, sends=sends, width=max(60, self.size.width - 4))
        )


def _row(followed: Followed) -> Row | None:
    recent = followed.recent
    if recent is None:
        return None
    return Row(followed.side, followed.intervals[-1], recent, tuple(followed.intervals))
