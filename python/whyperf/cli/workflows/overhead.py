"""`whyperf model overhead`, step by step: the options' meaning, the answer, tables or a page."""

from dataclasses import dataclass
from pathlib import Path

from rich import box
from rich.table import Table

from whyperf.analyze.text import bit_rate, percent, significant
from whyperf.cli.exits import DONE, UsageError
from whyperf.cli.output.console import Console
from whyperf.cli.streams import print_json
from whyperf.overhead import (
    LINKS,
    PROTOCOLS,
    Encapsulation,
    MacHeader,
    Overhead,
    OverheadError,
    Point,
    Protocol,
    Window,
    encapsulations,
    link_named,
    overhead,
    protocol_named,
)
from whyperf.overhead.protocols import Options
from whyperf.overhead.sentences import layer_rows, setting, shown_point
from whyperf.profile.errors import ProfileError, suggestion
from whyperf.profile.factor import LARGEST_WINDOW_BYTES, Factor

_BYTES = Factor("bytes", "int", 1, "bytes", "", low=1, high=LARGEST_WINDOW_BYTES)
_BAR_WIDTH = 12


@dataclass(frozen=True)
class Question:
    """The options of the command line, as given."""

    link: str
    protocol: str
    encapsulation: str | None
    mtu: int | None
    sizes: str | None
    aal: str
    vlan: int
    mac_header: str
    ip: int
    tcp_options: int
    window: str | None
    every: int | None
    latency_us: float
    frame_us: float


def answer_question(asked: Question, *, as_json: bool, html: Path | None) -> int:
    """Prints the answer, and writes its page where one is wanted; returns the exit code.

    Raises:
        UsageError: options that make no sense together.
    """
    answer = _answer(asked)
    if html is not None:
        from whyperf.report.overhead import page  # noqa: PLC0415 - drawing takes a second to load

        if not html.parent.is_dir():
            raise UsageError(f"--html: there is no folder {html.parent}; make it, or name another file")
        html.write_text(page(answer), encoding="utf-8")
    if as_json:
        print_json(document(answer))
    else:
        _print(answer)
        if html is not None:
            print(f"Curve: {html}")  # noqa: T201
    return DONE


def _answer(asked: Question) -> Overhead:
    try:
        how = protocol_named(asked.protocol)
        return overhead(
            link_named(asked.link),
            how,
            _sizes(asked.sizes),
            encapsulation=_encapsulation(asked.encapsulation),
            mtu=asked.mtu,
            aal=_one_of("--aal", asked.aal, ("5", "3/4")),
            vlan_tags=asked.vlan,
            mac_header=MacHeader(_one_of("--mac-header", asked.mac_header, ("ieee", "study"))),
            options=Options(int(_one_of("--ip", str(asked.ip), ("4", "6"))), asked.tcp_options),
            window=_window(how, asked.window, asked.every, asked.latency_us),
            frame_s=asked.frame_us / 1e6,
        )
    except (OverheadError, ProfileError) as error:
        raise UsageError(str(error)) from None


def document(answer: Overhead) -> dict[str, object]:
    """The answer in plain types; rates in bit/s, sizes in bytes."""
    link_bps = answer.link.rate_bps
    return {
        "link": answer.link.name,
        "link_bps": link_bps,
        "protocol": answer.protocol.name,
        "encapsulation": answer.encapsulation.value,
        "mtu_bytes": answer.mtu_bytes,
        "mac_header": answer.mac_header.value,
        "one_frame_bytes": answer.one_frame_bytes,
        "points": [
            {
                "message_bytes": point.message_bytes,
                "frames": point.frames,
                "cells": point.cells,
                "line_bytes": point.line_bytes,
                "user_bps": point.user_bps,
                "adapter_bps": point.adapter_bps,
                "efficiency_ratio": point.efficiency(link_bps),
                "layers_bytes": {layer.name.lower(): count for layer, count in point.layers.items()},
            }
            for point in answer.points
        ],
    }


def _one_of(option: str, text: str, known: tuple[str, ...]) -> str:
    if text not in known:
        raise OverheadError(f"{option} {text} is not known; take {' or '.join(known)}")
    return text


def _encapsulation(text: str | None) -> Encapsulation | None:
    if text is None:
        return None
    names = [layer.value for layer in Encapsulation]
    if text not in names:
        raise OverheadError(f"{text} is no encapsulation that is known{suggestion(text, names)}")
    return Encapsulation(text)


