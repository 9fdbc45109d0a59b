"""The answer in words, the same in the terminal and on a page."""

from whyperf.analyze.text import bit_rate, octets, percent
from whyperf.overhead.answer import Overhead, Point
from whyperf.overhead.links import MacHeader


def setting(answer: Overhead) -> str:
    """The setting that the figures are of."""
    text = (
        f"{answer.link.name} ({answer.link.about}, {bit_rate(answer.link.rate_bps)}), {answer.protocol.name}, "
        f"{answer.encapsulation.value}, MTU {answer.mtu_bytes:,}. A message of up to {answer.one_frame_bytes:,} bytes "
        "takes one frame."
    )
    if answer.mac_header is MacHeader.STUDY:
        length = answer.mac_header.length(answer.encapsulation)
        text += f" MAC header: {length} bytes, as study 5 counts; on the link it has 14."
    if answer.window is not None:
        unit = ("frame" if answer.window.limit == 1 else "frames") if answer.window.counts_frames else "bytes"
        text += f" Window {answer.window.limit:,} {unit}, {answer.window.latency_s * 1e6:g} µs one way."
    return text


def headline(answer: Overhead) -> str:
    """The rate that the user gets at best, of the sizes computed."""
    best = max(answer.points, key=lambda point: point.user_bps)
    share = percent(best.efficiency(answer.link.rate_bps))
    size = octets(best.message_bytes)
    return f"At most {bit_rate(best.user_bps)} reach the user, {share} of the line, with messages of {size}"


def shown_point(answer: Overhead) -> Point:
    """The point whose bytes are listed one by one: the largest message in one frame, else the largest."""
    in_one = [point for point in answer.points if point.frames == 1]
    return max(in_one or answer.points, key=lambda point: point.message_bytes)


def layer_rows(point: Point) -> list[tuple[str, str, str]]:
    """Layer, bytes and share of the line, as text."""
    return [
        (layer.value, _count(count), f"{count / point.line_bytes * 100:.1f} %") for layer, count in point.layers.items()
    ]


def _count(count: float) -> str:
    return f"{count:,.1f}".removesuffix(".0")
