"""The file of first looks: one line for each set of situations that was judged, only ever appended."""

from collections.abc import Mapping
from datetime import date
from pathlib import Path

from lab.situations.figures import Shares
from lab.situations.judge import OUTCOMES

FILE = Path(__file__).parents[1] / "first-looks.txt"


class JudgedBeforeError(Exception):
    """A seed that was judged before: its first look is over."""


def judged_seeds(file: Path = FILE) -> set[tuple[str, str]]:
    """The sets that were judged: place and seed."""
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    rows = [line.split() for line in lines if line and not line.startswith("#")]
    return {(row[2], row[3]) for row in rows}


def refuse_second_look(place: str, seed: int, file: Path = FILE) -> None:
    """Refuses a set that was judged before.

    Raises:
        JudgedBeforeError: it was.
    """
    if (place, str(seed)) in judged_seeds(file):
        raise JudgedBeforeError(
            f"seed {seed} on {place} was judged before ({file.name}); take a seed that nobody has used"
        )


def line_of(
    day: date,
    commit: str,
    place: tuple[str, int],
    numbers: tuple[int, int, int],
    figures: Mapping[str, Shares],
) -> str:
    """A line of the file.

    Args:
        day: of the judgment.
        commit: whose diagnosis was judged.
        place: the testbed, or the model's hosts, and the seed.
        numbers: drawn, void, with a cause that counts.
        figures: the outcomes of each level, by its name.
    """
    drawn, void, counting = numbers
    levels = " ".join(
        f"{name}={'/'.join(str(shares[outcome].number) for outcome in OUTCOMES)}" for name, shares in figures.items()
    )
    return f"{day:%Y-%m-%d} {commit} {place[0]} {place[1]} drawn={drawn} void={void} counting={counting} {levels}"


def append(line: str, file: Path = FILE) -> None:
    """Adds a line at the end."""
    with file.open("a", encoding="utf-8") as opened:
        opened.write(line + "\n")
