"""What verdicts claimed in truth experiments, and what was true: the data of the calibration of gains and confidence.

Each explained trial gives one `Claimed` per verdict, at its evidence level: whether the cause is one that was injected,
and by how much the predicted gain missed the measured one. Predictions are those of the model of limits alone, so that
a calibration is made from the same figures that it corrects.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import log

from whyperf.explain.causes import Cause
from whyperf.explain.experiment import explain_trial
from whyperf.explain.model import CellExplanation, JointGain, Verdict
from whyperf.plan import LOG_PREFIX
from whyperf.record import LOST, Experiment
from whyperf.truth.catalog import Catalog
from whyperf.truth.design import CellKind, Role, roles_of
from whyperf.truth.gains import restores
from whyperf.truth.grade import COUNTS_FROM, causes_of

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


def claims_in(
    experiment: Experiment, catalog: Catalog, rates_bps: Mapping[str, float | None], levels: Sequence[str] = ()
) -> Iterator[Claimed]:
    """All claims of the record of a truth experiment, of `levels` or of all."""
    record = _Record(experiment, catalog, rates_bps)
    trials = _trials_of(experiment)
    for role in roles_of(catalog):
        cell = record.cells.get(role.sweep)
        if cell is None or role.kind is CellKind.BASELINE:
            continue
        for level, trial in trials.get(cell.id, {}).items():
            if not levels or level in levels:
                rate = rates_bps.get(cell.id)
                found = explain_trial(experiment, cell.id, trial, rate=rate, one_machine=True, by_plan=False)
                yield from record.claims(role, level, found)


def _trials_of(experiment: Experiment) -> dict[str, dict[str, str]]:
    """A whole trial of each cell and evidence level."""
    found: dict[str, dict[str, str]] = {}
    for name, manifest in sorted(experiment.trials().manifests.items()):
        if manifest.status not in LOST:
            level = "segments" if name.startswith(LOG_PREFIX) else "counters"
            found.setdefault(manifest.cell, {}).setdefault(level, name)
    return found


class _Record:
    """A truth experiment with the rates of its cells."""

    def __init__(self, experiment: Experiment, catalog: Catalog, rates_bps: Mapping[str, float | None]) -> None:
        self.cells = {cell.sweep: cell for cell in experiment.plan.cells}
        self._name, self._catalog = experiment.name, catalog
        self._rates = {sweep: rates_bps.get(cell.id) for sweep, cell in self.cells.items()}

    def claims(self, role: Role, level: str, found: CellExplanation) -> Iterator[Claimed]:
        """What an explained trial of the cell claims."""
        situation, is_graded = f"{role.of}-{role.kind}{role.dose or ''}", self._is_graded(role)
        causes = causes_of(self._catalog, role)
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
                is_right=verdict.cause in causes if is_graded else None,
                model_gain=verdict.model_gain,
                measured_gain=self._measured(role, verdict),
                predicted_gain=verdict.predicted_gain,
                low=verdict.predicted_low,
                high=verdict.predicted_high,
                confidence=verdict.confidence,
            )
        for joint in found.joint:
            yield self._joint(role, situation, level, joint)

    def _is_graded(self, role: Role) -> bool:
        """Whether it is known what limits the cell: an undisturbed run, or causes that cost enough."""
        if role.kind is not CellKind.DOSE:
            return role.kind in {CellKind.UNDISTURBED, CellKind.BOTH}
        now, without = self._rates.get(role.sweep), self._rates.get(f"{role.of}-{CellKind.BASELINE}")
        return bool(now and without) and (now or 0.0) <= (1 - COUNTS_FROM) * (without or 0.0)

    def _measured(self, role: Role, verdict: Verdict) -> float | None:
        """What removing the verdict's cause brought in the record; None where it has no such cell."""
        causes = causes_of(self._catalog, role)
        if verdict.cause not in causes or verdict.cause in NOT_CAUSES or not self._is_graded(role):
            return None
        if role.kind is CellKind.BOTH:
            return self._gain(role, f"{role.of}-{CellKind.SECOND if verdict.cause == causes[0] else CellKind.FIRST}")
        baseline = f"{role.of}-{CellKind.BASELINE}"
        if baseline not in self.cells or not restores(verdict, role.own, self.cells[baseline].factors):
            return None
        return self._gain(role, baseline)

    def _gain(self, role: Role, other: str) -> float | None:
        now, then = self._rates.get(role.sweep), self._rates.get(other)
        return then / now if now and then else None

    def _joint(self, role: Role, situation: str, level: str, joint: JointGain) -> Claimed:
        is_pair = role.kind is CellKind.BOTH and set(joint.causes) == set(causes_of(self._catalog, role))
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
            measured_gain=self._without_both(role) if is_pair else None,
            predicted_gain=joint.gain,
            low=joint.low,
            high=joint.high,
        )

    def _without_both(self, role: Role) -> float | None:
        """The gain of a cell of the record that is the pair's baseline."""
        pair = next(pair for pair in self._catalog.pair if pair.name == role.of)
        wanted = dict(self._catalog.baseline[pair.baseline].factors)
        sweeps = (other.sweep for other in roles_of(self._catalog) if dict(other.factors) == wanted)
        return next((gain for sweep in sweeps if (gain := self._gain(role, sweep))), None)
