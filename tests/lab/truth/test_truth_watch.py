"""Causes around programs of others are injected, watched and graded; bad input is refused with one sentence."""

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.app import main
from lab.truth.watched.catalog import load_watched
from lab.truth.watched.grade import Sight
from lab.truth.watched.workflow import ordered
from whyperf.record import Experiment

#: A window that both sides show, and a reader whose pauses leave the other side's send queue full.
SOME = ("--only", "iperf3-window", "--only", "python-slow-reader")


def left_over() -> Iterator[str]:
    """Folders and processes of runs."""
    yield from map(str, Path(tempfile.gettempdir()).glob("whyperf-truth-*"))
    for process in Path("/proc").glob("[0-9]*"):
        try:
            line = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except (FileNotFoundError, ProcessLookupError):
            continue
        if "whyperf-truth-" in line:
            yield line


@pytest.mark.root
@pytest.mark.alone
@pytest.mark.slow
def test_causes_around_programs_of_others_are_graded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "there"
    command = ["truth", "--watch", *SOME, "--out", str(folder), "--json"]
    code = main(command)
    assert code in {0, 3}
    first = json.loads(capsys.readouterr().out)
    assert [(run["case"], run["dose"]) for run in first["runs"]] == [
        (name, dose) for name in ("iperf3-window", "python-slow-reader") for dose in (1, 2)
    ]
    views = [view for sight in Sight for view in sight.views]
    for run in first["runs"]:
        assert run["void"] is None, run
        assert run["counts"], run
        assert [grade["view"] for grade in run["grades"]] == views
        both = run["grades"][0]
        assert both["outcome"] == "right", both
        # What is kept can be explained.
        if run["kept"] is not None:
            with Experiment.open(folder / run["kept"]) as kept:
                assert kept.plan.watched is not None
    one_side = [grade for run in first["runs"] for grade in run["grades"][1:]]
    assert sum(grade["outcome"] == "wrong" for grade in one_side) <= 2, one_side
    assert not list(left_over())
    # All runs are there: the second time nothing is measured, and the grades are the same.
    assert main(command) == code
    again = capsys.readouterr()
    assert "to make" not in again.err
    assert json.loads(again.out)["runs"] == first["runs"]


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--watch", "--views", "both,left"], '--views "left" is none of: both, sender, receiver, user'),
        (["--watch", "--short"], "--catalog, --half and --short are of loads of our own"),
        (["--watch", "--catalog", "field"], "--catalog, --half and --short are of loads of our own"),
        (["--views", "both"], "--views and --blocks are of programs of others; add --watch"),
        (["--blocks", "2"], "--views and --blocks are of programs of others; add --watch"),
        (["--watch", "--only", "iperf4"], "there is no watched truth experiment with this cause or name"),
        (["--watch", "--page", "there-is-none.md"], "cannot read there-is-none.md"),
    ],
)
def test_options_that_do_not_fit_are_refused(
    options: list[str], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["truth", *options]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert problem in line


def test_a_program_that_is_not_installed_is_named_with_its_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("lab.truth.watched.workflow.MORE_PROGRAMS", (str(tmp_path),))
    assert main(["truth", "--watch", "--only", "redis", "--only", "rsync-bwlimit"]) == 2
    redis, rsync, last = capsys.readouterr().err.splitlines()
    assert redis == "Not measured: redis-far: the program redis-server is missing; install the package redis-server"
    assert rsync == "Not measured: rsync-bwlimit: the program rsync is missing; install the package rsync"
    assert last == "whyperf-lab: this host can measure none of these experiments"


def test_a_block_has_each_case_with_its_baseline_next_to_its_doses() -> None:
    catalog = load_watched()
    found = ordered(catalog, 2, seed=5)
    assert found == ordered(catalog, 2, seed=5)
    assert found != ordered(catalog, 2, seed=6)
    assert len(set(found)) == len(found) == 2 * sum(len(case.doses) + 1 for case in catalog.case)
    for number in range(0, len(found), 3):
        group = found[number : number + 3]
        assert len({(name, block) for name, _, block in group}) == 1
        assert sorted(dose for _, dose, _ in group) == [0, 1, 2]
    # The order of the first block is not that of the second.
    half = len(found) // 2
    assert [name for name, _, _ in found[:half]] != [name for name, _, _ in found[half:]]


def test_the_plan_lists_cases_and_runs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["truth", "--watch", "--only", "rsync", "--dry-run", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["runs"] == 6
    assert [case["name"] for case in document["case"]] == ["rsync-shaper", "rsync-bwlimit"]
    assert main(["truth", "--watch", "--only", "rsync", "--dry-run"]) == 0
    printed = capsys.readouterr()
    assert "rsync-bwlimit" in printed.out
    assert "6 runs, about 1 min 00 s" in printed.err
