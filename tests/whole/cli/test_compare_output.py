"""What `whyperf compare` prints, and how it ends."""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.unit.analyze import synthetic as made
from tests.unit.analyze.cost.sampled_results import SENDER, STACKS, WRITE, add_samples
from tests.unit.analyze.workload_samples import Exchange, in_blocks
from tests.unit.analyze.workload_samples import write as write_exchanges
from whyperf.cli.app import main
from whyperf.cli.exits import DONE, DOUBTFUL, USAGE
from whyperf.cli.output.comparison import MIN_LABEL

RATES = (1.00e9, 1.01e9, 0.99e9, 1.00e9)
SLOWER = tuple(rate * 0.8 for rate in RATES)
MORE_COPY = tuple((*stack[:3], stack[3] * 4 if "_copy_from" in stack[2] else stack[3]) for stack in SENDER)


def write(folder: Path, rates: Sequence[float], *, stacks: Any = STACKS) -> str:
    """A result of a stream, with samples unless `stacks` is None."""
    made.write(folder, made.blocks_of(made.Trial(duration_s=2), rates))
    if stacks is not None:
        add_samples(folder, stacks)
    return str(folder)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """Two results: B has 0.8 times the rate of A, and copies more."""
    folder = tmp_path_factory.mktemp("results")
    return write(folder / "fast", RATES), write(folder / "slow", SLOWER, stacks={**STACKS, "near": MORE_COPY})


