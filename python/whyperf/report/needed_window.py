"""The window that a latency needs, next to what the sockets have, in words."""

from collections.abc import Callable, Iterator

from whyperf.analyze.measures.needed_window import EXAMPLE, window_for
from whyperf.analyze.text import bit_rate, octets, seconds
from whyperf.analyze.window_result import NeededWindow, SocketBuffer, WindowAtRate

SOURCES = {
    "path": "rate of the emulated path",
    "link": "rate of the slower link",
    "stream": "fastest stream of this result",
    "example": "example, path rate not known",
    "asked": "--window-for",
}
"""Where a rate is from."""


def known_window(found: NeededWindow | None) -> WindowAtRate | None:
    """The window at the rate of the path; None where that is not known, and there are examples only."""
    return None if found is None or found.rates[0].source == EXAMPLE else found.rates[0]


def needed_window_lines(
    found: NeededWindow, rate: Callable[[float], str] = bit_rate, asked_bps: float | None = None
) -> Iterator[tuple[str, str]]:
    """Name and text of each line, at the rate of the path or the one that is asked for; none without such a rate."""
    at = known_window(found) if asked_bps is None else window_for(asked_bps, found)
    if at is None:
        return
    round_trip, one_way = seconds(found.round_trip_ns), seconds(found.one_way_ns)
    windows = f"{_both(at)} at {rate(at.rate_bps)} ({SOURCES[at.source]})"
    yield "Needed window", f"{windows}; median round trip {round_trip}, one way {one_way}"
    yield "Socket buffers", f"send {buffer_text(found.send_buffer)}; receive {buffer_text(found.receive_buffer)}"


def _both(at: WindowAtRate) -> str:
    return f"one way {octets(at.one_way_bytes)}, round trip {octets(at.round_trip_bytes)}{judged(at)}"


def judged(at: WindowAtRate) -> str:
    """Marks a window that the sockets may not hold."""
    return " (more than the socket buffers hold)" if at.is_enough is False else ""


def size_text(buffer: SocketBuffer) -> str:
    """The size of a buffer as read back."""
    return "not known" if buffer.bytes is None else octets(buffer.bytes)


def buffer_text(buffer: SocketBuffer) -> str:
    """A buffer as read back, and how large it may become."""
    if buffer.requested_bytes is not None:
        return f"{size_text(buffer)}, fixed ({octets(buffer.requested_bytes)} requested)"
    if buffer.limit_bytes is None:
        return size_text(buffer)
    return f"{size_text(buffer)}, up to {octets(buffer.limit_bytes)} ({buffer.limit})"
