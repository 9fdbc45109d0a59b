"""`whyperf flow`: its output, its page and its exit code."""

import json
import re
from pathlib import Path

import pytest

from tests.whole.report.flow.flow_results import drop_rows, experiment
from whyperf.cli.app import main
from whyperf.cli.exits import DONE, DOUBTFUL, USAGE


def test_it_reports_the_first_log_trial_and_names_the_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = experiment(tmp_path / "made", cells=2).folder
    assert main(["flow", str(folder)]) == DONE
    out = capsys.readouterr().out
    assert out.startswith("made, trial log01-c0001\n")
    assert "\nSender (near side)\n  Log             complete, " in out
    assert "\nReceiver (far side)\n" in out
    assert out.rstrip().endswith(f"Page: {folder}/flow-log01-c0001.html")
    assert (folder / "flow-log01-c0001.html").exists()
    assert max(map(len, out.splitlines()[2:-1])) <= 120


def test_a_trial_a_host_and_a_connection_can_be_requested(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = experiment(tmp_path / "made", cells=2, connections=3).folder
    arguments = ["flow", str(folder), "log01-c0002", "--connection", "2", "--host", "far", "--no-page"]
    assert main(arguments) == DONE
    out = capsys.readouterr().out
    assert "trial log01-c0002" in out
    assert "Connection 2 of 3, logged at 2 hosts." in out
    assert "Sender" not in out
    assert "Payload bytes" not in out
    assert not list(folder.glob("flow-*"))


def test_an_incomplete_log_ends_with_a_warning(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = experiment(tmp_path / "made").folder
    drop_rows(folder / "trials" / "log01-c0001", "far", 9)
    assert main(["flow", str(folder), "--no-page"]) == DONE
    out = capsys.readouterr().out
    assert re.search(r"Note: The log of the far side is 99\.\d % complete\.", out)
    assert "Warning" not in out
    drop_rows(folder / "trials" / "log01-c0001", "far", 60)
    assert main(["flow", str(folder), "--no-page"]) == DOUBTFUL
    assert re.search(r"Warning: The log of the far side is 9[78]\.\d % complete\.", capsys.readouterr().out)


def test_without_a_log_it_says_what_there_is_and_how_to_get_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = experiment(tmp_path / "made").folder
    assert main(["flow", str(folder), "001-c0001"]) == DONE
    out = capsys.readouterr().out
    assert "There is no segment log; the values above are from TCP_INFO and the calls." in out
    assert "To measure with the log:\n  whyperf run " in out
    assert out.rstrip().endswith(" --evidence segments")
    assert "Page:" not in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["log01-c0002"], "has no trial log01-c0002; did you mean log01-c0001?"),
        (["log01-c0001", "--connection", "4"], "log01-c0001 has no connection 4; it has only 0"),
        (["log01-c0001", "--host", "middle"], "middle"),
    ],
)
def test_a_missing_trial_connection_or_host_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    folder = experiment(tmp_path / "made").folder
    assert main(["flow", str(folder), *arguments]) == USAGE
    assert message in capsys.readouterr().err


def test_a_log_of_another_version_is_left_out_and_reported_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = experiment(tmp_path / "made", cells=2).folder
    manifest = folder / "trials" / "log01-c0001" / "manifest.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"record_version": 99}))
    assert main(["flow", str(folder), "--no-page"]) == DOUBTFUL
    printed = capsys.readouterr()
    assert "trial log01-c0001 is left out: its record is of version 99" in printed.err
    assert printed.out.startswith("made, trial log01-c0002\n")
    assert main(["flow", str(folder), "log01-c0001", "--no-page"]) == DOUBTFUL
    assert "trial log01-c0001 may be shown incorrectly" in capsys.readouterr().err
