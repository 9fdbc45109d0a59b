"""The answer: user-level, adapter-level and line rate by message size, and where the difference goes."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from whyperf.overhead.errors import OverheadError
from whyperf.overhead.layers import ADAPTER, Bytes, Layer, added
from whyperf.overhead.links import Encapsulation, Framing, Link, MacHeader, Medium, encapsulations
from whyperf.overhead.protocols import MAX_OPTIONS, Options, Protocol
from whyperf.overhead.windows import Sent, Window, windowed_rate

#: The smallest MTU that IPv4 allows (RFC 791 section 3.1).
MIN_MTU = 68
MAX_MESSAGE = 16 * 1024 * 1024


@dataclass(frozen=True)
class Point:
    """One message size, sent for ever."""

    message_bytes: int
    frames: int
    """Frames or AAL units of a message."""
    cells: int
    line_bytes: float
    """All that one message takes on the line."""
    user_bps: float
    adapter_bps: float
    """Rate between driver and adapter, headers included."""
    layers: dict[Layer, float]
    """Bytes on the line by layer; they add up to `line_bytes`."""

    def efficiency(self, link_bps: float) -> float:
        """User-level rate as a ratio of the link rate."""
        return self.user_bps / link_bps


@dataclass(frozen=True)
class Overhead:
    """The question, and the points."""

    link: Link
    protocol: Protocol
    encapsulation: Encapsulation
    aal: str
    mtu_bytes: int
    mac_header: MacHeader
    one_frame_bytes: int
    """The largest message that travels in one frame: above it the rate drops."""
    window: Window | None
    points: tuple[Point, ...]


def overhead(
    link: Link,
    protocol: Protocol,
    sizes: Sequence[int] = (),
    *,
    encapsulation: Encapsulation | None = None,
    mtu: int | None = None,
    aal: str = "5",
    vlan_tags: int = 0,
    mac_header: MacHeader = MacHeader.IEEE,
    options: Options | None = None,
    window: Window | None = None,
    frame_s: float = 0.0,
) -> Overhead:
    """Computes the rates of messages of each of `sizes` bytes, sent one after another without a pause.

    `frame_s` is what a host needs for a frame, in s, in addition to the link's time. It passes while the frame
    before is on the link: the slower of both sets the pace (study 5's cost per frame). Without `sizes`,
    `default_sizes`.

    Raises:
        OverheadError: a combination that cannot be.
    """
    options = options or Options()
    framing = _framing(link, protocol, encapsulation, aal, vlan_tags, mac_header)
    mtu = _checked_mtu(framing, mtu)
    if not 0 <= options.tcp_options_bytes <= MAX_OPTIONS or options.tcp_options_bytes % 4:
        raise OverheadError(
            f"TCP has no {options.tcp_options_bytes} bytes of options; take a multiple of 4 up to {MAX_OPTIONS}"
        )
    if window is not None and protocol.acknowledgment is None:
        raise OverheadError(f"{protocol.name} has no window; leave the window out, or take tcp, ncp or netbios")
    one_frame = _one_frame(protocol, mtu, options)
    sizes = sizes or default_sizes(one_frame, most=_most_message(protocol, options))
    points = tuple(_point(framing, protocol, size, mtu, options, window, frame_s) for size in sizes)
    return Overhead(link, protocol, framing.encapsulation, aal, mtu, mac_header, one_frame, window, points)


def default_sizes(one_frame: int, *, most: int = 65_536) -> tuple[int, ...]:
    """Powers of two up to 64 KB, and both sides of every drop up to the third frame."""
    powers = {2**power for power in range(17)}
    drops = {count * one_frame + more for count in (1, 2, 3) for more in (0, 1)}
    return tuple(sorted(size for size in powers | drops if size <= most))


def _framing(  # noqa: PLR0917 - all that decides it
    link: Link,
    protocol: Protocol,
    encapsulation: Encapsulation | None,
    aal: str,
    vlan_tags: int,
    mac_header: MacHeader,
) -> Framing:
    possible = encapsulations(link)
    if encapsulation is not None and encapsulation not in possible:
        names = ", ".join(choice.value for choice in possible)
        raise OverheadError(f"{encapsulation.value} does not stand on {link.name}; take one of {names}")
    chosen = encapsulation or possible[0]
    emulated = chosen in {Encapsulation.LANE_ETHERNET, Encapsulation.LANE_TOKEN_RING}
    if protocol.llc_bytes is not None and link.medium is Medium.ATM and not emulated:
        raise OverheadError(
            f"{protocol.name} needs a LAN; take --encapsulation lane-802.3 or lane-802.5 on {link.name}"
        )
    if aal != "5" and (emulated or link.medium is not Medium.ATM):
        raise OverheadError(f"AAL {aal} is for ATM without LAN emulation; leave --aal out")
    if vlan_tags and link.medium is not Medium.ETHERNET:
        raise OverheadError(f"{link.name} has no VLAN tags; leave --vlan out")
    if mac_header is not MacHeader.IEEE and not emulated:
        raise OverheadError(
            f"the study's MAC header is that of LAN emulation; take --encapsulation lane-802.3 or lane-802.5, "
            f"not {chosen.value}"
        )
    llc = protocol.llc_bytes if protocol.llc_bytes is not None else chosen.llc_bytes
    return Framing(link, chosen, llc, aal, vlan_tags, mac_header)


def _checked_mtu(framing: Framing, mtu: int | None) -> int:
    usual = framing.information_bytes() - framing.llc_bytes
    most = framing.information_bytes(largest=True) - framing.llc_bytes
    if mtu is None:
        return usual
    if not MIN_MTU <= mtu <= most:
        raise OverheadError(
            f"an MTU of {mtu:,} bytes cannot be on {framing.link.name} with {framing.encapsulation.value}; "
            f"take {MIN_MTU} to {most:,}"
        )
    return mtu


def _one_frame(protocol: Protocol, mtu: int, options: Options) -> int:
    """The largest message that needs one packet only."""
    low, high = 0, mtu
    while low < high:
        middle = (low + high + 1) // 2
        try:
            fits = len(protocol.packets(middle, mtu, options)) == 1
        except OverheadError:
            # No room at all is an answer; no room for so much is found by going on.
            if middle == 1:
                raise
            fits = False
        low, high = (middle, high) if fits else (low, middle - 1)
    return low


def _most_message(protocol: Protocol, options: Options) -> int:
    if protocol.name != "udp":
        return 65_536
    return 65_507 if options.ip_version == 4 else 65_527


def _point(  # noqa: PLR0917 - all that was asked
    framing: Framing, protocol: Protocol, size: int, mtu: int, options: Options, window: Window | None, frame_s: float
) -> Point:
    if not 1 <= size <= MAX_MESSAGE:
        raise OverheadError(f"a message of {size:,} bytes cannot be; take sizes from 1 to {MAX_MESSAGE:,}")
    packets = protocol.packets(size, mtu, options)
    frames = [framing.frame(packet) for packet in packets]
    sent = [Sent(int(frame.get(Layer.USER, 0)), max(_line_s(framing.link, frame), frame_s)) for frame in frames]
    if window is None or protocol.acknowledgment is None:
        user_bytes_per_s = size / sum(message.seconds for message in sent)
    else:
        acknowledgment_s = _line_s(framing.link, framing.frame(protocol.acknowledgment(options)))
        user_bytes_per_s = windowed_rate(sent, acknowledgment_s, window, shared=framing.link.shared)
    layers = added(frames)
    adapter = sum((count for layer, count in layers.items() if layer in ADAPTER), Fraction(0))
    return Point(
        message_bytes=size,
        frames=len(frames),
        cells=sum(framing.cells(packet) for packet in packets),
        line_bytes=float(sum(layers.values())),
        user_bps=8 * user_bytes_per_s,
        adapter_bps=8 * user_bytes_per_s * float(adapter) / size,
        layers={layer: float(count) for layer, count in layers.items()},
    )


def _line_s(link: Link, frame: Bytes) -> float:
    return float(8 * sum(frame.values()) / link.rate_bps)
