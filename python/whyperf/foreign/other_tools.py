"""Files of other tools, which whyperf does not open yet: what they are, from their first bytes."""

import bz2
import os
import re
import zlib
from pathlib import Path

from whyperf.foreign.files import open_file

#: Enough for what precedes the version in iperf3's JSON (128 connections) and flent's (sorted metadata).
HEAD_BYTES = 64 << 10
#: pcap with times in us or ns, in both byte orders; pcapng begins with a section header (draft-ietf-opsawg-pcapng 4.1).
CAPTURES = {
    bytes.fromhex("a1b2c3d4"): "pcap",
    bytes.fromhex("d4c3b2a1"): "pcap",
    bytes.fromhex("a1b23c4d"): "pcap",
    bytes.fromhex("4d3cb2a1"): "pcap",
    bytes.fromhex("0a0d0d0a"): "pcapng",
}
#: iperf3 names its version below `start`; flent writes `metadata` first and its version in it.
DOCUMENTS = {
    "an iperf3 result (JSON)": re.compile(rb'\A\s*\{\s*"start"\s*:.*?"version"\s*:\s*"iperf 3', re.DOTALL),
    "a flent data file": re.compile(rb'\A\s*\{\s*"metadata"\s*:.*?"(?:FLENT|NETPERF_WRAPPER)_VERSION"', re.DOTALL),
}
GZIP, BZIP2 = b"\x1f\x8b", b"BZh"


def kind_of_file(path: Path) -> str | None:
    """Kind of a file of another tool, as a phrase such as "a packet capture (pcap)"; None for any other, or none."""
    try:
        with os.fdopen(open_file(path, is_users=True), "rb") as file:
            head = _unpacked(file.read(HEAD_BYTES))
    except (OSError, ValueError, zlib.error):
        return None
    if (capture := CAPTURES.get(head[:4])) is not None:
        return f"a packet capture ({capture})"
    return next((kind for kind, pattern in DOCUMENTS.items() if pattern.match(head)), None)


def not_opened_yet(path: Path) -> str | None:
    """One sentence about a file of another tool: what it is, and what to do; None for any other, or none."""
    kind = kind_of_file(path)
    if kind is None:
        return None
    return (
        f"{path} is {kind}, which whyperf does not open yet; measure with `whyperf run HOST`, or watch the program "
        "with `whyperf watch`, and show that result"
    )


def _unpacked(head: bytes) -> bytes:
    """The first bytes of what is packed."""
    if head.startswith(GZIP):
        return zlib.decompressobj(wbits=31).decompress(head, HEAD_BYTES)
    return bz2.BZ2Decompressor().decompress(head, HEAD_BYTES) if head.startswith(BZIP2) else head
