"""Makes a plan of the catalog: the cells and their order.

A dose is compared with its own baseline, so both are measured one after the other, in random order. A block of the plan
is one experiment of the catalog. The blocks of a repetition are in random order, too.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from random import Random

from lab.disturb.disturbances import Disturbance
from lab.truth.catalog import Catalog
from lab.truth.situation import Situation
from whyperf.plan import MODEL, Plan, build
from whyperf.plan.plan_document import identify
from whyperf.plan.stop import permutation
from whyperf.profile import Design, Factors, Profile, Sweep

NAME = "truth"
#: Trials of each cell that is compared with another cell.
TRIALS = 2
#: Length of a trial. The first 0.2 s are the start of the connection, which is explained, too.
PHASES: Factors = {"warmup_s": 0.2, "duration_s": 0.6, "cooldown_s": 0.05}
INTERVAL_MS = 50
FIELD_PHASES: Factors = {"warmup_s": 0.3, "duration_s": 1.6, "cooldown_s": 0.05}
"""Length of a trial of a situation, in which something may change half-way."""
FIELD_DEADLINE_S = 12.0
ENDING_S = 0.1
"""For what ends a stream without causes of its situation: only the rate in the measurement counts, and that is known.

As experiments have it (`DRAIN_S`); full queues of slow paths took 2 s more.
"""


class CellKind(StrEnum):
    """The purpose of a cell in its experiment."""

    BASELINE = "baseline"
    DOSE = "dose"
    FIRST = "first"
    """The first cause of a pair alone."""
    SECOND = "second"
    BOTH = "both"
    UNDISTURBED = "undisturbed"
    SITUATION = "situation"
    WITHOUT = "without"
    """A situation without one of its ingredients."""
    CONTROL = "control"
    """A situation without any of its ingredients."""


@dataclass(frozen=True)
class Role:
    """The place of a cell: `of` is the experiment; `dose` counts from 1, and the held-out doses follow the others.

    Without one of a situation's ingredients, `dose` is the number of the ingredient.
    """

    of: str
    kind: CellKind
    factors: Factors
    #: The factors that inject the cause; all factors of an undisturbed run.
    own: Factors
    dose: int = 0
    held_out: bool = False
    disturbances: tuple[Disturbance, ...] = ()

    @property
    def sweep(self) -> str:
        """The name of the cell's sweep in the plan."""
        return f"{self.of}-{self.kind}{self.dose or ''}"

    @property
    def is_explained(self) -> bool:
        """True where it has a trial with the segment log."""
        return self.kind in {CellKind.DOSE, CellKind.BOTH, CellKind.UNDISTURBED, CellKind.SITUATION}


def roles_of(catalog: Catalog, *, short: bool = False) -> list[Role]:
    """All cells of the catalog; `short` takes the one dose of each entry that is marked for the shortened run."""
    return [role for group in _groups(catalog, short=short) for role in group]


def plan_truth(
    catalog: Catalog,
    *,
    short: bool = False,
    seed: int = 1,
    trials: int = TRIALS,
    hosts: str = "",
    logs: int | None = None,
) -> tuple[Profile, Plan]:
    """The experiment as a profile and its plan: on the testbed, or on the model of `hosts`.

    A situation has as many trials with the segment log as without, or so many as `logs` says: none with 0.
    No plan has disturbances. The text of the profile has those of situations, so that a record says what it is of.

    Raises:
        ProfileError: factors of the catalog contradict each other.
    """
    groups = list(_groups(catalog, short=short))
    of_situation = trials if logs is None else logs
    fixed: Factors = {"interval_ms": INTERVAL_MS, **({"hosts": hosts} if hosts else {})}
    sweeps = tuple(_sweep(role, trials, of_situation) for group in groups for role in group)
    profile = Profile(
        name=NAME,
        where="the catalog of truth experiments",
        text=_disturbances_text(groups),
        about="Injected causes, and the verdicts of the explanation.",
        seed=seed,
        kind="veth",
        fixed=fixed,
        design=Design(trials=trials),
        sweeps=sweeps,
        workloads=catalog.workloads,
    )
    plan = build(profile, target=MODEL if hosts else "testbed")
    return profile, _in_groups(plan, groups, trials, seed, of_situation)


def _disturbances_text(groups: Sequence[Sequence[Role]]) -> str:
    """The disturbances of each cell of a situation as JSON; "" where there is no situation."""
    found = {
        role.sweep: [disturbance.model_dump(mode="json") for disturbance in role.disturbances]
        for group in groups
        for role in group
        if group[0].kind is CellKind.SITUATION
    }
    return json.dumps(found, indent=1, sort_keys=True) if found else ""


