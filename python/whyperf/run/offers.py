"""The means of a host to carry connections, and whether it has what a plan asks for."""

from collections.abc import Iterable, Mapping

from whyperf.plan.plan_document import Cell
from whyperf.run.agents import pipes
from whyperf.run.agents.agent import Agent
from whyperf.run.errors import Fault, RunError
from whyperf.run.spec import OWN_CONTROL, roles
from whyperf.wire import HostFacts, Offer

#: Transports that no host lacks.
EVERYWHERE = frozenset({"tcp", "udp", "unix"})
#: Transports that libraries carry, each connection by threads of its own, and the most of these that a trial may have
#: (MAX_LIBRARY_CONNECTIONS in crates/load/src/open/mod.rs).
OF_LIBRARIES = frozenset({"udt", "quic", "srt"})
MAX_LIBRARY_CONNECTIONS = 256


def list_offers(host: str | None, pipe: pipes.PipeKind = pipes.SSH) -> list[Offer]:
    """Congestion controls and transports of this host, or of one reached by a pipe.

    Raises:
        RunError: the host cannot be reached.
    """
    argv = pipes.local() if host is None else pipe.argv(host)
    with Agent(host or "local", argv, shares_clock=host is None, host=host) as agent:
        return offers_of(agent)


def offers_of(agent: Agent) -> list[Offer]:
    """The same, of the host of an agent."""
    return agent.call({"request": "list_transports"})["offers"]


def congestion_controls(cells: Iterable[Cell]) -> list[str]:
    """Names of the kernel's that the cells ask for, each once; those of QUIC are its own."""
    return [name for name, is_quic in _controls(cells) if not is_quic]


def quic_controls(cells: Iterable[Cell]) -> list[str]:
    """Names of congestion controls that the cells ask of QUIC, each once."""
    return [name for name, is_quic in _controls(cells) if is_quic]


def _controls(cells: Iterable[Cell]) -> list[tuple[str, bool]]:
    """Names, and whether QUIC is to have it; each pair once, in the order of the cells."""
    found: dict[tuple[str, bool], None] = {}
    for cell in cells:
        transport = cell.factors.get("transport", "tcp")
        asked = [(cell.factors.get("congestion_control"), transport)]
        asked += [(flow.congestion_control, flow.transport or transport) for flow in cell.schedule or ()]
        found |= {(str(name), by == "quic"): None for name, by in asked if name not in {None, OWN_CONTROL}}
    return list(found)


def refuse_crowds(cells: Iterable[Cell]) -> None:
    """Refuses more connections over a library than it may have.

    Raises:
        RunError: a cell with more.
    """
    for cell in cells:
        transports = [str(cell.factors.get("transport", "tcp"))]
        transports += [flow.transport for flow in cell.schedule or () if flow.transport is not None]
        library = next((name for name in transports if name in OF_LIBRARIES), None)
        asked = int(cell.factors.get("connections", 1)) if cell.schedule is None else len(cell.schedule)
        if library is not None and asked > MAX_LIBRARY_CONNECTIONS:
            raise RunError(
                f"connections is {asked}; over {library}, where each has threads of its own, "
                f"it must be from 1 to {MAX_LIBRARY_CONNECTIONS}",
                Fault.USAGE,
            )


def refuse_missing_transports(cells: Iterable[Cell], hosts: Mapping[str, tuple[HostFacts, Agent]]) -> None:
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
                why = offer["reason"] if offer is not None else "its agent has no such name"
                raise RunError(f"transport {name} is not available on the {label} host: {why}", Fault.USAGE)


def refuse_missing_kernel_tls(cells: Iterable[Cell], facts: Mapping[str, HostFacts]) -> None:
    """Refuses TLS in the kernel where a kernel that is to do it has none: `tx` needs that of the sender only.

    Raises:
        RunError: a host without it, with the reason.
    """
    for cell in cells:
        ktls = cell.factors.get("ktls", "off")
        role_of = roles(cell.factors, cell.schedule or ())
        for label, host in facts.items() if ktls != "off" else ():
            ability = next((ability for ability in host["abilities"] if ability["name"] == "kernel_tls"), None)
            if ability is not None and not ability["can"] and (ktls == "both" or _sends(label, role_of)):
                problem = f"ktls {ktls} is not available on the {label} host: {ability['reason']}; or set ktls to off"
                raise RunError(problem, Fault.USAGE)


def _sends(label: str, role_of: Mapping[str, str]) -> bool:
    """True where the host of this label, such as near2, is the sender."""
    return role_of[label.rstrip("0123456789")] == "sender"


def refuse_missing(wanted: Iterable[str], hosts: Mapping[str, tuple[HostFacts, Agent]]) -> None:
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
            meant = next((offer["name"] for offer in usable if offer["name"] == name.lower()), None)
            have = (
                f"did you mean {meant}?" if meant else f"choose one of {', '.join(offer['name'] for offer in usable)}"
            )
            raise RunError(
                f'congestion_control "{name}" is not available to you on the {label} host{why}; '
                f"{have} (--congestion, or congestion_control in the profile)",
                Fault.USAGE,
            )


def refuse_missing_quic(wanted: Iterable[str], hosts: Mapping[str, tuple[HostFacts, Agent]]) -> None:
    """Refuses congestion controls that a host's QUIC does not have.

    `hosts` as in `refuse_missing`; nobody is asked where nothing is wanted.

    Raises:
        RunError: one that QUIC lacks, with those that it has.
    """
    names = list(wanted)
    for label, (_, agent) in hosts.items() if names else ():
        known = [offer["name"] for offer in offers_of(agent) if offer["kind"] == "quic_congestion_control"]
        lacking = next((name for name in names if name not in known), None)
        if lacking is not None:
            raise RunError(
                f'congestion_control "{lacking}" is none of QUIC\'s on the {label} host; '
                f"choose one of {', '.join(known)} (--congestion, or congestion_control in the profile)",
                Fault.USAGE,
            )
