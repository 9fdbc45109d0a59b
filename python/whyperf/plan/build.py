"""Decides: from a profile and the options of a run to a plan."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from whyperf.hosts import LOCAL, MAX_PAIRS
from whyperf.plan.cells import COMMAND_LINE, expand, without_testbed_factors
from whyperf.plan.far_hosts import far_host_notes, parts_of, refuse_unknown_loads
from whyperf.plan.on_model import for_model
from whyperf.plan.only import kept
from whyperf.plan.plan_document import (
    MODEL,
    Cell,
    Level,
    Plan,
    PlannedFleet,
    PlannedStages,
    PlannedWorkload,
    StopRule,
    Testbed,
    identify,
    kind_of,
)
from whyperf.plan.schedules import with_schedules, with_workloads
from whyperf.plan.stop import randomized_blocks
from whyperf.profile import FACTORS, Design, Overrides, Profile, ProfileError
from whyperf.profile.conditions import AFTER, BEFORE
from whyperf.profile.profile_document import RunsOn

#: More planned trials than this is taken for a mistake.
MAX_TRIALS = 2_000_000
LARGEST_SEED = 2**63 - 1
#: Transports whose segments have stage times (`prepare` in crates/agent/src/stages.rs).
STAGED_TRANSPORTS: Final = frozenset({"tcp", "tls", "mptcp"})
#: Where sweeps are measured, as a message says it.
THERE: Final[Mapping[RunsOn, str]] = {"hosts": "hosts", "model": "the model"}


def build(
    profile: Profile,
    *,
    only: Sequence[str] = (),
    seed: int | None = None,
    trials: int | None = None,
    target: str = "testbed",
    near: tuple[str, ...] = (LOCAL,),
    fleet: PlannedFleet | None = None,
    overrides: Overrides | None = None,
    evidence: Level | None = None,
    profile_hz: int | None = None,
    stages: PlannedStages | None = None,
) -> Plan:
    """The plan; the same arguments give the same plan, byte for byte.

    Args:
        profile: the question.
        only: filters such as `window_bytes=4096,8192` or `sweep=cpu`; all must hold.
        seed: of the random order, instead of the profile's.
        trials: of every cell, instead of the profile's number or stop rule.
        target: `testbed`, `loopback`, or the name of the far host.
        near: hosts of the near sides, each with an agent of its own.
        fleet: the far host of each of them, where `target` is a set of hosts.
        overrides: factors set to one level, or varied over several, in every sweep.
        evidence: of both sides at most; with `segments`, at least one log trial of every cell. As the profile says
            when absent.
        profile_hz: stack samples of each CPU in a second, 0 for none. As the profile says when absent.
        stages: how segments are sampled for stage times, in at least one more trial of every cell. As the profile says
            when absent, unless `evidence` is given.

    Raises:
        ProfileError: whatever cannot be measured, before anything is touched.
    """
    if profile.kind == "veth" and target == "loopback":
        raise ProfileError(profile.where, "testbed.kind", "the profile needs the veth testbed; run it with privilege")
    if fleet is not None and kind_of(target) != "network":
        raise ProfileError("--to", "", f"{target} names a place of this host here; name the far host by its address")
    if len(near) > MAX_PAIRS:
        raise ProfileError("--from", "", f"it has {len(near):,} hosts, and a run takes up to {MAX_PAIRS:,}; name fewer")
    profile = measured_on(profile, "model" if target == MODEL else "hosts")
    asked = profile
    profile = profile.with_overrides(overrides or {})
    seed = profile.seed if seed is None else seed
    if not 0 <= seed <= LARGEST_SEED:
        raise ProfileError("--seed", "", f"{seed} is not from 0 to {LARGEST_SEED}")
    warnings: tuple[str, ...] = ()
    if target == MODEL:
        profile, warnings = for_model(profile)
    elif target != "testbed":
        profile, warnings = without_testbed_factors(profile, target)
    far_parts = parts_of(profile.far_parts, target)
    warnings = (*profile.notes, *far_host_notes(profile.far_hosts, target), *warnings)
    all_cells, workloads = _planned_cells(profile, asked, target)
    all_cells = with_schedules(profile, all_cells)
    refuse_unknown_loads(profile, fleet, all_cells, workloads)
    cells = kept(all_cells, only)
    stop, trials_of_sweep = _stop(profile, cells, trials)
    if sum(trials_of_sweep[cell.sweep] for cell in cells) > MAX_TRIALS:
        place = ("--trials", "") if trials is not None else (profile.where, "design")
        raise ProfileError(*place, f"the plan has over {MAX_TRIALS} trials; ask for fewer")
    # The order is drawn over the whole plan and then thinned: a part runs in the order of the whole.
    taking_part = {cell.id for cell in cells}
    blocks = randomized_blocks(all_cells, trials_of_sweep, seed)
    logs = randomized_blocks(all_cells, _log_trials(profile, evidence), seed)
    staged = _stage_trials(profile, evidence, is_asked=stages is not None)
    asked_of = [cell for cell in cells if staged.get(cell.sweep)]
    can_be_staged = {cell.id for cell in asked_of if cell.factors.get("transport", "tcp") in STAGED_TRANSPORTS}
    stage_blocks = _thinned(randomized_blocks(all_cells, staged, seed), can_be_staged) if staged else ()
    if without := _without_stages(asked_of):
        if stages is not None and not can_be_staged:
            raise ProfileError("--evidence stages", "", f"{without}; leave out stages, or choose one of these")
        warnings = (*warnings, f"No stage trials{' for some cells' if can_be_staged else ''}: {without}.")
    plan = Plan(
        id="",
        experiment="",
        profile=profile.name,
        about=profile.about,
        seed=seed,
        target=target,
        near=near,
        fleet=fleet,
        far_parts=far_parts,
        testbed=Testbed(kind=kind_of(target)),
        cells=cells,
        workloads={key: workloads[key] for cell in cells if (key := cell.workload) is not None},
        varied=_varied(profile, cells),
        blocks=_thinned(blocks, taking_part),
        log_blocks=_thinned(logs, taking_part),
        stage_blocks=stage_blocks,
        stages=(stages or PlannedStages()) if stage_blocks else None,
        evidence="user" if evidence == "user" else "counters",
        profile_hz=(profile.design.profile_hz if profile_hz is None else profile_hz) or None,
        stop=stop,
        pause_ms=profile.design.pause_ms,
        overrides=profile.overrides,
        only=tuple(only),
        asked_trials=trials,
        variables=dict(profile.variables),
        warnings=warnings,
    )
    identifier = identify(plan)
    return plan.model_copy(update={"id": identifier, "experiment": f"{profile.name}-{identifier[:6]}"})


def _planned_cells(
    profile: Profile, asked: Profile, target: str
) -> tuple[tuple[Cell, ...], dict[str, PlannedWorkload]]:
    """The cells of `profile` with their workloads; an error names what is at fault.

    Where `asked`, the profile without what the command line changed last, can be planned, that is the command line.
    Where it chose the workload and not even that can be, it is the workload.
    """

    def planned(asked: Profile) -> tuple[tuple[Cell, ...], dict[str, PlannedWorkload]]:
        return with_workloads(asked, expand(asked, testbed=target == "testbed", model=target == MODEL))

    try:
        return planned(profile)
    except ProfileError as error:
        if not profile.overrides:
            raise
        key = error.key
        for sweep in profile.sweeps:
            key = key.removeprefix(f"sweep.{sweep.name}.")
        try:
            planned(asked)
        except ProfileError:
            chosen = asked.overrides.get("workload")
            if chosen is None:
                raise error from None
            own = profile.workloads.get(str(chosen))
            where = (own.where if own is not None else "") or f"the workload {chosen}"
            raise ProfileError(where, key, error.problem) from None
        raise ProfileError(COMMAND_LINE, key, error.problem) from None


def measured_on(profile: Profile, where: RunsOn) -> Profile:
    """The profile with the sweeps that are measured on hosts, or on the model.

    Raises:
        ProfileError: it has none there.
    """
    kept = tuple(sweep for sweep in profile.sweeps if sweep.on in {None, where})
    if profile.sweeps and not kept:
        other = "whyperf model simulate" if where == "hosts" else "whyperf run"
        raise ProfileError(profile.where, "sweep.on", f"no sweep is measured on {THERE[where]}; use {other}")
    return profile if len(kept) == len(profile.sweeps) else replace(profile, sweeps=kept)


def _thinned(blocks: Sequence[Sequence[str]], taking_part: set[str]) -> tuple[tuple[str, ...], ...]:
    thinned = (tuple(cell for cell in block if cell in taking_part) for block in blocks)
    return tuple(block for block in thinned if block)


def _log_trials(profile: Profile, evidence: Level | None) -> dict[str, int]:
    """Log trials of each cell by sweep."""
    if evidence in {"user", "counters"}:
        return {sweep.name: 0 for sweep in profile.sweeps}
    least = 1 if evidence == "segments" else 0
    own = {sweep.name: sweep.log_trials for sweep in profile.sweeps}
    return {name: max(least, profile.design.log_trials if given is None else given) for name, given in own.items()}


def _stage_trials(profile: Profile, evidence: Level | None, *, is_asked: bool) -> dict[str, int]:
    """Trials with stage times of each cell by sweep; empty for none."""
    if evidence is not None and not is_asked:
        return {}
    least, usual = int(is_asked), profile.design.stage_trials
    own = {sweep.name: usual if sweep.stage_trials is None else sweep.stage_trials for sweep in profile.sweeps}
    return {name: max(least, count) for name, count in own.items()} if is_asked or any(own.values()) else {}


def _without_stages(cells: Sequence[Cell]) -> str:
    """Why some of the cells, or all, can have no stage times, without a full stop; empty where all can."""
    transports = [str(cell.factors.get("transport", "tcp")) for cell in cells]
    others = sorted(set(transports) - STAGED_TRANSPORTS)
    if not others:
        return ""
    number = sum(transport in others for transport in transports)
    which = (
        "this load runs"
        if number == len(cells)
        else f"{number} of {len(cells)} cells {'runs' if number == 1 else 'run'}"
    )
    return f"{which} over {' or '.join(others)}, and only TCP, TLS and Multipath TCP have stage times"


def _stop(profile: Profile, cells: Sequence[Cell], trials: int | None) -> tuple[StopRule, dict[str, int]]:
    """The rule, and how many blocks each sweep takes part in at most."""
    design = profile.design
    own = {sweep.name: sweep.trials for sweep in profile.sweeps if sweep.trials is not None}
    if trials is not None:
        if trials < 1:
            raise ProfileError("--trials", "", f"{trials} is not a number of trials; give 1 or more")
        design, own = replace(design, trials=trials), {}
    most = {sweep.name: own.get(sweep.name, design.most_trials) for sweep in profile.sweeps}
    present = {cell.sweep for cell in cells}
    shown = {name: count for name, count in own.items() if name in present}
    return _rule(design, shown), most


def _rule(design: Design, own: dict[str, int]) -> StopRule:
    if design.trials is not None:
        return StopRule(trials=design.trials, sweep_trials=own)
    return StopRule(
        trials_min=design.trials_min,
        trials_max=design.trials_max,
        interval_width=design.interval_width,
        sweep_trials=own,
    )


def _varied(profile: Profile, cells: Sequence[Cell]) -> tuple[str, ...]:
    """Factors that the design varies and that still differ; followers by reference do not count."""
    listed = {name for sweep in profile.sweeps for name, levels in sweep.levels.items() if len(levels) > 1}
    # Each condition has a sweep of its own.
    listed |= {name for sweep in profile.sweeps if sweep.name.endswith((BEFORE, AFTER)) for name in sweep.fixed}
    return tuple(
        factor.name
        for factor in FACTORS
        if factor.name in listed and len({str(cell.factors.get(factor.name)) for cell in cells}) > 1
    )
