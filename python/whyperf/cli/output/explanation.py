"""Prints an explanation as text or JSON, writes explain.json, and decides the exit code."""

import shlex
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from whyperf.analyze import Summary, summarize
from whyperf.analyze.text import bit_rate, count, percent, setting
from whyperf.cli.exits import DONE, DOUBTFUL, FAILED, UsageError, say
from whyperf.cli.output.console import result_console
from whyperf.cli.streams import print_json
from whyperf.cluster import HERE, Choice, Workers, connected
from whyperf.explain.causes import ANOTHER, Cause
from whyperf.explain.explanation import CellExplanation, Explanation, Verdict
from whyperf.explain.headline import (
    WITHOUT_LOG,
    alike,
    change_label,
    command_label,
    confidence_text,
    experiment_headline,
    gain_line,
    step_label,
)
from whyperf.explain.log_trials import MAX_LOGGED_AFTER_RUN, long_logs, not_read, place_of
from whyperf.explain.states import name_of
from whyperf.explain.store import read_explanation, write_explanation
from whyperf.explain.wording.catalog import render, uncapitalized
from whyperf.plan import EXTRA_PREFIXES, LOG_PREFIX, Plan
from whyperf.profile import as_set
from whyperf.record import Experiment, RecordError
from whyperf.record.kept import fingerprint_of
from whyperf.report.charts.metric import per_second
from whyperf.report.repeat import change_command, log_command

if TYPE_CHECKING:
    from whyperf.explain.experiment import ExplainEach

#: Shares of a budget that are printed.
MIN_SHARE = 0.01
#: Connections whose budget the terminal shows; --json has all.
MAX_BUDGETS = 4
#: Phases of a pattern for which the terminal shows who waits for whom.
MAX_PHASES = 4
#: Figures that show a verdict; --all has the rest.
MAX_EVIDENCE = 4
#: Levels of a curve on which a point has neighbors on both sides.
MIN_CURVE = 3
#: Anomalies of a sweep; --json has all.
MAX_ANOMALIES = 12
#: Cells that the sentence on the exit code names.
MAX_NAMED = 4


def print_explanation(
    experiment: Experiment,
    trial: str | None,
    cell: str | None,
    *,
    as_json: bool,
    everything: bool = False,
    cluster: Choice = HERE,
) -> int:
    """Explains and prints it; returns the code that `exit_code` says. All cells may be explained on a cluster.

    `everything` prints all verdicts of a cell with their evidence, its budgets and patterns.

    Raises:
        UsageError: there is no such trial or cell.
        RecordError: the record cannot be read.
    """
    found = explained(experiment, trial, cell, cluster)
    print_found(found, experiment, as_json=as_json, everything=everything)
    code = exit_code(found, experiment, trial)
    if code == DOUBTFUL:
        say(_exit_reason(found, _lacking(found, experiment, trial)))
    return code


def _exit_reason(found: Explanation, lacking: Sequence[CellExplanation]) -> str:
    """Why the exit code is 3."""
    named = ", ".join(cell.cell for cell in lacking[:MAX_NAMED])
    more = f" and {len(lacking) - MAX_NAMED} more" if len(lacking) > MAX_NAMED else ""
    of = f" of {named}{more}" if len(found.cells) > 1 and lacking else ""
    where = "`--cell` with one of them says which" if of else "each is a line that begins with Missing"
    return f"The exit code is 3: evidence that was asked for is missing{of}; {where}."


def explained(experiment: Experiment, trial: str | None, cell: str | None, cluster: Choice = HERE) -> Explanation:
    """The explanation of a trial, a cell, or the whole, which is kept as explain.json if the folder lets it.

    Raises:
        UsageError: there is no such trial or cell.
        RecordError: the record cannot be read.
    """
    known = [planned.id for planned in experiment.plan.cells]
    if trial is not None:
        return _of_trial(experiment, trial, cell)
    if cell is not None and cell not in known:
        raise UsageError(_unknown(experiment.name, "cell", cell, known))
    if (stored := stored_explanation(experiment)) is not None:
        return stored if cell is None else _only(stored, cell)
    fingerprint, summary = fingerprint_of(experiment.folder), _summary(experiment)
    with connected(HERE if cell is not None else cluster, say) as workers:
        found = _explained(
            experiment,
            summary,
            None if cell is None else {cell},
            with_anomalies=cell is None,
            explain_each=explaining_on(workers),
        )
    if cell is None:
        _keep(experiment, found, fingerprint)
    return found


