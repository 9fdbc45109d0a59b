"""Tables in a pipe have 80 columns, or those of COLUMNS, and no figure is cut."""

from pathlib import Path

import pytest
from rich.console import Console
from rich.table import Table

from tests.unit.analyze.workload_samples import rr_ack, write
from whyperf.cli import main
from whyperf.cli.output.console import plain_width, print_whole


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
