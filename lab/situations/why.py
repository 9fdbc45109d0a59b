"""Judges `whyperf why` on drawn situations: experiments with each as drawn, disturbed as it was."""

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace

from lab.disturb.disturbances import Disturbance
from lab.disturb.disturber import Disturber, places_of
from lab.situations.figures import Shares, shares_of
from lab.situations.judge import LIMITS, UNDISTURBED, Outcome, outcome_of
from lab.situations.labels import RAISES_FROM, Label
from lab.truth import Catalog, roles_of
from lab.truth.levels import Explained, View
from whyperf.analyze import read_inputs, summarize
from whyperf.analyze.text import count, percent
from whyperf.cli.exits import Stopped, UsageError, say
from whyperf.cli.workflows.why import Measuring, find_why
from whyperf.cli.workflows.why_question import FirstLook, first_look, question_about
from whyperf.disturb.orders import Place
from whyperf.explain.causes import LOSS_KINDS, Cause
from whyperf.explain.experiments.answer import Why
from whyperf.explain.experiments.goals import Obstacle
from whyperf.plan import PlannedTrial
from whyperf.profile import Profile
from whyperf.record import Experiment
from whyperf.run import Kind, Observer, RunError, Session, Target, keep_places, run_plan

FILE = "why.json"
LEVEL = View.COUNTERS
"""Of the first look: what most hosts allow, without a log."""


@dataclass(frozen=True)
class JudgedWhy:
    """The findings of the experiments with one situation, and their worth.

    `known` is how its answer is known, and `gain` the printed one. `measured` is what removing the injected cause that
    was proved brought when it was labeled. `again` is the gain of a proof of what was not injected, but drawn with the
    path or the load, when it was measured again with trials as long as the first look: from `RAISES_FROM` on that is
    right, too.
    """

    situation: str
    main: str
    accepted: tuple[str, ...]
    counts: bool
    found: tuple[str, ...]
    known: str
    outcome: Outcome
    tried: str
    gain: float | None
    low: float | None
    high: float | None
    trials: int
    seconds: float
    ended: str
    before: tuple[str, ...]
    measured: float | None = None
    again: float | None = None


@dataclass(frozen=True)
class Measured:
    """Situations that were measured: their record, what they were asked with, and the labels of those not void."""

    experiment: Experiment
    profile: Profile
    catalog: Catalog
    labels: Mapping[str, Label]


def judge_why(measured: Measured, explained: Sequence[Explained], budget_s: float) -> list[JudgedWhy]:
    """Makes experiments with each situation that has a label, and judges their answers; what was judged is kept."""
    path = measured.experiment.folder / FILE
    kept = {row["situation"]: row for row in json.loads(path.read_text(encoding="utf-8"))} if path.exists() else {}
    disturbances = {role.sweep: role.disturbances for role in roles_of(measured.catalog)}
    summary, inputs = summarize(measured.experiment), read_inputs(measured.experiment)
    per_s = summary.transactions_per_s()
    done: list[JudgedWhy] = []
    firsts = {found.role.of: found for found in reversed(explained) if found.view is LEVEL}
    for found in reversed(firsts.values()):
        label = measured.labels.get(found.role.of)
        if label is None:
            continue
        name = label.situation.name
        if name not in kept:
            explanation = found.explanation.model_copy(update={"transactions_per_s": per_s.get(found.explanation.cell)})
            found = replace(found, explanation=explanation)  # noqa: PLW2901 - the same, with its transactions
            look = first_look(measured.experiment, summary, inputs, explanation)
            tried = _tried(measured, found, look, budget_s, disturbances.get(found.role.sweep, ()))
            if tried is None or (tried[0].original is None and tried[0].ended != "stopped"):
                # Not one trial of it was carried out as drawn: that says nothing of the answer.
                continue
            if tried[0].ended == "stopped":
                raise Stopped
            before = tuple(str(each.cause) for each in found.explanation.verdicts)
            kept[name] = asdict(judged_why(label, *tried, before))
            path.write_text(json.dumps(list(kept.values()), indent=1), encoding="utf-8")
        done.append(JudgedWhy(**kept[name]))
        say(f"{name}: {done[-1].known} {', '.join(done[-1].found)}: {done[-1].outcome} ({label.main})")
    return done


