"""Whether a log is complete: what the end says, and what adds up."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.unit.analyze.flow import levels, traces
from whyperf.analyze.flow import Completeness, completeness

TRANSFER = f"""{traces.OPENING}
    0.1 > .  41:1041   ack 41
    0.2 > .  1041:2041 ack 41
    0.3 < .  41:41     ack 2041
    400 > F. 2041:2041 ack 41
"""


def judged(
    folder: Path,
    text: str,
    moved: int,
    ended: str = "complete",
    samples: pl.DataFrame | None = None,
    **report: object,
) -> Completeness:
    log = traces.trace("\n".join(line for line in text.splitlines() if line.strip()))
    evidence = traces.evidence(log, **report)
    tables = {"flows.near": traces.flows({0: moved}, ended)}
    if samples is not None:
        tables["tcp_info.near"] = samples
    found = completeness(traces.write(folder / "log01-c0001", log, near_evidence=evidence, tables=tables), "near")
    assert found is not None
    return found


def test_payload_and_preamble_add_up(tmp_path: Path) -> None:
    found = judged(tmp_path, TRANSFER, moved=2000)
    assert found.complete
    assert found.reason is None
    row = found.connections.row(0, named=True)
    assert (row["preamble_bytes"], row["logged_bytes"], row["again_bytes"]) == (40, 2040, 0)


def test_what_was_sent_twice_counts_once(tmp_path: Path) -> None:
    found = judged(tmp_path, TRANSFER + "    0.35 > . 41:1041 ack 41 again=fast\n", moved=2000)
    assert found.complete
    assert found.connections["again_bytes"].item() == 1000


def test_replies_going_the_other_way_are_not_the_preamble(tmp_path: Path) -> None:
    found = judged(tmp_path, TRANSFER + "    0.5 < P. 41:541 ack 2041\n", moved=2000)
    assert found.complete


def test_of_a_workload_both_directions_add_up(tmp_path: Path) -> None:
    text = TRANSFER + "    0.5 < P. 41:541 ack 2041\n"
    log = traces.trace("\n".join(line for line in text.splitlines() if line.strip()))
    for moved, is_complete in ((2500, True), (2000, False)):
        tables = {"flows.near": traces.flows({0: moved})}
        trial = traces.write(tmp_path / f"log01-c{moved}", log, near_evidence=traces.evidence(log), tables=tables)
        found = completeness(replace(trial, moves_both_ways=True), "near")
        assert found is not None
        assert found.complete is is_complete
        row = found.connections.row(0, named=True)
        assert (row["preamble_bytes"], row["logged_bytes"], row["missing_bytes"]) == (80, 2580, moved - 2500)


def test_a_missing_segment_does_not_add_up(tmp_path: Path) -> None:
    found = judged(tmp_path, TRANSFER.replace("    0.1 > .  41:1041   ack 41\n", ""), moved=2000)
    assert not found.complete
    assert found.connections["missing_bytes"].item() == 1000
    assert found.reason == "The log lacks 1.00 kB of 2.04 kB (49 %) of connection 0."


def test_a_connection_without_a_single_row_is_missed(tmp_path: Path) -> None:
    log = traces.trace("0.1 > . 1:11 ack 1")
    tables = {"flows.near": traces.flows({0: 10, 1: 10})}
    found = completeness(traces.write(tmp_path / "log01-c0001", log, tables=tables), "near")
    assert found is not None
    assert not found.complete
    assert found.connections["missing_bytes"].to_list() == [0, 10]


def test_lost_events_are_reported_by_cpu(tmp_path: Path) -> None:
    found = judged(tmp_path, TRANSFER, 2000, lost_events_count=[{"cpu": 1, "count": 3}], logged_events_count=1014)
    assert not found.complete
    assert found.lost_events_count == {1: 3}
    assert found.reason == "3 events of 1,014 were lost because the log was full."


@pytest.mark.parametrize(
    ("report", "summary", "is_nearly_complete"),
    [
        ({"lost_events_count": [{"cpu": 1, "count": 3}], "logged_events_count": 1014}, "99.7 % complete", True),
        ({"lost_events_count": [{"cpu": 1, "count": 11}], "logged_events_count": 1022}, "98.9 % complete", False),
        ({"lost_calls_count": [{"cpu": 1, "count": 1}], "logged_calls_count": 100_000}, "99.9 % complete", True),
        ({"broken_off": "No space left on device."}, "not complete", False),
        ({}, "complete", True),
    ],
)
def test_how_complete_a_log_is_is_rounded_down(
    tmp_path: Path, report: dict[str, Any], summary: str, is_nearly_complete: bool
) -> None:
    text = TRANSFER.replace("400 >", "".join(f"0.{n:04d} < . 41:41 ack 41\n" for n in range(11, 1011)) + "    400 >")
    found = judged(tmp_path, text, 2000, **report)
    assert (found.summary, found.is_nearly_complete) == (summary, is_nearly_complete)


def test_lost_calls_are_reported(tmp_path: Path) -> None:
    found = judged(tmp_path, TRANSFER, 2000, lost_calls_count=[{"cpu": 1, "count": 3}], logged_calls_count=1014)
    assert found.reason == "3 calls of 1,014 were lost because their log was full."


def test_a_log_that_breaks_off_is_not_complete(tmp_path: Path) -> None:
    found = judged(tmp_path, TRANSFER, 2000, broken_off="No space left on device.")
    assert found.reason == "The log breaks off: No space left on device."


def test_runs_left_out_by_the_kernel_are_reported(tmp_path: Path) -> None:
    found = judged(tmp_path, TRANSFER, 2000, missed_runs_count=1)
    assert found.reason == "The kernel left out 1 run of the log's programs."


def test_fewer_rows_than_events_are_reported(tmp_path: Path) -> None:
    found = judged(tmp_path, TRANSFER, 2000, logged_events_count=12)
    assert found.reason == "The log has 11 rows, but 12 events were logged."


def test_a_sender_cut_short_may_have_written_more_than_it_sent(tmp_path: Path) -> None:
    assert judged(tmp_path / "a", TRANSFER, moved=5000, ended="deadline").complete
    assert not judged(tmp_path / "b", TRANSFER, moved=1000, ended="deadline").complete


def test_a_receiver_cut_short_may_have_left_some_unread(tmp_path: Path) -> None:
    log = traces.trace("-1 < . 1:41 ack 1\n0.1 < . 41:1041 ack 1", "far", "receiver")
    for moved, complete in ((900, True), (1100, False)):
        tables = {"flows.far": traces.flows({0: moved}, "aborted")}
        found = completeness(traces.write(tmp_path / f"log01-c{moved}", far=log, tables=tables), "far")
        assert found is not None
        assert found.complete is complete


def test_more_than_4_gib_add_up(tmp_path: Path) -> None:
    """Five segments of a gigabyte each, and a wrap in between."""
    giga = 1 << 30
    lines = [f"{at} > . {1 + (at - 1) * giga}:{1 + at * giga} ack 1" for at in range(1, 6)]
    log = traces.trace("\n".join(lines))
    tables = {"flows.near": traces.flows({0: 5 * giga})}
    found = completeness(traces.write(tmp_path / "log01-c0001", log, tables=tables), "near")
    assert found is not None
    assert found.complete
    assert found.connections.select(pl.col("logged_bytes")).item() == 5 * giga


COUNTS = {"segments_out": 6, "data_segments_out": 3, "segments_in": 4, "data_segments_in": 1}
"""What TCP counts of `TRANSFER` until its FIN: SYN, two ACKs, preamble and two segments; SYN ACK, two ACKs, welcome."""


def test_tcps_own_counts_agree_with_a_complete_log(tmp_path: Path) -> None:
    found = judged(tmp_path, TRANSFER, 2000, samples=levels.tcp_info(("measure", COUNTS)))
    assert found.reason is None
    assert found.connections["unlogged_segments"].item() == 0


@pytest.mark.parametrize("name", COUNTS)
def test_a_segment_that_only_tcp_counted_is_missed(tmp_path: Path, name: str) -> None:
    """An ACK that is not in the log leaves no hole in the payload."""
    samples = levels.tcp_info(("measure", {**COUNTS, name: COUNTS[name] + 2}))
    found = judged(tmp_path, TRANSFER, 2000, samples=samples)
    assert not found.complete
    assert found.reason == "TCP counted 2 segments more than the log has, of 1 connection."


def test_segments_dropped_behind_the_log_are_no_matter(tmp_path: Path) -> None:
    samples = levels.tcp_info(("measure", {**COUNTS, "segments_in": 3}))
    assert judged(tmp_path, TRANSFER, 2000, samples=samples).complete


def test_a_syn_ack_sent_has_no_socket_to_count_it(tmp_path: Path) -> None:
    log = traces.trace(
        """
        -9 < S  0:0
        -8 > S. 0:0    ack 1
        -7 < .  1:1    ack 1
        1  < .  1:1001 ack 1
        2  > .  1:1    ack 1001
        """,
        "far",
        "receiver",
    )
    counts = {"segments_out": 1, "segments_in": 3, "data_segments_in": 1}
    samples = levels.tcp_info(("measure", counts)).with_columns(pl.col("sample_mono_ns") - 3_000_000_000)
    tables = {"flows.far": traces.flows({0: 1000}), "tcp_info.far": samples}
    found = completeness(traces.write(tmp_path / "log01-c0001", far=log, tables=tables), "far")
    assert found is not None
    assert found.reason is None
    fewer = {**tables, "tcp_info.far": samples.with_columns(segments_out=pl.lit(2, pl.UInt64))}
    found = completeness(traces.write(tmp_path / "log01-c0002", far=log, tables=fewer), "far")
    assert found is not None
    assert found.connections["unlogged_segments"].item() == 1


def test_what_is_on_its_way_when_a_connection_is_cut_is_not_missed(tmp_path: Path) -> None:
    samples = levels.tcp_info(("measure", {**COUNTS, "segments_out": 9}))
    assert judged(tmp_path, TRANSFER, 2000, "deadline", samples).complete
