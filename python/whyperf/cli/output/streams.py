"""Lines of single connections, as `--per-stream` prints them."""

from collections.abc import Callable

from whyperf.analyze.summary import MAX_STREAMS, CellResult, Stream
from whyperf.analyze.text import count, seconds

HEADINGS = ("Connection", "Goodput", "Retr", "RTT median", "RTT min")
WIDTHS = (10, 14, 9, 12, 12)


def stream_lines(cell: CellResult, rate: Callable[[float], str]) -> list[str]:
    """A heading, and a line for each connection; a reason where a cell has no list of them."""
    if not cell.streams:
        number = cell.factors.get("connections")
        if isinstance(number, int) and number > MAX_STREAMS:
            return [f"{count(number, 'connection')}; --per-stream prints up to {MAX_STREAMS}"]
        return ["The record has no figures of single connections."]
    return [_aligned(HEADINGS), *(_aligned(_columns(stream, rate)) for stream in cell.streams)]


def _columns(stream: Stream, rate: Callable[[float], str]) -> tuple[str, ...]:
    again = stream.retransmitted_segments
    return (
        str(stream.connection),
        rate(stream.goodput_bps),
        "-" if again is None else f"{again:,.0f}",
        *("-" if time is None else seconds(time) for time in (stream.rtt_ns, stream.rtt_ns_min)),
    )


def _aligned(columns: tuple[str, ...]) -> str:
    return " ".join(column.rjust(width) for column, width in zip(columns, WIDTHS, strict=True))
