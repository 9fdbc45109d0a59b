"""The links: how a packet becomes frames or cells on a line, and what the line adds. One flat table."""

from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from math import ceil

from whyperf.overhead.errors import OverheadError
from whyperf.overhead.layers import Bytes, Layer
from whyperf.profile.errors import suggestion


class Encapsulation(Enum):
    """Layer between a network's packet and a frame or cell stream."""

    ETHERNET_II = "ethernet-ii"
    """Only the type field of the MAC header (RFC 894)."""
    LLC = "802.2"
    """LLC type 1: DSAP, SSAP, control (IEEE 802.2), as IPX uses."""
    SNAP = "snap"
    """LLC and SNAP, 8 bytes (RFC 1042)."""
    LLC_SNAP = "llc-snap"
    """LLC and SNAP over AAL5, 8 bytes (RFC 2684 section 5)."""
    VC_MUX = "vc-mux"
    """Nothing: a virtual channel for each protocol (RFC 2684 section 6)."""
    LANE_ETHERNET = "lane-802.3"
    """LAN emulation: a header of 2 bytes and an 802.3 frame without check sequence (ATM Forum af-lane-0021)."""
    LANE_TOKEN_RING = "lane-802.5"
    """The same with an 802.5 frame, and LLC and SNAP in it."""

    @property
    def llc_bytes(self) -> int:
        """Length of the header, where the protocol brings none of its own."""
        match self:
            case Encapsulation.LLC:
                return 3
            case Encapsulation.SNAP | Encapsulation.LLC_SNAP | Encapsulation.LANE_TOKEN_RING:
                return 8
        return 0


class MacHeader(Enum):
    """Length that the MAC header of an emulated frame is taken to have."""

    IEEE = "ieee"
    """14 bytes, 802.3 and 802.5 alike: what LAN emulation sends (af-lane-0021 section 4.1)."""
    STUDY = "study"
    """3 bytes of 802.3 and 4 of 802.5, as study 5 counts."""

    def length(self, encapsulation: Encapsulation) -> int:
        """Bytes in front of an emulated frame's information field."""
        is_ethernet = encapsulation is Encapsulation.LANE_ETHERNET
        if self is MacHeader.STUDY:
            return STUDY_ETHERNET_MAC if is_ethernet else STUDY_TOKEN_RING_MAC
        return ETHERNET_MAC if is_ethernet else TOKEN_RING_MAC


class Medium(Enum):
    """Families of links that frame alike."""

    ETHERNET = "ethernet"
    TOKEN_RING = "token ring"
    ATM = "atm"


@dataclass(frozen=True)
class Link:
    """A line: its rate, what surrounds a frame or cell on it, and how much a frame may hold."""

    name: str
    medium: Medium
    rate_bps: int
    """Of everything on the line, framing included."""
    about: str
    information_bytes: int
    """Largest information field: LLC header and packet."""
    most_information_bytes: int
    """Up to where an MTU of one's own may go."""
    cell_gap_bytes: int = 0
    """Bytes that mark the start of a cell on the line."""
    cell_share: Fraction = Fraction(1)
    """Share of the line that carries cells."""
    shared: bool = False
    """True where both directions share the line."""


#: MAC header of 802.3: addresses and type or length. Preamble, start delimiter and gap are 20 bytes, the check
#: sequence 4; a frame has 64 bytes at least, check sequence included (IEEE 802.3 clauses 3 and 4).
ETHERNET_MAC = 14
ETHERNET_LEAST = 60
ETHERNET_LINE = 20
CHECK_SEQUENCE = 4
#: IEEE 802.1Q: a tag.
VLAN_TAG = 4
#: IEEE 802.5: access and frame control, addresses; start and end delimiter and frame status, and a token of 3 bytes.
TOKEN_RING_MAC = 14
TOKEN_RING_LINE = 3 + 3
#: Study 5 counts so much of an emulated frame's MAC header. These are the lengths of LLC headers, of type 1 and type 2
#: (IEEE 802.2), so its sums lack the addresses.
STUDY_ETHERNET_MAC = 3
STUDY_TOKEN_RING_MAC = 4
#: ITU-T I.361: a cell's header and what it carries.
CELL_HEADER = 5
CELL_PAYLOAD = 48
#: ITU-T I.363.5: the trailer of AAL5, which stands at the end of the last cell.
AAL5_TRAILER = 8
#: ITU-T I.363.3: header and trailer around the whole, padded to words of 4 bytes; header and trailer in each cell.
AAL34_AROUND = 8
AAL34_WORD = 4
AAL34_IN_CELL = 4
#: LAN emulation: a header, and the least size with it (af-lane-0021 section 4.1).
LANE_HEADER = 2
LANE_ETHERNET_LEAST = 62
#: SONET and SDH: of 27 cell times one is overhead (STS-3c: 260 of 270 columns, 149.76 of 155.52 Mbit/s).
SONET = Fraction(26, 27)
#: TAXI: a symbol pair before each cell (ATM Forum UNI 3.1 section 2.2).
CELL_START = 1


