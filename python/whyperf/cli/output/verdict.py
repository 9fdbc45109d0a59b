"""The exit code of a result; loads nothing that prints one."""

from whyperf.analyze.summary import Summary
from whyperf.cli.exits import DONE, DOUBTFUL, FAILED
from whyperf.record.manifest import INTERRUPTED

#: Warnings after which the exit code is 3 although no cell counts a trial as lost.
INCOMPLETE = {"damaged_trials", "failed_logs", "lost_pairs", "nothing_moved"}


def verdict(summary: Summary) -> int:
    """3 when a trial failed, was cut, stopped, moved nothing, cannot be used or read; 1 when nothing has a result."""
    if all(cell.goodput_bps.median is None for cell in summary.cells):
        so_far = [cell.provisional for cell in summary.cells if cell.provisional is not None]
        return DOUBTFUL if any(found.status == INTERRUPTED for found in so_far) else FAILED
    # Nobody asked a watched connection to stay open until it has a rate.
    lost = any(
        cell.failed_trials + cell.deadline_trials + (cell.unusable_trials if cell.watched is None else 0)
        for cell in summary.cells
    )
    codes = {advice.code for advice in summary.warnings}
    return DOUBTFUL if lost or codes & INCOMPLETE else DONE
