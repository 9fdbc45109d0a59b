"""Reads a capture file: TCP over IPv4 and IPv6 on Ethernet, one row a packet, with nothing but the standard library."""

import struct
from collections.abc import Iterator
from pathlib import Path

import polars as pl

COLUMNS = {
    "realtime_ns": pl.Int64,
    "from_port": pl.UInt16,
    "to_port": pl.UInt16,
    "sequence": pl.UInt32,
    "acknowledgment": pl.UInt32,
    "payload_bytes": pl.UInt32,
    "flags": pl.UInt32,
    "window_field": pl.UInt32,
    "scale_offered": pl.UInt32,
    "has_sack": pl.Boolean,
}

#: pcap-savefile(5): magic number of a file in this machine's byte order, with times in µs, and Ethernet's link type.
MAGIC, ETHERNET = 0xA1B2C3D4, 1
FILE_HEADER, PACKET_HEADER = struct.Struct("=IHHiIII"), struct.Struct("=IIII")
ETHERNET_BYTES, IPV6_BYTES = 14, 40
ETHERTYPE_IPV4, ETHERTYPE_IPV6 = 0x0800, 0x86DD
#: RFC 9293 3.1, up to the window, and all of it but options.
TCP_HEADER, TCP_BYTES = struct.Struct("!HHIIBBH"), 20
#: Kinds of options: RFC 9293 3.2, RFC 7323 2.2, RFC 2018 3.
END_OF_OPTIONS, NO_OPERATION, WINDOW_SCALE, SACK = 0, 1, 3, 5

Row = tuple[int | None, ...]


def read(path: Path) -> pl.DataFrame:
    """The TCP segments of a capture in its order, numbers as in the header. `scale_offered` is null but in a SYN."""
    data = path.read_bytes()
    rows = [(realtime_ns, *_segment(data, at, ethertype)) for realtime_ns, at, ethertype, _ in _packets(data)]
    return pl.DataFrame(rows, schema=COLUMNS, orient="row")


def _packets(data: bytes) -> Iterator[tuple[int, int, int, int]]:
    """Stamp, where the IP header is, the frame's type and where the frame ends."""
    magic, *_, link = FILE_HEADER.unpack_from(data)
    assert (magic, link) == (MAGIC, ETHERNET)
    at = FILE_HEADER.size
    while at < len(data):
        seconds, microseconds, captured, _ = PACKET_HEADER.unpack_from(data, at)
        at += PACKET_HEADER.size
        ethertype = int.from_bytes(data[at + 12 : at + 14])
        yield (seconds * 1_000_000 + microseconds) * 1_000, at + ETHERNET_BYTES, ethertype, at + captured
        at += captured


def _segment(data: bytes, at: int, ethertype: int) -> Row:
    """One segment from its IP header on. Its length is IP's, because the capture is cut behind the headers."""
    if ethertype == ETHERTYPE_IPV4:
        header_bytes = (data[at] & 15) * 4
        tcp_bytes = int.from_bytes(data[at + 2 : at + 4]) - header_bytes
        at += header_bytes
    else:
        assert ethertype == ETHERTYPE_IPV6
        tcp_bytes = int.from_bytes(data[at + 4 : at + 6])
        at += IPV6_BYTES
    from_port, to_port, sequence, acknowledgment, offset, flags, window = TCP_HEADER.unpack_from(data, at)
    header_bytes = (offset >> 4) * 4
    options = dict(_options(data[at + TCP_BYTES : at + header_bytes]))
    scale = options[WINDOW_SCALE][0] if WINDOW_SCALE in options else None
    return from_port, to_port, sequence, acknowledgment, tcp_bytes - header_bytes, flags, window, scale, SACK in options


def _options(options: bytes) -> Iterator[tuple[int, bytes]]:
    """Kind and value of each option of a header."""
    at = 0
    while at < len(options) and options[at] != END_OF_OPTIONS:
        if options[at] == NO_OPERATION:
            at += 1
        else:
            yield options[at], options[at + 2 : at + options[at + 1]]
            at += options[at + 1]
