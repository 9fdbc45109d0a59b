"""The shortened truth run finds the clearest causes; bad input is refused with one sentence."""

import json
from pathlib import Path

import pytest

from lab.app import main

#: Experiments of the shortened run that `make test` measures; `make test-long` measures all of them.
MODEL, SUNOS = "linux-6.18+veth", "sparc10+sba-100@2.2.6"
SOME = ("--only", "small-receive-buffer", "--only", "think-time")


@pytest.mark.root
@pytest.mark.alone
@pytest.mark.parametrize(
    ("only", "min_doses", "max_misses"),
    [
        pytest.param(SOME, 2, 0, id="some"),
        # One of all doses may get a wrong verdict: the host of a test is busy.
        pytest.param((), 5, 1, id="all", marks=pytest.mark.slow),
    ],
)
def test_injected_causes_are_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], only: tuple[str, ...], min_doses: int, max_misses: int
) -> None:
    command = ["truth", "--short", *only, "--trials", "1", "--out", str(tmp_path / "truth"), "--json"]
    code = main(command)
    assert code in {0, 3}
    first = json.loads(capsys.readouterr().out)
    doses = [grade for grade in first["grades"] if grade["part"] == "dose" and grade["counts"]]
    assert len(doses) >= min_doses
    missed = [(grade["of"], grade["found"]) for grade in doses if grade["rank"] != 1]
    assert len(missed) <= max_misses, missed
    for grade in first["grades"]:
        assert grade["closed_ratio"] is not None, grade
    # The record is complete: the second run measures nothing, and the grades are the same.
    assert main(command) == code
    again = json.loads(capsys.readouterr().out)
    assert [grade["found"] for grade in again["grades"]] == [grade["found"] for grade in first["grades"]]


def test_an_unknown_cause_is_refused_in_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
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


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--only", "think-time", "--cluster", "local"), "add --hosts"),
        (("--only", "think-time", "--hosts", ""), "names no host"),
        (("--only", "think-time", "--hosts", SUNOS), f"{SUNOS} is of sunos-4.1"),
        (("--only", "one-cpu", "--hosts", MODEL, "--short"), "leave out --short"),
    ],
)
def test_what_cannot_be_simulated_is_refused(
    options: tuple[str, ...],
    problem: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["truth", *options]) == 2
    streams = capsys.readouterr()
    assert streams.out == ""
    assert problem in streams.err.splitlines()[-1]
    assert list(tmp_path.iterdir()) == []
