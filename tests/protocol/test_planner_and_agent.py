"""The planner and the agent agree on what applies: every option over every transport, workload, I/O model and target.

What the planner lets through is sent to the agent as planned. What it refuses is sent all the same, with the option
put into the message. The agent must accept the first and refuse the second before anything is opened.
"""

from collections.abc import Callable
from itertools import product
from typing import Any

import pytest

from tests.e2e.test_planned_combinations import TRIED
from tests.protocol.pipe_talk import Talk
from whyperf.plan import Cell, PlannedTrial, build
from whyperf.plan.on_model import KNOWN
from whyperf.plan.plan_document import MODEL
from whyperf.plan.schedules import with_schedules, with_workloads
from whyperf.profile import Level, ProfileError, find
from whyperf.profile.combination import resolve
from whyperf.profile.options import OF_SOCKETS, OPTIONS, TRANSPORTS
from whyperf.profile.workload import shipped_workload, shipped_workload_names
from whyperf.run.ends import Cpus
from whyperf.run.spec import socket_of, trial_specs
from whyperf.simulate.agent import ask
from whyperf.simulate.request import line

StartTalk = Callable[..., Talk]
Levels = dict[str, Level]

IO_MODELS = ("blocking", "epoll", "io_uring")
#: Options and other factors, a level or more of each that is not the default.
OPTIONS_TRIED: list[Levels] = [levels for tried in TRIED.values() for levels in tried]
#: A workload meets one option in so many; the next workload meets the next ones.
SHARE = 3
CPUS = {"near": Cpus((), (), exclusive=False), "far": Cpus((), (), exclusive=False)}
FLOW = {"start_ns": 0, "stop_ns": 1000, "connections_count": 1, "role": "sender"}
ON_MODEL: Levels = {"hosts": "linux-6.18+veth", "interval_ms": 20}


def message_of(levels: Levels) -> dict[str, Any] | None:
    """What the near side's agent is sent for a cell; None where the planner refuses it."""
    profile = find("quick")
    try:
        cell = Cell(id="c0001", sweep="one", factors=resolve(levels, testbed=False))
        (cell,), workloads = with_workloads(profile, with_schedules(profile, [cell]))
    except ProfileError:
        return None
    workload = workloads[cell.workload] if cell.workload else None
    planned = PlannedTrial("001-c0001", 1, cell.id, evidence="user")
    near = trial_specs(planned, cell.factors, CPUS, "127.0.0.1", 0, workload, 0, cell.schedule or ())["near"]
    return {name: value for name, value in near.items() if name != "request"}


def forced(levels: Levels) -> dict[str, Any]:
    """The fields of the message that ask for the options among these."""
    socket = socket_of(levels)
    fields: dict[str, Any] = {"socket": socket} if socket else {}
    for name in (levels.keys() & OPTIONS.keys()) - OF_SOCKETS.keys():
        asked = {
            "schedule": [FLOW | ({"transport": "tcp"} if "competitor" in levels else {})],
            "rtt_probe_ms": 20_000_000,
        }.get(name, levels[name])
        fields[OPTIONS[name].field] = asked
    return fields


def refusal(agent: Talk, message: dict[str, Any]) -> str:
    """Why the agent calls the message wrong; empty where it does not. What only a host lacks is no such answer."""
    reply = agent.ask("prepare", **message)
    if reply["reply"] == "prepared":
        assert agent.ask("abort")["reply"] == "done"
        return ""
    return str(reply["text"]) if reply["fault"] == "usage" else ""


@pytest.mark.parametrize("io_model", IO_MODELS)
@pytest.mark.parametrize("transport", TRANSPORTS)
def test_what_the_planner_refuses_the_agent_refuses_and_nothing_else(
    talk: StartTalk, transport: str, io_model: str
) -> None:
    agent = talk().hello()
    drift: list[str] = []
    compared = 0
    for number, load in enumerate(shipped_workload_names()):
        base: Levels = {"workload": load, "transport": transport, "io_model": io_model, "interval_ms": 20}
        plain = message_of(base)
        carries = TRANSPORTS[transport]
        fits = shipped_workload(load).load in carries.loads and io_model in carries.io_models
        if plain is None:
            if not fits:
                message = message_of({"workload": load}) or {}
                said = refusal(agent, message | {"transport": transport, "io_model": io_model, "socket": {}})
                drift += [] if said else [f"{base}: only the planner refuses it"]
                compared += 1
            continue
        drift += [f"{base}: {said}" for said in [refusal(agent, plain)] if said]
        # Workloads are of a few kinds, each of which meets every option.
        for levels in OPTIONS_TRIED[number % SHARE :: SHARE]:
            planned = message_of(base | levels)
            fields = forced(levels)
            if planned is None and not fields:
                # It is in every message, or asks for nothing but the host's own choice.
                continue
            fields["socket"] = plain["socket"] | fields.get("socket", {})
            said = refusal(agent, plain | fields if planned is None else planned)
            if bool(said) != (planned is None):
                drift.append(f"{base | levels}: {said or 'only the planner refuses it'}")
            compared += 1
    assert not drift, "\n".join(drift)
    assert compared > 0


def test_the_planner_and_the_model_refuse_the_same_options() -> None:
    """Levels that a host of the model lacks, and workloads that it cannot run, are its own answer to both."""
    compared: list[tuple[str, Levels]] = []
    requests, is_planned = [], []
    of_sockets = [levels for levels in OPTIONS_TRIED if levels.keys() & OF_SOCKETS.keys()]
    for load, levels in product(shipped_workload_names(), of_sockets):
        overrides: Levels = {**ON_MODEL, "workload": load}
        plan = build(find("quick"), target=MODEL, overrides=overrides)
        planned, *_ = plan.trials()
        request = line(plan, planned, plan.cell(planned.cell), {})
        requests.append(request | {"socket": socket_of(levels)})
        compared.append((load, levels))
        is_planned.append(levels.keys() <= KNOWN)
    reasons = [answer["reason"] or "" for answer in ask(requests, "--check")]
    drift = [
        f"{pair}: {reason}"
        for pair, reason, planned in zip(compared, reasons, is_planned, strict=True)
        if (planned and "is no option" in reason) or not (planned or reason)
    ]
    assert not drift, "\n".join(drift)
    assert not all(is_planned)
