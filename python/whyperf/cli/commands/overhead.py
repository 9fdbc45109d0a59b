"""`whyperf overhead`: what headers, cells and windows leave of a link, computed."""

from pathlib import Path
from typing import Annotated

import typer
from rich import box
from rich.console import Console
from rich.table import Table

from whyperf.analyze.text import bit_rate, percent, significant
from whyperf.cli.exits import DONE, UsageError
from whyperf.cli.streams import print_json
from whyperf.overhead import (
    LINKS,
    PROTOCOLS,
    Encapsulation,
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

NAME = "overhead"
EXAMPLE = (
    "Examples: whyperf overhead · whyperf overhead ethernet-10G --mtu 9000 · "
    "whyperf overhead atm-oc3 --protocol ncp --encapsulation lane-802.3 --latency-us 500"
)

_BYTES = Factor("bytes", "int", 1, "bytes", "", low=1, high=LARGEST_WINDOW_BYTES)
_BAR_WIDTH = 12


def command(  # noqa: PLR0917 - the command line
    link: Annotated[str | None, typer.Argument(help="The link. Default: list all links and protocols.")] = None,
    protocol: Annotated[str, typer.Option("--protocol", "-p", help="Protocol that carries the messages.")] = "tcp",
    encapsulation: Annotated[
        str | None, typer.Option("--encapsulation", help="Encapsulation between protocol and link.")
    ] = None,
    mtu: Annotated[
        int | None, typer.Option("--mtu", help="Largest packet in bytes. Default: the usual one of the link.")
    ] = None,
    sizes: Annotated[
        str | None, typer.Option("--sizes", help="Message sizes, such as 64,1K,8192. Default: a range.")
    ] = None,
    aal: Annotated[str, typer.Option("--aal", help="ATM adaptation layer: 5 or 3/4.")] = "5",
    vlan: Annotated[int, typer.Option("--vlan", min=0, max=2, help="VLAN tags per frame.")] = 0,
    ip: Annotated[int, typer.Option("--ip", min=4, max=6, help="IP version: 4 or 6.")] = 4,
    tcp_options: Annotated[int, typer.Option("--tcp-options", help="Bytes of options in each segment.")] = 12,
    window: Annotated[
        str | None,
        typer.Option(
            "--window",
            "--maxout",
            "--burst",
            help="Window: bytes in flight (tcp), frames (netbios maxout), packets (ncp-burst).",
        ),
    ] = None,
    every: Annotated[
        int | None, typer.Option("--every", "--maxin", min=1, help="Frames between two acknowledgments.")
    ] = None,
    latency_us: Annotated[
        float, typer.Option("--latency-us", min=0, help="One-way latency in microseconds, hosts included.")
    ] = 0.0,
    frame_us: Annotated[
        float, typer.Option("--frame-us", min=0, help="Processing time of a host per frame, in microseconds.")
    ] = 0.0,
    json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
    html: Annotated[Path | None, typer.Option("--html", help="Write a page with the curve to this file.")] = None,
) -> int:
    """Computes the maximum goodput of a link from headers, cells, gaps and windows."""
    if link is None:
        _print_known(json)
        return DONE
    try:
        how = protocol_named(protocol)
        answer = overhead(
            link_named(link),
            how,
            _sizes(sizes),
            encapsulation=_encapsulation(encapsulation),
            mtu=mtu,
            aal=_one_of("--aal", aal, ("5", "3/4")),
            vlan_tags=vlan,
            options=Options(int(_one_of("--ip", str(ip), ("4", "6"))), tcp_options),
            window=_window(how, window, every, latency_us),
            frame_s=frame_us / 1e6,
        )
    except (OverheadError, ProfileError) as error:
        raise UsageError(str(error)) from None
    if html is not None:
        from whyperf.report.overhead import page  # noqa: PLC0415 - drawing takes a second to load

        if not html.parent.is_dir():
            raise UsageError(f"--html: there is no folder {html.parent}; make it, or name another file")
        html.write_text(page(answer), encoding="utf-8")
    if json:
        print_json(as_json(answer))
    else:
        _print(answer)
        if html is not None:
            typer.echo(f"Curve: {html}")
    return DONE


def as_json(answer: Overhead) -> dict[str, object]:
    """The answer in plain types; rates in bit/s, sizes in bytes."""
    link_bps = answer.link.rate_bps
    return {
        "link": answer.link.name,
        "link_bps": link_bps,
        "protocol": answer.protocol.name,
        "encapsulation": answer.encapsulation.value,
        "mtu_bytes": answer.mtu_bytes,
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


def _print_known(json: bool) -> None:
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
    if json:
        print_json({"links": links, "protocols": protocols})
        return
    console = Console(highlight=False, markup=False)
    for rows in (links, protocols):
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        for key in rows[0]:
            table.add_column({"link_bps": "Line"}.get(key, key.capitalize()), no_wrap=key in {"link", "protocol"})
        for row in rows:
            table.add_row(*(_text(key, value) for key, value in row.items()))
        console.print(table)


def _text(key: str, value: object) -> str:
    if isinstance(value, list):
        return ", ".join(value)
    return bit_rate(value) if key == "link_bps" and isinstance(value, int) else str(value)
