"""Puts the report of an experiment together and writes it."""

from pathlib import Path

from whyperf.analyze import Summary, read_inputs
from whyperf.analyze.course import course
from whyperf.analyze.trials import measure_trials
from whyperf.record import Experiment
from whyperf.record.durable import write_file
from whyperf.record.errors import told
from whyperf.report.blocks import Section
from whyperf.report.flow.section import flow_section
from whyperf.report.page import Found, render
from whyperf.report.single import single_section
from whyperf.report.sweep import sweep_section
from whyperf.report.switchboard import Switchboard

MOST_COURSES = 30
"""Trials of a single cell whose course is drawn."""


def write_report(experiment: Experiment, summary: Summary) -> Path:
    """Writes `report.html` into the experiment's folder, whole or not at all; returns its path.

    Raises:
        RecordError: the record cannot be read, or the page cannot be written.
    """
    board = Switchboard()
    sections = _sections(experiment, summary, board)
    found = Found(
        dict(experiment.hosts()), experiment.testbed(), flow_section(experiment, summary), str(experiment.folder)
    )
    page = render(experiment.plan, summary, found, sections, board)
    path = experiment.folder / "report.html"
    with told("write", path):
        write_file(path, page.encode())
    return path


def _sections(experiment: Experiment, summary: Summary, board: Switchboard) -> list[Section]:
    """A section for the only cell, or one for each sweep."""
    if len(summary.cells) == 1:
        inputs = read_inputs(experiment)
        trials = measure_trials(inputs).trials.sort("trial")
        drawn = trials["trial"].to_list()[:MOST_COURSES]
        courses = [one for one in (course(inputs, trial) for trial in drawn) if one is not None]
        return [single_section(summary.cells[0], trials.to_dicts(), courses, board)]
    sweeps = dict.fromkeys(cell.sweep for cell in summary.cells)
    return [sweep_section(name, [cell for cell in summary.cells if cell.sweep == name], board) for name in sweeps]
