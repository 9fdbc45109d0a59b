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
"""What the figures are."""
_EXAMPLES = "The rate of the path is not known, so the rates are examples."


def needed_window_section(summary: Summary) -> Section | None:
    """The windows of all cells with a latency; None without one."""
    cells = [(cell, cell.needed_window) for cell in summary.cells if cell.needed_window is not None]
    if not cells:
        return None
    rates = list(dict.fromkeys((at.rate_bps, at.source) for _, found in cells for at in found.rates))
    columns = [
        *([Column("Setting", number=False)] if len(summary.cells) > 1 else []),
        Column("Round trip", "Median time of a request and its response"),
        Column("One way", "Half of it"),
        *(
            Column(f"{what} at {bit_rate(rate)}", SOURCES[source])
            for rate, source in rates
            for what in ("One way", "Round trip")
        ),
        Column("Send buffer", "Of the sender's sockets, the kernel's bookkeeping included"),
        Column("Receive buffer", "Of the receiver's sockets, the kernel's bookkeeping included"),
    ]
    rows = tuple(_row(cell, found, rates, summary) for cell, found in cells)
    sources = "; ".join(dict.fromkeys(f"{bit_rate(rate)}: {SOURCES[source]}" for rate, source in rates))
    note = f"{NOTE} {sources}." if len({source for _, source in rates}) == len(rates) else f"{NOTE} {_EXAMPLES}"
    section = Section("needed-window", "Window that this latency needs")
    section.tables.append(StudyTable("Rate × latency, and the socket buffers", note, Table(tuple(columns), rows)))
    return section


def _row(
    cell: CellResult, found: NeededWindow, rates: Sequence[tuple[float, str]], summary: Summary
) -> tuple[Entry, ...]:
    known = {(at.rate_bps, at.source): at for at in found.rates}
    named = setting(cell.factors, list(summary.varied))
    return (
        *([Entry(named, named)] if len(summary.cells) > 1 else []),
        Entry(seconds(found.round_trip_ns), f"{found.round_trip_ns:.6g}"),
        Entry(seconds(found.one_way_ns), f"{found.one_way_ns:.6g}"),
        *(entry for key in rates for entry in _windows(known.get(key))),
        *(
            Entry(size_text(buffer), "" if buffer.bytes is None else str(buffer.bytes), buffer_text(buffer))
            for buffer in (found.send_buffer, found.receive_buffer)
        ),
    )


def _windows(at: WindowAtRate | None) -> tuple[Entry, Entry]:
    if at is None:
        return Entry(""), Entry("")
    return (
        Entry(octets(at.one_way_bytes), str(at.one_way_bytes)),
        Entry(f"{octets(at.round_trip_bytes)}{judged(at)}", str(at.round_trip_bytes)),
    )
