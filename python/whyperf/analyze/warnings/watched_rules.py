"""Facts to know about connections of other programs."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from whyperf.analyze.summary import CellResult, Fact
from whyperf.analyze.text import count
from whyperf.analyze.warnings.catalog import RaisedWarning
from whyperf.analyze.warnings.evidence import LOG

Row = Mapping[str, Any]


def of_connection(evidence: Sequence[Row]) -> Iterator[RaisedWarning]:
    """Warnings about a watched connection; `evidence` are rows of `evidence_rows` of its cell."""
    if any(row["got"] == LOG for row in evidence):
        yield RaisedWarning("watched_log")


def watched_facts(cells: Sequence[CellResult]) -> list[Fact]:
    """Facts on what of the connections could not be seen."""
    watched = [cell.watched for cell in cells if cell.watched is not None]
    one_side = sum(len(connection.hosts) == 1 for connection in watched)
    later = sum(connection.is_whole is False for connection in watched)
    facts = []
    if one_side:
        text = (
            f"{_of(one_side, len(watched))} watched on one side only, so causes on the other side can only be named as "
            "candidates. Watch both sides with --far HOST."
        )
        facts.append(Fact(code="one_side_watched", text=text))
    if later:
        text = f"{_of(later, len(watched))} there before the watch began. What happened before is not known."
        facts.append(Fact(code="attached_later", text=text))
    return facts


def _of(number: int, total: int) -> str:
    """Some of the connections, as a subject with its verb."""
    if total == 1:
        return "The connection was"
    return f"{number:,} of {count(total, 'connection')} {'was' if number == 1 else 'were'}"
