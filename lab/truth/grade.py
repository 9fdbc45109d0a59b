"""Compares the verdicts with the injected causes: one grade for each explained cell."""

from collections.abc import Mapping
from dataclasses import dataclass

from lab.truth.catalog import Catalog, CleanRun
from lab.truth.design import CellKind, Role, roles_of
from lab.truth.gains import Prediction, prediction_of
from whyperf.explain.causes import Cause
from whyperf.explain.explanation import CellExplanation, Explanation, Verdict
from whyperf.explain.states import ReceiverState, SenderState
from whyperf.plan import Plan

#: A dose counts when it lowers the rate by at least this ratio.
COUNTS_FROM = 0.15
UNKNOWN = {str(SenderState.UNKNOWN), str(ReceiverState.UNKNOWN)}


@dataclass(frozen=True)
class Chronographs:
    """The number of the kernel's clocks that were compared with the budgets, and of those that agree."""

    compared: int = 0
    agree: int = 0


@dataclass(frozen=True)
class Grade:
    """One explained cell.

    `causes` are the injected ones; for an undisturbed run, all causes that may be named. `lowered_by` is the lost share
    of the rate: for a dose compared with its baseline, for a pair the share lost to the cheaper cause in addition to
    the other. It is None where a rate is missing. `found` are the causes of the verdicts in their order. `closed_ratio`
    is the smallest share of a connection's time in known states, over connections and hosts. `prediction` is the gain
    that the first correct verdict on a dose predicts, where it can be compared; `unpredicted_because` says why there
    is none.
    """

    role: Role
    cell: str
    causes: tuple[Cause, ...]
    rate_bps: float | None
    without_bps: float | None
    lowered_by: float | None
    found: tuple[Cause, ...]
    headline: str
    closed_ratio: float | None
    chronographs: Chronographs
    missing: tuple[str, ...]
    prediction: Prediction | None = None
    unpredicted_because: str = ""

    @property
    def counts(self) -> bool:
        """True where the injected cause lowers the rate enough to be graded."""
        return self.lowered_by is not None and self.lowered_by >= COUNTS_FROM

    @property
    def is_not_known(self) -> bool:
        """True where the first verdict is "not known"."""
        return not self.found or self.found[0] is Cause.NOT_KNOWN

    @property
    def rank(self) -> int | None:
        """The number of the first correct verdict, from 1; None where none is correct."""
        return next((number for number, cause in enumerate(self.found, start=1) if cause in self.causes), None)

    @property
    def is_clean(self) -> bool:
        """True if the verdicts of an undisturbed run name only causes that may be named; no verdict is correct, too."""
        return all(cause in self.causes or cause is Cause.NOT_KNOWN for cause in self.found)

    def has_both(self, within: int) -> bool:
        """True where both causes of a pair are among the first `within` verdicts."""
        return set(self.causes) <= set(self.found[:within])


def grade(catalog: Catalog, plan: Plan, rates_bps: Mapping[str, float | None], explained: Explanation) -> list[Grade]:
    """Grades all explained cells of the plan that are in the catalog, in its order.

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
        if cell is None or explanation is None or not role.is_explained or role.kind is CellKind.SITUATION:
            continue
        without, causes = without_of(role, rates), causes_of(catalog, role)
        right = next((verdict for verdict in explanation.verdicts[:2] if verdict.cause in causes), None)
        baseline = factors.get(f"{role.of}-{CellKind.BASELINE}", {})
        grades.append(
            Grade(
                role=role,
                cell=cell,
                causes=causes,
                rate_bps=rates[role.sweep],
                without_bps=without,
                lowered_by=lowered_by(rates[role.sweep], without),
                found=tuple(verdict.cause for verdict in explanation.verdicts),
                headline=explanation.headline,
                closed_ratio=_closed_ratio(explanation),
                chronographs=_chronographs(explanation),
                missing=tuple(explanation.missing),
                prediction=_prediction(right, _gain(rates[role.sweep], without), role, baseline),
                unpredicted_because=right.unpredicted_because if right is not None else "",
            )
        )
    return grades


def causes_of(catalog: Catalog, role: Role) -> tuple[Cause, ...]:
    """The causes that a cell was given, or of an undisturbed run those that may be named."""
    for injection in catalog.injections:
        if injection.name == role.of:
            return injection.causes
    clean: dict[str, CleanRun] = {**catalog.baseline, **{run.name: run for run in catalog.undisturbed}}
    return clean[role.of].limits


def without_of(role: Role, rates: Mapping[str, float | None]) -> float | None:
    """The rate without the cause; for a pair, the lower of the two rates with one cause alone."""
    if role.kind is CellKind.UNDISTURBED:
        return None
    if role.kind is CellKind.DOSE:
        return rates.get(f"{role.of}-{CellKind.BASELINE}")
    alone = [rates.get(f"{role.of}-{part}") for part in (CellKind.FIRST, CellKind.SECOND)]
    known = [rate for rate in alone if rate is not None]
    return min(known) if len(known) == len(alone) else None


def lowered_by(rate: float | None, without: float | None) -> float | None:
    """The part of the rate without a cause that the cause takes."""
    return None if rate is None or not without else 1 - rate / without


def _gain(rate: float | None, without: float | None) -> float | None:
    return without / rate if rate and without else None


def _prediction(
    right: Verdict | None, measured: float | None, role: Role, baseline: Mapping[str, object]
) -> Prediction | None:
    """The gain that `right`, the correct one of the first two verdicts, predicts for a dose that counts."""
    if role.kind is not CellKind.DOSE or measured is None or measured < 1 / (1 - COUNTS_FROM):
        return None
    return prediction_of(right, measured, role.own, baseline)


def _closed_ratio(explanation: CellExplanation) -> float | None:
    """The smallest share in known states of any budget; None without a budget."""
    return min((1 - budget.ratio(*UNKNOWN) for budget in explanation.budgets), default=None)


def _chronographs(explanation: CellExplanation) -> Chronographs:
    compared = [clock for budget in explanation.budgets for clock in budget.chronographs]
    return Chronographs(len(compared), sum(clock.agrees for clock in compared))