def explaining_on(workers: Workers | None) -> "ExplainEach | None":
    """The function that explains trials on the workers; None where there are none."""
    if workers is None:
        return None
    from whyperf.explain.on_workers import explain_on_workers  # noqa: PLC0415 - a stored explanation needs none

    return partial(explain_on_workers, workers.in_order)


def stored_explanation(experiment: Experiment) -> Explanation | None:
    """The explanation of all cells in explain.json, if it is of the record as it is."""
    found = read_explanation(experiment)
    return found if found is not None and len(found.cells) == len(experiment.plan.cells) else None


def _only(found: Explanation, cell: str) -> Explanation:
    """The explanation of one cell, as it would have been made alone."""
    cells = [explained for explained in found.cells if explained.cell == cell]
    return found.model_copy(update={"cells": cells, "anomalies": [], "headline": experiment_headline(cells)})


def _explained(
    experiment: Experiment,
    summary: Summary | None,
    cells: set[str] | None,
    *,
    with_anomalies: bool,
    explain_each: "ExplainEach | None" = None,
) -> Explanation:
    from whyperf.explain.experiment import explain_experiment  # noqa: PLC0415 - a stored explanation needs none

    return explain_experiment(
        experiment,
        cells=cells,
        rates={} if summary is None else _rates_of(summary),
        transactions={} if summary is None else summary.transactions_per_s(),
        summary=summary if with_anomalies else None,
        fleets=None if summary is None else summary.fleets(),
        explain_each=explain_each,
    )


def _keep(experiment: Experiment, found: Explanation, fingerprint: str) -> None:
    """A result that may only be read, or a full disk, is explained all the same."""
    try:
        write_explanation(experiment, found, fingerprint)
    except RecordError as error:
        say(f"Could not save explain.json: {error}")


def print_found(found: Explanation, experiment: Experiment, *, as_json: bool, everything: bool = False) -> None:
    """Prints it."""
    if as_json:
        print_json(found.model_dump(mode="json"))
    else:
        _print(found, experiment, everything=everything)


def exit_code(found: Explanation, experiment: Experiment, trial: str | None) -> int:
    """3 when a cell lacks evidence that was asked for or a trial is damaged, 1 when no cell has a trial.

    Nobody is doubtful of a trial without a segment log where the plan, or who names that `trial`, wants none.
    """
    if all(cell.trial is None for cell in found.cells):
        return FAILED
    return DOUBTFUL if found.missing or _lacking(found, experiment, trial) else DONE


def _lacking(found: Explanation, experiment: Experiment, trial: str | None) -> list[CellExplanation]:
    """The cells that lack evidence that was asked for."""
    manifests = experiment.trials().manifests
    logged = set() if trial is not None else {cell for block in experiment.plan.log_blocks for cell in block}

    def is_as_asked(cell: CellExplanation) -> bool:
        if not cell.missing:
            return True
        manifest = manifests.get(cell.trial or "")
        return (
            manifest is not None
            and manifest.status == "complete"
            and not manifest.trial.startswith(EXTRA_PREFIXES)
            and not (manifest.is_watched and manifest.lacks_log)
            and cell.cell not in logged
            # A simulated trial may have been kept without what happened in it.
            and (experiment.folder / "trials" / manifest.trial).exists()
        )

    return [cell for cell in found.cells if not is_as_asked(cell)]


