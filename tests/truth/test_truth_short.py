"""The shortened truth run: causes that cannot be mistaken are found, and bad input is one sentence."""

import json
from pathlib import Path

import pytest

from whyperf.cli import main

#: Of the doses of the shortened run, how many may be taken for something else: the host of a test is busy.
MOST_MISSES = 1


@pytest.mark.root
@pytest.mark.slow
def test_causes_that_were_put_there_are_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "truth"
    code = main(["truth", "--short", "--trials", "1", "--out", str(folder), "--json"])
    assert code in {0, 3}
    told = json.loads(capsys.readouterr().out)
    doses = [one for one in told["grades"] if one["part"] == "dose" and one["counts"]]
    assert len(doses) >= 5
    missed = [(one["of"], one["told"]) for one in doses if one["rank"] != 1]
    assert len(missed) <= MOST_MISSES, missed
    for one in told["grades"]:
        assert one["closed_ratio"] is not None, one
    # The record is whole: told again, nothing is measured, and the grades are the same.
    assert main(["truth", "--short", "--trials", "1", "--out", str(folder), "--json"]) == code
    again = json.loads(capsys.readouterr().out)
    assert [one["told"] for one in again["grades"]] == [one["told"] for one in told["grades"]]


def test_a_cause_that_there_is_not_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["truth", "--only", "recieve_buffer"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "there is no truth experiment with this cause or name; did you mean receive_buffer?" in line


def test_a_page_in_no_folder_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["truth", "--page", str(tmp_path / "none" / "page.md")]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "there is no folder" in line
