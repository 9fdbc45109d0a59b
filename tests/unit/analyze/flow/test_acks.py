"""ACK ratio, ACK reasons and duplicate ACKs of hand-made traces."""

from pathlib import Path

import polars as pl
import pytest

from tests.unit.analyze.flow import traces
from tests.unit.analyze.synthetic import known
from whyperf.analyze.flow import DUPLICATE_COLUMNS, ack_ratio, ack_reasons, count_duplicate_acks, read_log


def read(folder: Path, text: str, role: str = "sender") -> pl.DataFrame:
    """The trace as `read_log` gives it, with all that the functions want."""
    trial = traces.write(folder / "log01-c0001", traces.trace(text, role=role), near_sends=role == "sender")
    columns = dict.fromkeys((*DUPLICATE_COLUMNS, "time_ns", "wire_segments", "ack_reason"))
    return known(read_log(trial, "near", columns=list(columns)))


def test_the_ratio_counts_wire_segments_and_packets_by_the_second(tmp_path: Path) -> None:
    log = read(
        tmp_path,
        """
        -9   > P. 1:41        ack 41
        -8   < .  41:41       ack 41
        100  > .  41:4385     ack 41  gso=1448
        200  > .  4385:7281   ack 41  gso=1448
        300  < .  41:41       ack 7281
        2100 > .  7281:8729   ack 41
        2200 < .  41:41       ack 8729
        """,
    )
    found = ack_ratio(log, "sender")
    assert found.intervals["start_ns"].to_list() == [0, 1000 * traces.MS, 2000 * traces.MS]
    assert found.intervals["segments"].to_list() == [5, 0, 1]
    assert found.intervals["segments_per_ack"].to_list() == [5.0, None, 1.0]
    assert found.intervals["packets_per_ack"].to_list() == [2.0, None, 1.0]
    assert found.segments_per_ack == 3.0
    assert found.packets_per_ack == 1.5


def test_at_the_receiver_data_arrives_and_acks_leave(tmp_path: Path) -> None:
    log = read(
        tmp_path,
        """
        1 < . 1:1449    ack 1
        2 < . 1449:2897 ack 1
        3 > . 1:1       ack 2897 why=second_segment
        """,
        role="receiver",
    )
    assert ack_ratio(log, "receiver").segments_per_ack == 2.0


def test_data_syn_fin_and_rst_are_no_pure_acks(tmp_path: Path) -> None:
    log = read(
        tmp_path,
        """
        0 < S. 0:0     ack 1
        1 > .  1:1449  ack 1
        2 < .  1:11    ack 1449
        3 < F. 11:11   ack 1449
        4 < R. 12:12   ack 1449
        5 < R  12:12
        """,
    )
    found = ack_ratio(log, "sender")
    assert found.intervals["acks"].sum() == 0
    assert found.segments_per_ack is None


def test_reasons_are_counted_and_shared(tmp_path: Path) -> None:
    log = read(
        tmp_path,
        """
        1 > . 1:1 ack 1    why=second_segment
        2 > . 1:1 ack 11   why=second_segment
        3 > . 1:1 ack 21   why=read_call
        4 > . 1:1 ack 31   why=delayed_timer
        5 < . 31:41 ack 1
        """,
    )
    found = ack_reasons(log)
    assert {reason: count for reason, count in found.select("reason", "count").iter_rows() if count} == {
        "delayed_timer": 1,
        "read_call": 1,
        "second_segment": 2,
    }
    assert found["ratio"].sum() == pytest.approx(1)
    assert found.height == 9


DUPLICATE = "3 < . 1:1 ack 1449 win=100 unacked=1448"


@pytest.mark.parametrize(
    ("third", "count"),
    [
        pytest.param(DUPLICATE, 1, id="the same again"),
        pytest.param(DUPLICATE.replace("1:1", "1:11"), 0, id="with payload"),
        pytest.param(DUPLICATE.replace(" . ", " F. "), 0, id="with FIN"),
        pytest.param(DUPLICATE.replace("ack 1449", "ack 2897"), 0, id="acknowledges more"),
        pytest.param(DUPLICATE.replace("ack 1449", "ack 1"), 0, id="acknowledges less"),
        pytest.param(DUPLICATE.replace("win=100", "win=90"), 0, id="another window"),
        pytest.param(DUPLICATE.replace("unacked=1448", "unacked=0"), 0, id="nothing outstanding"),
    ],
)
def test_a_duplicate_ack_is_one_by_rfc_5681(tmp_path: Path, third: str, count: int) -> None:
    """RFC 5681 section 2 (a) to (e); each condition is broken once."""
    log = read(
        tmp_path,
        f"""
        1 > . 1:2897 ack 1    unacked=2896
        2 < . 1:1    ack 1449 unacked=1448 win=100
        {third}
        """,
    )
    assert count_duplicate_acks(log) == count


def test_duplicates_are_counted_by_connection(tmp_path: Path) -> None:
    log = read(
        tmp_path,
        """
        1 < . 1:1 ack 1449 unacked=1448 conn=0
        2 < . 1:1 ack 1449 unacked=1448 conn=1
        3 < . 1:1 ack 1449 unacked=1448 conn=0
        """,
    )
    assert count_duplicate_acks(log) == 1
