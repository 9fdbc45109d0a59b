"""Whether a log is complete: what the end says, and what adds up."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.unit.analyze.flow import levels, traces
from tests.unit.analyze.synthetic import known
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
    return known(completeness(traces.write(folder / "log01-c0001", log, near_evidence=evidence, tables=tables), "near"))


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
        found = known(completeness(replace(trial, moves_both_ways=True), "near"))
        assert found.complete is is_complete
        row = found.connections.row(0, named=True)
        assert (row["preamble_bytes"], row["logged_bytes"], row["missing_bytes"]) == (80, 2580, moved - 2500)


def test_a_missing_segment_does_not_add_up(tmp_path: Path) -> None:
    found = judged(tmp_path, TRANSFER.replace("    0.1 > .  41:1041   ack 41\n", ""), moved=2000)
    assert not found.complete
    assert found.connections["missing_bytes"].item() == 1000
    assert found.reason == "The log lacks 1.00 kB of 2.04 kB (49 %), in connection 0."


def test_a_connection_without_a_single_row_is_missed(tmp_path: Path) -> None:
    log = traces.trace("0.1 > . 1:11 ack 1")
    tables = {"flows.near": traces.flows({0: 10, 1: 10})}
    found = known(completeness(traces.write(tmp_path / "log01-c0001", log, tables=tables), "near"))
    assert not found.complete
    assert found.connections["missing_bytes"].to_list() == [0, 10]


LOST = [{"cpu": 1, "count": 3}]


@pytest.mark.parametrize(
    ("report", "reason", "summary"),
    [
        ({}, None, "complete"),
        (
            {"lost_events_count": LOST, "logged_events_count": 1014},
            "3 events of 1,014 were lost because the log was full.",
            "99.7 % complete",
        ),
        (
            {"lost_calls_count": LOST, "logged_calls_count": 200},
            "3 calls of 200 were lost because their log was full.",
            "98.5 % complete",
        ),
        ({"broken_off": "No space left."}, "The log breaks off: No space left.", "not complete"),
        ({"missed_runs_count": 1}, "The kernel left out 1 run of the log's programs.", "99.9 % complete"),
        ({"logged_events_count": 1012}, "The log has 1,011 rows, but 1,012 events were logged.", "99.9 % complete"),
    ],
)
def test_what_the_end_reports_of_its_log(
    tmp_path: Path, report: dict[str, Any], reason: str | None, summary: str
) -> None:
    """1,000 ACKs arrive before the FIN, so that 3 events are 0.3 % of the log."""
    acks = "".join(f"0.{n:04d} < . 41:41 ack 41\n" for n in range(11, 1011))
    found = judged(tmp_path, TRANSFER.replace("400 >", acks + "    400 >"), 2000, **report)
    assert (found.reason, found.summary, found.complete) == (reason, summary, reason is None)
    assert found.is_nearly_complete is (summary == "complete" or summary.startswith("99."))


def test_a_sender_cut_short_may_have_written_more_than_it_sent(tmp_path: Path) -> None:
    assert judged(tmp_path / "a", TRANSFER, moved=5000, ended="deadline").complete
    assert not judged(tmp_path / "b", TRANSFER, moved=1000, ended="deadline").complete


def test_the_gap_that_is_named_is_the_one_that_the_share_is_of(tmp_path: Path) -> None:
    """The log lacks 20 % of the payload and one of a thousand events; the sender left other payload unsent."""
    acks = "".join(f"0.{n:04d} < . 41:41 ack 41\n" for n in range(11, 1011))
    text = TRANSFER.replace("400 >", acks + "    400 >")
    found = judged(tmp_path / "a", text, 2510, missed_runs_count=1)
    assert (found.summary, found.reason) == (
        "80.0 % complete",
        "The log lacks 510 B of 2.55 kB (20 %), in connection 0.",
    )
    found = judged(tmp_path / "b", text, 2510, "deadline", missed_runs_count=1)
    assert (found.summary, found.reason) == ("99.9 % complete", "The kernel left out 1 run of the log's programs.")


def test_a_receiver_cut_short_may_have_left_some_unread(tmp_path: Path) -> None:
    log = traces.trace("-1 < . 1:41 ack 1\n0.1 < . 41:1041 ack 1", "far", "receiver")
    for moved, complete in ((900, True), (1100, False)):
        tables = {"flows.far": traces.flows({0: moved}, "aborted")}
        found = known(completeness(traces.write(tmp_path / f"log01-c{moved}", far=log, tables=tables), "far"))
        assert found.complete is complete


def test_more_than_4_gib_add_up(tmp_path: Path) -> None:
    """Five segments of a gigabyte each, and a wrap in between."""
    giga = 1 << 30
    lines = [f"{at} > . {1 + (at - 1) * giga}:{1 + at * giga} ack 1" for at in range(1, 6)]
    log = traces.trace("\n".join(lines))
    tables = {"flows.near": traces.flows({0: 5 * giga})}
    found = known(completeness(traces.write(tmp_path / "log01-c0001", log, tables=tables), "near"))
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
    found = known(completeness(traces.write(tmp_path / "log01-c0001", far=log, tables=tables), "far"))
    assert found.reason is None
    fewer = {**tables, "tcp_info.far": samples.with_columns(segments_out=pl.lit(2, pl.UInt64))}
    found = known(completeness(traces.write(tmp_path / "log01-c0002", far=log, tables=fewer), "far"))
    assert found.connections["unlogged_segments"].item() == 1


def test_what_is_on_its_way_when_a_connection_is_cut_is_not_missed(tmp_path: Path) -> None:
    samples = levels.tcp_info(("measure", {**COUNTS, "segments_out": 9}))
    assert judged(tmp_path, TRANSFER, 2000, "deadline", samples).complete