def why(experiment: Experiment, summary: Summary) -> str:
    """The strongest verdict on the fastest or only cell, in one sentence, as `whyperf run` prints at its end."""
    rates = _rates_of(summary)
    measured = {cell: rate for cell, rate in rates.items() if rate is not None}
    if not measured:
        return "no trial has a result, so there is nothing to explain"
    counted = {cell: rate for cell, rate in summary.transactions_per_s().items() if rate is not None}
    ordered = counted if counted.keys() == measured.keys() else measured
    fastest = max(ordered, key=ordered.__getitem__)
    named = experiment.plan.cell(fastest).watched
    of = (
        ""
        if len(rates) == 1
        else f"(cell {fastest}, the fastest) "
        if named is None
        else f"({named.label}, the fastest) "
    )
    fingerprint = fingerprint_of(experiment.folder)
    long = [log for log in long_logs(experiment, experiment.trials().manifests).values() if log.cell == fastest]
    # The report may have explained all cells; not from logs that nobody asked to read.
    found = None if long else stored_explanation(experiment)
    if found is None:
        from whyperf.explain.experiment import explain_experiment  # noqa: PLC0415 - a stored explanation needs none

        found = explain_experiment(
            experiment,
            cells={fastest},
            rates=rates,
            transactions=summary.transactions_per_s(),
            max_logged=MAX_LOGGED_AFTER_RUN,
            fleets=summary.fleets(),
        )
        if len(rates) == 1 and not long:
            with suppress(RecordError):
                write_explanation(experiment, found, fingerprint)
    (explained_cell,) = (cell for cell in found.cells if cell.cell == fastest)
    # The next sentence names the log, so the headline does not ask for one.
    headline = explained_cell.headline.removesuffix(WITHOUT_LOG if long else "")
    return " ".join((f"{of}{headline}", *(not_read(evidence, experiment) for evidence in long)))


def _summary(experiment: Experiment) -> Summary | None:
    """Its result; None where the record cannot be judged."""
    try:
        return summarize(experiment)
    except RecordError:
        return None


def _rates_of(summary: Summary) -> dict[str, float | None]:
    return {cell.id: cell.goodput_bps.median for cell in summary.cells}


def _of_trial(experiment: Experiment, trial: str, cell: str | None) -> Explanation:
    trials = experiment.trials()
    damaged = {trial.trial: trial.reason for trial in trials.damaged}
    if trial not in trials.manifests and trial not in damaged:
        raise UsageError(_unknown(experiment.name, "trial", trial, sorted(trials.manifests)))
    own = trials.manifests[trial].cell if trial in trials.manifests else trial.rpartition("-")[2]
    if cell is not None and cell != own:
        raise UsageError(f"trial {trial} is of cell {own}, not {cell}; leave --cell away")
    from whyperf.explain.experiment import TrialQuestion  # noqa: PLC0415 - as above
    from whyperf.explain.gather import costs_of, stages_of  # noqa: PLC0415 - as above

    costs, lost = costs_of(experiment, trials, {own})
    staged, unread = stages_of(experiment, trials, {own})
    found = TrialQuestion(own, trial, cost=costs.get(own), stages=staged.get(own)).answer(experiment)
    reasons = lost + unread + ([f"Trial {trial} is damaged: {damaged[trial]}."] if trial in damaged else [])
    return Explanation(experiment=experiment.name, cells=[found], missing=reasons, headline=found.headline)


def _unknown(experiment: str, what: str, wanted: str, names: Sequence[str]) -> str:
    if not names:
        return f"{experiment} has no {what} yet; `whyperf run` measures some"
    near = get_close_matches(wanted, names, n=1)
    hint = f"did you mean {near[0]}?" if near else f"it has {names[0]} to {names[-1]}"
    return f"{experiment} has no {what} {wanted}; {hint}"


class CommandLine(str):
    """A command to copy: it is never broken into lines."""

    __slots__ = ()


def _print(found: Explanation, experiment: Experiment, *, everything: bool) -> None:
    console = result_console()

    def say(text: str, indent: str = "") -> None:
        if isinstance(text, CommandLine):
            console.print(f"{indent}  {text}", soft_wrap=True)
            return
        for line in textwrap.wrap(text, max(40, console.width - 1), initial_indent=indent, subsequent_indent=indent):
            console.print(line, soft_wrap=True)

    for text, indent in _text(found, experiment, everything=everything):
        say(text, indent) if text else console.print()


