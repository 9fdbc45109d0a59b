"""The name of a folder is one word in each command that is printed or drawn: somebody else may have given it."""

import html
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.unit.analyze import synthetic as made
from tests.unit.analyze.cost.sampled_results import add_samples
from tests.whole.records.golden import unpack
from whyperf.cli.app import main
from whyperf.report.explanation import gathered

NAME = "a;$(b)"
VERBS = r"compare|explain|export|model simulate|report|run|show(?: --view \w+)?|watch|why"


def commands_in(text: str) -> list[str]:
    """The commands that name the folder; of a page those in its elements for code."""
    lines = text.splitlines()
    if text.startswith("<!"):
        codes = re.findall("<code>(.*?)</code>", text, re.DOTALL)
        lines = [html.unescape(re.sub("<[^>]+>", "", code)) for code in codes]
    found = [command for line in lines for command in re.findall(rf"whyperf (?:{VERBS})\b[^`]*", line)]
    return [command for command in found if NAME in command]


def sweep(folder: Path) -> Path:
    """More cells than are drawn or compared in full, with samples."""
    return add_samples(made.write(folder / NAME, made.sweep([4096, 8192, 16384], [512, 1024], blocks=1))).folder


def logged(folder: Path) -> Path:
    unpack("stream-segments", folder)
    return (folder / "results" / "stream-segments").rename(folder / NAME)


@pytest.mark.parametrize(
    ("make", "arguments", "quoted"),
    [
        (sweep, ("report", NAME), {"whyperf report", "whyperf explain", "whyperf show --view cost"}),
        (sweep, ("compare", NAME, f"other/{NAME}"), {"whyperf compare"}),
        (sweep, ("explain", NAME), set()),
        (sweep, ("cost", NAME), set()),
        (sweep, ("show", NAME), set()),
        (sweep, ("run", NAME), {"whyperf show"}),
        (logged, ("report", NAME), {"whyperf report", "whyperf explain", "whyperf show --view flow"}),
        (logged, ("explain", NAME, "--all"), set()),
        (logged, ("flow", NAME), set()),
        (logged, ("cost", NAME), set()),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else getattr(value, "__name__", ""),
)
def test_the_name_of_a_folder_is_quoted(  # noqa: PLR0917 - a table
    make: Callable[[Path], Path],
    arguments: tuple[str, ...],
    quoted: set[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "1000")
    # So that a log is too long, and a sentence names the command that reads it.
    monkeypatch.setattr(gathered, "MAX_LOGGED_AFTER_RUN", 0)
    folder = make(tmp_path)
    if "compare" in arguments:
        make(tmp_path / "other")
    main(arguments)
    printed = capsys.readouterr()
    pages = [path.read_text() for path in folder.glob("*.html")]
    found = [line for text in (printed.out, printed.err, *pages) for line in commands_in(text)]
    for line in found:
        # What is not between quotes.
        assert NAME not in re.sub("'[^']*'", "", line), line
    assert quoted <= {command for line in found for command in re.findall(rf"whyperf (?:{VERBS})", line)}
