"""Which verdict an experiment verifies: `verifies.json` in its folder, next to the explained experiment.

With it an explanation can be made anew from the records alone, verifications included. It counts only if this user's
whyperf on this host wrote it for this result: anybody can put a folder next to a result.
"""

import glob
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from pydantic import Field, ValidationError

from whyperf.analyze.spread import FrozenModel
from whyperf.explain.causes import Cause
from whyperf.explain.model import CellExplanation, Explanation, JointGain, Level, Verdict, Verification
from whyperf.explain.verify.judgement import Judged, PredictedGain, judge
from whyperf.explain.verify.looks import Looks
from whyperf.explain.wording.verifications import change_text
from whyperf.plan import Plan
from whyperf.record import Experiment, RecordError
from whyperf.record.errors import as_record_error
from whyperf.record.kept import read_kept, write_kept

FILE = "verifies.json"


class Verified(FrozenModel):
    """The verdict that was tried: on which cell, its cause, its change and what it predicted.

    `first_look` is the number of pairs after which it is judged first; None for all at once. `rate` is that of the cell
    when it was explained, in `unit`.
    """

    experiment: str
    cell: str
    cause: Cause
    factors: dict[str, Level] = Field(min_length=1)
    predicted_gain: float | None
    predicted_low: float | None = None
    predicted_high: float | None = None
    first_look: int | None = None
    rate: float | None = None
    unit: str = "bit/s"

    def is_of(self, cell: CellExplanation, verdict: Verdict) -> bool:
        """Whether it was this verdict of this cell; a change to other levels is another claim."""
        factors = verdict.change.factors if verdict.change is not None else {}
        return (self.cell, self.cause, self.factors) == (cell.cell, verdict.cause, factors)


def folder_of(experiment: Experiment, plan: Plan) -> Path:
    """Where the verification of `experiment` with this plan is kept: the same command finds it again."""
    return experiment.folder.absolute().parent / f"{experiment.name}-{plan.profile}-{plan.id[:6]}"


def keep(experiment: Experiment, verification: Experiment, verified: Verified) -> Verified:
    """Writes what `verification` verifies of `experiment`; returns it with the first look that was kept before, if any.

    When to look is laid down before anything is seen.

    Raises:
        RecordError: the disk refuses.
    """
    path = verification.folder / FILE
    signed = made_of(experiment, verification)
    with suppress(ValidationError):
        before = Verified.model_validate(read_kept(path, signed))
        verified = verified.model_copy(update={"first_look": before.first_look})
    with as_record_error("write", path):
        write_kept(path, signed, verified.model_dump(mode="json"))
    return verified


def made_of(experiment: Experiment, verification: Experiment) -> str:
    """What a file about trials with a result is signed with: the plans and profiles of both."""
    return repr((experiment.sealed, verification.sealed))


def verification_of(experiment: Experiment, verified: Verified) -> Verification:
    """The judgement, from the record of a verification, finished or not.

    Raises:
        RecordError: it cannot be read.
    """
    return judged(experiment, verified).verification


def looks_of(plan: Plan, verified: Verified) -> Looks:
    """When a verification with this plan is judged."""
    most = len(plan.blocks)
    return Looks(most if verified.first_look is None else verified.first_look, most)


def judged(experiment: Experiment, verified: Verified) -> Judged:
    """The judgement as of the last look that the record reaches, and whether more pairs are needed.

    Raises:
        RecordError: it cannot be read.
    """
    from whyperf.analyze import read_inputs  # noqa: PLC0415 - printing what was judged needs no polars
    from whyperf.explain.verify.pairs import pairs_of  # noqa: PLC0415

    plan = experiment.plan
    missing = experiment.missing_trials()
    return judge(
        pairs_of(read_inputs(experiment), plan),
        PredictedGain(verified.predicted_gain, verified.predicted_low, verified.predicted_high),
        looks_of(plan, verified),
        tried=missing[0].block - 1 if missing else len(plan.blocks),
        change=change_text(verified.factors),
        experiment=experiment.name,
        recorded=verified.rate,
        unit=verified.unit,
    )


def with_verifications(explanation: Explanation, experiment: Experiment) -> Explanation:
    """The explanation, each verdict with its verification where one is stored; of several the one of most pairs.

    What cannot be read is left out: a verification never keeps an explanation from being printed.
    """
    found = list(_kept(experiment))
    if not found and not _has_any(explanation):
        return explanation
    cells = []
    for cell in explanation.cells:
        verdicts = [_verified(cell, verdict, found) for verdict in cell.verdicts]
        joint = [_verified_together(cell, gain, found) for gain in cell.joint]
        cells.append(cell.model_copy(update={"verdicts": verdicts, "joint": joint}))
    return explanation.model_copy(update={"cells": cells})


def _has_any(explanation: Explanation) -> bool:
    return any(
        any(verdict.verification is not None for verdict in cell.verdicts)
        or any(joint.verification is not None for joint in cell.joint)
        for cell in explanation.cells
    )


def _verified(cell: CellExplanation, verdict: Verdict, found: list[tuple[Verified, Verification]]) -> Verdict:
    of_verdict = [verification for verified, verification in found if verified.is_of(cell, verdict)]
    if not of_verdict:
        # A stored explanation may have one that is not there any more.
        return verdict.model_copy(update={"verification": None})
    return verdict.model_copy(update={"verification": max(of_verdict, key=lambda verification: verification.pairs)})


def _verified_together(
    cell: CellExplanation, joint: JointGain, found: list[tuple[Verified, Verification]]
) -> JointGain:
    of_joint = [
        verification
        for verified, verification in found
        if (verified.cell, verified.factors) == (cell.cell, joint.factors)
    ]
    if not of_joint:
        return joint.model_copy(update={"verification": None})
    return joint.model_copy(update={"verification": max(of_joint, key=lambda verification: verification.pairs)})


def uncounted(experiment: Experiment) -> list[str]:
    """Names of the folders that say they verify this result, but were not made by this user on this host for it."""
    return [folder.name for folder, verified in _next_to(experiment) if verified is None]


def _kept(experiment: Experiment) -> Iterator[tuple[Verified, Verification]]:
    for folder, verified in _next_to(experiment):
        with suppress(RecordError):
            if verified is not None and verified.experiment == experiment.name:
                yield verified, verification_of(Experiment.open(folder), verified)


def _next_to(experiment: Experiment) -> Iterator[tuple[Path, Verified | None]]:
    """The verifications next to a result, and what each verifies; None where that was not written here for it."""
    folder = experiment.folder.absolute()
    for path in sorted(folder.parent.glob(f"{glob.escape(folder.name)}-*/{FILE}")):
        verified = None
        with suppress(RecordError, ValidationError):
            verified = Verified.model_validate(read_kept(path, made_of(experiment, Experiment.open(path.parent))))
        yield path.parent, verified
