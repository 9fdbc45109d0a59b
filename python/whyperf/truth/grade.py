"""What was put there beside what was explained: one grade for each explained cell."""

from collections.abc import Mapping
from dataclasses import dataclass

from whyperf.explain.causes import Cause
from whyperf.explain.model import CellExplanation, Explanation, Verdict
from whyperf.explain.states import ReceiverState, SenderState
from whyperf.plan import Plan
from whyperf.truth.catalog import Catalog, Quiet
from whyperf.truth.design import Part, Role, roles_of
from whyperf.truth.gains import Prediction, prediction_of

#: A dose counts when it lowers the rate by so much.
COUNTS_FROM = 0.15
UNKNOWN = {str(SenderState.UNKNOWN), str(ReceiverState.UNKNOWN)}


@dataclass(frozen=True)
class Chronographs:
    """How many of the kernel's clocks were compared with the budgets, and how many agree."""

    compared: int = 0
    agree: int = 0


@dataclass(frozen=True)
class Grade:
    """One explained cell.

    `causes` is what was put there; of an undisturbed run, all that may be named. `lowered_by` is the part of the
    rate that it took: of a dose against its baseline, of a pair what the lesser of the two takes beside the other;
    None where a rate is missing. `told` are the causes of the verdicts in their order. `closed_ratio` is the least
    part of a connection's life that is in named states, over connections and ends. `prediction` is what the first right
    verdict on a dose foretold, where that can be compared; `unpredicted_because` is why it predicted nothing.
    """

    role: Role
    cell: str
    causes: tuple[Cause, ...]
    rate_bps: float | None
    without_bps: float | None
    lowered_by: float | None
    told: tuple[Cause, ...]
    headline: str
    closed_ratio: float | None
    chronographs: Chronographs
    missing: tuple[str, ...]
    prediction: Prediction | None = None
    unpredicted_because: str = ""

    @property
    def counts(self) -> bool:
        """Whether what was put there lowers the rate enough to be asked for."""
        return self.lowered_by is not None and self.lowered_by >= COUNTS_FROM

    @property
    def is_not_known(self) -> bool:
        """Whether the explanation says that it does not know."""
        return not self.told or self.told[0] is Cause.NOT_KNOWN

    @property
    def rank(self) -> int | None:
        """Which verdict is the first that is right, counted from 1; None where none is."""
        return next((number for number, cause in enumerate(self.told, start=1) if cause in self.causes), None)

    @property
    def is_clean(self) -> bool:
        """Of an undisturbed run: whether nothing is named but what may be; saying nothing blames nothing."""
        return all(cause in self.causes or cause is Cause.NOT_KNOWN for cause in self.told)

    def has_both(self, within: int) -> bool:
        """Of a pair: whether both causes are among the first so many verdicts."""
        return set(self.causes) <= set(self.told[:within])


def grade(catalog: Catalog, plan: Plan, rates_bps: Mapping[str, float | None], explained: Explanation) -> list[Grade]:
    """All explained cells of the plan that the catalog knows, in its order.

    `rates_bps` are the medians of the trials without the log, by cell.
    """
    cells = {cell.sweep: cell.id for cell in plan.cells}
    explanations = {cell.cell: cell for cell in explained.cells}
    rates = {sweep: rates_bps.get(cell) for sweep, cell in cells.items()}
    factors = {cell.sweep: cell.factors for cell in plan.cells}
    grades = []
    for role in roles_of(catalog):
        cell = cells.get(role.sweep)
        explanation = explanations.get(cell or "")
        if cell is None or explanation is None or not role.is_explained:
            continue
        without, causes = _without(role, rates), _causes(catalog, role)
        right = next((one for one in explanation.verdicts[:2] if one.cause in causes), None)
        baseline = factors.get(f"{role.of}-{Part.BASELINE}", {})
        grades.append(
            Grade(
                role=role,
                cell=cell,
                causes=causes,
                rate_bps=rates[role.sweep],
                without_bps=without,
                lowered_by=_lowered_by(rates[role.sweep], without),
                told=tuple(verdict.cause for verdict in explanation.verdicts),
                headline=explanation.headline,
                closed_ratio=_closed_ratio(explanation),
                chronographs=_chronographs(explanation),
                missing=tuple(explanation.missing),
                prediction=_prediction(right, _gain(rates[role.sweep], without), role, baseline),
                unpredicted_because=right.unpredicted_because if right is not None else "",
            )
        )
    return grades


def _causes(catalog: Catalog, role: Role) -> tuple[Cause, ...]:
    for put in catalog.put:
        if put.name == role.of:
            return put.causes
    quiet: dict[str, Quiet] = {**catalog.baseline, **{one.name: one for one in catalog.undisturbed}}
    return quiet[role.of].limits


def _without(role: Role, rates: Mapping[str, float | None]) -> float | None:
    """The rate without the cause; of a pair, the lesser of the rates with one of its causes alone."""
    if role.part is Part.UNDISTURBED:
        return None
    if role.part is Part.DOSE:
        return rates.get(f"{role.of}-{Part.BASELINE}")
    alone = [rates.get(f"{role.of}-{part}") for part in (Part.FIRST, Part.SECOND)]
    known = [rate for rate in alone if rate is not None]
    return min(known) if len(known) == len(alone) else None


def _lowered_by(rate: float | None, without: float | None) -> float | None:
    return None if rate is None or not without else 1 - rate / without


def _gain(rate: float | None, without: float | None) -> float | None:
    return without / rate if rate and without else None


def _prediction(
    right: Verdict | None, measured: float | None, role: Role, baseline: Mapping[str, object]
) -> Prediction | None:
    """Of a dose that counts: what `right`, the first right one of its first two verdicts, foretold."""
    if role.part is not Part.DOSE or measured is None or measured < 1 / (1 - COUNTS_FROM):
        return None
    return prediction_of(right, measured, role.own, baseline)


def _closed_ratio(explanation: CellExplanation) -> float | None:
    """The least named part of any budget; None without one."""
    return min((1 - budget.ratio(*UNKNOWN) for budget in explanation.budgets), default=None)


def _chronographs(explanation: CellExplanation) -> Chronographs:
    compared = [clock for budget in explanation.budgets for clock in budget.chronographs]
    return Chronographs(len(compared), sum(clock.agrees for clock in compared))
