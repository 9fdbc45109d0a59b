"""Bytes by layer, against cases worked out by hand."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whyperf.overhead import (
    LINKS,
    PROTOCOLS,
    Encapsulation,
    Layer,
    Link,
    MacHeader,
    OverheadError,
    Point,
    Protocol,
    Window,
    link_named,
    overhead,
    protocol_named,
)
from whyperf.overhead.answer import MAX_MESSAGE
from whyperf.overhead.links import Medium
from whyperf.overhead.protocols import Options


def point_of(link: str, protocol: str, size: int, encapsulation: Encapsulation | None = None, aal: str = "5") -> Point:
    (point,) = overhead(link_named(link), protocol_named(protocol), [size], encapsulation=encapsulation, aal=aal).points
    return point


def test_a_full_segment_on_gigabit_ethernet() -> None:
    """1448 of 1538 bytes: the 941 Mbit/s that everybody measures."""
    point = point_of("ethernet-1G", "tcp", 1448)
    assert point.layers == {
        Layer.USER: 1448,
        Layer.TRANSPORT: 32,
        Layer.NETWORK: 20,
        Layer.MAC: 14,
        Layer.CHECK: 4,
        Layer.LINE: 20,
    }
    assert point.user_bps == pytest.approx(1e9 * 1448 / 1538)
    assert point.adapter_bps == pytest.approx(1e9 * 1514 / 1538)


def test_a_byte_more_needs_a_frame_more() -> None:
    answer = overhead(link_named("ethernet-1G"), protocol_named("tcp"), [1448, 1449])
    assert answer.one_frame_bytes == 1448
    fits, above = answer.points
    assert (fits.frames, above.frames) == (1, 2)
    # The second frame holds one byte: 32 + 20 + 14 + 24 + 1 more bytes on the line.
    assert above.line_bytes == fits.line_bytes + 91
    assert above.user_bps < fits.user_bps


def test_short_frames_are_padded() -> None:
    """18 bytes are the most that UDP has in the shortest frame: 14 + 20 + 8 + 18 = 60."""
    assert point_of("ethernet-100M", "udp", 18).line_bytes == 84
    assert point_of("ethernet-100M", "udp", 1).line_bytes == 84
    assert point_of("ethernet-100M", "udp", 1).layers[Layer.PADDING] == 17
    assert point_of("ethernet-100M", "udp", 19).line_bytes == 85


def test_fragments_are_multiples_of_8() -> None:
    """1473 bytes and the header of UDP: 1480 in the first packet, 1 in the second."""
    point = point_of("ethernet-1G", "udp", 1473)
    assert point.frames == 2
    assert point.layers[Layer.TRANSPORT] == 8
    # 1480 + 20 + 14 + 24, and a padded frame of 84.
    assert point.line_bytes == 1538 + 84


def test_cells_of_aal5() -> None:
    """40 bytes of headers and 8 of LLC and SNAP leave nothing of a cell next to the trailer: 2 cells for a pure ACK."""
    options = Options(tcp_options_bytes=0)
    (point,) = overhead(link_named("atm-oc3"), protocol_named("tcp"), [1, 40], options=options).points[:1]
    # 1 + 20 + 20 + 8 + 8 = 57 bytes: 2 cells, 39 bytes of padding.
    assert (point.cells, point.layers[Layer.CELL_PADDING], point.layers[Layer.CELL_HEADER]) == (2, 39, 10)


def test_ip_over_atm_in_sonet() -> None:
    """The largest packet of classical IP: 9180 + 8 + 8 = 9196 bytes in 192 cells, and a 27th for SONET."""
    point = point_of("atm-oc3", "tcp", 9128)
    assert point.cells == 192
    assert point.line_bytes == pytest.approx(192 * 53 * 27 / 26)
    assert point.layers[Layer.LINE] == pytest.approx(192 * 53 / 26)
    assert point.user_bps == pytest.approx(149.76e6 * 9128 / (192 * 53))


def test_cells_of_aal34() -> None:
    """8192 bytes and 8 around them are 8200: 187 cells of 44, in which 28 bytes are empty."""
    point = point_of("atm-taxi-140", "raw", 8192, Encapsulation.VC_MUX, "3/4")
    assert point.cells == 187
    assert point.layers[Layer.ADAPTATION] == 8 + 187 * 4
    assert point.layers[Layer.CELL_PADDING] == 187 * 44 - 8200
    # TAXI marks each cell with a byte.
    assert point.line_bytes == 187 * 54


def test_lan_emulation_carries_a_frame_without_its_check_sequence() -> None:
    """IPX of 1500 bytes: 2 + 14 + 1500 + 8 = 1524 bytes in 32 cells."""
    point = point_of("atm-oc3", "ipx", 1470, Encapsulation.LANE_ETHERNET)
    assert point.cells == 32
    assert point.layers[Layer.EMULATION] == 2
    assert Layer.CHECK not in point.layers


@pytest.mark.parametrize(
    ("encapsulation", "of_study"), [(Encapsulation.LANE_ETHERNET, 3), (Encapsulation.LANE_TOKEN_RING, 4)]
)
def test_the_study_counts_a_shorter_mac_header_of_lan_emulation(encapsulation: Encapsulation, of_study: int) -> None:
    def layers(mac_header: MacHeader) -> dict[Layer, float]:
        link, protocol = link_named("atm-oc3"), protocol_named("ipx")
        return overhead(link, protocol, [1470], encapsulation=encapsulation, mac_header=mac_header).points[0].layers

    ieee, study = layers(MacHeader.IEEE), layers(MacHeader.STUDY)
    assert (ieee[Layer.MAC], study[Layer.MAC]) == (14, of_study)
    # 2 + 3 + 1500 + 8 = 1513 bytes are 32 cells as well: what the header lacks is padding.
    assert study[Layer.CELL_PADDING] == ieee[Layer.CELL_PADDING] + 14 - of_study
    assert ieee[Layer.CELL_HEADER] == study[Layer.CELL_HEADER]


def test_netbios_on_a_token_ring() -> None:
    """14 of NetBIOS, 4 of LLC type 2, 14 of MAC, 4 of check sequence, 6 of delimiters, status and token."""
    assert point_of("token-ring-16M", "netbios", 4096).line_bytes == 4096 + 14 + 4 + 14 + 4 + 6


def test_tags_make_frames_longer() -> None:
    (plain,) = overhead(link_named("ethernet-1G"), protocol_named("tcp"), [1448]).points
    (tagged,) = overhead(link_named("ethernet-1G"), protocol_named("tcp"), [1448], vlan_tags=2).points
    assert tagged.layers[Layer.MAC] == plain.layers[Layer.MAC] + 8


@given(
    link=st.sampled_from(LINKS),
    protocol=st.sampled_from(PROTOCOLS),
    size=st.integers(1, 60_000),
    ip_version=st.sampled_from([4, 6]),
)
def test_every_byte_is_counted_once(link: Link, protocol: Protocol, size: int, ip_version: int) -> None:
    lan = Encapsulation.LANE_ETHERNET if link.medium is Medium.ATM and protocol.llc_bytes else None
    options = Options(ip_version)
    (point,) = overhead(link, protocol, [size], encapsulation=lan, options=options).points
    assert point.layers[Layer.USER] == size
    assert sum(point.layers.values()) == pytest.approx(point.line_bytes)
    assert point.cells * 5 == point.layers.get(Layer.CELL_HEADER, 0)
    assert 0 < point.user_bps <= point.adapter_bps < link.rate_bps
    if link.medium is not Medium.ATM:
        assert point.line_bytes == int(point.line_bytes)


def test_the_layers_are_fractions_where_sonet_takes_its_share() -> None:
    assert link_named("atm-oc3").cell_share == Fraction(149_760, 155_520)


@pytest.mark.parametrize(
    ("link", "protocol", "keywords", "message"),
    [
        ("ethernet-1G", "tcp", {"mtu": 70_000}, "70,000 bytes cannot be on ethernet-1G"),
        ("ethernet-1G", "tcp", {"mtu": 68, "options": Options(tcp_options_bytes=40)}, "leaves no room"),
        ("ethernet-1G", "tcp", {"options": Options(tcp_options_bytes=13)}, "TCP has no 13 bytes of options"),
        ("ethernet-1G", "tcp", {"encapsulation": Encapsulation.VC_MUX}, "vc-mux does not stand on ethernet-1G"),
        ("ethernet-1G", "udp", {"sizes": [65_508]}, "a datagram cannot carry 65,508 bytes"),
        ("ethernet-1G", "udp", {"window": Window(1, True, 1, 0.0)}, "udp has no window"),
        ("ethernet-1G", "raw", {"sizes": [MAX_MESSAGE + 1]}, "cannot be"),
        ("ethernet-1G", "raw", {"aal": "3/4"}, "AAL 3/4 is for ATM"),
        ("atm-oc3", "raw", {"vlan_tags": 1}, "no VLAN tags"),
        ("atm-oc3", "tcp", {"mac_header": MacHeader.STUDY}, "take --encapsulation lane-802.3"),
        ("atm-oc3", "netbios", {}, "netbios needs a LAN"),
    ],
)
def test_what_cannot_be_is_named(link: str, protocol: str, keywords: dict[str, object], message: str) -> None:
    with pytest.raises(OverheadError, match=message):
        overhead(link_named(link), protocol_named(protocol), **keywords)  # type: ignore[arg-type]


def test_names_that_are_nearly_right() -> None:
    with pytest.raises(OverheadError, match="did you mean ethernet-1G"):
        link_named("etherne-1G")
    with pytest.raises(OverheadError, match="did you mean netbios"):
        protocol_named("netbio")