def _sizes(text: str | None) -> tuple[int, ...]:
    if text is None:
        return ()
    return tuple(sorted({_number("--sizes", part) for part in text.split(",")}))


def _number(option: str, text: str) -> int:
    try:
        level = _BYTES.parse(text)
    except ProfileError as error:
        raise OverheadError(f"{option}: {error.problem}") from None
    if not isinstance(level, int):
        raise OverheadError(f"{option}: {text} is not a whole number of bytes")
    return level


def _window(protocol: Protocol, text: str | None, every: int | None, latency_us: float) -> Window | None:
    """The window that the options describe.

    Raises:
        OverheadError: options that say nothing together, or a protocol without a window.
    """
    if protocol.name == "ncp":
        if text is not None or every is not None:
            raise OverheadError("ncp asks for every packet: its window is 1; take ncp-burst for --burst")
        return Window(1, counts_frames=True, acknowledged_every=1, latency_s=latency_us / 1e6)
    if text is None:
        if protocol.asks:
            raise OverheadError(f"{protocol.name} asks for a burst at a time; say --burst with its number of packets")
        if every is not None or latency_us:
            raise OverheadError("a latency or acknowledgments matter to a window only; add --window")
        return None
    limit = _number("--window", text)
    if protocol.asks and every is not None:
        raise OverheadError("a burst is acknowledged at its end; leave --every out")
    frames = protocol.counts_frames or protocol.asks
    usual = limit if frames else 2
    if frames and (every or usual) > limit:
        raise OverheadError(f"a window of {limit} frames closes before {every} have come; take a smaller --maxin")
    return Window(limit, counts_frames=frames, acknowledged_every=every or usual, latency_s=latency_us / 1e6)


def _print(answer: Overhead) -> None:
    console = Console(highlight=False, markup=False)
    console.print(setting(answer))
    link_bps = answer.link.rate_bps
    has_cells = any(point.cells for point in answer.points)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    for heading in ("Message", "Frames", "Cells", "On the line", "User", "Adapter", "Of line"):
        if heading != "Cells" or has_cells:
            table.add_column(heading, justify="right", min_width=max(map(len, heading.split())))
    table.add_column("", no_wrap=True)
    for point in answer.points:
        share = point.efficiency(link_bps)
        table.add_row(
            f"{point.message_bytes:,}",
            f"{point.frames:,}",
            *([f"{point.cells:,}"] if has_cells else []),
            significant(point.line_bytes, max(3, len(str(int(point.line_bytes))))),
            bit_rate(point.user_bps),
            bit_rate(point.adapter_bps),
            percent(share),
            "█" * round(share * _BAR_WIDTH),
        )
    console.print(table)
    console.print()
    point = shown_point(answer)
    console.print(f"Where the {point.line_bytes:,.0f} bytes of a message of {point.message_bytes:,} go:")
    console.print(_layers(point))


def _layers(point: Point) -> Table:
    table = Table(
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        show_edge=False,
        padding=(0, 1, 0, 0),
    )
    table.add_column("Layer")
    table.add_column("Bytes", justify="right")
    table.add_column("Share", justify="right")
    for row in layer_rows(point):
        table.add_row(*row)
    return table


def print_known(*, as_json: bool) -> int:
    """Prints the links and protocols; returns the exit code."""
    links = [
        {
            "link": link.name,
            "link_bps": link.rate_bps,
            "about": link.about,
            "encapsulations": [layer.value for layer in encapsulations(link)],
        }
        for link in LINKS
    ]
    protocols = [{"protocol": protocol.name, "about": protocol.about} for protocol in PROTOCOLS]
    if as_json:
        print_json({"links": links, "protocols": protocols})
        return DONE
    console = Console(highlight=False, markup=False)
    for rows in (links, protocols):
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        for key in rows[0]:
            table.add_column({"link_bps": "Line"}.get(key, key.capitalize()), no_wrap=key in {"link", "protocol"})
        for row in rows:
            table.add_row(*(_text(key, value) for key, value in row.items()))
        console.print(table)
    return DONE


def _text(key: str, value: object) -> str:
    if isinstance(value, list):
        return ", ".join(value)
    return bit_rate(value) if key == "link_bps" and isinstance(value, int) else str(value)