def _tried(
    measured: Measured, found: Explained, look: FirstLook, budget_s: float, disturbances: Sequence[Disturbance]
) -> tuple[Why, float | None] | None:
    """The answer; and where it proves what was not injected, the gain of that when it is measured again."""
    measuring = _disturbed(disturbances)
    try:
        question = question_about(
            measured.experiment, found.explanation, look, budget_s, allows_harm=True, profile=measured.profile
        )
        why = find_why(question, as_json=True, may_contact=True, measuring=measuring)
        if why.answer.known != "proved" or _injected(measured.labels[found.role.of], why):
            return why, None
        proved = [each for each in question.tries if each.name in why.answer.tried.split("+")]
        longer = question if question.longer is None else question.longer(budget_s)
        alone = replace(longer, tries=proved, longer=None)
        again = find_why(alone, as_json=True, may_contact=True, measuring=measuring)
    except (UsageError, RunError, Obstacle) as error:
        say(f"{found.role.of} is left out: {error}")
        return None
    return why, min((tried.gain for tried in again.tried), default=None)


def _injected(label: Label, why: Why) -> list[str]:
    """The injected causes that a proof takes away, by their names: those that set what it sets."""
    return [part.name for part in label.situation.ingredient if part.factors.keys() & why.answer.factors.keys()]


def _disturbed(disturbances: Sequence[Disturbance]) -> Measuring:
    def measure(made: Experiment, observer: Observer, wants: Callable[[PlannedTrial], bool]) -> None:
        with Session(made.plan, Target(Kind.VETH)) as session:

            def places(cell: str) -> Mapping[str, Place]:
                return places_of(session, made.plan.cell(cell))

            keep_places(session, made)
            disturber = Disturber(observer, {cell.id: disturbances for cell in made.plan.cells}, places)
            session.disturb = disturber.disturb
            run_plan(session, made, disturber, lambda _: None, wants)

    return measure


def judged_why(label: Label, why: Why, again: float | None, before: tuple[str, ...]) -> JudgedWhy:
    """Judges what the answer of experiments is worth; `before` are the causes that the evidence alone named."""
    answer, situation = why.answer, label.situation
    accepted = set(map(str, label.accepted if label.counts else UNDISTURBED | LIMITS.get(situation.group, frozenset())))
    if accepted & set(map(str, LOSS_KINDS)):
        accepted.add(str(Cause.PATH_LOSS))
    names = answer.causes
    if answer.known in {"not_known", "nothing_raises"}:
        names = [str(Cause.NOT_KNOWN), *names]
    elif answer.known == "nothing":
        names = [*names, str(Cause.CAPACITY)]
    if again is not None and again >= RAISES_FROM:
        accepted |= set(names)
    raises = [label.raises[name] for name in _injected(label, why) if name in label.raises]
    return JudgedWhy(
        situation.name,
        label.main,
        tuple(sorted(accepted)),
        label.counts,
        tuple(names),
        answer.known,
        outcome_of(names, accepted),
        answer.tried,
        answer.gain,
        answer.low,
        answer.high,
        why.trials,
        why.seconds,
        why.ended,
        before,
        max(raises, default=None),
        again,
    )


def print_why_judged(rows: Sequence[JudgedWhy]) -> None:
    """Prints how often the answers are right, by what is known and whether anything limits."""
    for title, of in (
        ("all", rows),
        ("counts", [r for r in rows if r.counts]),
        ("nothing", [r for r in rows if not r.counts]),
    ):
        if not of:
            continue
        by = Counter(row.outcome for row in of)
        known = Counter(row.known for row in of)
        say(
            f"{title}: {count(len(of), 'situation')}; "
            + ", ".join(f"{name} {percent(number / len(of))}" for name, number in by.most_common())
            + "; "
            + ", ".join(f"{name} {number}" for name, number in known.most_common())
        )
    own = [row for row in rows if row.again is not None]
    if own:
        right = sum(row.outcome == "right" for row in own)
        say(f"proved what was drawn, not injected: {len(own)}, of which {right} held when they were measured again")
    inside = [row for row in rows if row.known == "proved" and row.measured is not None]
    if inside:
        holds = sum((row.low or 0) <= (row.measured or 0) <= (row.high or 0) for row in inside)
        say(f"printed gains: {len(inside)}, of which {holds} intervals have what the removal brought")
    wrong = [row for row in rows if row.outcome == "wrong"]
    for row in wrong:
        say(f"wrong: {row.situation}: {row.known} {row.found[0]} by {row.tried or 'the evidence'} for {row.main}")


def why_shares(rows: Sequence[JudgedWhy]) -> Shares:
    """The share of each outcome."""
    return shares_of([row.outcome for row in rows])