def _ethernet(rate_bps: int, name: str) -> Link:
    return Link(f"ethernet-{name}", Medium.ETHERNET, rate_bps, "Ethernet, both directions at once", 1500, 65_000)


def _atm(name: str, rate_bps: int, about: str, *, gap: int = 0, share: Fraction = Fraction(1)) -> Link:
    # 9188 leaves 9180 for IP behind LLC and SNAP (RFC 2225).
    return Link(name, Medium.ATM, rate_bps, about, 9188, 65_535, gap, share)


LINKS: tuple[Link, ...] = (
    Link(
        "ethernet-10M-half", Medium.ETHERNET, 10**7, "Ethernet whose directions share the line", 1500, 1500, shared=True
    ),
    _ethernet(10**7, "10M"),
    _ethernet(10**8, "100M"),
    _ethernet(10**9, "1G"),
    _ethernet(2_500_000_000, "2.5G"),
    _ethernet(10**10, "10G"),
    _ethernet(25 * 10**9, "25G"),
    _ethernet(40 * 10**9, "40G"),
    _ethernet(10**11, "100G"),
    Link("token-ring-4M", Medium.TOKEN_RING, 4 * 10**6, "Token ring of 4 Mbit/s", 4472, 4472, shared=True),
    Link("token-ring-16M", Medium.TOKEN_RING, 16 * 10**6, "Token ring of 16 Mbit/s", 17_922, 17_922, shared=True),
    _atm("atm-25", 25_600_000, "ATM over twisted pair", gap=CELL_START),
    _atm("atm-taxi-100", 10**8, "ATM over TAXI", gap=CELL_START),
    _atm("atm-taxi-140", 140 * 10**6, "ATM over TAXI, as the first study's", gap=CELL_START),
    _atm("atm-oc3", 155_520_000, "ATM in SONET STS-3c or SDH STM-1", share=SONET),
    _atm("atm-oc12", 622_080_000, "ATM in SONET STS-12c or SDH STM-4", share=SONET),
)


def link_named(name: str) -> Link:
    """The link of that name.

    Raises:
        OverheadError: there is none.
    """
    for link in LINKS:
        if link.name.lower() == name.lower():
            return link
    raise OverheadError(f"{name} is no link that is known{suggestion(name, [link.name for link in LINKS])}")


def encapsulations(link: Link) -> tuple[Encapsulation, ...]:
    """Encapsulations that may stand on the link; the first is the usual one."""
    match link.medium:
        case Medium.ETHERNET:
            return (Encapsulation.ETHERNET_II, Encapsulation.LLC, Encapsulation.SNAP)
        case Medium.TOKEN_RING:
            return (Encapsulation.SNAP, Encapsulation.LLC)
        case Medium.ATM:
            return (
                Encapsulation.LLC_SNAP,
                Encapsulation.VC_MUX,
                Encapsulation.LANE_ETHERNET,
                Encapsulation.LANE_TOKEN_RING,
            )


