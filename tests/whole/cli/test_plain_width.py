"""Tables in a pipe have 80 columns, or those of COLUMNS, and no figure is cut."""

import io
import re
from pathlib import Path

import pytest
from rich.table import Table

from tests.unit.analyze import synthetic as made
from tests.unit.analyze.workload_samples import rr_ack, write
from whyperf.cli import main
from whyperf.cli.output.console import Console, plain_width, print_whole
from whyperf.cli.streams import fitting


def table_of(capsys: pytest.CaptureFixture[str], folder: Path) -> list[str]:
    """The lines of the table that `show` prints, from its headings to what was left out."""
    capsys.readouterr()
    assert main(["show", str(folder)]) == 0
    lines = capsys.readouterr().out.split("\n\n")[0].splitlines()
    return [line for line in lines if line.strip()]


def test_a_table_in_a_pipe_has_80_columns_or_those_of_the_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write(tmp_path / "rr", rr_ack())
    monkeypatch.delenv("COLUMNS", raising=False)
    narrow = table_of(capsys, folder)
    assert max(map(len, narrow)) <= 80
    assert any(line.startswith("Left out in 80 columns: ") and "Trials" in line for line in narrow)
    assert not any("…" in line for line in narrow)
    monkeypatch.setenv("COLUMNS", "200")
    wide = table_of(capsys, folder)
    assert max(map(len, wide)) > 80
    assert not any("Left out" in line for line in wide)


@pytest.mark.parametrize(("columns", "width"), [(None, 80), ("", 80), ("none", 80), ("132", None)])
def test_the_width_of_a_pipe(columns: str | None, width: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    if columns is not None:
        monkeypatch.setenv("COLUMNS", columns)
    assert plain_width() == width


def test_a_table_that_does_not_fit_is_wider(capsys: pytest.CaptureFixture[str]) -> None:
    table = Table()
    for number in range(12):
        table.add_column(str(number))
    table.add_row(*["123,456,789"] * 12)
    print_whole(Console(width=80), table)
    assert capsys.readouterr().out.count("123,456,789") == 12


class Terminal(io.StringIO):
    """A terminal that keeps what is written to it."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (
            "Window          automatic; largest 65,536 bytes",
            ["Window          automatic; largest", " " * 16 + "65,536 bytes"],
        ),
        ("Why: The path loses segments, and each loss costs", ["Why: The path loses segments, and each", "loss costs"]),
        (
            "   2.0 s  curl (47) sent 9 Mbit/s, network; RTT",
            ["   2.0 s  curl (47) sent 9 Mbit/s,", " " * 10 + "network; RTT"],
        ),
        ("2 more notes of them: whyperf show 'my x' --notes", ["2 more notes of them:", "whyperf show 'my x' --notes"]),
        ("Report: results/" + "x" * 40, ["Report:", "results/" + "x" * 40]),
        ("short\n  as it is", ["short", "  as it is"]),
    ],
)
def test_lines_are_wrapped_between_words_on_a_terminal_only(
    text: str, shown: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    assert fitting(text, Terminal()).splitlines() == shown
    assert fitting(text, io.StringIO()) == text


@pytest.mark.parametrize("typed", ["show --notes", "run demo --testbed loopback --dry-run"])
def test_what_is_printed_fits_a_terminal_of_80_columns(
    typed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    made.write(tmp_path / "results" / "one", [made.Trial(duration_s=2)])
    widest = {}
    for stream in (Terminal, io.StringIO):
        monkeypatch.setenv("COLUMNS", "80")
        monkeypatch.setattr("sys.stdout", out := stream())
        assert main(typed.split()) == 0
        shown = re.sub("\x1b\\[[0-9;]*m", "", out.getvalue())
        widest[stream] = max(map(len, shown.splitlines()))
    assert widest[Terminal] <= 80 < widest[io.StringIO]
