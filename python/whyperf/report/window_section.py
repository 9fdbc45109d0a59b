"""The section on the window that a latency needs: a row for each cell, next to what its sockets have."""

from collections.abc import Sequence

from whyperf.analyze.summary import CellResult, Summary
from whyperf.analyze.text import bit_rate, octets, seconds, setting
from whyperf.analyze.window_result import NeededWindow, WindowAtRate
from whyperf.report.charts.blocks import Section, StudyTable
from whyperf.report.needed_window import SOURCES, buffer_text, judged, size_text
from whyperf.report.table import Column, Entry, Table

NOTE = (
    "To keep a path busy, a connection needs a window of rate × round trip. The round trip is the median time of a "
    "request and its response, both hosts included; one way is half of it. The sizes of buffers include the kernel's "
    "bookkeeping: at least half of a buffer holds payload."
)
"""The explanation of the figures."""


def needed_window_section(summary: Summary) -> Section | None:
    """The windows of all cells with a latency; None without one.

    Of a single cell each rate is a row, of several each cell, with the windows of a round trip.
    """
    cells = [(cell, cell.needed_window) for cell in summary.cells if cell.needed_window is not None]
    if not cells:
        return None
    section = Section("needed-window", "Window that this latency needs")
    heading = "Rate × latency, and the socket buffers"
    if len(summary.cells) == 1:
        found = cells[0][1]
        latency = f"Here they take {seconds(found.round_trip_ns)} and {seconds(found.one_way_ns)}."
        buffers = f"Send buffer: {buffer_text(found.send_buffer)}. Receive buffer: {buffer_text(found.receive_buffer)}."
        table = Table(_OF_RATES, tuple(_rate_row(at) for at in found.rates))
        section.tables.append(StudyTable(heading, f"{NOTE} {latency} {buffers}", table))
        return section
    rates = list(dict.fromkeys((at.rate_bps, at.source) for _, found in cells for at in found.rates))
    columns = (
        Column("Setting", number=False),
        Column("Round trip", "Median time of a request and its response"),
        Column("One way", "Half of it"),
        *(Column(f"Window at {bit_rate(rate)}", f"Rate × round trip; {SOURCES[source]}") for rate, source in rates),
        Column("Send buffer", "Of the sender's sockets, the kernel's bookkeeping included"),
        Column("Receive buffer", "Of the receiver's sockets, the kernel's bookkeeping included"),
    )
    sources = dict.fromkeys(SOURCES[source] for _, source in rates)
    what = "Windows are those of the round trip, one way is half of them; * is more than the buffers hold."
    note = f"{NOTE} {what} Rates: {', '.join(sources)}."
    rows = tuple(_cell_row(cell, found, rates, summary) for cell, found in cells)
    section.tables.append(StudyTable(heading, note, Table(columns, rows)))
    return section


_OF_RATES = (
    Column("Rate"),
    Column("Where the rate is from", number=False),
    Column("Window, one way", "Rate × one way"),
    Column("Window, round trip", "Rate × round trip"),
    Column("Buffers", "Whether half of each buffer's limit is at least the round trip's window", number=False),
)


def _rate_row(at: WindowAtRate) -> tuple[Entry, ...]:
    enough = {True: "large enough", False: "too small", None: "not known"}[at.is_enough]
    return (
        Entry(bit_rate(at.rate_bps), f"{at.rate_bps:.6g}"),
        Entry(SOURCES[at.source], at.source),
        Entry(octets(at.one_way_bytes), str(at.one_way_bytes)),
        Entry(octets(at.round_trip_bytes), str(at.round_trip_bytes)),
        Entry(enough, enough),
    )


def _cell_row(
    cell: CellResult, found: NeededWindow, rates: Sequence[tuple[float, str]], summary: Summary
) -> tuple[Entry, ...]:
    known = {(at.rate_bps, at.source): at for at in found.rates}
    named = setting(cell.factors, list(summary.varied))
    return (
        Entry(named, named),
        Entry(seconds(found.round_trip_ns), f"{found.round_trip_ns:.6g}"),
        Entry(seconds(found.one_way_ns), f"{found.one_way_ns:.6g}"),
        *(_window(known.get(key)) for key in rates),
        *(
            Entry(size_text(buffer), "" if buffer.bytes is None else str(buffer.bytes), buffer_text(buffer))
            for buffer in (found.send_buffer, found.receive_buffer)
        ),
    )


def _window(at: WindowAtRate | None) -> Entry:
    if at is None:
        return Entry("")
    one_way = f"one way {octets(at.one_way_bytes)}{judged(at)}"
    too_small = " *" if at.is_enough is False else ""
    return Entry(f"{octets(at.round_trip_bytes)}{too_small}", str(at.round_trip_bytes), one_way)
