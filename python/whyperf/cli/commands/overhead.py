"""`whyperf model overhead`: what headers, cells and windows leave of a link, computed."""

from pathlib import Path
from typing import Annotated

import typer

NAME = "overhead"
EXAMPLE = (
    "Examples: whyperf model overhead · whyperf model overhead ethernet-10G --mtu 9000 · "
    "whyperf model overhead atm-oc3 --protocol ncp --encapsulation lane-802.3 --latency-us 500"
)


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
    mac_header: Annotated[
        str, typer.Option("--mac-header", help="MAC header of LAN emulation: ieee (14 bytes) or study (3 or 4 bytes).")
    ] = "ieee",
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
    # Imported here, so that help and completion stay quick.
    from whyperf.cli.workflows.overhead import Question, answer_question, print_known  # noqa: PLC0415

    if link is None:
        return print_known(as_json=json)
    return answer_question(
        Question(
            link,
            protocol,
            encapsulation,
            mtu,
            sizes,
            aal,
            vlan,
            mac_header,
            ip,
            tcp_options,
            window,
            every,
            latency_us,
            frame_us,
        ),
        as_json=json,
        html=html,
    )
