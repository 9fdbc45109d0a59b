"""The page of a comparison: what differs, by how much, where it costs, and flame graphs of the difference."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from whyperf.analyze.cost.tree import Frame
    from whyperf.compare import Comparison, Source

__all__ = ["compare_page", "write_compare_page"]


def compare_page(
    comparison: "Comparison",
    trees: "Mapping[tuple[int, str], Frame] | None" = None,
    commands: Sequence[str] = (),
) -> str:
    """A self-contained HTML page.

    `trees` are differences of trees by the place of the pair in the comparison and by role, of the pairs that
    `flame_pairs` names. `commands` measure the results again.
    """
    from whyperf.report.compare.page import render  # noqa: PLC0415 - templates take a moment to load

    return render(comparison, trees or {}, commands)


def write_compare_page(path: Path, comparison: "Comparison", sources: "Sequence[Source]") -> None:
    """Writes the page of a comparison of these results, completely or not at all.

    Raises:
        RecordError: a record cannot be read.
        OSError: the page cannot be written.
    """
    from whyperf.report.compare.write import write  # noqa: PLC0415 - as above

    write(path, comparison, sources)
