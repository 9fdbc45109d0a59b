"""Whether verifying tells right from wrong: the verdicts of some doses are tried, and so is a change that cannot help.

Both are measured interleaved with the dose as it is, and judged as `whyperf explain --verify` judges. Claims come from
the explanation, the plan from the claims; who measures asks `Progress` which trials are wanted still.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Literal

from whyperf.explain.causes import Cause
from whyperf.explain.model import CellExplanation, Explanation, Verification
from whyperf.explain.verify import Judged, Looks, Pair, PredictedGain, judge
from whyperf.explain.wording.verifications import change_text
from whyperf.plan import Plan, PlannedTrial, build
from whyperf.plan.blocks import permutation
from whyperf.plan.model import identify
from whyperf.profile import Design, Factors, Profile, ProfileError, Sweep
from whyperf.truth.catalog import Catalog, Tried
from whyperf.truth.design import INTERVAL_MS, PHASES, Part, Role
from whyperf.truth.grade import Grade

NAME = "truth-verify"
#: As many as `whyperf explain --verify` takes.
LOOKS = Looks(6, 16)

Side = Literal["right", "wrong"]
SIDES: tuple[Side, ...] = ("right", "wrong")
ORIGINAL = "original"


@dataclass(frozen=True)
class Claim:
    """A verdict that is tried: the first of its dose that is right, its change, and one that cannot help.

    Where there is nothing to try, `obstacle` says why, and there is no change.
    """

    role: Role
    tried: Tried
    cause: Cause | None = None
    right: Factors = field(default_factory=dict)
    predicted: PredictedGain = field(default_factory=PredictedGain)
    obstacle: str = ""

    def change(self, side: Side) -> Factors:
        """What is changed of the dose."""
        return self.right if side == "right" else self.tried.wrong

    def sweep(self, which: str) -> str:
        """The name of a cell's sweep in the plan: of the original or of a side."""
        return f"{self.role.sweep}-{which}"


@dataclass(frozen=True)
class Proof:
    """What came of a claim: the verification of the right change and of the wrong one; None where nothing was tried."""

    claim: Claim
    right: Verification | None
    wrong: Verification | None

    @property
    def error(self) -> float | None:
        """By what part the predicted gain misses the measured one."""
        if self.right is None or self.right.predicted_gain is None or not self.right.measured_gain:
            return None
        return abs(self.right.predicted_gain / self.right.measured_gain - 1)


def claims_of(catalog: Catalog, grades: Sequence[Grade], explained: Explanation) -> list[Claim]:
    """The claims of all doses that the catalog has tried and that lower the rate enough, in its order."""
    cells = {cell.cell: cell for cell in explained.cells}
    tried = {(entry.name, one.dose): one for entry in catalog.entry for one in entry.tried}
    found = []
    for grade in grades:
        one = tried.get((grade.role.of, grade.role.dose))
        if one is not None and grade.role.part is Part.DOSE and grade.counts:
            found.append(_claim(catalog, grade, one, cells[grade.cell]))
    return found


def _claim(catalog: Catalog, grade: Grade, tried: Tried, cell: CellExplanation) -> Claim:
    verdict = next((one for one in cell.verdicts if one.cause in grade.causes), None)
    if verdict is None:
        return Claim(grade.role, tried, obstacle="no verdict is right")
    if verdict.change is None or not verdict.change.factors:
        return Claim(grade.role, tried, verdict.cause, obstacle="its change is made by hand only")
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
    """The experiment that tries the claims; None where there is nothing to try.

    A block is a claim: the dose as it is, with the right change and with the wrong one, in random order. All claims
    follow each other in random order, then all of them again, up to the most of `looks`.
    """
    possible = [claim for claim in claims if not claim.obstacle]
    if not possible:
        return None
    profile = _profile(catalog, possible, seed, looks.most)
    plan = build(profile)
    cell_of = {cell.sweep: cell.id for cell in plan.cells}
    blocks: list[tuple[str, ...]] = []
    for repetition in range(1, looks.most + 1):
        generator = Random(f"truth verification {repetition} of seed {seed}")
        for number in permutation([str(number) for number in range(len(possible))], generator):
            cells = [cell_of[possible[int(number)].sweep(which)] for which in (ORIGINAL, *SIDES)]
            blocks.append(tuple(permutation(cells, generator)))
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
        about="Changes that verdicts name, and wrong ones, beside what they were told of.",
        seed=seed,
        kind="veth",
        fixed={"interval_ms": INTERVAL_MS},
        design=Design(trials=trials),
        sweeps=tuple(sweeps),
        workloads=catalog.workloads,
    )


class Progress:
    """What was measured of the claims so far: which trials are wanted still, and what comes of them."""

    def __init__(
        self,
        plan: Plan,
        claims: Sequence[Claim],
        rate_of: Callable[[str], float | None],
        missing: Iterable[PlannedTrial],
        looks: Looks = LOOKS,
    ) -> None:
        """Of a plan of these claims; `rate_of` tells the rate of a trial by its name, None where it has none."""
        self._claims = [claim for claim in claims if not claim.obstacle]
        self._all = claims
        self._rate_of = rate_of
        self._looks = looks
        cell_of = {cell.sweep: cell.id for cell in plan.cells}
        self._claim_of = {
            cell_of[claim.sweep(which)]: (claim, which) for claim in self._claims for which in (ORIGINAL, *SIDES)
        }
        to_make = {trial.id for trial in missing}
        self._made: set[str] = set()
        #: Names of a claim's trials, repetition after repetition.
        self._rounds: dict[str, list[dict[str, str]]] = {claim.role.sweep: [] for claim in self._claims}
        block = 0
        for trial in plan.trials():
            claim, which = self._claim_of[trial.cell]
            rounds = self._rounds[claim.role.sweep]
            if trial.block != block:
                rounds.append({})
                block = trial.block
            rounds[-1][which] = trial.id
            if trial.id not in to_make:
                self._made.add(trial.id)

    def on_made(self, trial: str) -> None:
        """A trial was measured, with a result or without."""
        self._made.add(trial)

    def wants(self, trial: PlannedTrial) -> bool:
        """Whether the trial is wanted: its side is not settled, or of an original either side."""
        claim, which = self._claim_of[trial.cell]
        sides = SIDES if which == ORIGINAL else tuple(side for side in SIDES if side == which)
        return not all(self._judged(claim, side).is_settled for side in sides)

    def proofs(self) -> list[Proof]:
        """What came of all claims."""
        return [self._proof(claim) for claim in self._all]

    def _proof(self, claim: Claim) -> Proof:
        if claim.obstacle:
            return Proof(claim, None, None)
        return Proof(claim, *(self._judged(claim, side).verification for side in SIDES))

    def _judged(self, claim: Claim, side: Side) -> Judged:
        pairs, tried = [], 0
        for number, trials in enumerate(self._rounds[claim.role.sweep], start=1):
            if not self._made.issuperset({trials[ORIGINAL], trials[side]}):
                break
            tried = number
            original, changed = self._rate_of(trials[ORIGINAL]), self._rate_of(trials[side])
            if original and changed:
                pairs.append(Pair(number, original, changed))
        words = change_text(claim.change(side))
        return judge(pairs, claim.predicted, self._looks, tried=tried, change=words)


def outcomes(proofs: Sequence[Proof], side: Side) -> Mapping[str, int]:
    """How often each outcome was reached."""
    found: dict[str, int] = {}
    for proof in proofs:
        verification = proof.right if side == "right" else proof.wrong
        if verification is not None:
            found[verification.outcome] = found.get(verification.outcome, 0) + 1
    return found
