"""A trial with less evidence: higher tables are hidden, and nothing else changes."""

from pathlib import Path

import polars as pl
import pytest

from whyperf.analyze.flow import EndEvidence, FlowEnd, FlowTrial, at_levels
from whyperf.analyze.flow.view import Level

TABLES_OF_TRIAL = ("flows", "tcp_info", "counters", "sizes", "softirqs", "segments", "calls")


@pytest.fixture
def trial(tmp_path: Path) -> FlowTrial:
    for table in TABLES_OF_TRIAL:
        for host in ("near", "far"):
            pl.DataFrame({"a": [1]}).write_parquet(tmp_path / f"{table}.{host}.parquet")
    evidence = EndEvidence("segments", "segments", logged_events_count=7, broken_off="it broke")
    ends = {"near": FlowEnd("near", "sender", 0, evidence), "far": FlowEnd("far", "receiver", 0, evidence)}
    return FlowTrial(tmp_path, "log01-c0001", "c0001", "complete", ends, 0, None)


def seen(trial: FlowTrial, host: str) -> set[str]:
    return {table for table in TABLES_OF_TRIAL if trial.table(table, host) is not None}


@pytest.mark.parametrize(
    ("level", "tables"),
    [
        ("user", {"flows", "tcp_info"}),
        ("counters", {"flows", "tcp_info", "counters", "sizes", "softirqs"}),
        ("segments", set(TABLES_OF_TRIAL)),
    ],
)
def test_a_level_hides_the_tables_above_it(trial: FlowTrial, level: Level, tables: set[str]) -> None:
    less = at_levels(trial, {"sender": level})
    assert seen(less, "near") == tables
    # The other host keeps what it has, and so does the trial itself.
    assert seen(less, "far") == seen(trial, "near") == set(TABLES_OF_TRIAL)
    assert less.ends["near"].evidence.got == level


def test_what_a_log_reports_is_hidden_with_it(trial: FlowTrial) -> None:
    evidence = at_levels(trial, {"sender": "counters"}).ends["near"].evidence
    assert (evidence.asked, evidence.logged_events_count, evidence.broken_off) == ("counters", 0, None)


def test_a_trial_with_less_stays_as_it_is(trial: FlowTrial) -> None:
    less = at_levels(at_levels(trial, {"sender": "user", "receiver": "user"}), {"sender": "segments"})
    assert seen(less, "near") == {"flows", "tcp_info"}
    assert less.ends["near"].evidence.got == "user"
