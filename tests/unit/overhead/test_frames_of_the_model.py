"""What packets take of a line is what the model of two end systems says: both are held to one table."""

import csv
from fractions import Fraction
from pathlib import Path

from whyperf.overhead import Encapsulation, Layer, link_named
from whyperf.overhead.links import Framing, Medium

TABLE = Path(__file__).parents[3] / "crates/sim/tests/frames.csv"
ENCAPSULATIONS = {
    (Medium.ETHERNET, 0): Encapsulation.ETHERNET_II,
    (Medium.ETHERNET, 8): Encapsulation.SNAP,
    (Medium.ATM, 0): Encapsulation.VC_MUX,
    (Medium.ATM, 8): Encapsulation.LLC_SNAP,
}


def test_packets_take_what_the_model_says() -> None:
    text = [line for line in TABLE.read_text().splitlines() if not line.startswith("#")]
    rows = list(csv.DictReader(text))
    assert len(rows) > 80
    for row in rows:
        link = link_named(row["link"])
        llc = int(row["llc_bytes"])
        framing = Framing(link, ENCAPSULATIONS[link.medium, llc], llc, row["aal"], int(row["vlan_tags"]))
        packet = {Layer.USER: Fraction(row["packet_bytes"])}
        frame_bytes = sum(framing.frame(packet).values())
        units = framing.cells(packet) if link.medium is Medium.ATM else frame_bytes
        assert units == int(row["units"]), row
        assert int(8 * frame_bytes * 10**12 / link.rate_bps) == int(row["time_ps"]), row
