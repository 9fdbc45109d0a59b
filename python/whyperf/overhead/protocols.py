"""The protocols: which packets carry a message, and how much of each is headers. One flat table."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from whyperf.overhead.errors import OverheadError
from whyperf.overhead.layers import Bytes, Layer
from whyperf.profile.errors import suggestion

#: RFC 791, RFC 8200; RFC 768; RFC 9293 section 3.1; RFC 8200 section 4.5.
IPV4 = 20
IPV6 = 40
UDP = 8
TCP = 20
IPV6_FRAGMENT = 8
#: Fragments but the last are multiples of this.
FRAGMENT_UNIT = 8
MAX_OPTIONS = 40
MAX_DATAGRAM = 65_535
#: Internet Datagram Protocol of Novell: checksum, length, hop count, type, two addresses of 12 bytes.
IPX = 30
#: NetWare Core Protocol: the header of a reply, and the length before the data that was read. A request to read: header
#: with function code, and a padding byte, handle, offset and length.
NCP_REPLY = 8 + 2
NCP_REQUEST = 7 + 13
#: Packet burst of NCP: type, flags, stream, connections, sequence numbers, delay, burst length, offset and size.
NCP_BURST = 36
#: NetBIOS frames: the header of data (IBM LAN Technical Reference); LLC type 2 brings 4 bytes of its own (IEEE 802.2).
NETBIOS = 14
LLC2 = 4


@dataclass(frozen=True)
class Options:
    """The options of a protocol."""

    ip_version: int = 4
    tcp_options_bytes: int = 12
    """Of every data segment; 12 are time stamps (RFC 7323 appendix A), which Linux sends by default."""

    @property
    def ip_bytes(self) -> int:
        """The IP header."""
        return IPV6 if self.ip_version == 6 else IPV4


@dataclass(frozen=True)
class Protocol:
    """The way that messages travel."""

    name: str
    about: str
    packets: Callable[[int, int, Options], list[Bytes]]
    """From message and MTU, both in bytes, to packets."""
    acknowledgment: Callable[[Options], Bytes] | None = None
    """The packet that lets a window open again."""
    llc_bytes: int | None = None
    """An LLC header of its own, in place of the encapsulation's."""
    counts_frames: bool = False
    """True where its window counts frames, not bytes."""
    asks: bool = False
    """True where the acknowledgment is a request for more: a window of one packet unless there are bursts."""


def _pieces(message: int, most: int) -> list[int]:
    """Sizes of a message's parts, full ones first."""
    full, rest = divmod(message, most)
    return [most] * full + ([rest] if rest else [])


def _bytes(**parts: int) -> Bytes:
    return {Layer[name.upper()]: Fraction(count) for name, count in parts.items()}


def _room(mtu: int, headers: int, name: str) -> int:
    """Bytes that an MTU leaves for data."""
    if mtu <= headers:
        raise OverheadError(
            f"an MTU of {mtu} bytes leaves no room behind {headers} bytes of {name}; use a larger --mtu"
        )
    return mtu - headers


def _raw(message: int, mtu: int, _: Options) -> list[Bytes]:
    return [_bytes(user=piece) for piece in _pieces(message, mtu)]


def _tcp(message: int, mtu: int, options: Options) -> list[Bytes]:
    transport = TCP + options.tcp_options_bytes
    most = _room(mtu, options.ip_bytes + transport, "IP and TCP headers")
    return [_bytes(user=piece, transport=transport, network=options.ip_bytes) for piece in _pieces(message, most)]


def _tcp_ack(options: Options) -> Bytes:
    return _bytes(transport=TCP + options.tcp_options_bytes, network=options.ip_bytes)


def _udp(message: int, mtu: int, options: Options) -> list[Bytes]:
    """A datagram, in fragments where it is longer than the MTU (RFC 791 section 3.2, RFC 8200 section 4.5)."""
    whole = message + UDP
    if whole + (0 if options.ip_version == 6 else IPV4) > MAX_DATAGRAM:
        raise OverheadError(f"a datagram cannot carry {message:,} bytes; take sizes up to 65507 or --protocol tcp")
    if whole + options.ip_bytes <= mtu:
        return [_bytes(user=message, transport=UDP, network=options.ip_bytes)]
    network = options.ip_bytes + (IPV6_FRAGMENT if options.ip_version == 6 else 0)
    most = _room(mtu, network + FRAGMENT_UNIT - 1, "headers") + FRAGMENT_UNIT - 1
    pieces = _pieces(whole, most // FRAGMENT_UNIT * FRAGMENT_UNIT)
    fragments = []
    headers = UDP
    for piece in pieces:
        transport = min(headers, piece)
        headers -= transport
        fragments.append(_bytes(user=piece - transport, transport=transport, network=network))
    return fragments


def _ipx(message: int, mtu: int, _: Options) -> list[Bytes]:
    return [_bytes(user=piece, network=IPX) for piece in _pieces(message, _room(mtu, IPX, "IPX header"))]


def _ncp(message: int, mtu: int, _: Options) -> list[Bytes]:
    most = _room(mtu, IPX + NCP_REPLY, "IPX and NCP headers")
    return [_bytes(user=piece, application=NCP_REPLY, network=IPX) for piece in _pieces(message, most)]


def _ncp_burst(message: int, mtu: int, _: Options) -> list[Bytes]:
    most = _room(mtu, IPX + NCP_BURST, "IPX and burst headers")
    return [_bytes(user=piece, application=NCP_BURST, network=IPX) for piece in _pieces(message, most)]


def _ncp_request(header: int) -> Callable[[Options], Bytes]:
    return lambda _: _bytes(application=header, network=IPX)


def _netbios(message: int, mtu: int, _: Options) -> list[Bytes]:
    return [_bytes(user=piece, transport=NETBIOS) for piece in _pieces(message, _room(mtu, NETBIOS, "NetBIOS header"))]


PROTOCOLS: tuple[Protocol, ...] = (
    Protocol("tcp", "TCP; a message begins a segment of its own", _tcp, _tcp_ack),
    Protocol("udp", "UDP; a message is a datagram, in fragments above the MTU", _udp),
    Protocol("ipx", "IPX packets", _ipx),
    Protocol("ncp", "NetWare files: a request for each packet", _ncp, _ncp_request(NCP_REQUEST), asks=True),
    Protocol(
        "ncp-burst",
        "NetWare files in burst mode: a request for each burst",
        _ncp_burst,
        _ncp_request(NCP_BURST),
        asks=True,
    ),
    Protocol("netbios", "NetBIOS frames over LLC type 2", _netbios, lambda _: {}, llc_bytes=LLC2, counts_frames=True),
    Protocol("raw", "no protocol: what the link's own frames leave", _raw),
)


def protocol_named(name: str) -> Protocol:
    """The protocol of that name.

    Raises:
        OverheadError: there is none.
    """
    for protocol in PROTOCOLS:
        if protocol.name == name.lower():
            return protocol
    raise OverheadError(
        f"{name} is no protocol that is known{suggestion(name, [protocol.name for protocol in PROTOCOLS])}"
    )
