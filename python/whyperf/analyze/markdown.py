"""Tables in Markdown."""

from collections.abc import Sequence


def table(headings: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    """A table; bars in its cells are escaped."""
    lines = [headings, tuple("---" for _ in headings), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)
