"""Builds the report of an experiment and writes it."""

from pathlib import Path

import polars as pl

from whyperf.analyze import Summary, read_inputs
from whyperf.analyze.measures.latency import merged, probe_requests
from whyperf.analyze.read.inputs import Inputs
from whyperf.analyze.summary import CellResult
from whyperf.analyze.time_series import courses_of
from whyperf.analyze.transports.summary import trial_indicators
from whyperf.analyze.trials import measure_trials
from whyperf.record import Experiment
from whyperf.record.durable import write_file
from whyperf.record.errors import as_record_error
from whyperf.report.charts.blocks import Section
from whyperf.report.charts.columns import Marks
from whyperf.report.charts.latency import Histograms
from whyperf.report.charts.levels_over_time import MAX_CELLS
from whyperf.report.charts.round_trips import round_trips_group
from whyperf.report.charts.single import single_section
from whyperf.report.charts.sweep import sweep_section
from whyperf.report.charts.switchboard import Switchboard
from whyperf.report.explanation import explanation_section
from whyperf.report.explanation.gathered import gather
from whyperf.report.flow.section import flow_section
from whyperf.report.page import RecordData, render
from whyperf.report.properties import path_facts
from whyperf.report.studies.atm import first_study_section
from whyperf.report.studies.published import study_section
from whyperf.report.transports import transports_section

MAX_TIME_CHARTS = 30
"""At most this many trials of a single cell are drawn over time."""


def write_report(experiment: Experiment, summary: Summary, inputs: Inputs | None = None) -> Path:
    """Writes `report.html` into the folder of the experiment, completely or not at all; returns its path.

    `inputs` are what `summary` was made of; without, they are read again.

    Raises:
        RecordError: the record cannot be read, or the page cannot be written.
    """
    board = Switchboard()
    inputs = read_inputs(experiment) if inputs is None else inputs
    flow = flow_section(experiment, summary)
    of_log = (flow.payloads, flow.released) if flow is not None else ({}, {})
    why = explanation_section(gather(experiment, summary), summary)
    study = study_section(experiment.plan.profile, summary, *of_log)
    study = study or first_study_section(experiment.plan.profile, summary)
    sections = [
        *_transports(inputs, summary, board),
        *_sections(inputs, summary, board, why.marks),
        *([study] if study is not None else []),
    ]
    testbed = experiment.testbed()
    path_properties = path_facts(
        (testbed or {}).get("middle"), (trial.path for trial in experiment.trials().manifests.values())
    )
    data = RecordData(dict(experiment.hosts()), testbed, flow, str(experiment.folder), path_properties, why)
    page = render(experiment.plan, summary, data, sections, board)
    path = experiment.folder / "report.html"
    with as_record_error("write", path):
        write_file(path, page.encode())
    return path


def _sections(inputs: Inputs, summary: Summary, board: Switchboard, marks: Marks) -> list[Section]:
    """A section of the latency under load, and one for the only cell, or one for each sweep."""
    measured = measure_trials(inputs).trials.sort("trial")
    usable = measured.filter(pl.col("goodput_bps").is_not_null()).select("trial", "cell")
    histograms = _histograms(inputs.latencies.join(usable, on="trial", how="semi"))
    group = round_trips_group(summary.cells, probe_requests(inputs, measured))
    latency = [] if group is None else [Section("latency", "Latency", groups=[group])]
    if len(summary.cells) == 1:
        trials = courses_of(inputs, measured["trial"].to_list()[:MAX_TIME_CHARTS])
        return [*latency, single_section(summary.cells[0], measured.to_dicts(), trials, board, histograms)]
    # A schedule has its own charts over time; transactions have none of their own.
    plain = [cell.id for cell in summary.cells if cell.transports is None and cell.metric != "transactions"]
    first = usable.filter(pl.col("cell").is_in(plain)).unique("cell", keep="first", maintain_order=True)
    drawn = first if first.height <= MAX_CELLS else first.clear()
    cell_of = dict(drawn.select("trial", "cell").iter_rows())
    courses = {cell_of[found.trial]: found for found in courses_of(inputs, list(cell_of))}
    sweeps = dict.fromkeys(cell.sweep for cell in summary.cells)
    return [
        *latency,
        *(sweep_section(name, _of_sweep(summary, name), board, histograms, marks, courses=courses) for name in sweeps),
    ]


def _transports(inputs: Inputs, summary: Summary, board: Switchboard) -> list[Section]:
    """The sections of cells with a schedule of flows."""
    if all(cell.transports is None for cell in summary.cells):
        return []
    return transports_section(summary.cells, trial_indicators(inputs), board)


def _of_sweep(summary: Summary, name: str) -> list[CellResult]:
    return [cell for cell in summary.cells if cell.sweep == name]


def _histograms(latencies: pl.DataFrame) -> Histograms:
    """Latency histograms by cell and kind, merged."""
    if latencies.is_empty():
        return {}
    parts = merged(latencies, ("cell",)).partition_by("cell", "kind", as_dict=True)
    return {(str(cell), str(kind)): part for (cell, kind), part in parts.items()}
