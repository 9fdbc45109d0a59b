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
from tests.unit.records.golden import unpack
from whyperf.cli.app import main
from whyperf.cli.exits import DONE, DOUBTFUL, FAILED, USAGE
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


@pytest.fixture
def results(tmp_path: Path) -> tuple[str, str]:
    """Two results: B has 0.8 times the rate of A, and copies more."""
    return (
        write(tmp_path / "fast", RATES),
        write(tmp_path / "slow", SLOWER, stacks={**STACKS, "near": MORE_COPY}),
    )


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


def test_the_document_has_parts_that_add_up(results: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    (pair,) = document(capsys, *results)["pairs"]
    for side in pair["sides"]:
        parts = sum(entry["test"]["difference"] for entry in side["classes"])
        assert parts == pytest.approx(side["b"] - side["a"], abs=1e-9 * side["b"])
        for entry in side["classes"]:
            functions = sum(function["test"]["difference"] for function in entry["functions"])
            assert functions == pytest.approx(entry["test"]["difference"], abs=1e-9 * side["b"])
    copy = {entry["name"]: entry for entry in pair["sides"][0]["classes"]}["copy"]
    assert copy["ratio"] > 1.5
    assert copy["test"]["is_significant"]


def test_a_condition_that_holds_ends_with_3(results: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    a, b = results
    status, _, err = compared(capsys, a, b, "--fail-if", "goodput<0.97")
    assert status == DOUBTFUL
    assert "goodput<0.97 holds for A:c0001 and B:c0001: B/A is 0.800" in err
    assert compared(capsys, b, a, "--fail-if", "goodput<0.97")[0] == DONE
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


def test_simulated_results_do_not_depend_on_when_they_were_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    unpack("model", tmp_path)
    first = tmp_path / "results" / "model"
    shutil.copytree(first, tmp_path / "again")
    found = document(capsys, str(first), str(tmp_path / "again"))
    assert not any("one after the other" in note for note in found["notes"])


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
    third = write(tmp_path / "third", RATES)
    found = document(capsys, *results, third)
    assert [(pair["a"]["label"], pair["b"]["label"]) for pair in found["pairs"]] == [("A", "B"), ("A", "C")]
    assert [result["label"] for result in found["results"]] == ["A", "B", "C"]


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


def test_functions_of_hostile_names_are_printed_as_they_are(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stacks = (*SENDER, ("load", "process", f"{WRITE} [bold]evil[/bold]_copy", 900))
    a, b = write(tmp_path / "a", RATES), write(tmp_path / "b", RATES, stacks={**STACKS, "near": stacks})
    assert "[bold]evil[/bold]_copy" in compared(capsys, a, b)[1]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((), "name two results"),
        (("{a}",), "alone has nothing to be compared with"),
        (("{a}:c0001",), "fast:c0001 alone has nothing to be compared with; name a second result, or measure"),
        (("{a}", "{a}"), "named twice"),
        (("{a}:c0099", "{b}"), 'has no cell "c0099"'),
        (("{a}", "nowhere"), "no experiment nowhere"),
        (("{a}", "{b}", "--set", "dscp=1"), "--set is for --run"),
        (("{a}", "{b}", "--trials", "3"), "--trials is for --run"),
        (("{a}", "--run", "quick", "--set", "dscp=1"), "--run measures"),
        (("--run", "quick"), "--run needs two conditions"),
        (("--run", "quick", "--set", "dscp=1", "--against", "dscp=1"), "both conditions are the same"),
        (("--run", "quick", "--set", "connections=1"), "both conditions have connections=1"),
        (("{a}:x", "{b}"), 'fast has no cell "x"'),
        (("{a}", "{b}", "--fail-if", "copy>1.1"), "did you mean copy.sender or copy.receiver?"),
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


def test_a_damaged_result_is_refused(results: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    Path(results[1], "plan.json").write_text("{}")
    status, _, err = compared(capsys, *results)
    assert status in {FAILED, USAGE}
    assert "plan" in err


def test_the_tables_have_the_labels_of_their_results(
    results: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    third = write(tmp_path / "third", SLOWER)
    _, out, _ = compared(capsys, *results, third)
    headings = [line.split() for line in out.splitlines() if line.startswith(" Figure (mean")]
    assert [heading[4:7] for heading in headings] == [["A", "B", "B/A"], ["A", "C", "C/A"]]
    assert any(line.startswith("Goodput of C is 0.800") for line in out.splitlines())


def test_what_a_host_could_not_name_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a, b = write(tmp_path / "a", RATES), write(tmp_path / "b", RATES)
    for home in (tmp_path / "b" / "trials").iterdir():
        manifest = json.loads((home / "manifest.json").read_text())
        manifest["hosts"]["near"]["evidence"]["profile"]["unnamed"] = "/proc/kallsyms hides addresses"
        (home / "manifest.json").write_text(json.dumps(manifest))
    notes = document(capsys, a, b)["notes"]
    assert any(note.startswith("B: ") and "kallsyms" in note for note in notes)


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


def test_a_cell_is_paired_with_the_one_of_its_levels(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Also where only one of the results has several cells."""
    made.write(tmp_path / "many", made.sweep([4096], [512, 1024], 3))
    made.write(tmp_path / "single", made.sweep([4096], [1024], 3))
    found = document(capsys, str(tmp_path / "many"), str(tmp_path / "single"))
    (pair,) = found["pairs"]
    assert pair["setting"]["write_size_bytes"] == 1024
    assert "write_size_bytes" not in pair["differ"]


def test_figures_are_never_cut(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A total of many digits, and a function with a long name."""
    slow = tuple(rate / 1e4 for rate in RATES)
    stacks = (*SENDER, ("load", "process", f"{WRITE} a_function_whose_name_is_much_longer_than_any_column", 900))
    a, b = write(tmp_path / "a", slow), write(tmp_path / "b", RATES, stacks={**STACKS, "near": stacks})
    out = compared(capsys, a, b)[1]
    for line in out.splitlines():
        # A label may be shortened.
        assert "…" not in line[MIN_LABEL + 2 :], line
    totals = [line for line in out.splitlines() if line.startswith(" Total ")]
    assert totals


def test_a_condition_that_does_not_hold_is_printed(
    results: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    status, _, err = compared(capsys, *results, "--fail-if", "goodput>1.1")
    assert status == DONE
    assert "goodput>1.1 does not hold: the ratio is 0.800" in err
