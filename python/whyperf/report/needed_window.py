"""The window that a latency needs, next to what the sockets have, in words."""

from collections.abc import Callable, Iterator

from whyperf.analyze.text import bit_rate, octets, seconds
from whyperf.analyze.window_result import NeededWindow, SocketBuffer, WindowAtRate

SOURCES = {
    "path": "rate of the emulated path",
    "link": "rate of the slower link",
    "stream": "fastest stream of this result",
    "example": "example, path rate not known",
}
"""Where a rate is from."""


def needed_window_lines(found: NeededWindow, rate: Callable[[float], str] = bit_rate) -> Iterator[tuple[str, str]]:
    """Name and text of each line."""
    first = found.rates[0]
    if len(found.rates) == 1:
        windows = f"{_both(first)} at {rate(first.rate_bps)} ({SOURCES[first.source]})"
    else:
        each = (
            f"{at.one_way_bytes:,} and {octets(at.round_trip_bytes)} at {rate(at.rate_bps)}{judged(at)}"
            for at in found.rates
        )
        windows = f"one way and round trip, for example {'; '.join(each)}"
    round_trip, one_way = seconds(found.round_trip_ns), seconds(found.one_way_ns)
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
