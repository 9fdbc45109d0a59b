"""Builds the report of an experiment and writes it."""

from pathlib import Path

import polars as pl

from whyperf.analyze import Summary, read_inputs
from whyperf.analyze.measures.goodput import measure
from whyperf.analyze.measures.latency import merged, probe_requests
from whyperf.analyze.time_series import COURSE_TABLES, courses_of
from whyperf.analyze.transports.summary import trial_indicators
from whyperf.calibrate import CalibratedHost
from whyperf.record import LOST, Experiment, Trials
from whyperf.record.durable import write_file
from whyperf.record.errors import as_record_error
from whyperf.record.kept import fingerprint_of
from whyperf.report.charts.blocks import Section
from whyperf.report.charts.columns import Marks
from whyperf.report.charts.connections import connections_section, drawn
from whyperf.report.charts.latency import Histograms
from whyperf.report.charts.levels_over_time import MAX_CELLS
from whyperf.report.charts.round_trips import round_trips_group
from whyperf.report.charts.single import single_section
from whyperf.report.charts.sweep import sweep_section
from whyperf.report.charts.switchboard import Switchboard
from whyperf.report.cost.section import cost_section
from whyperf.report.explanation import explanation_section
from whyperf.report.explanation.gathered import gather
from whyperf.report.fleet import fleet_section
from whyperf.report.flow.section import flow_section
from whyperf.report.kept_parts import KeptParts
from whyperf.report.page import RecordData, render
from whyperf.report.properties import path_facts
from whyperf.report.repeat import command
from whyperf.report.stages import read_staged, stages_section
from whyperf.report.studies.atm import first_study_section
from whyperf.report.studies.function_costs import function_costs_section
from whyperf.report.studies.packet_steering import packet_steering_section
from whyperf.report.studies.published import study_section
from whyperf.report.studies.sending import sending_section
from whyperf.report.studies.stack_overheads import stack_overheads_section
from whyperf.report.studies.user_copy import user_copy_section
from whyperf.report.transports import transports_section
from whyperf.report.window_section import needed_window_section

MAX_TIME_CHARTS = 30
"""At most this many trials of a single cell are drawn over time."""


def write_report(
    experiment: Experiment,
    summary: Summary,
    fingerprint: str | None = None,
    model: CalibratedHost | None = None,
) -> Path:
    """Writes `report.html` into the folder of the experiment, completely or not at all; returns its path.

    `fingerprint` is that of the record (`whyperf.record.kept`), where it is known. `model` is a calibrated
    model of the host, whose processing times are drawn next to those measured.

    Raises:
        RecordError: the record cannot be read, or the page cannot be written.
    """
    board = Switchboard()
    kept = KeptParts(experiment.folder, fingerprint or fingerprint_of(experiment.folder))
    trials = experiment.trials()
    flow = flow_section(experiment, summary, trials, kept)
    of_log = (flow.payloads, flow.released) if flow is not None else ({}, {})
    explained = gather(experiment, summary, kept, trials.manifests)
    why = explanation_section(explained, summary)
    kept.write()
    study = study_section(experiment.plan.profile, summary, *of_log)
    study = study or first_study_section(experiment.plan.profile, summary)
    study = study or stack_overheads_section(experiment, trials)
    staged = read_staged(experiment, trials)
    study = study or user_copy_section(experiment, staged, trials)
    study = study or sending_section(experiment, summary, trials)
    study = study or packet_steering_section(experiment, summary, trials)
    window = needed_window_section(summary)
    functions = function_costs_section(experiment, trials)
    sections = [
        *_sections(experiment, summary, trials, board, why.marks),
        *(section for section in (window, study, functions) if section is not None),
    ]
    testbed = experiment.testbed()
    path_properties = path_facts((testbed or {}).get("middle"), (trial.path for trial in trials.manifests.values()))
    cost = cost_section(experiment, trials)
    fleet = fleet_section(experiment.plan, summary, explained.explanation.fleet)
    stages = stages_section(experiment.plan, staged, model)
    hosts, folder, again = dict(experiment.hosts()), str(experiment.folder), command(experiment)
    data = RecordData(hosts, testbed, flow, folder, again, path_properties, why, cost, stages, fleet)
    page = render(experiment.plan, summary, data, sections, board)
    path = experiment.folder / "report.html"
    with as_record_error("write", path):
        write_file(path, page.encode(), is_page=True, in_result=True)
    return path


