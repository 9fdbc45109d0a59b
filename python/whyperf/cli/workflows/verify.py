"""`whyperf explain … --verify`: makes a verdict's change in a plan, measures and judges it."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import typer

from whyperf.analyze.text import count
from whyperf.cli.durations import duration
from whyperf.cli.exits import DONE, DOUBTFUL, UsageError, say
from whyperf.cli.live import interrupts
from whyperf.cli.output.explanation import explained, print_found
from whyperf.cli.workflows.trials import measure_missing_trials, simulate_missing_trials, stopped
from whyperf.explain.model import Explanation, Verification
from whyperf.explain.predicted import gain_text
from whyperf.explain.store import read_explanation, write_explanation
from whyperf.explain.verify import (
    MAX_WITH_LOOKS,
    Attempt,
    Looks,
    Obstacle,
    Verified,
    attempts_of,
    folder_of,
    judged,
    keep,
    looks_of,
    plan_of,
    question_of,
    refuse_other_host,
    refuse_other_path,
    refuse_untriable,
    refuse_unwritable,
    summary_of,
    verification_of,
    with_verifications,
)
from whyperf.explain.wording.verifications import change_text
from whyperf.foreign import quoted, visible
from whyperf.plan import LOCAL, Plan, PlannedTrial, TimeLeft, announcements, sent_files
from whyperf.profile import Profile, parse
from whyperf.record import Experiment
from whyperf.run import Kind, Target, allowed_kind, describe_host
from whyperf.run.agents.pipes import kinds as pipe_kinds
from whyperf.simulate import refuse_unknown

#: Pairs at most where nobody asked for others.
MAX_PAIRS = 16
HERE = "this host"


class NobodyToAskError(UsageError):
    """Hosts would have to be asked for, and there is no terminal."""


def looks_asked(pairs: int, most: int | None) -> Looks:
    """When to judge: after `pairs`, and where that does not decide, up to `most`.

    Raises:
        UsageError: numbers that do not go together.
    """
    if most is None:
        most = max(pairs, MAX_PAIRS)
    if most < pairs:
        raise UsageError(f"--most {most} is less than the {count(pairs, 'pair')} of --pairs; give as many or more")
    if pairs < most and most > MAX_WITH_LOOKS:
        limit = f"--most goes to {MAX_WITH_LOOKS} where pairs are judged before the end"
        raise UsageError(f"{limit}; for {most} at once give --pairs {most}")
    return Looks(pairs, most)


def print_verification(
    experiment: Experiment,
    trial: str | None,
    cell: str | None,
    verdict: int | None,
    looks: Looks,
    *,
    as_json: bool,
    everything: bool,
    may_contact: bool,
) -> int:
    """Verifies and prints it; returns the exit code.

    0: a cause is confirmed, whether or not the prediction was right; 3: refuted or undecided.

    Raises:
        UsageError: nothing can be tried, and why.
    """
    if experiment.plan.watched is not None:
        raise UsageError(str(Obstacle("watched")))
    refuse_own_command(experiment)
    found = explained(experiment, trial, cell)
    attempts = chosen(found, cell, verdict)
    tried = try_all(experiment, attempts, looks, as_json=as_json, may_contact=may_contact)
    kept = read_explanation(experiment)
    if kept is not None:
        write_explanation(experiment, with_verifications(kept, experiment))
    wanted = attempts[0].cell.cell
    cells = [cell for cell in with_verifications(found, experiment).cells if cell.cell == wanted]
    print_found(found.model_copy(update={"cells": cells}), experiment, as_json=as_json, everything=everything)
    if summary := summary_of(tried):
        say(summary)
    return DONE if any(verification.outcome == "confirmed" for _, verification in tried) else DOUBTFUL


def try_all(
    experiment: Experiment, attempts: Sequence[Attempt], looks: Looks, *, as_json: bool, may_contact: bool = False
) -> list[tuple[Attempt, Verification]]:
    """Tries one after the other; what cannot be tried is left out, with the reason.

    Raises:
        UsageError: none can be tried; the reason of the first.
    """
    tried: list[tuple[Attempt, Verification]] = []
    refused: list[UsageError] = []
    if len(attempts) > 1:
        say(f"Trying {len(attempts)} changes one after the other; the same command resumes")
    for attempt in attempts:
        try:
            tried.append((attempt, verify(experiment, attempt, looks, as_json=as_json, may_contact=may_contact)))
            # All are measured on the same hosts.
            may_contact = True
        except NobodyToAskError:
            raise
        except UsageError as error:
            if len(attempts) > 1:
                say(f"Left out: {error}")
            refused.append(error)
    if not tried:
        raise refused[0]
    return tried


def ask_for_hosts(experiment: Experiment, target: Target) -> None:
    """Asks before anything is contacted that a result made elsewhere names: `target` is what is measured on.

    Raises:
        NobodyToAskError: there is no terminal.
        typer.Abort: the answer is no.
    """
    does = contacts_of(target)
    if not does or experiment.is_made_here:
        return
    what = visible(f"{experiment.folder} was not made here, or was changed since; verifying it {does}")
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise NobodyToAskError(f"{what}; give --yes if it may")
    typer.confirm(f"{what}. Go on?", abort=True, err=True)


def contacts_of(target: Target) -> str:
    """Where measuring on a target runs agents, by which pipe, and where it puts load; empty where that is this host.

    Each is named as it is reached, with the name that the plan has for it where that is another.
    """
    fleet = target.fleet
    addresses, destinations = ({}, {}) if fleet is None else (fleet.addresses, fleet.destinations)
    far = fleet.far if fleet is not None else () if target.host is None else target.host.split(",")

    def reached(host: str) -> str:
        return HERE if host == LOCAL else destinations.get(host, host)

    def named(host: str, place: str) -> str:
        name = HERE if host == LOCAL else host
        return place if place == name else f"{place} ({name})"

    agents = [named(host, reached(host)) for host in target.hosts if host is not None]
    if not agents and not any(host in addresses for host in far):
        return ""
    loads = [named(host, addresses.get(host, reached(host))) for host in dict.fromkeys(far)]
    does = []
    if agents:
        does.append(f"runs the agent on {_listed(agents)} by {'ssh' if fleet is None else fleet.via}")
    if loads:
        does.append(f"puts load on the {'path' if len(loads) == 1 else 'paths'} to {_listed(loads)}")
    return ", and ".join(does)


def _listed(names: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def refuse_own_command(experiment: Experiment) -> None:
    """Refuses to run a command of a result made elsewhere: `--via` of a plan may be any.

    Raises:
        UsageError: the plan reaches hosts by a command of its own.
    """
    fleet = experiment.plan.fleet
    if fleet is not None and fleet.via not in pipe_kinds.KINDS and not experiment.is_made_here:
        raise UsageError(
            f"{experiment.folder} was not made here, or was changed since, and reaches hosts by a command of its own "
            f"({quoted(fleet.via)}); measure them with `whyperf run` and your own --via"
        )


def refuse_other_files(experiment: Experiment, plan: Plan) -> None:
    """Refuses files that verifying sends, other than those that this user has sent for the result.

    Raises:
        UsageError: the first such file.
    """
    sent = sent_files(experiment.plan) if experiment.is_made_here else []
    for path in sent_files(plan):
        if path not in sent:
            raise UsageError(
                f"{experiment.folder} was not made here, or was changed since, and verifying it sends {path}; measure "
                "it with `whyperf run` and a profile of your own"
            )


def refuse_variables(experiment: Experiment, plan: Plan) -> None:
    """Refuses to send variables of this user's environment that a result made elsewhere names.

    Raises:
        UsageError: the first of them.
    """
    for name in () if experiment.is_made_here else plan.variables:
        raise UsageError(
            f"{experiment.folder} was not made here, or was changed since, and verifying it sends ${quoted(name)} of "
            "the environment; measure it with `whyperf run` and a profile of your own"
        )


def target_of(plan: Plan) -> Target | None:
    """What a plan is measured on; None on the model."""
    if plan.testbed.kind == "model":
        return None
    kind = Kind(plan.testbed.kind)
    return Target(kind, plan.target if kind is Kind.NETWORK else None, near=plan.near, fleet=plan.fleet)


def chosen(explanation: Explanation, cell: str | None, number: int | None) -> list[Attempt]:
    """What to try of `cell`, or of the only one: a verdict by its number from 1, or what `attempts_of` chooses.

    Raises:
        UsageError: there is none such, or no cell is named among several.
    """
    cells = [found for found in explanation.cells if cell in {None, found.cell}]
    if not cells:
        raise UsageError(f"{explanation.experiment} has no explained cell{f' {cell}' if cell else ''}")
    if len(cells) > 1:
        known = f"--cell {cells[0].cell}"
        raise UsageError(f"{explanation.experiment} has {len(cells)} cells; name one to try, such as {known}")
    verdicts = cells[0].verdicts
    if not verdicts:
        raise UsageError(f"cell {cells[0].cell} has no verdict to try")
    if number is None:
        return attempts_of(cells[0])
    if not 1 <= number <= len(verdicts):
        raise UsageError(f"--verdict {number}: cell {cells[0].cell} has {count(len(verdicts), 'verdict')}")
    return [Attempt(cells[0], number, verdicts[number - 1])]


def verify(
    experiment: Experiment, attempt: Attempt, looks: Looks, *, as_json: bool, may_contact: bool = False
) -> Verification:
    """Makes the pairs that are missing until it is decided, and judges.

    Asks before hosts of a result made elsewhere are contacted, unless `may_contact`.

    Raises:
        Stopped: it was interrupted.
        typer.Abort: the hosts may not be contacted.
        UsageError: the change cannot be tried from here, and what to do.
        RunError: a host cannot be reached, or nothing works; what was measured stays.
    """
    try:
        question, plan = _planned(experiment, attempt, looks.most)
    except Obstacle as obstacle:
        raise UsageError(str(obstacle)) from None
    assert attempt.verdict.change is not None
    factors = attempt.verdict.change.factors
    refuse_other_files(experiment, plan)
    refuse_variables(experiment, plan)
    target = target_of(plan)
    if target is not None and not may_contact:
        ask_for_hosts(experiment, target)
    for sentence in announcements(plan):
        say(sentence)
    folder = shown(folder_of(experiment, plan))
    most = f"at most {count(looks.most, 'pair')}" if looks.first < looks.most else count(looks.most, "pair")
    gain = gain_text(attempt.verdict)
    predicted = f" Predicted gain: {gain}." if gain else ""
    time = duration(TimeLeft(plan).seconds(trial.cell for trial in plan.trials()))
    say(f"Trying {attempt.name} with {change_text(factors)}, in {most} (about {time}); kept in {folder}.{predicted}")
    with interrupts.handled(held=True) as stops, Experiment.create(folder, plan, question.text) as verification:
        verified = Verified(
            experiment=experiment.name,
            cell=attempt.cell.cell,
            cause=attempt.verdict.cause,
            factors=factors,
            predicted_gain=attempt.verdict.predicted_gain,
            predicted_low=attempt.verdict.predicted_low,
            predicted_high=attempt.verdict.predicted_high,
            first_look=looks.first,
            rate=attempt.cell.transactions_per_s or attempt.cell.rate_bps,
            unit="bit/s" if attempt.cell.transactions_per_s is None else "transactions/s",
        )
        verified = keep(experiment, verification, verified)
        try:
            stops.release()
            _make(verification, verified, target, as_json=as_json)
        except KeyboardInterrupt:
            raise stopped(verification, named=True) from None
        except BaseException:
            verification.discard_if_empty()
            raise
        return verification_of(verification, verified)


def _planned(experiment: Experiment, attempt: Attempt, pairs: int) -> tuple[Profile, Plan]:
    """The question and the plan; what cannot be tried is refused before anything runs."""
    refuse_untriable(attempt.verdict, attempt.number, attempt.cell.verdicts)
    assert attempt.verdict.change is not None
    plan = experiment.plan
    refuse_other_path(attempt.verdict, plan)
    refuse_unwritable(experiment.folder)
    if plan.testbed.kind == "veth":
        kind, reason = allowed_kind(None)
        if kind is not Kind.VETH:
            raise Obstacle("no_testbed", problem=reason)
    if plan.testbed.kind != "model":
        refuse_other_host(plan, experiment.hosts().get("near"), describe_host(None))
    asked = parse(experiment.profile_text, name=plan.profile, where=str(experiment.folder))
    question = question_of(asked, plan, plan.cell(attempt.cell.cell), attempt.verdict.change.factors, pairs)
    verification = plan_of(question, plan)
    if verification.testbed.kind == "model":
        refuse_unknown(verification)
    return question, verification


class _UntilSettled:
    """Asked before each trial: whether the verification is open still. Judges after the blocks of a look."""

    def __init__(self, verification: Experiment, verified: Verified) -> None:
        self._verification = verification
        self._verified = verified
        self._looks = looks_of(verification.plan, verified).at
        self._block: int | None = None
        self._is_settled = False

    def __call__(self, trial: PlannedTrial, show: Callable[[str], None]) -> bool:
        """As `trials.Wants`."""
        if self._is_settled or trial.block == self._block:
            return not self._is_settled
        is_first, self._block = self._block is None, trial.block
        if is_first or trial.block - 1 in self._looks:
            found = judged(self._verification, self._verified)
            self._is_settled = found.is_settled
            if not self._is_settled and trial.block - 1 in self._looks:
                show(f"After {count(trial.block - 1, 'pair')}: {found.verification.words}")
        return not self._is_settled


def _make(verification: Experiment, verified: Verified, target: Target | None, *, as_json: bool) -> None:
    if target is None:
        for blocks in looks_of(verification.plan, verified).at:
            simulate_missing_trials(verification, as_json=as_json, blocks=blocks)
            if judged(verification, verified).is_settled:
                return
        return
    measure_missing_trials(verification, target, as_json=as_json, wants=_UntilSettled(verification, verified))


def shown(folder: Path) -> Path:
    """As a user would name it: relative where it lies below the working directory."""
    return folder.relative_to(Path.cwd()) if folder.is_relative_to(Path.cwd()) else folder