def _groups(catalog: Catalog, *, short: bool) -> Iterator[list[Role]]:
    for name, baseline in catalog.baseline.items():
        if baseline.undisturbed and not short:
            yield [Role(name, CellKind.UNDISTURBED, baseline.factors, baseline.factors)]
    for entry in catalog.entry:
        base = catalog.baseline[entry.baseline].factors
        doses = [(dose, False) for dose in entry.doses] + [(dose, True) for dose in entry.held_out]
        roles = [
            Role(
                entry.name,
                CellKind.DOSE,
                base | dose,
                dose,
                number,
                held_out,
                entry.disturbances(number),
            )
            for number, (dose, held_out) in enumerate(doses, start=1)
            if not short or number == entry.short
        ]
        if roles:
            yield [Role(entry.name, CellKind.BASELINE, base, {}), *roles]
    for pair in catalog.pair if not short else ():
        base = catalog.baseline[pair.baseline].factors
        yield [
            Role(pair.name, CellKind.FIRST, base | pair.first, pair.first),
            Role(pair.name, CellKind.SECOND, base | pair.second, pair.second),
            Role(pair.name, CellKind.BOTH, base | pair.first | pair.second, pair.first | pair.second),
        ]
    for run in catalog.undisturbed:
        if not short or run.short:
            yield [Role(run.name, CellKind.UNDISTURBED, run.factors, run.factors)]
    for situation in catalog.situation if not short else ():
        yield _of_situation(situation, catalog.baseline[situation.baseline].factors)


def _of_situation(situation: Situation, base: Factors) -> list[Role]:
    """The situation, the same without each of its ingredients, and without all where there are several."""
    parts = [(CellKind.SITUATION, 0, situation.ingredient)]
    parts += [
        (CellKind.WITHOUT, number, situation.without(number)) for number in range(1, len(situation.ingredient) + 1)
    ]
    if len(situation.ingredient) > 1:
        parts.append((CellKind.CONTROL, 0, ()))
    held_out = situation.half == "held_out"
    roles = []
    for kind, number, ingredients in parts:
        own = situation.factors_with(ingredients)
        disturbances = tuple(found for ingredient in ingredients for found in ingredient.disturb)
        roles.append(Role(situation.name, kind, base | own, own, number, held_out, disturbances))
    return roles


def _sweep(role: Role, trials: int, logs: int) -> Sweep:
    # A transfer of a fixed size has no phases, and those of a schedule are its own.
    in_field = role.kind in {CellKind.SITUATION, CellKind.WITHOUT, CellKind.CONTROL}
    phases = {} if {"transfer_bytes", "schedule"} & set(role.factors) else FIELD_PHASES if in_field else PHASES
    # What a disturbance stops is cut, and its rate until then counts.
    factors = phases | ({"deadline_s": FIELD_DEADLINE_S} if in_field else {}) | role.factors
    if phases and "workload" not in factors and role.kind in {CellKind.WITHOUT, CellKind.CONTROL}:
        ends = sum(float(factors[name]) for name in FIELD_PHASES) + ENDING_S
        factors |= {"deadline_s": min(float(factors["deadline_s"]), round(ends, 3))}
    alone = role.kind is CellKind.UNDISTURBED
    return Sweep(role.sweep, factors, {}, 1 if alone else trials, (), _logs(role, logs))


def _logs(role: Role, of_situation: int) -> int:
    """Number of trials with the segment log that its cell has."""
    if role.kind is CellKind.SITUATION:
        return of_situation
    return 1 if role.is_explained else 0


def _in_groups(plan: Plan, groups: Sequence[Sequence[Role]], trials: int, seed: int, logs: int) -> Plan:
    """The plan with its trials in blocks, one experiment per block."""
    cell_of = {cell.sweep: cell.id for cell in plan.cells}
    blocks: list[tuple[str, ...]] = []
    for repetition in range(1, trials + 1):
        rng = Random(f"truth repetition {repetition} of seed {seed}")
        order = permutation([str(number) for number in range(len(groups))], rng)
        for number in order:
            group = groups[int(number)]
            cells = [cell_of[role.sweep] for role in group if repetition == 1 or role.kind is not CellKind.UNDISTURBED]
            if cells:
                blocks.append(tuple(permutation(cells, rng)))
    found = (
        tuple(cell_of[role.sweep] for role in group if _logs(role, logs) >= repetition)
        for repetition in range(1, trials + 1)
        for group in groups
    )
    log_blocks = tuple(block for block in found if block)
    arranged = plan.model_copy(update={"blocks": tuple(blocks), "log_blocks": log_blocks})
    identifier = identify(arranged)
    return arranged.model_copy(update={"id": identifier, "experiment": f"{NAME}-{identifier[:6]}"})
