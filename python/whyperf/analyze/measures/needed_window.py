"""The window that a path needs, from the time of a transaction: rate x latency (RFC 7323 section 1.1).

The latency is that of requests and responses, one at a time: it has no queue in it, but all of both hosts, which a
window must cover. One way is half of it, as in the Gigabit Ethernet study (Huang, 2003). A connection needs rate x
round trip, because a sender can reuse its window only when the acknowledgment is back.
"""

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

import polars as pl

from whyperf.analyze.measures.adapters import stated_link_bps
from whyperf.analyze.read.inputs import Inputs
from whyperf.analyze.summary import CellResult
from whyperf.analyze.window_result import NeededWindow, SocketBuffer, WindowAtRate

WORKLOAD = "rr"
TRANSPORTS = frozenset({"tcp", "mptcp", "tls"})
"""Transports whose window is that of TCP sockets."""
EXAMPLES_BPS = (1e9, 10e9, 25e9, 100e9)
"""Rates where nothing is known of the path's."""
PATH, LINK, STREAM, EXAMPLE, ASKED = "path", "link", "stream", "example", "asked"
PAYLOAD_RATIO = 0.5
"""Part of a buffer that holds payload at least: the kernel doubles a request for its bookkeeping (socket(7))."""
_LIMITS = {"sender": ("send", "net.ipv4.tcp_wmem"), "receiver": ("receive", "net.ipv4.tcp_rmem")}


def with_needed_windows(cells: Sequence[CellResult], inputs: Inputs) -> list[CellResult]:
    """The same cells; those of one request at a time have the window that their latency needs."""
    best = max(
        (rate for cell in cells if cell.workload.startswith("stream") and (rate := cell.goodput_bps.median)),
        default=None,
    )
    return [
        cell if (found := _needed(cell, inputs, best)) is None else cell.model_copy(update={"needed_window": found})
        for cell in cells
    ]


def _needed(cell: CellResult, inputs: Inputs, stream_bps: float | None) -> NeededWindow | None:
    latency = None if cell.transactions is None else cell.transactions.latency
    is_one_at_a_time = cell.workload == WORKLOAD and cell.factors.get("outstanding", 1) == 1
    if latency is None or latency.p50_ns is None or latency.kind != "service" or not is_one_at_a_time:
        return None
    # Hosts of a fleet have different paths, and other transports windows of their own.
    if cell.fleet is not None or cell.factors.get("transport", "tcp") not in TRANSPORTS:
        return None
    buffers = {role: _buffer(cell.id, role, inputs) for role in _LIMITS}
    held = _held_bytes(*buffers.values())
    return NeededWindow(
        one_way_ns=latency.p50_ns / 2,
        round_trip_ns=latency.p50_ns,
        rates=[
            _at(rate, source, latency.p50_ns, held)
            for rate, source in _rates(cell.factors, inputs, cell.id, stream_bps)
        ],
        send_buffer=buffers["sender"],
        receive_buffer=buffers["receiver"],
    )


def _rates(
    factors: Mapping[str, object], inputs: Inputs, cell: str, stream_bps: float | None
) -> list[tuple[float, str]]:
    """The rates that the path can carry, as far as they are known, and from where."""
    emulated = factors.get("path_rate_bps")
    if isinstance(emulated, int | float):
        return [(float(emulated), PATH)]
    link = stated_link_bps(inputs.devices.filter(pl.col("cell") == cell), inputs.hosts, factors)
    if link is not None:
        return [(link, LINK)]
    return [(stream_bps, STREAM)] if stream_bps is not None else [(rate, EXAMPLE) for rate in EXAMPLES_BPS]


def window_for(rate_bps: float, found: NeededWindow) -> WindowAtRate:
    """The window at a rate that the user asks about."""
    return _at(rate_bps, ASKED, found.round_trip_ns, _held_bytes(found.send_buffer, found.receive_buffer))


def _held_bytes(*buffers: SocketBuffer) -> float | None:
    """Payload that the smaller buffer holds at least; None where the size of one is not known."""
    held = [PAYLOAD_RATIO * buffer.limit_bytes for buffer in buffers if buffer.limit_bytes is not None]
    return min(held) if len(held) == len(buffers) else None


def _at(rate_bps: float, source: str, round_trip_ns: float, held_bytes: float | None) -> WindowAtRate:
    round_trip = rate_bps * round_trip_ns / 8e9
    return WindowAtRate(
        rate_bps=rate_bps,
        source=source,
        one_way_bytes=round(round_trip / 2),
        round_trip_bytes=round(round_trip),
        is_enough=None if held_bytes is None else held_bytes >= round_trip,
    )


def _buffer(cell: str, role: str, inputs: Inputs) -> SocketBuffer:
    """The buffer that a side's sockets have, and how large it may become."""
    kind, sysctl = _LIMITS[role]
    rows = inputs.flows.filter((pl.col("cell") == cell) & (pl.col("role") == role))
    granted = rows[f"{kind}_buffer_granted_bytes"].drop_nulls().to_list()
    asked = pl.coalesce(f"{kind}_buffer_requested_bytes", "window_requested_bytes").alias("asked")
    requested = rows.select(asked)["asked"].max()
    size = round(median(granted)) if granted else None
    named = rows["host"].unique(maintain_order=True).to_list()
    tuned = _largest(inputs.hosts.get(named[0], {}), sysctl) if named else None
    is_fixed = isinstance(requested, int)
    return SocketBuffer(
        bytes=size,
        requested_bytes=requested if isinstance(requested, int) else None,
        # SO_SNDBUF and SO_RCVBUF switch the kernel's tuning off.
        limit_bytes=size if is_fixed else tuned,
        limit=None if (size if is_fixed else tuned) is None else "socket" if is_fixed else sysctl,
    )


def _largest(facts: Mapping[str, Any], sysctl: str) -> int | None:
    """The third of `least default most`."""
    numbers = str(facts.get("sysctls", {}).get(sysctl, "")).split()
    return int(numbers[2]) if len(numbers) == 3 and numbers[2].isdigit() else None
