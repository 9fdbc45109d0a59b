"""Data that waited for an ACK, in traces."""

from pathlib import Path

from tests.unit.analyze.flow.traces import OPENING, trace, write
from tests.unit.analyze.synthetic import known
from whyperf.analyze.flow import scan_log, waited_for_ack

NAGLE = """
  1.0 > P. 41:141    ack 41
  1.9 < .  41:41     ack 141
  1.9 > P. 141:1541  ack 41 ctx=net_rx
  2.9 < .  41:41     ack 1541
  3.0 > P. 1541:1641 ack 41
  3.1 > P. 1541:1641 ack 41 ctx=net_rx again=fast
  3.9 < .  41:41     ack 1641
  3.9 > P. 1641:3041 ack 41 ctx=net_rx
"""


def test_what_nagle_held_back_left_with_the_ack(tmp_path: Path) -> None:
    log = known(scan_log(write(tmp_path / "log01-c0001", trace(OPENING.rstrip() + NAGLE)), "near"))
    assert waited_for_ack(log) == [(100, 2, 0.0), (1400, 2, 1.0), (40, 1, 0.0)]
    assert waited_for_ack(log, most=1) == [(100, 2, 0.0)]