def _text(found: Explanation, experiment: Experiment, *, everything: bool) -> Iterator[tuple[str, str]]:
    """Lines with their indent: one cell in full; of several what limits each, after each in full if `everything` is
    asked for.
    """
    tried = _by_experiments(experiment)
    for reason in found.missing:
        yield f"Missing: {reason}", ""
    if len(found.cells) == 1:
        yield from _cell(found.cells[0], experiment, tried, everything=everything)
        yield from fleet_lines(found)
        return
    for cell in found.cells if everything else ():
        yield from _cell(cell, experiment, tried, everything=True)
        yield "", ""
    yield found.headline, ""
    yield from ((line, "") for line in extremes(found.cells, experiment.plan))
    if not found.anomalies and has_curve(found.cells, experiment.plan):
        yield "No setting stands out from its neighbors.", ""
    yield "", ""
    for cell in found.cells:
        named = experiment.plan.cell(cell.cell).watched
        yield f"{cell.cell} ({_speed(cell)}): {'' if named is None else f'{named.label}: '}{cell.headline}", ""
        yield from ((line, "   ") for line in tried.get(cell.cell, ()))
    if found.anomalies:
        yield "", ""
        yield "What stands out:", ""
    for anomaly in found.anomalies[:MAX_ANOMALIES]:
        yield f"{anomaly.kind.capitalize()}: {anomaly.words}", "   "
        yield from ((f"- {difference.words}", "      ") for difference in anomaly.differences)
    if len(found.anomalies) > MAX_ANOMALIES:
        yield f"--json has {len(found.anomalies) - MAX_ANOMALIES} more.", "   "


def fleet_lines(found: Explanation) -> Iterator[tuple[str, str]]:
    """The limit of a fleet without a slow host, which would be the first verdict, and the verdicts on its pairs."""
    for diagnosis in found.fleet:
        yield "", ""
        if diagnosis.limited_by != "slow_host":
            yield diagnosis.words, ""
        yield "Pairs that were explained:", ""
        for pair in diagnosis.pairs:
            rate = "no rate" if pair.rate_bps is None else bit_rate(pair.rate_bps)
            yield f"{pair.pair}. {pair.near} to {pair.far}, {rate}: {pair.claim}", "   "


def extremes(cells: Sequence[CellExplanation], plan: Plan) -> Iterator[str]:
    """The fastest and the slowest cell of each sweep with two rates or more, with their settings and diagnoses."""
    sweeps: dict[str, list[tuple[float, CellExplanation]]] = {}
    for cell in cells:
        if cell.rate_bps is not None:
            sweeps.setdefault(plan.cell(cell.cell).sweep, []).append((cell.rate_bps, cell))
    for sweep, by_goodput in sweeps.items():
        if len(by_goodput) < 2:
            continue
        by_transactions = [
            (cell.transactions_per_s, cell) for _, cell in by_goodput if cell.transactions_per_s is not None
        ]
        rated = by_transactions if len(by_transactions) == len(by_goodput) else by_goodput
        to_text = bit_rate if rated is by_goodput else per_second
        where = f" of {sweep}" if len(sweeps) > 1 else ""
        (most, fastest), (least, slowest) = max(rated, key=_rate), min(rated, key=_rate)
        yield f"Fastest{where}: {_named(fastest, plan)}, {to_text(most)}. {fastest.headline}"
        part = f", {percent(least / most)} of the fastest" if most else ""
        yield f"Slowest{where}: {_named(slowest, plan)}, {to_text(least)}{part}. {slowest.headline}"


def has_curve(cells: Sequence[CellExplanation], plan: Plan) -> bool:
    """True if some number was varied over enough levels with a rate for one to stand out from its neighbors."""
    rated = [plan.cell(cell.cell).factors for cell in cells if cell.rate_bps is not None]
    levels = [[factors.get(name) for factors in rated] for name in plan.varied]
    return any(
        len({level for level in own if isinstance(level, int | float) and not isinstance(level, bool)}) >= MIN_CURVE
        for own in levels
    )


def _speed(cell: CellExplanation) -> str:
    if cell.transactions_per_s is not None:
        return per_second(cell.transactions_per_s)
    return "no rate" if cell.rate_bps is None else bit_rate(cell.rate_bps)


def _rate(rated: tuple[float, CellExplanation]) -> float:
    return rated[0]


