"""Tests the verification: measures the changes that verdicts propose, and changes that cannot help.

Both are measured interleaved with the unchanged dose and judged like `whyperf explain --verify`. The claims come from
the explanation, and the plan from the claims. `Progress` says which trials are still needed.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Literal

from lab.truth.catalog import Catalog, TriedDose
from lab.truth.design import INTERVAL_MS, PHASES, CellKind, Role
from lab.truth.grade import Grade
from whyperf.explain.causes import Cause
from whyperf.explain.model import CellExplanation, Explanation, Verification
from whyperf.explain.verify import Judged, Looks, Pair, PredictedGain, judge
from whyperf.explain.wording.verifications import change_text
from whyperf.plan import Plan, PlannedTrial, build
from whyperf.plan.blocks import permutation
from whyperf.plan.model import identify
from whyperf.profile import Design, Factors, Profile, ProfileError, Sweep

NAME = "truth-verify"
#: The pairs of trials that `whyperf explain --verify` takes.
LOOKS = Looks(6, 16)

Side = Literal["right", "wrong"]
SIDES: tuple[Side, ...] = ("right", "wrong")
ORIGINAL = "original"


@dataclass(frozen=True)
class Claim:
    """A verdict to verify: the first correct one of its dose, its change, and a change that cannot help.

    Where there is nothing to verify, `obstacle` says why, and there is no change.
    """

    role: Role
    tried: TriedDose
    cause: Cause | None = None
    right: Factors = field(default_factory=dict)
    predicted: PredictedGain = field(default_factory=PredictedGain)
    obstacle: str = ""

    def change(self, side: Side) -> Factors:
        """The factors that a side changes."""
        return self.right if side == "right" else self.tried.wrong

    def sweep(self, which: str) -> str:
        """The name of the sweep of a cell in the plan: the original or a side."""
        return f"{self.role.sweep}-{which}"


@dataclass(frozen=True)
class Proof:
    """The verifications of the right and the wrong change of a claim; None where nothing was measured."""

    claim: Claim
    right: Verification | None
    wrong: Verification | None

    @property
    def error(self) -> float | None:
        """The error of the predicted gain as a ratio of the measured one."""
        if self.right is None or self.right.predicted_gain is None or not self.right.measured_gain:
            return None
        return abs(self.right.predicted_gain / self.right.measured_gain - 1)


def claims_of(catalog: Catalog, grades: Sequence[Grade], explained: Explanation) -> list[Claim]:
    """The claims of all doses that the catalog lists under `tried` and that lower the rate enough, in its order."""
    cells = {cell.cell: cell for cell in explained.cells}
    tried = {(entry.name, dose.dose): dose for entry in catalog.entry for dose in entry.tried}
    found = []
    for grade in grades:
        dose = tried.get((grade.role.of, grade.role.dose))
        if dose is not None and grade.role.kind is CellKind.DOSE and grade.counts:
            found.append(_claim(catalog, grade, dose, cells[grade.cell]))
    return found


def _claim(catalog: Catalog, grade: Grade, tried: TriedDose, cell: CellExplanation) -> Claim:
    verdict = next((verdict for verdict in cell.verdicts if verdict.cause in grade.causes), None)
    if verdict is None:
        return Claim(grade.role, tried, obstacle="no verdict is correct")
    if verdict.change is None or not verdict.change.factors:
        return Claim(grade.role, tried, verdict.cause, obstacle="its change can only be made by hand")
    predicted = PredictedGain(verdict.predicted_gain, verdict.predicted_low, verdict.predicted_high)
    claim = Claim(grade.role, tried, verdict.cause, dict(verdict.change.factors), predicted)
    try:
        build(_profile(catalog, [claim], 1, 1))
    except ProfileError as error:
        return Claim(grade.role, tried, verdict.cause, obstacle=f"it cannot be planned: {error.problem}")
    return claim


def plan_proving(
    catalog: Catalog, claims: Iterable[Claim], *, seed: int = 1, looks: Looks = LOOKS
) -> tuple[Profile, Plan] | None:
    """The experiment that verifies the claims; None where there is nothing to verify.

    A block is one claim: the unchanged dose, the dose with the right change and with the wrong one, in random order.
    Each repetition measures all claims in random order. There are at most `looks.most` repetitions.
    """
    possible = [claim for claim in claims if not claim.obstacle]
    if not possible:
        return None
    profile = _profile(catalog, possible, seed, looks.most)
    plan = build(profile)
    cell_of = {cell.sweep: cell.id for cell in plan.cells}
    blocks: list[tuple[str, ...]] = []
    for repetition in range(1, looks.most + 1):
        rng = Random(f"truth verification {repetition} of seed {seed}")
        for number in permutation([str(number) for number in range(len(possible))], rng):
            cells = [cell_of[possible[int(number)].sweep(which)] for which in (ORIGINAL, *SIDES)]
            blocks.append(tuple(permutation(cells, rng)))
    plan = plan.model_copy(update={"blocks": tuple(blocks)})
    identifier = identify(plan)
    return profile, plan.model_copy(update={"id": identifier, "experiment": f"{NAME}-{identifier[:6]}"})


def _profile(catalog: Catalog, claims: Sequence[Claim], seed: int, trials: int) -> Profile:
    sweeps = []
    for claim in claims:
        phases = {} if "transfer_bytes" in claim.role.factors else PHASES
        original = phases | claim.role.factors
        changes: dict[str, Factors] = {ORIGINAL: {}} | {side: claim.change(side) for side in SIDES}
        sweeps += [Sweep(claim.sweep(which), original | change, {}, trials, (), 0) for which, change in changes.items()]
    return Profile(
        name=NAME,
        where="the catalog of truth experiments",
        text="",
        about="The changes that verdicts propose, changes that cannot help, and the unchanged doses.",
        seed=seed,
        kind="veth",
        fixed={"interval_ms": INTERVAL_MS},
        design=Design(trials=trials),
        sweeps=tuple(sweeps),
        workloads=catalog.workloads,
    )


class Progress:
    """The trials of the claims measured so far, those still needed, and the results."""

    def __init__(
        self,
        plan: Plan,
        claims: Sequence[Claim],
        rate_of: Callable[[str], float | None],
        missing: Iterable[PlannedTrial],
        looks: Looks = LOOKS,
    ) -> None:
        """Of a plan of these claims; `rate_of` returns the rate of a trial by its name, or None where it has none."""
        self._claims = [claim for claim in claims if not claim.obstacle]
        self._all = claims
        self._rate_of = rate_of
        self._looks = looks
        cell_of = {cell.sweep: cell.id for cell in plan.cells}
        self._claim_of = {
            cell_of[claim.sweep(which)]: (claim, which) for claim in self._claims for which in (ORIGINAL, *SIDES)
        }
        unmeasured = {trial.id for trial in missing}
        self._measured: set[str] = set()
        #: The names of a claim's trials in each repetition.
        self._rounds: dict[str, list[dict[str, str]]] = {claim.role.sweep: [] for claim in self._claims}
        block = 0
        for trial in plan.trials():
            claim, which = self._claim_of[trial.cell]
            rounds = self._rounds[claim.role.sweep]
            if trial.block != block:
                rounds.append({})
                block = trial.block
            rounds[-1][which] = trial.id
            if trial.id not in unmeasured:
                self._measured.add(trial.id)

    def on_measured(self, trial: str) -> None:
        """Records that a trial was measured, with a result or without."""
        self._measured.add(trial)

    def is_needed(self, trial: PlannedTrial) -> bool:
        """Whether the trial is needed: its side is not settled, or, for an original, at least one side."""
        claim, which = self._claim_of[trial.cell]
        sides = SIDES if which == ORIGINAL else tuple(side for side in SIDES if side == which)
        return not all(self._judged(claim, side).is_settled for side in sides)

    def proofs(self) -> list[Proof]:
        """The results of all claims."""
        return [self._proof(claim) for claim in self._all]

    def _proof(self, claim: Claim) -> Proof:
        if claim.obstacle:
            return Proof(claim, None, None)
        return Proof(claim, *(self._judged(claim, side).verification for side in SIDES))

    def _judged(self, claim: Claim, side: Side) -> Judged:
        pairs, tried = [], 0
        for number, trials in enumerate(self._rounds[claim.role.sweep], start=1):
            if not self._measured.issuperset({trials[ORIGINAL], trials[side]}):
                break
            tried = number
            original, changed = self._rate_of(trials[ORIGINAL]), self._rate_of(trials[side])
            if original and changed:
                pairs.append(Pair(number, original, changed))
        change = change_text(claim.change(side))
        return judge(pairs, claim.predicted, self._looks, tried=tried, change=change)


def outcomes(proofs: Sequence[Proof], side: Side) -> Mapping[str, int]:
    """How often each outcome occurred."""
    found: dict[str, int] = {}
    for proof in proofs:
        verification = proof.right if side == "right" else proof.wrong
        if verification is not None:
            found[verification.outcome] = found.get(verification.outcome, 0) + 1
    return found
