"""The HTML reports: a self-contained page of an experiment, and one of the segment flow of a trial (`flow`)."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from whyperf.analyze import Summary
    from whyperf.calibrate import CalibratedHost
    from whyperf.record import Experiment

__all__ = ["write"]


def write(
    experiment: "Experiment",
    summary: "Summary",
    fingerprint: str | None = None,
    model: "CalibratedHost | None" = None,
) -> Path:
    """Writes `report.html` into the folder of the experiment, completely or not at all; returns its path.

    `fingerprint` is that of the record (`whyperf.record.kept`), where it is known. `model` is a calibrated model of the
    host, whose processing times are drawn next to those measured.

    Raises:
        RecordError: the record cannot be read, or the page cannot be written.
    """
    from whyperf.report.experiment import write_report  # noqa: PLC0415 - charts take a second to load

    return write_report(experiment, summary, fingerprint, model)
