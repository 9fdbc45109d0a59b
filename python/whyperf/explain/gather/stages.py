"""The stage times of cells as facts."""

from collections.abc import Collection
from dataclasses import replace

from whyperf.analyze.stages import DirectionTotals, Messages, StageTotal, TrialStages
from whyperf.analyze.stages.experiment import read_cells
from whyperf.analyze.stages.kinds import APPLICATION
from whyperf.explain.stage_facts import StageFacts, StageTime
from whyperf.explain.trial_facts import Facts
from whyperf.explain.wording.catalog import render
from whyperf.record import Experiment, RecordError, Trials

DIRECTIONS = {"sender": "out", "receiver": "in"}
"""The direction of the payload at each role."""
KBYTE = 1024


def stages_of(
    experiment: Experiment, trials: Trials, cells: Collection[str] | None = None
) -> tuple[dict[str, TrialStages], list[str]]:
    """The stage times of the cells that have trials for them, and what is missing, in sentences."""
    if not any(cells is None or found.cell in cells for found in trials.staged.values()):
        return {}, []
    try:
        read = read_cells(experiment, trials, cells)
    except RecordError as error:
        return {}, [render("missing", "stages", {"reason": str(error)})]
    return {cell.cell: cell.found for cell in read if cell.found is not None}, []


def with_stages(facts: Facts, found: TrialStages | None) -> Facts:
    """The facts with what the stages take at both sides, where the cell has a trial with stage times."""
    if found is None:
        return facts
    # Roles of a trial with stage times are those that it gave its ends.
    roles = ("receiver", "sender") if facts.is_turned else ("sender", "receiver")
    of_role = {host.role: host.host for host in found.hosts}
    sides = [_side(found, of_role.get(role), DIRECTIONS[side]) for role, side in zip(roles, DIRECTIONS, strict=True)]
    sender, receiver = sides
    return replace(
        facts, sender=replace(facts.sender, stages=sender), receiver=replace(facts.receiver, stages=receiver)
    )


def _side(found: TrialStages, host: str | None, direction: str) -> StageFacts | None:
    total = next((total for total in found.totals if (total.host, total.direction) == (host, direction)), None)
    if total is None:
        return None
    facts = StageFacts(
        stages=tuple(_stage(stage) for stage in total.stages),
        cpu_ns=total.cpu_ns.value,
        packet_bytes=total.packet_bytes,
        packets_per_interrupt=_per_interrupt(total),
        application_ns=_application_ns(found, total),
    )
    writes = direction == "out"
    own = [entry for entry in found.messages if (entry.lives.writer if writes else entry.lives.reader) == host]
    return _with_slow(facts, own[0]) if own else facts


def _stage(total: StageTotal) -> StageTime:
    line = total.fit
    return StageTime(
        name=total.stage.name,
        title=total.stage.title,
        about=total.stage.about,
        cpu_ns=total.cpu_ns.value,
        waiting_ns=total.waiting_ns.value,
        ns_per_kbyte=None if line is None else line.ns_per_byte.value * KBYTE,
        is_wait=total.stage.is_wait,
    )


def _application_ns(found: TrialStages, total: DirectionTotals) -> float:
    """Time that the program itself takes between the calls that move this payload, for a packet."""
    rows = found.host(total.host).frame.filter(stage=APPLICATION, direction=total.direction)
    return float((rows["cpu_ns"] * rows["weight"]).sum()) / total.weight if total.weight else 0.0


def _per_interrupt(total: DirectionTotals) -> float | None:
    interrupt = total.stage("interrupt")
    return None if interrupt is None or interrupt.rows == 0 else total.packets / interrupt.rows


def _with_slow(facts: StageFacts, messages: Messages) -> StageFacts:
    slowest = messages.makes_slow
    if slowest is None or slowest.excess_ratio is None:
        return facts
    stage = StageTime(slowest.stage.name, slowest.stage.title, slowest.stage.about, 0.0, slowest.mean_ns)
    return replace(facts, slow_stage=stage, slow_ratio=slowest.excess_ratio.value, slow_ns=slowest.excess_ns)