def _named(cell: CellExplanation, plan: Plan) -> str:
    """A cell with the levels of the factors that vary in its sweep."""
    planned = plan.cell(cell.cell)
    if planned.watched is not None:
        return f"{cell.cell} ({planned.watched.label})"
    own = [other.factors for other in plan.cells if other.sweep == planned.sweep]
    varied = [name for name in plan.varied if len({factors.get(name) for factors in own}) > 1]
    levels = setting(dict(planned.factors), varied)
    return f"{cell.cell} ({levels})" if levels else cell.cell


def _cell(
    cell: CellExplanation, experiment: Experiment, tried: Mapping[str, Sequence[str]], *, everything: bool
) -> Iterator[tuple[str, str]]:
    """Lines with their indent: what is missing first, what experiments showed, then the verdict, what else is possible,
    and, if `everything` is asked for, the other verdicts, budgets and patterns.
    """
    for reason in cell.missing:
        yield f"Missing: {reason}", ""
    for gap in cell.gaps:
        yield f"Note: {gap}", ""
    place = "" if cell.trial is None else place_of(cell.trial, cell.cell, experiment.trials().manifests)
    named = ", ".join(filter(None, (f"cell {cell.cell}", place)))
    yield named[:1].upper() + named[1:] + ("" if cell.rate_bps is None else f": {_speed(cell)}"), ""
    for connection in _connection(cell, experiment.plan):
        yield f"Connection: {connection}", ""
    yield from ((line, "") for line in tried.get(cell.cell, ()))
    groups = alike(cell.verdicts)
    for first, *others in groups if everything else groups[:1]:
        verdict = cell.verdicts[first]
        yield "", ""
        yield f"{first + 1}. {verdict.claim}", ""
        yield from ((line, "   ") for line in _verdict(verdict, cell.cell, experiment, everything=everything))
        for other in others if everything else ():
            yield f"{other + 1}. {cell.verdicts[other].claim}", "   "
            change = _change(cell.verdicts[other], cell.cell, experiment)
            yield from ((line, "      ") for line in (*change, gain_line(cell.verdicts[other])) if line)
        if verdict.cause is Cause.NOT_KNOWN:
            yield from ((line, "   ") for line in _next(cell, experiment))
    if cell.joint:
        yield "", ""
        for joint in cell.joint:
            yield joint.words, ""
    if not everything:
        yield from _rest(cell, experiment)
        return
    yield from _budgets(cell)
    for pattern in cell.patterns[:MAX_BUDGETS]:
        yield f"Connection {pattern.connection}: {pattern.words}", "   "
        for phase in pattern.phases[:MAX_PHASES]:
            yield f"- {phase.waits}", "   "


def _by_experiments(experiment: Experiment) -> dict[str, list[str]]:
    """Of each cell what was verified earlier, and the last experiments' answer with the command that shows them."""
    # --json needs none of it.
    from whyperf.explain.experiments.kept import latest, verified_earlier  # noqa: PLC0415
    from whyperf.explain.wording.experiments import headline_of  # noqa: PLC0415

    lines: dict[str, list[str]] = {}
    for cell, sentence in verified_earlier(experiment):
        lines.setdefault(cell, []).append(sentence)
    if (tried := latest(experiment)) is not None and tried.tried:
        own = lines.setdefault(tried.cell, [])
        own.append(f"By experiments{'' if tried.is_reproduced else ', at another rate'}: {headline_of(tried)}")
        # Of a watched command only the answer is kept, not what its runs moved.
        if (name := Path(tried.experiments).name) and experiment.plan.watched is None:
            folder = experiment.folder.absolute().with_name(name)
            here = Path.cwd()
            shown = folder.relative_to(here) if folder.is_relative_to(here) else folder
            own.append(CommandLine(shlex.join(["whyperf", "show", str(shown)])))
    return lines


MIN_POSSIBLE = 0.05
"""The probability from which on another cause is named next to the verdict: one of twenty."""
MAX_POSSIBLE = 3


