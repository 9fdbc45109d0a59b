"""The log in order, relative and unwrapped."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.bench.synthetic_log import Shape
from lab.bench.synthetic_log import write as write_log
from tests.unit.analyze.flow import traces
from tests.unit.analyze.synthetic import known
from whyperf.analyze.flow import LOG_COLUMNS, open_trial, read_calls, read_log, scan_log
from whyperf.analyze.flow.calls import SPENT
from whyperf.analyze.flow.relative import count_new, unwrap
from whyperf.record import RecordError

OCTETS = ("time_ns", "direction", "sequence", "acknowledgment", "payload_bytes")


def test_numbers_are_relative_to_the_handshake_and_go_on_past_the_wrap(tmp_path: Path) -> None:
    log = traces.trace("""
        -2.0 > S  0:0
        -1.9 < S. 0:0     ack 1
        -1.8 > .  1:1     ack 1
         0.1 > .  1:1449  ack 1
         0.2 > .  1449:2897 ack 1
         0.3 < .  1:1     ack 2897
    """)
    rows = known(read_log(traces.write(tmp_path / "001-c0001", log), "near", columns=OCTETS))
    assert rows["sequence"].to_list() == [0, 0, 1, 1, 1449, 1]
    assert rows["acknowledgment"].to_list() == [None, 1, 1, 1, 1, 2897]
    assert rows["time_ns"].to_list() == [-2_000_000, -1_900_000, -1_800_000, 100_000, 200_000, 300_000]


def test_without_the_handshake_the_first_segment_begins_at_1(tmp_path: Path) -> None:
    log = traces.trace("""
        0.1 > .  70001:71449 ack 41
        0.2 < .  41:41       ack 71449
        0.3 > .  71449:72897 ack 41
    """)
    rows = known(read_log(traces.write(tmp_path / "001-c0001", log), "near", columns=OCTETS))
    assert rows["sequence"].to_list() == [1, 1, 1449]
    assert rows["acknowledgment"].to_list() == [1, 1449, 1]


def test_rows_of_all_cpus_are_put_in_order(tmp_path: Path) -> None:
    log = traces.trace("""
        0.1 > . 1:11  ack 1 cpu=0
        0.4 > . 31:41 ack 1 cpu=0
        0.2 > . 11:21 ack 1 cpu=1
        0.3 > . 21:31 ack 1 cpu=1
    """)
    rows = known(read_log(traces.write(tmp_path / "001-c0001", log), "near", columns=("time_ns", "sequence", "cpu")))
    assert rows["sequence"].to_list() == [1, 11, 21, 31]
    assert rows["cpu"].to_list() == [0, 1, 1, 0]


def test_both_sides_are_on_one_clock(tmp_path: Path) -> None:
    text = "0.25 > . 1:11 ack 1"
    trial = traces.write(tmp_path / "001-c0001", traces.trace(text), traces.trace(text, "far", "receiver"))
    times = [read_log(trial, host, columns=("time_ns",)) for host in ("near", "far")]
    assert [rows.item() for rows in times if rows is not None] == [250_000, 250_000]
    assert trial.window_ns == (0, 1000 * traces.MS)


def test_connections_are_relative_each_for_itself(tmp_path: Path) -> None:
    log = traces.trace("""
        -1 > S 0:0       conn=0
        -1 > S 0:0       conn=7
        0.1 > . 1:11 ack 1  conn=0
        0.2 > . 1:21 ack 1  conn=7
        0.3 > . 11:31 ack 1 conn=0
    """)
    trial = traces.write(tmp_path / "001-c0001", log)
    rows = known(read_log(trial, "near", columns=("connection", "sequence")))
    assert rows.rows() == [(0, 0), (7, 0), (0, 1), (7, 1), (0, 11)]
    alone = known(read_log(trial, "near", [7], columns=("connection", "sequence")))
    assert alone.rows() == [(7, 0), (7, 1)]


def test_the_handshake_counts_even_where_it_is_not_wanted(tmp_path: Path) -> None:
    log = traces.trace("""
        -1 > S 0:0
        0.1 > . 101:111 ack 1
    """)
    trial = traces.write(tmp_path / "001-c0001", log)
    rows = known(read_log(trial, "near", columns=("sequence",), where=pl.col("payload_bytes") > 0))
    assert rows["sequence"].to_list() == [101]


EVERYTHING = (*LOG_COLUMNS, "flags", "window_field", "retransmission")


@pytest.mark.parametrize("gso", [True, False])
@pytest.mark.parametrize("way", ["out", "in"])
@pytest.mark.parametrize("host", ["near", "far"])
def test_rows_picked_while_reading_are_those_of_the_whole_log(
    tmp_path: Path, host: str, way: str, *, gso: bool
) -> None:
    write_log(tmp_path / "log01-c0001", Shape(4000, connections=3, gso=gso, hosts=("near", "far")))
    trial = open_trial(tmp_path / "log01-c0001")
    where = (pl.col("direction") == way) & (pl.col("payload_bytes") > 0)
    whole = read_log(trial, host, columns=EVERYTHING)
    picked = known(read_log(trial, host, columns=EVERYTHING, where=where))
    assert whole is not None
    assert picked.equals(whole.filter(where))
    few = known(read_log(trial, host, columns=("payload_bytes", "sequence"), where=where))
    assert few.equals(picked.select("payload_bytes", "sequence"))


def test_texts_are_enums_whatever_they_were(tmp_path: Path) -> None:
    log = traces.trace("0.1 > . 1:11 ack 1 ctx=net_rx again=fast")
    plain = log.with_columns(pl.col(pl.Categorical).cast(pl.String))
    for name, table in (("001-c0001", log), ("002-c0001", plain)):
        lazy = known(scan_log(traces.write(tmp_path / name, table), "near"))
        row = lazy.select("direction", "context", "retransmission", "ack_reason").collect()
        assert row.row(0) == ("out", "net_rx", "fast", None)
        assert all(isinstance(kind, pl.Enum) for kind in row.dtypes)


def test_a_trial_without_a_log_has_none(tmp_path: Path) -> None:
    trial = traces.write(tmp_path / "001-c0001")
    assert read_log(trial, "near") is None
    assert scan_log(trial, "far") is None


def test_an_empty_log_is_a_log(tmp_path: Path) -> None:
    trial = traces.write(tmp_path / "001-c0001", traces.trace("0.1 > . 1:11 ack 1").clear())
    rows = known(read_log(trial, "near", columns=OCTETS))
    assert rows.height == 0


def test_a_damaged_log_is_reported(tmp_path: Path) -> None:
    trial = traces.write(tmp_path / "001-c0001", traces.trace("0.1 > . 1:11 ack 1"))
    (tmp_path / "001-c0001" / "segments.near.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(RecordError, match=r"segments.near.parquet cannot be read"):
        read_log(trial, "near")


@pytest.mark.parametrize("content", [b"{", b"[]", b"\xff"])
def test_a_damaged_manifest_is_reported(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "manifest.json").write_bytes(content)
    with pytest.raises(RecordError, match=r"manifest.json is damaged"):
        open_trial(tmp_path)


def test_a_folder_without_a_manifest_is_no_trial(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="is not a trial"):
        open_trial(tmp_path)


@given(st.integers(0, 2**32 - 1), st.lists(st.tuples(st.integers(0, 2), st.integers(-(2**30), 2**31 - 1)), max_size=30))
def test_unwrapping_gives_back_what_was_wrapped(initial: int, steps: list[tuple[int, int]]) -> None:
    """Any walk of steps under 2 GiB on each of three streams, however far it goes."""
    at = [0, 0, 0]
    true, stream = [], []
    for name, step in steps:
        at[name] += step
        true.append(at[name])
        stream.append(name)
    raw = np.array(
        [(value + initial + name) % 2**32 for value, name in zip(true, stream, strict=True)], dtype=np.uint32
    )
    base = {name: (initial + name) % 2**32 for name in range(3)}
    assert unwrap(raw, np.array(stream, dtype=np.uint32), base).tolist() == true


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(1, 20)), max_size=20))
def test_every_octet_counts_once(ranges: list[tuple[int, int]]) -> None:
    start = np.array([first for first, _ in ranges], dtype=np.int64)
    size = np.array([length for _, length in ranges], dtype=np.int64)
    octets = {octet for first, length in ranges for octet in range(first, first + length)}
    assert count_new(start, start + size) == len(octets)


def test_calls_are_on_the_clock_of_the_log(tmp_path: Path) -> None:
    spent = {name: [10] for name in SPENT}
    start_ns = traces.START_NS + traces.FAR_OFFSET_NS
    row: dict[str, list[Any]] = {"start_mono_ns": [start_ns + 5], "end_mono_ns": [start_ns + 9], "connection": [3]}
    row |= {"thread": [1], "call": ["write"], "moved_bytes": [100], "outcome": ["would_block"], **spent, "cpu": [0]}
    trial = traces.write(tmp_path / "log01-c0001", tables={"calls.far": pl.DataFrame(row)})
    found = known(read_calls(trial, "far", [3])).row(0, named=True)
    assert (found["start_ns"], found["end_ns"], found["call"], found["outcome"]) == (5, 9, "write", "would_block")
    assert known(read_calls(trial, "far", [4])).is_empty()
    assert read_calls(trial, "near") is None
