"""Collects the explanation for the report: the stored one or a new one, and the spans of the drawn trials."""

from collections.abc import Mapping, Sequence
from contextlib import suppress

from whyperf.analyze.summary import Summary
from whyperf.explain.experiments.kept import latest, verified_earlier
from whyperf.explain.explanation import Explanation
from whyperf.explain.log_trials import MAX_LOGGED_AFTER_RUN, best_trials, long_logs, place_of
from whyperf.explain.store import read_explanation, write_explanation
from whyperf.foreign import shell_line
from whyperf.record import Experiment, Manifest, RecordError
from whyperf.report.explanation.over_time import TimeChart, time_charts
from whyperf.report.explanation.section import Explained, chosen
from whyperf.report.flow.write import page_path
from whyperf.report.kept_parts import KeptParts

MAX_EXPLAINED = 600
"""A report explains at most this many cells itself: a log of 4 MB takes 0.15 s of CPU time.

`whyperf explain` explains all of them. Cells whose trials are in packs have no log and cost no time.
"""


def gather(experiment: Experiment, summary: Summary, kept: KeptParts, manifests: Mapping[str, Manifest]) -> Explained:
    """The explanation to show. It lists what cannot be explained; the report is written in any case.

    Time charts that `kept` lacks are added to it. `manifests` are of all trials.
    """
    try:
        explanation = _kept(experiment, kept.fingerprint) or _made(experiment, summary, kept.fingerprint)
    except RecordError as error:
        explanation = Explanation(
            experiment=experiment.name, cells=[], missing=[f"{error}."], headline="This result cannot be explained."
        )
    shown = {cell.trial: cell for cell in chosen(explanation) if cell.trial is not None}
    drawn = [trial for trial, cell in shown.items() if cell.budgets]
    charts = {trial: found for trial in drawn if (found := _charts(experiment, trial, kept)) is not None}
    pages = {trial: path.name for trial in drawn if (path := page_path(experiment.folder, trial)).exists()}
    places = {trial: place_of(trial, cell.cell, manifests) for trial, cell in shown.items()}
    why, earlier = latest(experiment), tuple(verified_earlier(experiment))
    return Explained(explanation, charts, pages, experiment, places, why, earlier)


def _kept(experiment: Experiment, fingerprint: str) -> Explanation | None:
    """The explanation in explain.json, if it is of the record as it is and has all cells."""
    found = read_explanation(experiment, fingerprint)
    has_all = found is not None and len(found.cells) == len(experiment.plan.cells)
    return found if has_all else None


def _made(experiment: Experiment, summary: Summary, fingerprint: str) -> Explanation:
    # A report of which everything is kept needs none of what reads logs.
    from whyperf.explain.experiment import explain_experiment  # noqa: PLC0415

    cells = [cell.id for cell in experiment.plan.cells]
    manifests = experiment.trials().manifests
    long = long_logs(experiment, manifests)
    best = best_trials({name: manifest for name, manifest in manifests.items() if name not in long})
    costly = [cell for cell in cells if cell in best and (experiment.folder / "trials" / best[cell]).exists()]
    left_out: set[str] = set()
    if len(costly) > MAX_EXPLAINED:
        # Evenly spaced over the plan, so that all regions of a sweep are covered.
        chosen_cells = {costly[number * len(costly) // MAX_EXPLAINED] for number in range(MAX_EXPLAINED)}
        left_out = set(costly) - chosen_cells
    part = None if not left_out else set(cells) - left_out
    rates = {cell.id: cell.goodput_bps.median for cell in summary.cells}
    explanation = explain_experiment(
        experiment,
        cells=part,
        rates=rates,
        transactions=summary.transactions_per_s(),
        summary=summary,
        max_logged=MAX_LOGGED_AFTER_RUN,
    )
    if not left_out:
        if not long:
            # `whyperf explain` would find the same.
            with suppress(RecordError):
                write_explanation(experiment, explanation, fingerprint)
        return explanation
    folder = shell_line([str(experiment.folder)])
    note = (
        f"{len(left_out):,} of {len(cells):,} cells are not explained here: a report explains at most {MAX_EXPLAINED}. "
        f"For all cells, run `whyperf explain {folder}`, then `whyperf report {folder}`."
    )
    return explanation.model_copy(update={"missing": [*explanation.missing, note]})


def _charts(experiment: Experiment, trial: str, kept: KeptParts) -> Sequence[TimeChart] | None:
    """The time charts of a trial; None where its log cannot be read."""
    if trial not in kept.charts:
        # As above.
        from whyperf.analyze.flow import open_trial  # noqa: PLC0415
        from whyperf.explain.budget import budgets_of  # noqa: PLC0415
        from whyperf.explain.segment_log import read_logs  # noqa: PLC0415

        try:
            opened = open_trial(experiment.folder / "trials" / trial)
            kept.add_charts(trial, time_charts(budgets_of(opened, read_logs(opened)).spans))
        except RecordError:
            return None
    return kept.charts[trial]
