"""What a host can carry connections by, and whether it has what a plan asks for."""

from collections.abc import Iterable, Mapping
from typing import Any

from whyperf.plan.model import Cell
from whyperf.run import pipes
from whyperf.run.agent import Agent
from whyperf.run.errors import Fault, RunError

#: Transports that no host lacks.
EVERYWHERE = frozenset({"tcp", "udp", "unix"})

Offer = dict[str, Any]
"""`Offer` of crates/schema/src/offer.rs."""


def list_offers(host: str | None) -> list[Offer]:
    """Congestion controls and transports of this host, or of one reached by ssh.

    Raises:
        RunError: the host cannot be reached.
    """
    argv = pipes.local() if host is None else pipes.ssh(host)
    with Agent(host or "local", argv, shares_clock=host is None, host=host) as agent:
        return offers_of(agent)


def offers_of(agent: Agent) -> list[Offer]:
    """The same, of the host of an agent."""
    found: list[Offer] = agent.call({"request": "list_transports"})["offers"]
    return found


def congestion_controls(cells: Iterable[Cell]) -> list[str]:
    """Names of the kernel's that the cells ask for, each once; those of QUIC are its own."""
    names: dict[str, None] = {}
    for cell in cells:
        transport = cell.factors.get("transport", "tcp")
        flows = (flow.congestion_control for flow in cell.schedule or () if (flow.transport or transport) != "quic")
        own = None if transport == "quic" else cell.factors.get("congestion_control")
        for name in (own, *flows):
            if name is not None:
                names[str(name)] = None
    return list(names)


def refuse_missing_transports(cells: Iterable[Cell], hosts: Mapping[str, tuple[Mapping[str, Any], Agent]]) -> None:
    """Refuses transports, of cells or of flows, that a host does not have.

    `hosts` as in `refuse_missing`; nobody is asked about what every host has.

    Raises:
        RunError: one that cannot be had, with the reason.
    """
    wanted: dict[str, None] = {}
    for cell in cells:
        for name in (cell.factors.get("transport"), *(flow.transport for flow in cell.schedule or ())):
            if name is not None and name not in EVERYWHERE:
                wanted[str(name)] = None
    for label, (_, agent) in hosts.items() if wanted else ():
        offers = {offer["name"]: offer for offer in offers_of(agent) if offer["kind"] == "transport"}
        for name in wanted:
            offer = offers.get(name)
            if offer is None or offer["state"] == "refused":
                why = offer["reason"] if offer is not None else "its agent does not know it"
                raise RunError(f"transport {name} is not available on the {label} host: {why}", Fault.USAGE)


def refuse_missing(wanted: Iterable[str], hosts: Mapping[str, tuple[Mapping[str, Any], Agent]]) -> None:
    """Refuses congestion controls that a host can never have.

    `hosts` are the facts and the agent of each host by its label. The agent is asked only for what the kernel does
    not have already.

    Raises:
        RunError: one that cannot be had, with the reason and those that can.
    """
    for label, (facts, agent) in hosts.items():
        missing = [name for name in wanted if name not in facts["congestion_controls"]]
        if not missing:
            continue
        offers = [offer for offer in offers_of(agent) if offer["kind"] == "congestion_control"]
        usable = [offer for offer in offers if offer["state"] != "refused"]
        for name in missing:
            if any(name in {offer["name"], offer["registered_as"]} for offer in usable):
                continue
            reasons = [offer["reason"] for offer in offers if name in {offer["name"], offer["registered_as"]}]
            why = f" ({reasons[0]})" if reasons else ""
            have = ", ".join(offer["name"] for offer in usable)
            raise RunError(
                f'congestion_control "{name}" is not available to you on the {label} host{why}; '
                f"choose one of {have} (--congestion, or congestion_control in the profile)",
                Fault.USAGE,
            )
