"""Tracks hold what the log holds: the same as the analysis reads, in arrays that are drawn."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tests.unit.analyze.flow import traces
from tests.whole.report.flow.flow_results import experiment
from whyperf.analyze.flow import FlowTrial, open_trial, read_log
from whyperf.report.flow.about import frame
from whyperf.report.flow.log_tracks import ACK, make_relative, read_tracks
from whyperf.report.flow.track import Track, held, outstanding

TRACE = """
  0.0  > .  41:1489    ack 41 unacked=1448 win=500
  0.1  < .  41:41      ack 1489 unacked=0 win=4096
  0.2  > .  1489:4385  ack 41 gso=1448 unacked=2896 ctx=net_rx ksoftirqd win=500
  0.4  > .  1489:2937  ack 41 unacked=2896 again=fast ctx=timer win=500
  0.3  < .  41:41      ack 1489 unacked=2896 win=2048
  0.6  > .  4385:4385  ack 41 why=read_call win=300
"""
"""The fourth line is logged before the fifth, but happened after it."""


def track_of(trial: FlowTrial, host: str, connection: int = 0) -> Track:
    (track,) = read_tracks(trial, host, [connection])
    return track


def test_a_connection_without_a_row_has_no_track(tmp_path: Path) -> None:
    trial = traces.write(tmp_path / "log01-c0001", traces.trace(traces.OPENING).with_columns(cwnd_segments=10))
    assert list(read_tracks(trial, "near", [7])) == []


def test_a_log_is_put_in_order_and_reported_in_codes(tmp_path: Path) -> None:
    trial = traces.write(
        tmp_path / "log01-c0001", traces.trace(traces.OPENING + TRACE.lstrip()).with_columns(cwnd_segments=10)
    )
    track = track_of(trial, "near")
    assert len(track) == 13
    assert (track.time_ns[-6:] / traces.MS).tolist() == [0.0, 0.1, 0.2, 0.3, 0.4, 0.6]
    assert track.sequence[:4].tolist() == [0, 0, 1, 1]
    assert track.sequence[-6:].tolist() == [41, 41, 1489, 41, 1489, 4385]
    assert track.acknowledgment[-6:].tolist() == [41, 1489, 41, 1489, 41, 41]
    assert track.acknowledgment[0] == 0
    assert track.unacked_bytes[-6:].tolist() == [1448, 0, 2896, 2896, 2896, 2896]
    assert track.advertised_bytes[-6:].tolist() == [65536, 4096, 4096, 2048, 2048, 2048]
    assert track.wire_segments[-6:].tolist() == [1, 1, 2, 1, 1, 1]
    assert track.context_code[-6:].tolist() == [0, 0, 1 + 16, 0, 2, 0]
    assert track.reason_code[-6:].tolist() == [0, 0, 0, 0, 2 * 16, 2]


def test_the_analysis_reads_a_track_as_it_reads_the_log(tmp_path: Path) -> None:
    trial = open_trial(experiment(tmp_path / "made").folder / "trials" / "log01-c0001")
    columns = ["time_ns", "payload_bytes", "flags", "direction", "context", "ksoftirqd", "ack_reason", "retransmission"]
    log = read_log(trial, "far", columns=columns)
    assert log is not None
    made = frame(track_of(trial, "far")).select(columns)
    assert made.equals(log.cast(dict(made.schema)))  # type: ignore[arg-type]


def relative(out: npt.NDArray[np.bool_], acked: npt.NDArray[np.bool_]) -> list[int]:
    """Acknowledgments 1001, 1002, … of rows of both directions, relative to 1000 of both."""
    rows = len(out)
    columns: dict[str, npt.NDArray[Any]] = {
        "flags": np.where(acked, ACK, 0).astype(np.uint8),
        "sequence": np.full(rows, 1001, np.uint32),
        "acknowledgment": np.arange(1001, 1001 + rows, dtype=np.uint32),
    }
    make_relative(columns, out)
    return [int(number) for number in columns["acknowledgment"]]


@pytest.mark.parametrize("seed", range(20))
def test_a_row_without_an_ack_keeps_the_number_of_the_row_before(seed: int) -> None:
    rng = np.random.default_rng(seed)
    # The first row of each direction, and then random ones.
    out = np.concatenate(([True, False], rng.random(seed) < 0.5))
    acked = rng.random(len(out)) < 0.4
    last, expected = {True: 0, False: 0}, []
    for row, side in enumerate(out.tolist()):
        last[side] = row + 1 if acked[row] else last[side]
        expected.append(last[side])
    assert relative(out, acked) == expected


def test_many_rows_without_an_ack_take_no_more_calls_than_few() -> None:
    """They are somebody else's: with a scan for each of them, a small table kept a CPU busy for hours."""

    def calls(rows: int) -> int:
        counted: list[str] = []
        out, acked = np.arange(rows) % 2 == 0, np.zeros(rows, np.bool_)
        sys.setprofile(lambda _frame, event, _argument: counted.append(event) if event == "call" else None)
        try:
            relative(out, acked)
        finally:
            sys.setprofile(None)
        return len(counted)

    assert calls(1000) == calls(10)


def test_a_value_holds_until_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whyperf.report.flow.track.RUN", 3)
    values = np.array([9, 5, 9, 9, 7, 9, 9, 9], np.uint32)
    known = np.array([False, True, False, False, True, False, False, False])
    assert held(values, known).tolist() == [0, 5, 5, 5, 7, 7, 7, 7]


def test_outstanding_bytes_pass_four_gigabytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whyperf.report.flow.track.RUN", 2)
    far = 1_500_000_000
    data = np.array([True, True, False, True, True, False, False])
    sequence = np.array([0, far, 0, 2 * far, 3 * far % 2**32, 0, 0], np.uint32)
    payload = np.array([far, far, 0, far, 100, 0, 0], np.uint32)
    acknowledgment = np.array([0, 0, far, 0, 0, 2 * far, (3 * far + 60) % 2**32], np.uint32)
    made = outstanding(data, sequence, payload, acknowledgment)
    assert made.tolist() == [far, 2 * far, far, 2 * far, 2 * far + 100, far + 100, 40]
