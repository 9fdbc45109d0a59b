"""Options of `run` that set a factor, as data: an option is a line here, and a row of the documents.

Most of them have the letters of iperf3 (docs/reference/commands.md).
"""

from collections.abc import Iterator
from inspect import Parameter
from typing import Annotated, Any, NamedTuple

import typer

PART = "What to measure"
IPERF3 = "As in iperf3"
PATH = "Emulated path"


class Shortcut(NamedTuple):
    """An option.

    Attributes:
        name: of the argument.
        flags: as they are typed.
        help: for the command line and the documents.
        value: what stands for its value; "" where it takes none.
        panel: of the help.
        factor: that it sets; "" where `run.order_of` finds out which.
        level: of the factor, where the option takes no value.
    """

    name: str
    flags: tuple[str, ...]
    help: str
    value: str = ""
    panel: str = PART
    factor: str = ""
    level: str = ""

    @property
    def parameter(self) -> Parameter:
        """The argument of a command that typer fills."""
        option = typer.Option(*self.flags, metavar=self.value or None, help=self.help, rich_help_panel=self.panel)
        kind, default = (str | None, None) if self.value else (bool, False)
        return Parameter(self.name, Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, option])


_LENGTH = "Bytes per send call; with --udp, payload of a datagram."
_RATE = "Rate at which each connection writes, such as 500M; 0: unlimited."
_PACE = "Upper bound of each connection's rate (SO_MAX_PACING_RATE)."
_LINK, _LOST = "Bottleneck of the emulated path, such as 200M.", "Packets that the emulated path loses, such as 0.1%."
_TRIP = "Round-trip time of an emulated path, such as 20ms: testbed only."
SHORTCUTS: tuple[Shortcut, ...] = (
    Shortcut("time", ("-t", "--time", "--duration"), "Duration in seconds.", "S", factor="duration_s"),
    Shortcut("size", ("-n", "--bytes"), "Bytes per connection, instead of a duration.", "N", factor="transfer_bytes"),
    Shortcut("blocks", ("-k", "--blockcount"), "Writes per connection, instead of a duration.", "N", IPERF3),
    Shortcut("connections", ("-P", "--connections", "--parallel"), "Parallel connections.", "N", factor="connections"),
    Shortcut("window", ("-w", "--window"), "Window in bytes, such as 65536 or 64K.", "N", factor="window_bytes"),
    Shortcut("write_size", ("-l", "--write-size", "--length"), _LENGTH, "N"),
    Shortcut("bitrate", ("-b", "--bitrate", "--bandwidth"), _RATE, "RATE"),
    Shortcut("udp", ("-u", "--udp"), "Datagrams, at 1 Mbit/s unless --bitrate is given."),
    Shortcut("reverse", ("-R", "--reverse"), "The far host sends.", factor="direction", level="receive"),
    Shortcut("bidirectional", ("--bidir",), "Both hosts send: workload bidirectional.", panel=IPERF3),
    Shortcut(
        "congestion", ("-C", "--congestion"), "Congestion control, or several.", "NAME,…", factor="congestion_control"
    ),
    Shortcut("ipv4", ("-4", "--ipv4"), "IP version 4.", panel=IPERF3),
    Shortcut("ipv6", ("-6", "--ipv6"), "IP version 6."),
    Shortcut(
        *("source", ("-B", "--bind"), "Address of this host that connections come from.", "ADDRESS", IPERF3),
        factor="source_address",
    ),
    Shortcut("no_delay", ("-N", "--no-delay"), "Nagle off.", factor="no_delay", level="true"),
    Shortcut("omit", ("-O", "--omit"), "Warm-up before the measurement, in seconds.", "S", IPERF3, factor="warmup_s"),
    Shortcut(
        "zero_copy", ("-Z", "--zerocopy"), "Send by sendfile.", panel=IPERF3, factor="send_call", level="sendfile"
    ),
    Shortcut(
        *("skip_copy", ("--skip-rx-copy",), "Receive without copying (MSG_TRUNC)."),
        panel=IPERF3,
        factor="truncate",
        level="true",
    ),
    Shortcut("mss", ("-M", "--set-mss"), "Largest segment, in bytes.", "N", IPERF3, factor="mss_bytes"),
    Shortcut("dscp", ("--dscp",), "DSCP of all packets, such as 46 or ef.", "N|NAME", IPERF3),
    Shortcut("tos", ("-S", "--tos"), "The whole TOS byte, such as 0xb8 for DSCP 46.", "N", IPERF3),
    Shortcut("fq_rate", ("--fq-rate",), _PACE, "RATE", IPERF3, factor="pacing_rate_bps"),
    Shortcut("mptcp", ("-m", "--mptcp"), "Multipath TCP.", panel=IPERF3, factor="transport", level="mptcp"),
    Shortcut("affinity", ("-A", "--affinity"), "CPU of the load on each side.", "NEAR[,FAR]", IPERF3),
    Shortcut("path_rtt", ("--rtt", "--delay"), _TRIP, "TIME", PATH, factor="path_rtt_ms"),
    Shortcut("path_rate", ("--rate",), _LINK, "RATE", PATH, factor="path_rate_bps"),
    Shortcut(
        "path_loss",
        ("--loss",),
        "Packets that the emulated path loses, such as 0.1%.",
        "SHARE",
        PATH,
        factor="path_loss",
    ),
)


def levels(given: dict[str, Any]) -> Iterator[tuple[str, str | None]]:
    """Each factor that an option sets by itself, with the level as it was typed; None where it was not."""
    for shortcut in SHORTCUTS:
        if shortcut.factor:
            value = given[shortcut.name]
            yield shortcut.factor, shortcut.level if value is True else None if value is False else value
