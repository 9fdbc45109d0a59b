"""The output of the tools, read as somebody reads it: the figure that stands for the run."""

import json
import re
from typing import Any

from lab.tools.tool_runs import Load, Reported, Side

MEGABYTE = 2**20
_NUTTCP_TOTAL = re.compile(
    r"^nuttcp-(?P<side>[rt]): megabytes=(?P<megabytes>[\d.]+) real_seconds=(?P<seconds>[\d.]+) "
    r".*rate_Mbps=(?P<rate>[\d.]+)",
    re.MULTILINE,
)
_NUTTCP_VERSION = re.compile(r"^nuttcp-t: v?(?P<version>[\w.+-]+): socket", re.MULTILINE)
_UPERF_TOTAL = re.compile(
    r"^Total\s+(?P<bytes>[\d.]+)(?P<unit>[KMGT]?)B? /\s+(?P<seconds>[\d.]+)\(s\) ="
    r"\s+(?P<rate>[\d.]+)(?P<rate_unit>[KMGT]?)b/s"
    r"\s+(?P<ops>\d+)op/s",
    re.MULTILINE,
)
_UPERF_SCALE = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4}


class PrintedError(Exception):
    """A tool printed no figure; the text says so with what it printed."""


def iperf3_reported(text: str, load: Load) -> Reported:
    """The receiver's bytes over the time of the whole test, which iperf3 prints in its last line."""
    try:
        found: dict[str, Any] = json.loads(text)
    except ValueError:
        raise _no_figure("iperf3", text) from None
    if "error" in found:
        raise PrintedError(f"iperf3 failed: {found['error']}")
    try:
        end = found["end"]
        received = end["sum_received"] if load.workload == "stream" else end["sum"]
        rate, total = float(received["bits_per_second"]), int(received["bytes"])
        seconds = float(received["seconds"])
        if load.workload == "udp":
            # Its sum has what was sent; the lost datagrams are counted at the receiver.
            kept = 1 - int(received["lost_packets"]) / max(1, int(received["packets"]))
            rate, total = rate * kept, int(total * kept)
        version = str(found["start"]["version"]).removeprefix("iperf ")
    except (KeyError, TypeError, ValueError):
        raise _no_figure("iperf3", text) from None
    return Reported(rate=rate, counted_by="receiver", payload_bytes=total, seconds=seconds, version=version)


def nuttcp_reported(text: str, _load: Load) -> Reported:
    """The receiver's total, which nuttcp prints where it is not asked for more."""
    found = next((each for each in _NUTTCP_TOTAL.finditer(text) if each["side"] == "r"), None)
    if found is None:
        found = next((each for each in _NUTTCP_TOTAL.finditer(text)), None)
    if found is None:
        raise _no_figure("nuttcp", text)
    version = _NUTTCP_VERSION.search(text)
    return Reported(
        rate=float(found["rate"]) * 1e6,
        counted_by="receiver" if found["side"] == "r" else "sender",
        payload_bytes=round(float(found["megabytes"]) * MEGABYTE),
        seconds=float(found["seconds"]),
        version="" if version is None else version["version"],
    )


def netperf_reported(text: str, load: Load) -> Reported:
    """THROUGHPUT of the omni output: 10^6 bit/s, or transactions per second.

    Of a stream, netperf's classic output has the bytes that the local side sent; of datagrams, those received are
    compared.
    """
    values = dict(line.split("=", 1) for line in text.splitlines() if "=" in line)
    name = "REMOTE_RECV_THROUGHPUT" if load.workload == "udp" else "THROUGHPUT"
    try:
        rate, seconds = float(values[name]), float(values["ELAPSED_TIME"])
    except (KeyError, ValueError):
        raise _no_figure("netperf", text) from None
    by: Side = "receiver" if load.workload == "udp" else "sender"
    moved = values.get("REMOTE_BYTES_RECVD" if by == "receiver" else "LOCAL_BYTES_SENT", "")
    return Reported(
        rate=rate if load.workload == "rr" else rate * 1e6,
        counted_by=by,
        payload_bytes=int(moved) if moved.isdigit() and load.workload != "rr" else None,
        seconds=seconds,
        version=values.get("NETPERF_VERSION", ""),
    )


def uperf_reported(text: str, load: Load) -> Reported:
    """The line Total: bytes of flowops that the master ran; with request/response, half of them are transactions."""
    found = _UPERF_TOTAL.search(text)
    if found is None:
        raise _no_figure("uperf", text)
    rate = float(found["rate"]) * 1000 ** _UPERF_SCALE[found["rate_unit"]]
    return Reported(
        rate=float(found["ops"]) / 2 if load.workload == "rr" else rate,
        counted_by="sender",
        payload_bytes=round(float(found["bytes"]) * 1024 ** _UPERF_SCALE[found["unit"]]),
        seconds=float(found["seconds"]),
    )


def _no_figure(tool: str, text: str) -> PrintedError:
    said = " ".join(text.split())[-200:] or "nothing"
    return PrintedError(f"{tool} printed no figure: {said}")
