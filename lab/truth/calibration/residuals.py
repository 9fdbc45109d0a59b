"""The claims of verdicts in truth experiments, and the truth: the data of the calibration of gains and confidence.

Each explained trial gives one `Claimed` per verdict, at its evidence level: whether the cause is one that was injected,
and by how much the predicted gain missed the measured one. Predictions are those of the model of limits alone, so that
a calibration is made from the same figures that it corrects.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import log

from lab.truth.catalog import Catalog
from lab.truth.design import CellKind, Role, roles_of
from lab.truth.gains import restores
from lab.truth.grade import causes_of
from lab.truth.levels import View, trials_of, truth_of, with_path_loss
from lab.truth.situation import Situation
from whyperf.explain.causes import Cause
from whyperf.explain.experiment import TrialQuestion
from whyperf.explain.explanation import CellExplanation, JointGain, Verdict
from whyperf.record import LOST, Experiment

NOT_EXPLAINED = frozenset({CellKind.BASELINE, CellKind.WITHOUT, CellKind.CONTROL})
"""Cells that only say what a cause costs."""
NOT_CAUSES = frozenset({Cause.NOT_KNOWN, Cause.CAPACITY})


@dataclass(frozen=True)
class Claimed:
    """A verdict of an explained trial, or a joint gain.

    Attributes:
        source: the record.
        situation: the experiment of the catalog and its dose, whatever record it is from.
        level: segments, counters or user.
        number: of the verdict, from 1; 0 for a joint gain.
        code: of the verdict's sentence; "joint" for a joint gain.
        cause: of the verdict.
        basis: what its gain was predicted from.
        certainty: as its rule estimates it.
        is_right: whether the cause was injected; None where that is not graded.
        model_gain: as the model of limits predicts it.
        measured_gain: the rate without the cause over the rate with it; None where the record does not have it.
        low: of the printed interval, and `high` likewise; None where none is printed.
    """

    source: str
    situation: str
    level: str
    number: int
    code: str
    cause: str
    basis: str
    certainty: float | None
    is_right: bool | None
    model_gain: float | None
    measured_gain: float | None
    predicted_gain: float | None
    low: float | None
    high: float | None
    confidence: str = ""

    @property
    def residual(self) -> float | None:
        """The logarithm of the measured gain over the one of the model."""
        if not self.model_gain or not self.measured_gain:
            return None
        return log(self.measured_gain / self.model_gain)


VIEWS = (View.SEGMENTS, View.COUNTERS, View.USER)
"""The levels that have tables of their own."""


def claims_in(
    experiment: Experiment, catalog: Catalog, rates_bps: Mapping[str, float | None], views: Sequence[View] = VIEWS
) -> Iterator[Claimed]:
    """All claims of the record of a truth experiment."""
    record = _Record(experiment, catalog, rates_bps)
    complete = [name for name, found in experiment.trials().manifests.items() if found.status not in LOST]
    for role in roles_of(catalog):
        cell = record.cells.get(role.sweep)
        if cell is None or role.kind in NOT_EXPLAINED:
            continue
        for view in views:
            for trial in trials_of(experiment.plan, complete, cell.id, view):
                rate = rates_bps.get(cell.id)
                asked = TrialQuestion(cell.id, trial, rate=rate, by_plan=False, levels=view.levels)
                yield from record.claims(role, view, asked.answer(experiment))


class _Record:
    """A truth experiment with the rates of its cells."""

    def __init__(self, experiment: Experiment, catalog: Catalog, rates_bps: Mapping[str, float | None]) -> None:
        self.cells = {cell.sweep: cell for cell in experiment.plan.cells}
        self._name, self._catalog = experiment.name, catalog
        self._situations = {situation.name: situation for situation in catalog.situation}
        self._rates = {sweep: rates_bps.get(cell.id) for sweep, cell in self.cells.items()}

    def claims(self, role: Role, view: View, found: CellExplanation) -> Iterator[Claimed]:
        """The claims of an explained trial of the cell."""
        situation, level, accepted = f"{role.of}-{role.kind}{role.dose or ''}", str(view), self._accepted(role)
        if accepted is not None:
            accepted = with_path_loss(accepted, view, found.verdicts)
        for number, verdict in enumerate(found.verdicts, start=1):
            yield Claimed(
                source=self._name,
                situation=situation,
                level=level,
                number=number,
                code=verdict.code,
                cause=str(verdict.cause),
                basis=verdict.predicted_basis.code if verdict.predicted_basis else "",
                certainty=verdict.certainty,
                is_right=None if accepted is None else str(verdict.cause) in accepted,
                model_gain=verdict.model_gain,
                measured_gain=self._measured(role, verdict),
                predicted_gain=verdict.predicted_gain,
                low=verdict.predicted_low,
                high=verdict.predicted_high,
                confidence=verdict.confidence,
            )
        for joint in found.joint:
            yield self._joint(role, situation, level, joint)

    def _accepted(self, role: Role) -> tuple[str, ...] | None:
        """The causes that are right to name; None where what was injected hardly costs anything."""
        accepted, counts, _ = truth_of(self._catalog, self._situations.get(role.of), role, self._rates)
        return accepted if counts or role.kind is CellKind.BOTH else None

    def _measured(self, role: Role, verdict: Verdict) -> float | None:
        """The effect of removing the verdict's cause in the record; None where it has no such cell."""
        if verdict.cause in NOT_CAUSES or self._accepted(role) is None:
            return None
        if (situation := self._situations.get(role.of)) is not None:
            return self._without_ingredient(situation, role, verdict)
        causes = causes_of(self._catalog, role)
        if verdict.cause not in causes:
            return None
        if role.kind is CellKind.BOTH:
            return self._gain(role, f"{role.of}-{CellKind.SECOND if verdict.cause == causes[0] else CellKind.FIRST}")
        baseline = f"{role.of}-{CellKind.BASELINE}"
        if baseline not in self.cells or not restores(verdict, role.own, self.cells[baseline].factors):
            return None
        return self._gain(role, baseline)

    def _without_ingredient(self, situation: Situation, role: Role, verdict: Verdict) -> float | None:
        """The gain of the same situation without the ingredient of that cause, where the change does just that."""
        for number, ingredient in enumerate(situation.ingredient, start=1):
            sweep = f"{role.of}-{CellKind.WITHOUT}{number}"
            if str(verdict.cause) in ingredient.causes and sweep in self.cells:
                is_same = restores(verdict, ingredient.factors, self.cells[sweep].factors)
                return self._gain(role, sweep) if is_same else None
        return None

    def _gain(self, role: Role, other: str) -> float | None:
        now, then = self._rates.get(role.sweep), self._rates.get(other)
        return then / now if now and then else None

    def _joint(self, role: Role, situation: str, level: str, joint: JointGain) -> Claimed:
        return Claimed(
            source=self._name,
            situation=situation,
            level=level,
            number=0,
            code="joint",
            cause="+".join(map(str, joint.causes)),
            basis=joint.basis,
            certainty=None,
            is_right=None,
            model_gain=joint.model_gain,
            measured_gain=self._without_all(role, joint),
            predicted_gain=joint.gain,
            low=joint.low,
            high=joint.high,
        )

    def _without_all(self, role: Role, joint: JointGain) -> float | None:
        """The gain of a cell of the record without any of the causes, where these are all that were injected."""
        named = {str(cause) for cause in joint.causes}
        if (situation := self._situations.get(role.of)) is not None:
            are_all = len(named) == len(situation.ingredient) and all(
                named & set(ingredient.causes) for ingredient in situation.ingredient
            )
            return self._gain(role, f"{role.of}-{CellKind.CONTROL}") if are_all else None
        if role.kind is not CellKind.BOTH or named != set(map(str, causes_of(self._catalog, role))):
            return None
        pair = next(pair for pair in self._catalog.pair if pair.name == role.of)
        wanted = dict(self._catalog.baseline[pair.baseline].factors)
        sweeps = (other.sweep for other in roles_of(self._catalog) if dict(other.factors) == wanted)
        return next((gain for sweep in sweeps if (gain := self._gain(role, sweep))), None)
