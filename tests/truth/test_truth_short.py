"""The shortened truth run: causes that cannot be mistaken are found, and bad input is one sentence."""

import json
from pathlib import Path

import pytest

from whyperf.cli import main

#: Three of the shortened run, which `make test` makes; `make test-long` makes all of them.
SOME = ("--only", "small-receive-buffer", "--only", "think-time", "--only", "slow-link")


@pytest.mark.root
@pytest.mark.alone
@pytest.mark.parametrize(
    ("only", "least_doses", "most_misses"),
    [
        pytest.param(SOME, 3, 0, id="some"),
        # Of all, one may be taken for something else: the host of a test is busy.
        pytest.param((), 5, 1, id="all", marks=pytest.mark.slow),
    ],
)
def test_causes_that_were_injected_are_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], only: tuple[str, ...], least_doses: int, most_misses: int
) -> None:
    command = ["truth", "--short", *only, "--trials", "1", "--out", str(tmp_path / "truth"), "--json"]
    code = main(command)
    assert code in {0, 3}
    printed = json.loads(capsys.readouterr().out)
    doses = [one for one in printed["grades"] if one["part"] == "dose" and one["counts"]]
    assert len(doses) >= least_doses
    missed = [(one["of"], one["told"]) for one in doses if one["rank"] != 1]
    assert len(missed) <= most_misses, missed
    for one in printed["grades"]:
        assert one["closed_ratio"] is not None, one
    # The record is whole: in a second run nothing is measured, and the grades are the same.
    assert main(command) == code
    again = json.loads(capsys.readouterr().out)
    assert [one["told"] for one in again["grades"]] == [one["told"] for one in printed["grades"]]


def test_a_cause_that_there_is_not_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["truth", "--only", "recieve_buffer"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "there is no truth experiment with this cause or name; did you mean receive_buffer?" in line


@pytest.mark.parametrize(
    ("text", "said"),
    [(None, "no such file or directory; name a file that is there"), ("# Accuracy", "add the two lines")],
)
def test_a_page_that_cannot_take_the_figures_is_refused_before_anything_is_measured(
    text: str | None, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.md"
    if text is not None:
        page.write_text(text)
    assert main(["truth", "--page", str(page), "--out", str(tmp_path / "result")]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert said in line
    assert not (tmp_path / "result").exists()