def compared(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = main(["compare", *arguments])
    printed = capsys.readouterr()
    return status, printed.out, printed.err


def document(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    status, out, _ = compared(capsys, *arguments, "--json")
    assert status == DONE
    found: dict[str, Any] = json.loads(out)
    return found


def test_it_prints_what_changed_in_80_columns(results: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = compared(capsys, *results)
    assert status == DONE
    lines = out.splitlines()
    assert max(map(len, lines)) <= 80
    assert any(line.startswith("Goodput of B is 0.800") for line in lines)
    (goodput,) = [line for line in lines if line.startswith(" Goodput")]
    assert "1.00 Gbit/s" in goodput
    assert "800 Mbit/s" in goodput
    assert "*" in goodput
    assert any("Copying payload" in line and "*" in line for line in lines)
    assert any("_copy_from_iter" in line for line in lines)
    assert any(line.startswith(" Functions that grew most") for line in lines)
    assert any("in between counts as a difference" in " ".join(lines[place : place + 3]) for place in range(len(lines)))


def test_a_condition_that_holds_ends_with_3(results: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    a, b = results
    status, _, err = compared(capsys, a, b, "--fail-if", "goodput<0.97")
    assert status == DOUBTFUL
    assert "goodput<0.97 holds for A:c0001 and B:c0001: B/A is 0.800" in err
    status, _, err = compared(capsys, b, a, "--fail-if", "goodput<0.97")
    assert status == DONE
    assert "goodput<0.97 does not hold: the ratio is 1.25" in err
    assert compared(capsys, a, b, "--fail-if", "copy.sender>1.5")[0] == DOUBTFUL
    status, _, err = compared(capsys, a, b, "--fail-if", "latency_p99>1.1")
    assert status == DOUBTFUL
    assert "no pair has the row latency_p99" in err


def test_results_without_samples_have_their_figures_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a, b = write(tmp_path / "a", RATES, stacks=None), write(tmp_path / "b", SLOWER, stacks=None)
    (pair,) = document(capsys, a, b)["pairs"]
    assert (pair["sides"], pair["notes"]) == ([], [])
    assert pair["quantities"][0]["test"]["is_significant"]
    sampled = write(tmp_path / "c", RATES)
    (pair,) = document(capsys, a, sampled)["pairs"]
    assert pair["sides"] == []
    assert pair["notes"] == ["Costs are not compared: A has no stack samples; measure with --evidence profile."]


def test_one_trial_each_has_ratios_and_no_test(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a, b = write(tmp_path / "a", RATES[:1]), write(tmp_path / "b", SLOWER[:1])
    found = document(capsys, a, b)
    assert found["tests"] == found["significant"] == 0
    assert any("nothing can be tested" in note for note in found["notes"])
    assert compared(capsys, a, b, "--fail-if", "goodput<0.97")[0] == DOUBTFUL
    status, out, _ = compared(capsys, a, b)
    assert status == DONE
    assert "Significant" not in out


def test_requests_are_compared_per_transaction_and_by_latency(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folders = []
    for name, rates in (("a", (1000.0, 1010.0, 990.0)), ("b", (500.0, 505.0, 495.0))):
        folder = write_exchanges(tmp_path / name, in_blocks(Exchange(made.Trial(duration_s=2)), rates))
        add_samples(folder)
        folders.append(str(folder))
    (pair,) = document(capsys, *folders)["pairs"]
    rows = {row["name"]: row for row in pair["quantities"]}
    assert rows["transactions"]["ratio"] == pytest.approx(0.5, rel=0.02)
    assert "latency_p50" in rows
    assert {side["work"] for side in pair["sides"]} == {"transaction"}
    status, out, _ = compared(capsys, *folders)
    assert status == DONE
    assert "Rate of transactions of B is 0.500" in out
    assert "cycles per transaction" in out


def test_more_than_two_results_are_each_compared_with_the_first(
    results: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    third = write(tmp_path / "third", SLOWER, stacks=None)
    found = document(capsys, *results, third)
    assert [(pair["a"]["label"], pair["b"]["label"]) for pair in found["pairs"]] == [("A", "B"), ("A", "C")]
    lines = compared(capsys, *results, third)[1].splitlines()
    headings = [line.split()[4:7] for line in lines if line.startswith(" Figure (mean")]
    assert headings == [["A", "B", "B/A"], ["A", "C", "C/A"]]
    assert any(line.startswith("Goodput of C is 0.800") for line in lines)


def test_many_pairs_have_a_line_each(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folders = []
    for name, seed in (("a", 7), ("b", 8)):
        made.write(tmp_path / name, made.sweep([1024, 2048, 4096], [512, 1024], 3, seed=seed))
        folders.append(str(tmp_path / name))
    status, out, _ = compared(capsys, *folders)
    assert status == DONE
    assert sum(line.startswith(" c00") for line in out.splitlines()) == 6
    assert f"whyperf compare {Path(folders[0]).name}:c0001 {Path(folders[1]).name}:c0001" in out.replace("\n", " ")
    (pair,) = document(capsys, f"{folders[0]}:c0002", f"{folders[0]}:c0003")["pairs"]
    # Cells of one result share their blocks.
    assert {row["test"]["is_paired"] for row in pair["quantities"]} == {True}
    assert set(pair["differ"]) >= {"write_size_bytes"} or set(pair["differ"]) >= {"window_bytes"}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((), "name two results"),
        (("{a}",), "alone has nothing to be compared with"),
        (("{a}", "{a}"), "named twice"),
        (("{a}:c0099", "{b}"), 'has no cell "c0099"'),
        (("{a}", "nowhere"), "no experiment nowhere"),
        (("{a}", "{b}", "--set", "dscp=1"), "--set is for --run"),
        (("{a}", "--run", "quick", "--set", "dscp=1"), "--run measures"),
        (("--run", "quick"), "--run needs two conditions"),
        (("--run", "quick", "--set", "dscp=1", "--against", "dscp=1"), "both conditions are the same"),
        (("--run", "quick", "--set", "connections=1"), "both conditions have connections=1"),
        (("{a}", "{b}", "--report", "/"), "that is a folder"),
        (("{a}", "{b}", "--fail-if", "goodput"), "is no condition"),
        (("{a}", "{b}", "--report", "/nowhere/at/all.html"), "name a file in a folder"),
    ],
)
def test_what_cannot_be_compared_is_refused_with_a_sentence(
    arguments: tuple[str, ...], sentence: str, results: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    a, b = results
    status, _, err = compared(capsys, *(argument.format(a=a, b=b) for argument in arguments))
    assert status == USAGE
    assert sentence in err
    assert len(err.strip().splitlines()) == 1


def test_cells_that_match_nothing_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folders = []
    for name, windows in (("a", [1024, 2048]), ("b", [4096, 8192])):
        made.write(tmp_path / name, made.sweep(windows, [512], 3))
        folders.append(str(tmp_path / name))
    status, _, err = compared(capsys, *folders)
    assert status == USAGE
    assert "no cell of a has the same window" in err
    made.write(tmp_path / "c", made.sweep([2048, 4096], [512], 3))
    found = document(capsys, folders[0], str(tmp_path / "c"))
    assert len(found["pairs"]) == 1
    assert [(entry["label"], entry["setting"]["window_bytes"]) for entry in found["unpaired"]] == [
        ("A", 1024),
        ("B", 4096),
    ]


def test_a_rate_of_0_has_no_ratio(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a, b = write(tmp_path / "a", (0.0, 0.0, 0.0), stacks=None), write(tmp_path / "b", RATES, stacks=None)
    (pair,) = document(capsys, a, b)["pairs"]
    (goodput,) = [row for row in pair["quantities"] if row["name"] == "goodput"]
    assert (goodput["a"], goodput["ratio"], goodput["is_ratio_tested"]) == (0, None, False)
    assert goodput["test"]["is_significant"]


def test_a_result_without_a_finished_trial_is_named(
    results: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    empty = Path(write(tmp_path / "empty", RATES, stacks=None))
    for home in (empty / "trials").iterdir():
        shutil.rmtree(home)
    status, _, err = compared(capsys, str(empty), results[0])
    assert status == USAGE
    assert "empty has no finished trial with a result (0 of 4 trials ran)" in err


def test_figures_are_never_cut(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A total of many digits, and functions with a long name and with one that looks like markup."""
    slow = tuple(rate / 1e4 for rate in RATES)
    names = ("a_function_whose_name_is_much_longer_than_any_column", "[bold]evil[/bold]_copy")
    stacks = (*SENDER, *(("load", "process", f"{WRITE} {name}", 900) for name in names))
    a, b = write(tmp_path / "a", slow), write(tmp_path / "b", RATES, stacks={**STACKS, "near": stacks})
    out = compared(capsys, a, b)[1]
    for line in out.splitlines():
        # A label may be shortened.
        # A sentence may have a command with a part left out.
        assert "…" not in line[MIN_LABEL + 2 :].replace("whyperf run …", ""), line
    assert "\n Total " in out
    assert "[bold]evil[/bold]_copy" in compared(capsys, write(tmp_path / "c", RATES), b)[1]
