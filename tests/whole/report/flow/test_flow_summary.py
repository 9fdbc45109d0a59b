"""The segment flow of a trial as lines, as JSON and in the report."""

import json
import os
import re
from pathlib import Path

import pytest

from tests.whole.report.flow.flow_results import ROWS, change_evidence, drop_rows, experiment
from whyperf.analyze import flow, summarize
from whyperf.analyze.flow import FlowTrial, open_trial
from whyperf.report import write as write_report
from whyperf.report.flow import FlowSummary, flow_json, gaps, headline, summarize_flow, trial_rows, warnings
from whyperf.report.flow.about import SECOND_NS, step_ns, step_text
from whyperf.report.flow.connections import connections
from whyperf.report.flow.rows import host_rows


def summary(folder: Path, connection: int | None = None) -> FlowSummary:
    return summarize_flow(open_trial(folder), connection)


def test_both_sides_are_reported(tmp_path: Path) -> None:
    found = summary(experiment(tmp_path / "made").folder / "trials" / "log01-c0001")
    assert headline(found).startswith("1 connection, ")
    sender, receiver = (dict(host_rows(flow)) for flow in found.hosts)
    assert sender["Log"].startswith("complete, ")
    assert "1,448 bytes per segment" in sender["Average"]
    assert sender["Most frequent"].startswith("1,448 bytes (")
    assert "1448" in sender["Sequence"]
    assert "receive processing (an ACK arrived) 8" in sender["Send context"]
    assert "second full segment" in receiver["ACK reasons"]
    assert "Send context" not in receiver
    assert not any("[" in text for text in sender.values() if text), "everything comes from the log"
    assert warnings(found) == []


def test_a_log_that_does_not_add_up_has_a_warning(tmp_path: Path) -> None:
    folder = experiment(tmp_path / "made").folder / "trials" / "log01-c0001"
    drop_rows(folder, "near", 60)
    found = summary(folder)
    assert re.match(r"\d\d\.\d % complete", dict(host_rows(found.hosts[0]))["Log"])
    assert len(warnings(found)) == 1
    assert "near side" in warnings(found)[0]
    assert flow_json(found, "made", None)["complete"] is False


def test_a_lost_event_is_reported(tmp_path: Path) -> None:
    folder = experiment(tmp_path / "made").folder / "trials" / "log01-c0001"
    change_evidence(folder, "far", lost_events_count=[{"cpu": 1, "count": 3}], logged_events_count=ROWS + 3)
    found = summary(folder)
    assert warnings(found) == []
    (gap,) = gaps(found, nearly_complete=True)
    assert gap.startswith("The log of the far side is 99.9 % complete. 3 events")
    change_evidence(folder, "far", broken_off="No space left on device.")
    (warning,) = warnings(summary(folder))
    assert warning.startswith("The log of the far side is not complete. The log breaks off")


def test_several_connections_have_an_overview(tmp_path: Path) -> None:
    found = summary(experiment(tmp_path / "made", connections=3).folder / "trials" / "log01-c0001")
    table = connections(found)
    assert table is not None
    names = [column.name for column in table.columns]
    assert [row[0] for row in table.rows] == [0, 1, 2]
    shares = [row[names.index("share")] for row in table.rows]
    assert sum(share for share in shares if share is not None) == pytest.approx(1)
    assert "Sequence" not in dict(host_rows(found.hosts[0]))


def test_a_single_connection_can_be_requested(tmp_path: Path) -> None:
    folder = experiment(tmp_path / "made", connections=3).folder / "trials" / "log01-c0001"
    every, single = summary(folder), summary(folder, 1)
    assert headline(single).startswith("Connection 1 of 3, ")
    assert "Sequence" in dict(host_rows(single.hosts[0]))
    assert (single.hosts[0].value("data_segments") or 0) < (every.hosts[0].value("data_segments") or 0)


def test_without_a_log_the_level_is_reported(tmp_path: Path) -> None:
    found = summary(experiment(tmp_path / "made").folder / "trials" / "001-c0001")
    assert headline(found) == "1 connection, without a segment log."
    rows = dict(host_rows(found.hosts[0]))
    assert rows["Log"] == "none requested"
    assert rows["Sent"].endswith("[user]")
    assert len(warnings(found)) == 2


def test_json_has_everything_and_is_json(tmp_path: Path) -> None:
    found = summary(experiment(tmp_path / "made", connections=2).folder / "trials" / "log01-c0001")
    document = json.loads(json.dumps(flow_json(found, "made", tmp_path / "page.html")))
    assert document["complete"] is True
    assert document["page"] == str(tmp_path / "page.html")
    sender = document["ends"]["sender"]
    assert sender["log"]["rows"] == pytest.approx(ROWS, rel=0.1)
    assert sender["facts"]["data_segments"]["level"] == "segments"
    assert [row["connection"] for row in document["connections"]] == [0, 1]
    assert json.loads(json.dumps(flow_json(found, "made", None, "far")))["ends"].keys() == {"receiver"}


def test_a_second_report_reads_no_log_and_draws_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = experiment(tmp_path / "made", cells=2)
    summary_of = summarize(made)
    first = write_report(made, summary_of).read_text()
    read: list[Path] = []

    def watched(folder: Path) -> FlowTrial:
        read.append(folder)
        return open_trial(folder)

    for module in (trial_rows, flow):
        monkeypatch.setattr(module, "open_trial", watched)
    assert write_report(made, summary_of).read_text() == first
    assert read == []
    # Of another record nothing is kept.
    log = made.folder / "trials" / "log01-c0001"
    os.utime(log / "segments.far.parquet", ns=(0, 0))
    assert write_report(made, summary_of).read_text() == first
    assert log in read


def test_a_log_that_cannot_be_read_does_not_stop_the_report(tmp_path: Path) -> None:
    made = experiment(tmp_path / "made")
    (made.folder / "trials" / "log01-c0001" / "segments.far.parquet").write_bytes(b"PAR1, but no more")
    text = write_report(made, summarize(made)).read_text()
    assert "No figures: the table" in text
    assert ">not complete<" in text
    assert "segments.far.parquet" in text


@pytest.mark.parametrize(
    ("seconds", "expected"), [(100, "second"), (20, "second"), (10, "500 ms"), (0.001, "50 µs"), (1e-9, "1 ns")]
)
def test_a_chart_has_enough_steps(seconds: float, expected: str) -> None:
    assert step_text(step_ns(int(seconds * SECOND_NS), SECOND_NS)) == expected
