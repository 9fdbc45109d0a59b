"""What is drawn of a connection, on either side."""

from pathlib import Path

from tests.unit.analyze.flow import traces
from tests.unit.analyze.flow.drawn_series import SERIES_COLUMNS, ConnectionSeries, Series, connection_series
from whyperf.analyze.flow import read_log

TRACE = """
    0.1 > . 1:1001     ack 1 win=50 unacked=1000
    0.2 > . 1001:2001  ack 1 win=50 unacked=2000
    0.3 < . 1:1     ack 1001 win=99 unacked=1000
    0.4 > . 1:1001     ack 1 win=50 unacked=1000 again=fast
    0.5 < . 1:1     ack 2001 win=98 unacked=0
"""


def series(folder: Path, text: str, role: str = "sender") -> ConnectionSeries:
    trial = traces.write(folder / "log01-c0001", traces.trace(text, role=role), near_sends=role == "sender")
    log = read_log(trial, "near", [0], SERIES_COLUMNS)
    assert log is not None
    return connection_series(log, role)


def points(series: Series) -> list[tuple[float, int]]:
    return [(at / traces.MS, value) for at, value in zip(series.time_ns.tolist(), series.value.tolist(), strict=True)]


def test_a_transmission_steps_up_and_an_ack_down(tmp_path: Path) -> None:
    found = series(tmp_path, TRACE)
    assert points(found.segment_size) == [(0.1, 1000), (0.2, 1000), (0.4, 1000)]
    assert points(found.unacked) == [(0.1, 1000), (0.2, 2000), (0.3, 1000), (0.4, 1000), (0.5, 0)]
    assert points(found.window) == [(0.3, 99), (0.5, 98)]
    assert points(found.retransmissions) == [(0.4, 1000)]


def test_where_the_kernel_does_not_say_the_numbers_do(tmp_path: Path) -> None:
    without = "\n".join(line.partition(" unacked=")[0] for line in TRACE.splitlines() if line.strip())
    found = series(tmp_path, without)
    assert points(found.unacked) == [(0.3, 1000), (0.4, 1000), (0.5, 0)]


def test_the_receiver_sees_what_it_has_not_answered(tmp_path: Path) -> None:
    found = series(
        tmp_path,
        """
        0.1 < . 1:1001    ack 1    win=50
        0.2 > . 1:1       ack 1001 win=99
        0.3 < . 1001:3001 ack 1    win=50
        0.4 > . 1:1       ack 3001 win=97
        """,
        "receiver",
    )
    assert points(found.segment_size) == [(0.1, 1000), (0.3, 2000)]
    assert points(found.unacked) == [(0.2, 0), (0.3, 2000), (0.4, 0)]
    assert points(found.window) == [(0.2, 99), (0.4, 97)]
