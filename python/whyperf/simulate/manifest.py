"""The content of a simulated trial's manifest; the same keys as a measured one's."""

from whyperf import __version__
from whyperf.plan import Cell, PlannedTrial
from whyperf.record import RECORD_VERSION
from whyperf.wire import SimulatedEndSystem, SimulatedTrial, Simulation

#: Why there are no stage times.
NO_STAGES = "of the systems of the model only SunOS 4.1 has stage times"
#: The model has one clock, which begins at 0.
CLOCK = {"offset_ns": 0, "uncertainty_ns": 0, "drift_ns": 0, "pairs": [{"mono_ns": 0, "realtime_ns": 0}]}
#: The same instant on the calendar, whenever it was simulated: the same plan gives the same bytes.
STARTED = "1970-01-01T00:00:00+00:00"
STATUS = {"complete": "complete", "deadline": "deadline", "stuck": "failed", "refused": "failed"}


def manifest(planned: PlannedTrial, cell: Cell, asked: Simulation, answer: SimulatedTrial) -> dict[str, object]:
    """The manifest of a trial, from what was asked and answered."""
    status = STATUS[answer["end"]]
    roles = {"near": asked["near_role"]}
    roles["far"] = "receiver" if roles["near"] == "sender" else "sender"
    reason = answer["reason"]
    if status == "deadline":
        reason = "the load was cut at its deadline; what had moved until then is the result"
    return {
        "record_version": RECORD_VERSION,
        "trial": planned.id,
        "cell": planned.cell,
        "block": planned.block,
        "status": status,
        "reason": reason,
        "origin": "sim",
        "testbed": "model",
        "started_realtime": STARTED,
        "versions": {"controller": __version__, "agent": __version__},
        "factors": dict(cell.factors),
        "evidence_asked": "segments" if planned.is_log else "user",
        "start_mono_ns": 0,
        "seed": asked["seed"],
        "hosts": {
            label: _end(number, roles[label], asked, answer) for number, label in enumerate(("near", "far"))
        },
        "warnings": [],
    }  # fmt: skip


def _end(number: int, role: str, asked: Simulation, answer: SimulatedTrial) -> dict[str, object]:
    counted = answer["ends"][number] if answer["ends"] else None
    moved = 0 if counted is None else counted["written_bytes" if role == "sender" else "read_bytes"]
    return {
        "role": role,
        "outcome": {"ended": answer["end"]},
        "payload_bytes": moved,
        "notes": [],
        "clock": CLOCK,
        "own_cpus": [0],
        "own_cpus_exclusive": True,
        "tsc_hz": None,
        "spec": {"host": asked["hosts"][number]["host"], **(_load(asked) if number == 0 else {})},
        "evidence": {
            "asked": asked["evidence"],
            "got": asked["evidence"],
            "missing": [],
            "logged_events_count": 0 if counted is None else counted["logged_events_count"],
        }
        | _stages(asked, counted),
    }


def _load(asked: Simulation) -> dict[str, object]:
    """The load of the near side, in the words of the request to an agent (`trial_specs`)."""
    found: dict[str, object] = {
        "opening": "connect",
        "connections_count": asked.get("connections_count", 1),
        "stop": asked["stop"],
    }
    return found if (workload := asked.get("workload")) is None else {**found, "workload": workload}


def _stages(asked: Simulation, counted: SimulatedEndSystem | None) -> dict[str, object]:
    """The report of a side's stage times (`StagesReport` in crates/schema/src/evidence.rs), in a trial for them."""
    if not asked.get("has_stages"):
        return {}
    rows = 0 if counted is None else counted.get("stages_count", 0)
    # Every segment is followed, and nothing is probed.
    return {
        "stages": {
            "reason": None if rows else NO_STAGES,
            "missing": [],
            "block_bytes": 1,
            "sampling": [{"time_mono_ns": 0, "one_in_count": 1}],
            "empty_pair_ns": 0,
            "rows_count": rows,
            "lost_rows_count": [],
        }
    }