def _rest(cell: CellExplanation, experiment: Experiment) -> Iterator[tuple[str, str]]:
    """Says what else is possible, in a line, and how to see all of it and to try the change."""
    first = cell.verdicts[0]
    left_open = first.values.get("causes")
    named = {ANOTHER, str(first.cause), *(left_open if isinstance(left_open, list) else ())}
    yield "", ""
    if others := [each for each in cell.probabilities if each.probability >= MIN_POSSIBLE and each.cause not in named]:
        names = [f"{render('limit', each.cause, {})} ({percent(each.probability)})" for each in others[:MAX_POSSIBLE]]
        yield f"Also possible: {', '.join(names)}.", ""
    parts = ["every cause with its evidence", *(["where the time went"] if cell.budgets else [])]
    yield f"--all shows {' and '.join(parts)}.", ""
    change = first.change
    if change is not None and change.factors and experiment.plan.watched is None:
        yield "--try finds out by experiments whether the change helps.", ""


def _budgets(cell: CellExplanation) -> Iterator[tuple[str, str]]:
    """Where the time of each side went."""
    sides = [budget for budget in cell.budgets if budget.shares][: 2 * MAX_BUDGETS]
    if sides:
        yield "", ""
        yield "Where the time went:", ""
    for budget in sides:
        shares = ", ".join(
            f"{uncapitalized(name_of(share.state))} {percent(share.ratio)}"
            for share in budget.shares
            if share.ratio >= MIN_SHARE
        )
        yield f"{budget.role.capitalize()}, connection {budget.connection}: {shares}", "   "
    if len(cell.budgets) > len(sides) > 0:
        yield f"--json has {count(len(cell.budgets) - len(sides), 'more budget')}.", "   "


def _connection(cell: CellExplanation, plan: Plan) -> Iterator[str]:
    """The watched connection that a cell is about, in a few words; nothing of a cell of our own load."""
    if (found := plan.cell(cell.cell).watched) is not None:
        yield found.label


def _next(cell: CellExplanation, experiment: Experiment) -> Iterator[str]:
    """The cheapest measurement that decides between what may be the limit, as a command. Of a connection of another
    program there is none to repeat.
    """
    if experiment.plan.watched is not None:
        return
    is_tcp = str(experiment.plan.cell(cell.cell).factors.get("transport", "tcp")) in {"tcp", "mptcp", "tls"}
    has_log = (cell.trial or "").startswith(LOG_PREFIX)
    if is_tcp and not has_log and (again := log_command(experiment, cell.cell)):
        yield "Next measurement, with a log of every segment:"
        yield CommandLine(again)
    else:
        yield "Next measurement, with changes of one setting after the other:"
        yield CommandLine(shlex.join(["whyperf", "explain", str(experiment.folder), "--cell", cell.cell, "--try"]))


def _change(verdict: Verdict, cell: str, experiment: Experiment) -> Iterator[str]:
    """The change to make: factors and a command of the own load, or steps for a program that is not ours."""
    change = verdict.change
    if change is None:
        return
    levels = " ".join(f"--set {level}" for level in as_set(change.factors))
    if levels:
        yield f"{change_label(change)}: {levels}"
        command = change_command(experiment, cell, change.factors)
        if command:
            yield CommandLine(command)
    for step in change.steps or ():
        yield f"{step_label(step)}: {step.words}"
        if step.command:
            yield CommandLine(step.command)
    if change.by_hand and not change.steps:
        yield f"By hand: {change.by_hand}"
    if change.command and not change.steps:
        yield f"{command_label(change)}:"
        yield CommandLine(change.command)


def _verdict(verdict: Verdict, cell: str, experiment: Experiment, *, everything: bool) -> Iterator[str]:
    for evidence in verdict.evidence if everything else verdict.evidence[:MAX_EVIDENCE]:
        where = " ".join(part for part in (evidence.host, evidence.table) if part)
        yield f"- {evidence.words}" + (f" [{where}]" if where else "")
    yield from _change(verdict, cell, experiment)
    if gain := gain_line(verdict):
        yield gain
    if verdict.refuted_by and everything:
        yield f"Refuted if: {verdict.refuted_by}"
    if verdict.cause not in {Cause.CAPACITY, Cause.NOT_KNOWN}:
        lost = "" if verdict.lost_ratio is None else f", {percent(verdict.lost_ratio)} of the time"
        yield f"Confidence: {confidence_text(verdict)}{lost}"