def _sections(
    experiment: Experiment, summary: Summary, found: Trials, board: Switchboard, marks: Marks
) -> list[Section]:
    """The sections of flows and of latency, and one for the only cell, or one for each sweep."""
    cells = summary.cells
    has_flows = any(cell.transports is not None for cell in cells)
    counted = any(cell.transactions is not None and cell.transactions.latency for cell in cells)
    if len(cells) == 1 or has_flows or counted or any(cell.rtt_probe is not None for cell in cells):
        inputs = read_inputs(experiment, found=found)
    else:
        # All that is drawn from the record itself are the trials over time.
        inputs = read_inputs(experiment, trials=_drawn_trials(found, summary), tables=COURSE_TABLES, found=found)
    ran = inputs.trials.filter(~pl.col("status").is_in(LOST))
    measured = measure(ran, inputs.flows, inputs.intervals, inputs.transactions).sort("trial")
    usable = measured.filter(pl.col("goodput_bps").is_not_null()).select("trial", "cell")
    histograms = _histograms(inputs.latencies.join(usable, on="trial", how="semi"))
    sections = transports_section(cells, trial_indicators(inputs), board) if has_flows else []
    if (group := round_trips_group(cells, probe_requests(inputs, measured))) is not None:
        sections.append(Section("latency", "Latency", groups=[group]))
    if len(cells) == 1:
        trials = courses_of(inputs, measured["trial"].to_list()[:MAX_TIME_CHARTS])
        return [*sections, single_section(cells[0], measured.to_dicts(), trials, board, histograms)]
    chosen = {trial for trial in _drawn_trials(found, summary) if trial in set(usable["trial"])}
    cell_of = {trial: cell for trial, cell in usable.iter_rows() if trial in chosen}
    courses = {cell_of[course.trial]: course for course in courses_of(inputs, list(cell_of))}
    if experiment.plan.watched is not None:
        return [*sections, connections_section(cells, courses, board)]
    sweeps = {
        name: [cell for cell in cells if cell.sweep == name] for name in dict.fromkeys(cell.sweep for cell in cells)
    }
    drawn = [sweep_section(name, own, board, histograms, marks, courses=courses) for name, own in sweeps.items()]
    if len(drawn) == 1 and drawn[0].groups and not drawn[0].choices:
        drawn[0].lead = drawn[0].groups.pop(0)
    return [*sections, *drawn]


def _drawn_trials(trials: Trials, summary: Summary) -> set[str]:
    """The trials of sweeps that are drawn over time: the first complete one of each cell; none of too many cells."""
    # A schedule has its own charts over time; transactions have none.
    plain = {cell.id for cell in summary.cells if cell.transports is None and cell.metric != "transactions"}
    if any(cell.watched is not None for cell in summary.cells):
        plain = {cell.id for cell in drawn(summary.cells)}
    first: dict[str, str] = {}
    for name, manifest in sorted(trials.measured.items()):
        if manifest.status == "complete" and manifest.cell in plain:
            first.setdefault(manifest.cell, name)
    return set(first.values()) if len(first) <= MAX_CELLS else set()


def _histograms(latencies: pl.DataFrame) -> Histograms:
    """Latency histograms by cell and kind, merged."""
    if latencies.is_empty():
        return {}
    parts = merged(latencies, ("cell",)).partition_by("cell", "kind", as_dict=True)
    return {(str(cell), str(kind)): part for (cell, kind), part in parts.items()}