@dataclass(frozen=True)
class Framing:
    """The way that packets are put on a link; `llc_bytes` is the protocol's own where it brings one."""

    link: Link
    encapsulation: Encapsulation
    llc_bytes: int
    aal: str = "5"
    vlan_tags: int = 0
    mac_header: MacHeader = MacHeader.IEEE

    def information_bytes(self, *, largest: bool = False) -> int:
        """The information field's size: LLC header and packet. `largest`: up to where an MTU may go."""
        match self.encapsulation:
            case Encapsulation.LANE_ETHERNET:
                return 1500
            case Encapsulation.LANE_TOKEN_RING:
                # A service data unit of 4544 bytes less headers and the longest routing information.
                return 4544 - LANE_HEADER - TOKEN_RING_MAC - 30
        return self.link.most_information_bytes if largest else self.link.information_bytes

    def frame(self, packet: Bytes) -> dict[Layer, Fraction]:
        """A packet's bytes, given by layer, as they are on the line."""
        parts = dict(packet)
        _add(parts, Layer.LLC, self.llc_bytes)
        match self.link.medium:
            case Medium.ETHERNET:
                _ethernet_frame(parts, self.vlan_tags)
            case Medium.TOKEN_RING:
                _add(parts, Layer.MAC, TOKEN_RING_MAC)
                _add(parts, Layer.CHECK, CHECK_SEQUENCE)
                _add(parts, Layer.LINE, TOKEN_RING_LINE)
            case Medium.ATM:
                _emulated(parts, self.encapsulation, self.mac_header)
                _cells(parts, self.aal)
                self._line(parts)
        return {layer: count for layer, count in parts.items() if count}

    def cells(self, packet: Bytes) -> int:
        """Cells of a packet; 0 where the link has none."""
        headers = self.frame(packet).get(Layer.CELL_HEADER, Fraction(0))
        return int(headers / CELL_HEADER)

    def _line(self, parts: dict[Layer, Fraction]) -> None:
        cells = parts[Layer.CELL_HEADER] / CELL_HEADER
        on_cells = sum(parts.values()) + cells * self.link.cell_gap_bytes
        _add(parts, Layer.LINE, on_cells / self.link.cell_share - sum(parts.values()))


def _ethernet_frame(parts: dict[Layer, Fraction], vlan_tags: int) -> None:
    _add(parts, Layer.MAC, ETHERNET_MAC + vlan_tags * VLAN_TAG)
    _add(parts, Layer.PADDING, max(0, ETHERNET_LEAST - sum(parts.values())))
    _add(parts, Layer.CHECK, CHECK_SEQUENCE)
    _add(parts, Layer.LINE, ETHERNET_LINE)


def _emulated(parts: dict[Layer, Fraction], encapsulation: Encapsulation, mac_header: MacHeader) -> None:
    if encapsulation in {Encapsulation.LANE_ETHERNET, Encapsulation.LANE_TOKEN_RING}:
        _add(parts, Layer.EMULATION, LANE_HEADER)
        _add(parts, Layer.MAC, mac_header.length(encapsulation))
    if encapsulation is Encapsulation.LANE_ETHERNET:
        _add(parts, Layer.PADDING, max(0, LANE_ETHERNET_LEAST - sum(parts.values())))


def _cells(parts: dict[Layer, Fraction], aal: str) -> None:
    """Cuts what is there into cells."""
    unit = int(sum(parts.values()))
    if aal == "5":
        cells = ceil(Fraction(unit + AAL5_TRAILER, CELL_PAYLOAD))
        adaptation = AAL5_TRAILER
    else:
        # The words' padding counts as padding, the header and trailer in each cell as the layer's.
        around = ceil(Fraction(unit, AAL34_WORD)) * AAL34_WORD + AAL34_AROUND
        cells = ceil(Fraction(around, CELL_PAYLOAD - AAL34_IN_CELL))
        adaptation = AAL34_AROUND + cells * AAL34_IN_CELL
    _add(parts, Layer.ADAPTATION, adaptation)
    _add(parts, Layer.CELL_PADDING, cells * CELL_PAYLOAD - unit - adaptation)
    _add(parts, Layer.CELL_HEADER, cells * CELL_HEADER)


def _add(parts: dict[Layer, Fraction], layer: Layer, count: Fraction | int) -> None:
    parts[layer] = parts.get(layer, Fraction(0)) + count
