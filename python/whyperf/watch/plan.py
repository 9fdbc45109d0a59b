"""The plan of a watched result: a cell and a trial for each connection."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from whyperf.plan import LOCAL, WATCHED, Cell, Plan, PlannedConnection, PlannedWatch, StopRule
from whyperf.plan.plan_document import Testbed, identify
from whyperf.profile import resolve
from whyperf.watch.request import WatchQuestion
from whyperf.watch.sockets import WatchedEnds

#: The name of the profile of watched results; there is none.
PROFILE = "watch"


def watched_plan(question: WatchQuestion, connections: Sequence[WatchedEnds], warnings: Sequence[str] = ()) -> Plan:
    """The plan, its cells in the order of `connections`.

    Factors are at their defaults, because everything reads them; they say nothing of the program. Only what is known of
    the connection is set: the direction, the version of IP, and that nobody here chose a congestion control.
    """
    seen: Counter[tuple[str, str, str]] = Counter()
    cells = []
    width = max(4, len(str(len(connections))))
    for number, ends in enumerate(connections, start=1):
        first = ends.first
        key = (first.program, first.local, first.remote)
        seen[key] += 1
        host = next(iter(ends.sockets))
        watched = PlannedConnection(
            program=first.program,
            process=first.process,
            local=first.local,
            remote=first.remote,
            direction="send" if ends.roles[host] == "sender" else "receive",
            listens=first.listens,
            hosts=tuple(ends.sockets),
            on_one_host=ends.on_one_host,
            nth=seen[key],
        )
        is_from_near = ends.roles[host] == ("sender" if host == "near" else "receiver")
        given = {
            "direction": "send" if is_from_near else "receive",
            "ip_version": 6 if first.local.startswith("[") else 4,
            "congestion_control": "default",
        }
        cells.append(
            Cell(id=f"c{number:0{width}d}", sweep=WATCHED, factors=resolve(given, testbed=False), watched=watched)
        )
    plan = Plan(
        id="",
        experiment="",
        profile=PROFILE,
        about="",
        seed=0,
        target=question.far_host or WATCHED,
        near=(question.host or LOCAL,),
        testbed=Testbed(kind=WATCHED),
        cells=tuple(cells),
        varied=(),
        blocks=(tuple(cell.id for cell in cells),),
        stop=StopRule(trials=1),
        evidence=question.evidence,
        profile_hz=question.profile_hz,
        warnings=tuple(warnings),
        watched=PlannedWatch(
            command=question.command_line,
            selection=_plain(question.selection),
            started_realtime=question.started_realtime,
            far_host=question.far_host,
        ),
    )
    return plan.model_copy(update={"id": identify(plan)})


def _plain(selection: Any) -> dict[str, Any]:
    """The selection as JSON has it."""
    return {str(name): list(value) if isinstance(value, tuple) else value for name, value in selection.items()}
